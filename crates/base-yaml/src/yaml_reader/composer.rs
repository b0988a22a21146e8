//! Tokens to nodes: the grammar, anchors and tags.

use std::collections::HashMap;

use super::resolve;
use super::scanner::Scanner;
use super::token::{Kind, Mark, Token, failure};
use crate::node::{Data, Limits, MapBuilder, MapEntry, Node, Span, YamlError};

const YAML_TAG: &str = "tag:yaml.org,2002:";

type Parsed = Result<Node, YamlError>;
/// A collection and where it ends.
type Collection = Result<(Data, Mark), YamlError>;

pub(super) struct Composer<'a> {
    scanner: Scanner<'a>,
    /// Nodes by anchor, with the number of nodes in them.
    anchors: HashMap<String, (Node, usize)>,
    /// Where in the document we are, for messages.
    path: Vec<Step>,
    /// Whether the key that is being read is not the first of its mapping: the reference words a wrong one differently.
    later_key: bool,
    max_depth: usize,
    strict_keys: bool,
    /// What a plain word means.
    plain: fn(&str) -> Result<Data, String>,
    depth: usize,
    nodes_left: usize,
}

/// A scalar as it was written, before its meaning.
enum Raw {
    Scalar(String, bool),
    Done(Data),
}

/// What stands where a node is expected.
enum Head {
    Alias(Node),
    Fresh(Fresh),
}

/// A node before its meaning.
struct Fresh {
    raw: Raw,
    anchor: Option<String>,
    tag: Option<(String, Mark)>,
    span: Span,
    start: Mark,
}

/// One step from a collection to what it holds.
enum Step {
    Key(String),
    Index(usize),
}

#[derive(Default)]
struct Properties {
    anchor: Option<String>,
    tag: Option<(String, Mark)>,
    start: Option<Mark>,
}

impl<'a> Composer<'a> {
    pub(super) fn new(text: &'a str, limits: &Limits) -> Result<Self, YamlError> {
        Ok(Composer {
            scanner: Scanner::new(text, limits.depth)?,
            anchors: HashMap::new(),
            path: Vec::new(),
            later_key: false,
            max_depth: limits.depth,
            strict_keys: limits.strict_keys,
            plain: if limits.long_integers { resolve::plain_or_long } else { resolve::plain },
            depth: 0,
            nodes_left: limits.nodes,
        })
    }

    pub(super) fn documents(mut self) -> Result<Vec<Node>, YamlError> {
        let mut documents = Vec::new();
        let mut bare_allowed = true;
        loop {
            while !bare_allowed && self.scanner.peek()?.kind == Kind::DocumentEnd {
                self.scanner.next()?;
            }
            let mut directives = false;
            while self.scanner.peek()?.kind == Kind::Directive {
                self.scanner.next()?;
                directives = true;
            }
            let token = self.scanner.peek()?;
            match &token.kind {
                Kind::StreamEnd if !directives => return Ok(documents),
                Kind::DocumentStart => {
                    self.scanner.next()?;
                }
                // An end before any beginning.
                Kind::DocumentEnd if bare_allowed && !directives => {
                    let context = Some(("while parsing a block node", token.start));
                    return Err(failure("did not find expected node content", token.start, context));
                }
                _ if bare_allowed && !directives => {}
                _ => {
                    let error = failure("did not find expected <document start>", token.start, None);
                    return Err(YamlError { behind_document: true, ..error });
                }
            }
            bare_allowed = false;
            self.anchors.clear();
            documents.push(self.document()?);
        }
    }

    fn document(&mut self) -> Parsed {
        let token = self.scanner.peek()?;
        match token.kind {
            Kind::Directive | Kind::DocumentStart | Kind::DocumentEnd | Kind::StreamEnd => {
                let mark = token.start;
                self.empty(mark)
            }
            _ => self.node(true, false),
        }
    }

    fn count(&mut self, nodes: usize, at: Mark) -> Result<(), YamlError> {
        match self.nodes_left.checked_sub(nodes) {
            Some(left) => {
                self.nodes_left = left;
                Ok(())
            }
            None => Err(failure("repetition limit exceeded", at, None)),
        }
    }

    fn empty(&mut self, mark: Mark) -> Parsed {
        self.count(1, mark)?;
        Ok(Node { value: Data::Null, span: span(mark, mark) })
    }

    /// Parses a node whose meaning is a value.
    fn node(&mut self, block: bool, indentless: bool) -> Parsed {
        let fresh = match self.head(block, indentless)? {
            Head::Alias(node) => return Ok(node),
            Head::Fresh(fresh) => fresh,
        };
        let value = match fresh.raw {
            Raw::Done(data) => self.check_collection_tag(data, fresh.tag)?,
            Raw::Scalar(text, plain) => self.scalar_value(text, plain, fresh.tag, fresh.start)?,
        };
        Ok(self.finish(Node { value, span: fresh.span }, fresh.anchor))
    }

    fn finish(&mut self, node: Node, anchor: Option<String>) -> Node {
        if let Some(name) = anchor {
            let size = size_of(&node);
            self.anchors.insert(name, (node.clone(), size));
        }
        node
    }

    /// Parses properties and content.
    fn head(&mut self, block: bool, indentless: bool) -> Result<Head, YamlError> {
        if let Kind::Alias(name) = &self.scanner.peek()?.kind {
            let name = name.clone();
            let token = self.scanner.next()?;
            let Some((node, size)) = self.anchors.get(&name) else {
                return Err(failure("unknown anchor", token.start, None));
            };
            let (node, size) = (node.clone(), *size);
            self.count(size, token.start)?;
            return Ok(Head::Alias(node));
        }
        let properties = self.properties()?;
        let token = self.scanner.peek()?;
        let is_scalar = matches!(token.kind, Kind::Scalar(..));
        let token = if is_scalar { self.scanner.next()? } else { token.clone() };
        let start = properties.start.unwrap_or(token.start);
        self.count(1, start)?;
        let (raw, end) = match token.kind {
            Kind::BlockEntry if indentless => self.nested(token.start, Self::indentless_sequence)?,
            Kind::Scalar(text, plain) => (Raw::Scalar(text, plain), token.end),
            Kind::FlowSequenceStart => self.nested(token.start, Self::flow_sequence)?,
            Kind::FlowMappingStart => self.nested(token.start, Self::flow_mapping)?,
            Kind::BlockSequenceStart if block => self.nested(token.start, Self::block_sequence)?,
            Kind::BlockMappingStart if block => self.nested(token.start, Self::block_mapping)?,
            _ if properties.start.is_some() => (Raw::Scalar(String::new(), true), start),
            _ => {
                let context = if block { "while parsing a block node" } else { "while parsing a flow node" };
                let problem = "did not find expected node content";
                return Err(failure(problem, token.start, Some((context, start))));
            }
        };
        let Properties { anchor, tag, .. } = properties;
        Ok(Head::Fresh(Fresh { raw, anchor, tag, span: span(start, end), start }))
    }

    fn properties(&mut self) -> Result<Properties, YamlError> {
        let mut found = Properties::default();
        loop {
            let token = self.scanner.peek()?;
            match &token.kind {
                Kind::Anchor(_) if found.anchor.is_none() => {}
                Kind::Tag(_) if found.tag.is_none() => {}
                _ => return Ok(found),
            }
            let token = self.scanner.next()?;
            found.start.get_or_insert(token.start);
            match token.kind {
                Kind::Anchor(name) => found.anchor = Some(name),
                Kind::Tag(tag) => found.tag = Some((tag, token.start)),
                _ => {}
            }
        }
    }

    fn nested(
        &mut self,
        start: Mark,
        read: fn(&mut Self, Mark) -> Collection,
    ) -> Result<(Raw, Mark), YamlError> {
        if self.depth >= self.max_depth {
            return Err(failure("recursion limit exceeded", start, None));
        }
        self.depth += 1;
        let (data, end) = read(self, start)?;
        self.depth -= 1;
        Ok((Raw::Done(data), end))
    }

    // Collections. `start` is where the collection begins.

    fn item(
        &mut self,
        items: &mut Vec<Node>,
        read: impl FnOnce(&mut Self) -> Parsed,
    ) -> Result<(), YamlError> {
        self.path.push(Step::Index(items.len()));
        items.push(read(self)?);
        self.path.pop();
        Ok(())
    }

    fn block_sequence(&mut self, start: Mark) -> Collection {
        self.scanner.next()?;
        let mut items = Vec::new();
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                Kind::BlockEntry => {
                    let nothing = matches!(self.scanner.peek()?.kind, Kind::BlockEntry | Kind::BlockEnd);
                    self.item(
                        &mut items,
                        |c| if nothing { c.empty(token.end) } else { c.node(true, false) },
                    )?;
                }
                Kind::BlockEnd => return Ok((Data::List(items), token.end)),
                _ => {
                    let context = Some(("while parsing a block collection", start));
                    return Err(failure("did not find expected '-' indicator", token.start, context));
                }
            }
        }
    }

    /// A sequence under a key, not indented: it ends where no dash follows.
    fn indentless_sequence(&mut self, start: Mark) -> Collection {
        let mut items = Vec::new();
        let mut end = start;
        while self.scanner.peek()?.kind == Kind::BlockEntry {
            let token = self.scanner.next()?;
            end = token.end;
            let after = &self.scanner.peek()?.kind;
            let nothing = matches!(after, Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd);
            self.item(&mut items, |c| if nothing { c.empty(token.end) } else { c.node(true, false) })?;
        }
        Ok((Data::List(items), end))
    }

    fn block_mapping(&mut self, start: Mark) -> Collection {
        self.scanner.next()?;
        let ends = |kind: &Kind| matches!(kind, Kind::Key | Kind::Value | Kind::BlockEnd);
        let mut map = MapBuilder::default();
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                Kind::Key => {
                    self.later_key = !map.is_empty();
                    let entry = self.entry(token.end, true, ends)?;
                    self.insert(&mut map, entry)?;
                }
                Kind::BlockEnd => return Ok((map.finish(), token.end)),
                _ => {
                    let context = Some(("while parsing a block mapping", start));
                    return Err(failure("did not find expected key", token.start, context));
                }
            }
        }
    }

    /// Parses a key, which stands before a token that `ends` nothing, and its value.
    fn entry(&mut self, mark: Mark, block: bool, ends: fn(&Kind) -> bool) -> Result<MapEntry, YamlError> {
        let (key, key_span) = match ends(&self.scanner.peek()?.kind) {
            true => {
                self.text_key(&Data::Null, mark)?;
                (String::new(), span(mark, mark))
            }
            false => self.key(block)?,
        };
        self.path.push(Step::Key(key));
        let value = if self.scanner.peek()?.kind == Kind::Value {
            let token = self.scanner.next()?;
            match ends(&self.scanner.peek()?.kind) {
                true => self.empty(token.end)?,
                false => self.node(block, block)?,
            }
        } else {
            self.empty(mark)?
        };
        let key = match self.path.pop() {
            Some(Step::Key(key)) => key,
            _ => String::new(),
        };
        Ok(MapEntry { key, key_span, value })
    }

    /// Parses a key: scalars only, as their text.
    fn key(&mut self, block: bool) -> Result<(String, Span), YamlError> {
        let later = self.later_key;
        let head = self.head(block, block)?;
        self.later_key = later;
        let (text, span, anchor) = match head {
            Head::Alias(node) => match scalar_text(&node.value) {
                Some(text) => {
                    self.text_key(&node.value, Mark::default())?;
                    return Ok((text, node.span));
                }
                None => return Err(self.bad_key(&node.value, Mark::default())),
            },
            Head::Fresh(fresh) => match fresh.raw {
                Raw::Scalar(text, plain) => {
                    if self.strict_keys && plain && fresh.tag.is_none() {
                        self.text_key(&resolve::plain(&text).unwrap_or(Data::Null), fresh.start)?;
                    }
                    (text, fresh.span, fresh.anchor)
                }
                Raw::Done(data) => return Err(self.bad_key(&data, fresh.start)),
            },
        };
        if anchor.is_some() {
            self.finish(Node { value: Data::Str(text.clone()), span }, anchor);
        }
        Ok((text, span))
    }

    /// Where keys are strict, one that means something else than text is an error.
    fn text_key(&self, data: &Data, mark: Mark) -> Result<(), YamlError> {
        let kind = match data {
            _ if !self.strict_keys => return Ok(()),
            Data::Str(_) => return Ok(()),
            Data::Null => "null",
            Data::Bool(_) => "a bool",
            Data::Int(_) => "an integer",
            _ => "a float",
        };
        Err(failure(&format!("a key must be text, but this is {kind}: put it in quotes"), mark, None))
    }

    fn insert(&self, map: &mut MapBuilder, entry: MapEntry) -> Result<(), YamlError> {
        let Span { start, end, line, column } = entry.key_span;
        match map.insert(entry) {
            Some(first) if self.strict_keys => Err(YamlError {
                line,
                col: column,
                behind_document: false,
                message: format!(
                    "the key {} stands twice: first in line {}",
                    self.scanner.text.get(start..end).unwrap_or_default(),
                    first.line
                ),
            }),
            _ => Ok(()),
        }
    }

    fn bad_key(&self, data: &Data, mark: Mark) -> YamlError {
        let kind = if matches!(data, Data::List(_)) { "sequence" } else { "map" };
        let wanted = if self.later_key { "a string" } else { "a string key" };
        failure(&self.with_path(&format!("invalid type: {kind}, expected {wanted}")), mark, None)
    }

    fn flow_sequence(&mut self, start: Mark) -> Collection {
        self.scanner.next()?;
        let mut items = Vec::new();
        let mut first = true;
        loop {
            if !first && self.scanner.peek()?.kind != Kind::FlowSequenceEnd {
                let context = ("while parsing a flow sequence", start);
                self.flow_entry("did not find expected ',' or ']'", context)?;
            }
            first = false;
            let token = self.scanner.peek()?;
            let mark = token.start;
            match token.kind {
                Kind::FlowSequenceEnd => {
                    let end = self.scanner.next()?.end;
                    return Ok((Data::List(items), end));
                }
                Kind::Key => {
                    self.scanner.next()?;
                    self.item(&mut items, |c| c.single_pair(mark))?;
                }
                _ => self.item(&mut items, |c| c.node(false, false))?,
            }
        }
    }

    /// `[a: b]` holds a mapping of one entry.
    fn single_pair(&mut self, start: Mark) -> Parsed {
        let ends = |kind: &Kind| matches!(kind, Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd);
        self.count(1, start)?;
        let mut map = MapBuilder::default();
        let entry = self.entry(start, false, ends)?;
        let end = entry.value.span.end;
        map.insert(entry);
        Ok(Node { value: map.finish(), span: Span { end, ..span(start, start) } })
    }

    fn flow_mapping(&mut self, start: Mark) -> Collection {
        let ends = |kind: &Kind| matches!(kind, Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd);
        self.scanner.next()?;
        let mut map = MapBuilder::default();
        let mut first = true;
        loop {
            if !first && self.scanner.peek()?.kind != Kind::FlowMappingEnd {
                let context = ("while parsing a flow mapping", start);
                self.flow_entry("did not find expected ',' or '}'", context)?;
            }
            first = false;
            let token = self.scanner.peek()?;
            let mark = token.start;
            match token.kind {
                Kind::FlowMappingEnd => {
                    let end = self.scanner.next()?.end;
                    return Ok((map.finish(), end));
                }
                Kind::Key => {
                    self.scanner.next()?;
                    self.later_key = !map.is_empty();
                    let entry = self.entry(mark, false, ends)?;
                    self.insert(&mut map, entry)?;
                }
                _ => {
                    self.later_key = !map.is_empty();
                    let (key, key_span) = self.key(false)?;
                    let value = self.empty(mark)?;
                    self.insert(&mut map, MapEntry { key, key_span, value })?;
                }
            }
        }
    }

    fn flow_entry(&mut self, problem: &str, context: (&str, Mark)) -> Result<(), YamlError> {
        let Token { kind, start, .. } = self.scanner.next()?;
        match kind {
            Kind::FlowEntry => Ok(()),
            _ => Err(failure(problem, start, Some(context))),
        }
    }

    // Meaning.

    fn with_path(&self, what: &str) -> String {
        let mut path = String::new();
        for step in &self.path {
            // The reference has a point before every key but a first one, and before a first index.
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.push_str(&format!(".{key}")),
                Step::Index(i) if path.is_empty() => path.push_str(&format!(".[{i}]")),
                Step::Index(i) => path.push_str(&format!("[{i}]")),
            }
        }
        if path.is_empty() { what.to_owned() } else { format!("{path}: {what}") }
    }

    fn check_collection_tag(&self, data: Data, tag: Option<(String, Mark)>) -> Result<Data, YamlError> {
        match tag {
            Some((tag, mark)) if !tag.starts_with(YAML_TAG) => Err(self.custom_tag(mark)),
            _ => Ok(data),
        }
    }

    fn custom_tag(&self, mark: Mark) -> YamlError {
        failure(&self.with_path("invalid type: enum, expected any valid JSON value"), mark, None)
    }

    fn scalar_value(
        &self,
        text: String,
        plain: bool,
        tag: Option<(String, Mark)>,
        start: Mark,
    ) -> Result<Data, YamlError> {
        let wrong = |what: &str, mark: Mark| failure(&self.with_path(what), mark, None);
        let Some((tag, mark)) = tag else {
            return match plain {
                true => (self.plain)(&text).map_err(|what| wrong(&what, start)),
                false => Ok(Data::Str(text)),
            };
        };
        let Some(name) = tag.strip_prefix(YAML_TAG) else { return Err(self.custom_tag(mark)) };
        let (meaning, expected) = match name {
            "str" => return Ok(Data::Str(text)),
            "null" => (resolve::plain(&text).ok().filter(|d| *d == Data::Null), "null"),
            "bool" => (resolve::plain(&text).ok().filter(|d| matches!(d, Data::Bool(_))), "a boolean"),
            "int" => (resolve::integer(&text).map_err(|what| wrong(&what, mark))?, "an integer"),
            "float" => (resolve::float(&text).map(Data::Float), "a float"),
            _ => return Ok(Data::Str(text)),
        };
        meaning.ok_or_else(|| wrong(&format!("invalid value: string {text:?}, expected {expected}"), mark))
    }
}

fn span(start: Mark, end: Mark) -> Span {
    Span { start: start.index, end: end.index, line: start.line as u32 + 1, column: start.column as u32 + 1 }
}

/// The text of a scalar that an alias names, when it stands as a key.
fn scalar_text(data: &Data) -> Option<String> {
    Some(match data {
        Data::Null => "null".to_owned(),
        Data::Bool(b) => b.to_string(),
        Data::Int(i) => i.to_string(),
        Data::Float(f) => {
            let mut out = String::new();
            crate::number::push_float(&mut out, *f, false);
            out
        }
        Data::Str(text) => text.clone(),
        Data::List(_) | Data::Map(_) => return None,
    })
}

/// What copying a node costs: its nodes, and something for long texts.
fn size_of(node: &Node) -> usize {
    match &node.value {
        Data::List(items) => 1 + items.iter().map(size_of).sum::<usize>(),
        Data::Map(entries) => {
            1 + entries.iter().map(|e| 1 + e.key.len() / 64 + size_of(&e.value)).sum::<usize>()
        }
        Data::Str(text) => 1 + text.len() / 64,
        _ => 1,
    }
}
