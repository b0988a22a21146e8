//! Texts to documents with places.

use std::sync::Arc;

use base_diag::{Code, Diagnostic, FileId, Place, SourceMap, Span, Telling};
use base_yaml::{Data, Limits, Node, YamlError};

/// How data is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One value.
    Json,
    /// A stream of documents.
    Yaml,
    /// One table.
    Toml,
}

impl Format {
    /// Returns the format that a name or the ending of a file means.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "json" => Some(Format::Json),
            "yaml" | "yml" => Some(Format::Yaml),
            "toml" => Some(Format::Toml),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Json => "JSON",
            Format::Yaml => "YAML",
            Format::Toml => "TOML",
        }
    }
}

/// One document of a text.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its number in the stream, from 1; empty documents count.
    pub number: usize,
    /// What it says.
    pub node: Arc<Node>,
}

/// A text and its documents.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub path: String,
    /// The whole text.
    pub text: Arc<str>,
    /// How it is written.
    pub format: Format,
    /// What stands in it; empty documents are left out.
    pub documents: Vec<Document>,
}

/// Why a text is no data.
#[derive(Debug)]
pub struct Unreadable {
    /// What is wrong.
    pub diagnostic: Box<Diagnostic>,
    /// The text, for rendering.
    pub sources: SourceMap,
}

/// Bounds of what is read: aliases cannot make more nodes than this, nor nest deeper.
const LIMITS: Limits = Limits { depth: 128, nodes: 4_000_000, strict_keys: true, long_integers: false };

/// What is wrong with a text: where, and in which words.
pub(crate) struct Mistake {
    pub(crate) at: usize,
    pub(crate) what: String,
}

impl Source {
    /// Reads a text.
    ///
    /// # Errors
    /// The text is not in that format, or says nothing.
    pub fn new(path: impl Into<String>, text: Arc<str>, format: Format) -> Result<Source, Unreadable> {
        let path = path.into();
        match read(&text, format) {
            Ok(documents) => Ok(Source { path, text, format, documents }),
            Err(mistake) => Err(unreadable(path, text, format, mistake)),
        }
    }
}

fn read(text: &str, format: Format) -> Result<Vec<Document>, Mistake> {
    let nodes = match format {
        Format::Json => vec![base_yaml::parse_json(text, &LIMITS).map_err(|e| mistake(text, &e))?],
        Format::Yaml => {
            let mut documents = base_yaml::parse_documents(text, &LIMITS).map_err(|e| mistake(text, &e))?;
            documents.iter_mut().for_each(crate::merge::resolve);
            documents
        }
        Format::Toml => vec![crate::tables::read(text)?],
    };
    let numbered = nodes.into_iter().enumerate();
    let said = numbered.filter(|(_, node)| node.value != Data::Null || node.span.start != node.span.end);
    let documents: Vec<Document> =
        said.map(|(at, node)| Document { number: at + 1, node: Arc::new(node) }).collect();
    match documents.is_empty() {
        true => Err(Mistake { at: 0, what: "there is nothing in it".to_owned() }),
        false => documents.into_iter().map(finite).collect(),
    }
}

/// The language has no infinite numbers.
fn finite(document: Document) -> Result<Document, Mistake> {
    match infinite(&document.node) {
        Some(node) => Err(Mistake { at: node.span.start, what: "a number must be finite".to_owned() }),
        None => Ok(document),
    }
}

fn infinite(node: &Node) -> Option<&Node> {
    match &node.value {
        Data::Float(f) if !f.is_finite() => Some(node),
        Data::List(items) => items.iter().find_map(infinite),
        Data::Map(entries) => entries.iter().find_map(|entry| infinite(&entry.value)),
        _ => None,
    }
}

/// The reader's message has its place in words; people are shown the place itself.
fn mistake(text: &str, error: &YamlError) -> Mistake {
    let what = match error.message.find(" at line ") {
        Some(end) => error.message[..end].to_owned(),
        None => error.message.clone(),
    };
    Mistake { at: offset(text, error.line, error.col), what }
}

/// The byte of a line and column, both from 1.
fn offset(text: &str, line: u32, column: u32) -> usize {
    let line_start =
        text.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum::<usize>();
    let rest = text.get(line_start..).unwrap_or_default();
    let in_line = rest.char_indices().nth(column.saturating_sub(1) as usize).map_or(rest.len(), |(at, _)| at);
    line_start + in_line
}

fn unreadable(path: String, text: Arc<str>, format: Format, mistake: Mistake) -> Unreadable {
    let mut sources = SourceMap::default();
    let at = mistake.at.min(text.len()) as u32;
    let file = sources.add(path, text);
    Unreadable { diagnostic: Box::new(told(file, at, format, &mistake.what)), sources }
}

fn told(file: FileId, at: u32, format: Format, what: &str) -> Diagnostic {
    let message = format!("Failed to Load {}", format.name());
    let title = format!("this is not {}: {what}", format.name());
    Diagnostic::error(Code::SYNTAX, "bad-data", Place::Span(file, Span::new(at, at + 1)), message)
        .with_telling(Telling { title, labels: Vec::new() })
}
