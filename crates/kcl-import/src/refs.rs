//! References: where `$ref` leads, over files.

use std::collections::BTreeMap;

use base_yaml::{Data, Limits, MapEntry, Node, parse_documents, parse_json};

use crate::Input;
use crate::object::finite;

/// How many files one import may read.
const MAX_FILES: usize = 200;

/// Where definitions stand.
pub(crate) const SECTIONS: [&str; 2] = ["$defs", "definitions"];

/// Where something stands: a document and the pointer in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Spot {
    /// Which document.
    pub(crate) document: usize,
    /// JSON pointer in it; empty for the whole.
    pub(crate) pointer: String,
}

/// The documents of an import.
pub(crate) struct Documents<'a> {
    input: &'a Input<'a>,
    roots: Vec<Node>,
    /// Paths from the folder of the input.
    paths: Vec<String>,
    by_path: BTreeMap<String, usize>,
}

impl<'a> Documents<'a> {
    pub(crate) fn new(input: &'a Input<'a>) -> Result<Self, String> {
        Ok(Documents::of(input, parse(&input.name, &input.text)?))
    }

    /// Documents of an input that was read already.
    pub(crate) fn of(input: &'a Input<'a>, root: Node) -> Self {
        let own = input.name.rsplit('/').next().unwrap_or(&input.name).to_owned();
        let by_path = BTreeMap::from([(own.clone(), 0)]);
        Documents { input, roots: vec![root], paths: vec![own], by_path }
    }

    pub(crate) fn root(&self) -> &Node {
        &self.roots[0]
    }

    pub(crate) fn name(&self, document: usize) -> &str {
        &self.paths[document]
    }

    /// Whether words beside a `$ref` count: not up to draft 7, and not in OpenAPI 2 and 3.0.
    pub(crate) fn has_siblings(&self, document: usize) -> bool {
        let says = |word: &str, olds: &[&str]| match self.roots[document].get(word).map(|node| &node.value) {
            Some(Data::Str(text)) => olds.iter().any(|old| text.contains(old)),
            _ => false,
        };
        let draft = ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"];
        !says("$schema", &draft)
            && self.roots[document].get("swagger").is_none()
            && !says("openapi", &["3.0"])
    }

    /// Follows a reference of a document.
    pub(crate) fn find(&mut self, from: usize, reference: &str) -> Result<Spot, String> {
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if let Some(inside) = self.embedded(from, file) {
            return Ok(Spot { document: from, pointer: inside + &percent_decoded(fragment) });
        }
        let own = id(&self.roots[from]);
        let is_own = file.is_empty() || own.is_some_and(|id| id.trim_end_matches('#') == file);
        // What has an address beside our own stands beside us.
        let folder = own.and_then(|id| Some(&id[..=id.rfind('/')?])).filter(|folder| folder.contains("://"));
        let beside = folder.and_then(|folder| file.strip_prefix(folder)).unwrap_or(file).to_owned();
        let document = if is_own { from } else { self.open(from, &beside, reference)? };
        let mut pointer = percent_decoded(fragment);
        // Many write the root so; strictly it is a member without a name.
        if pointer == "/" && self.roots[document].get("").is_none() {
            pointer.clear();
        }
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return self
                .anchor(document, &pointer)
                .ok_or_else(|| format!("`{reference}` leads nowhere: there is no such anchor"));
        }
        let spot = Spot { document, pointer };
        match self.node(&spot) {
            Some(_) => Ok(spot),
            None => Err(format!("`{reference}` leads nowhere in {}", self.paths[document])),
        }
    }

    /// The pointer to a definition that has an address of its own, which is the one that is wanted.
    fn embedded(&self, document: usize, file: &str) -> Option<String> {
        let root = &self.roots[document];
        if file.is_empty() || id(root) == Some(file) {
            return None;
        }
        let base = id(root).and_then(|id| Some(&id[..=id.rfind('/')?])).unwrap_or_default();
        let absolute = |id: &str| if id.contains("://") { id.to_owned() } else { format!("{base}{id}") };
        for section in SECTIONS {
            let Some(Data::Map(entries)) = root.get(section).map(|s| &s.value) else { continue };
            let wanted =
                |entry: &&MapEntry| id(&entry.value).is_some_and(|id| absolute(id) == absolute(file));
            if let Some(entry) = entries.iter().find(wanted) {
                return Some(format!("/{section}/{}", entry.key.replace('~', "~0").replace('/', "~1")));
            }
        }
        None
    }

    /// Returns what stands at a spot.
    pub(crate) fn node(&self, spot: &Spot) -> Option<&Node> {
        let mut node = &self.roots[spot.document];
        for part in spot.pointer.split('/').skip(1) {
            let key = part.replace("~1", "/").replace("~0", "~");
            node = match &node.value {
                Data::List(items) => items.get(key.parse::<usize>().ok()?)?,
                _ => node.get(&key)?,
            };
        }
        Some(node)
    }

    fn anchor(&self, document: usize, name: &str) -> Option<Spot> {
        for section in SECTIONS {
            let Some(Data::Map(entries)) = self.roots[document].get(section).map(|s| &s.value) else {
                continue;
            };
            for entry in entries {
                let anchor = entry.value.get("$anchor").or_else(|| entry.value.get("$id"));
                if matches!(anchor.map(|a| &a.value), Some(Data::Str(a)) if a.trim_start_matches('#') == name)
                {
                    let key = entry.key.replace('~', "~0").replace('/', "~1");
                    return Some(Spot { document, pointer: format!("/{section}/{key}") });
                }
            }
        }
        None
    }

    fn open(&mut self, from: usize, file: &str, reference: &str) -> Result<usize, String> {
        if file.contains("://") || file.starts_with("//") {
            return Err(format!("`{reference}` is on the network: download it beside the input"));
        }
        let folder = self.paths[from].rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = joined(folder, file)
            .ok_or_else(|| format!("`{reference}` leads out of the input's folder: refused"))?;
        if let Some(known) = self.by_path.get(&path) {
            return Ok(*known);
        }
        if self.roots.len() >= MAX_FILES {
            return Err(format!("more than {MAX_FILES} files are referred to"));
        }
        // An address often has no ending where a file has one.
        let read = (self.input.load)(&path).map(|text| (path.clone(), text)).or_else(|message| {
            let named = format!("{path}.json");
            (self.input.load)(&named).map(|text| (named, text)).map_err(|_| message)
        });
        let (path, text) = read.map_err(|message| format!("`{reference}`: {message}"))?;
        if let Some(known) = self.by_path.get(&path) {
            return Ok(*known);
        }
        self.roots.push(parse(&path, &text)?);
        self.paths.push(path.clone());
        self.by_path.insert(path, self.roots.len() - 1);
        Ok(self.roots.len() - 1)
    }
}

/// The address that a schema gives itself.
fn id(node: &Node) -> Option<&str> {
    match node.get("$id").or_else(|| node.get("id")).map(|id| &id.value) {
        Some(Data::Str(id)) => Some(id),
        _ => None,
    }
}

/// Reads JSON or YAML.
pub(crate) fn parse(name: &str, text: &str) -> Result<Node, String> {
    let limits = Limits::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    if looks_like_json {
        match parse_json(text, &limits) {
            Ok(node) => return finite(name, &node).map(|()| node),
            Err(error) if name.ends_with(".json") => return Err(format!("{name}: {error}")),
            Err(_) => {}
        }
    }
    let mut documents = parse_documents(text, &limits).map_err(|error| format!("{name}: {error}"))?;
    match documents.len() {
        1 => {
            let node = documents.remove(0);
            finite(name, &node).map(|()| node)
        }
        n => Err(format!("{name} has {n} documents: one is expected")),
    }
}

/// A path in the folder of the input; none if it leads out of it.
pub(crate) fn joined(folder: &str, file: &str) -> Option<String> {
    if file.starts_with('/') || file.contains('\\') || file.contains(':') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        out.push(hex.unwrap_or(bytes[at]));
        at += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}
