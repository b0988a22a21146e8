//! One document against its schema.

use std::sync::Arc;

use base_diag::{Code, Diagnostic, Label, Place, SourceMap, Span, Telling};
use base_yaml::{Data, Node};
use ecow::EcoString as Str;
use kcl::{Compiler, Entry, Formats, Outside, Request};
use kcl_syntax::program::Program;

use crate::choice::{Choice, binds, choose, package_of, parts};
use crate::data::{Document, Format, Source};
use crate::kinds::{Kind, Kinds};
use crate::statement::{Assigned, Imports, SchemaName};

/// What the caller wants.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The variable that holds the data.
    pub attribute: String,
    /// The schema: a name of the code (`S`, `pkg.S`), or of a package (`k8s.apps.v1.Deployment`). None is the first of the code.
    pub schema: Option<String>,
    /// Packages in which schemas are looked for.
    pub packages: Vec<String>,
    /// Choose the schema of each document by its `apiVersion` and `kind`.
    pub by_kind: bool,
    /// Return the data with the defaults of the schema.
    pub fill: bool,
}

impl Default for Wish {
    fn default() -> Self {
        let (schema, packages) = (None, Vec::new());
        Wish { attribute: "value".into(), schema, packages, by_kind: false, fill: false }
    }
}

/// What is wrong with the code, before any data is looked at.
#[derive(Debug)]
pub struct WrongCode {
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts for rendering.
    pub sources: SourceMap,
}

/// What became of a document.
#[derive(Debug)]
pub struct Verdict {
    /// What is wrong with it, the reference's first error first; empty if it holds.
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the data, which says what in `diagnostics` is about it.
    text: Arc<str>,
    /// Texts for rendering.
    pub sources: SourceMap,
    /// What `print` wrote.
    pub log: String,
    /// The data with its defaults, if it holds and that was asked for.
    pub filled: Option<kcl::Data>,
}

impl Verdict {
    /// Returns true if the document holds.
    pub fn is_ok(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Returns true if an error of this verdict is one of the code alone: it stays whatever the document says.
    pub fn is_of_code(&self, diagnostic: &Diagnostic) -> bool {
        let in_data = |label: &Label| is_in(label.place, &self.sources, &self.text);
        diagnostic.code != Code::EVALUATION && !diagnostic.labels.iter().any(in_data)
    }
}

/// The code and the schema that documents are checked against; any number of threads use it.
pub struct Vet<'c, 'f> {
    compiler: &'c Compiler<'f>,
    request: Request,
    attribute: Str,
    choice: Choice,
    fill: bool,
}

impl<'c, 'f> Vet<'c, 'f> {
    /// Looks at the code: `request` has its files, which may be none if the schema is one of a package.
    ///
    /// # Errors
    /// The code does not parse, a package is not there, or no schema is what was asked for.
    pub fn new(compiler: &'c Compiler<'f>, request: Request, wish: &Wish) -> Result<Self, WrongCode> {
        let mut packages: Vec<Vec<Str>> = wish.packages.iter().map(|path| parts(path)).collect();
        let asked = wish.schema.as_deref().and_then(package_of).filter(|path| !packages.contains(path));
        if request.entries.is_empty() {
            packages.extend(asked.clone());
        }
        let mut program = look(compiler, &request, &packages)?;
        if let Some(path) = asked.filter(|path| !packages.contains(path) && !binds(&program, path)) {
            packages.push(path);
            program = look(compiler, &request, &packages)?;
        }
        let choice = choose(&program, wish, &packages)
            .map_err(|diagnostic| WrongCode { diagnostics: vec![*diagnostic], sources: program.sources })?;
        let formats = if wish.fill { Formats::DATA } else { Formats::NONE };
        let request = Request { formats, keep_going: true, ..request };
        Ok(Vet { compiler, request, attribute: wish.attribute.as_str().into(), choice, fill: wish.fill })
    }

    /// Returns the documents as they are checked: where each object says what it is, those of a list are documents of their own, and
    /// so are the `items` of a `List`.
    pub fn split(&self, documents: Vec<Document>) -> Vec<Document> {
        let Choice::ByKind(kinds) = &self.choice else { return documents };
        let mut all = Vec::with_capacity(documents.len());
        documents.into_iter().for_each(|document| kinds.split(document, &mut all));
        all
    }

    /// Checks one document of a source.
    pub fn check(&self, source: &Source, document: &Document, world: &dyn Outside) -> Verdict {
        let schema = match self.schema_of(source, &document.node) {
            Ok(schema) => schema,
            Err(verdict) => return *verdict,
        };
        let statement = Assigned {
            attribute: self.attribute.clone(),
            schema: schema.clone(),
            node: document.node.clone(),
            // The reference reads JSON so, which shows in the order of errors. What is printed keeps its order.
            by_key: source.format == Format::Json && !self.fill,
        };
        let mut request = self.request.clone();
        request.entries.push(Entry::Made {
            path: source.path.clone(),
            text: source.text.clone(),
            statements: Arc::new(statement),
        });
        let mut outcome = self.compiler.run(&request, world);
        if outcome.diagnostics.iter().any(|d| d.code == Code::EVALUATION) {
            // Only now is it worth knowing where every value came from.
            request.track_origins = true;
            outcome = self.compiler.run(&request, world);
        }
        let filled = match outcome.documents.first_mut() {
            Some(kcl::Data::Map(entries)) if self.fill && outcome.diagnostics.is_empty() => {
                let at = entries.iter().position(|(name, _)| *name == self.attribute);
                at.map(|at| entries.swap_remove(at).1)
            }
            _ => None,
        };
        let mut verdict = Verdict {
            diagnostics: outcome.diagnostics,
            text: source.text.clone(),
            sources: outcome.sources,
            log: outcome.log,
            filled,
        };
        let document = &document.node;
        verdict.diagnostics.iter_mut().for_each(|d| in_data(d, &mut verdict.sources, source, document));
        if schema != SchemaName::None {
            scalars(source, document, &mut verdict);
        }
        verdict
    }

    fn schema_of(&self, source: &Source, node: &Node) -> Result<SchemaName, Box<Verdict>> {
        let kinds = match &self.choice {
            Choice::One(schema) => return Ok(schema.clone()),
            Choice::ByKind(kinds) => kinds,
        };
        let refuse = |message: String, help: String| {
            let mut sources = SourceMap::default();
            let file = sources.add(source.path.clone(), source.text.clone());
            let place = Place::Span(file, span(node));
            let diagnostic = Diagnostic::error(Code::EVALUATION, "no-schema", place, message).with_help(help);
            let (diagnostics, text) = (vec![diagnostic], source.text.clone());
            Box::new(Verdict { diagnostics, text, sources, log: String::new(), filled: None })
        };
        let Some(kind) = Kind::of(node) else {
            let message = "the document does not say what it is: apiVersion and kind are to be texts";
            return Err(refuse(
                message.to_owned(),
                "-s names a schema for documents without them".to_owned(),
            ));
        };
        match kinds.get(&kind) {
            [one] => Ok(one.clone()),
            [] => Err(refuse(format!("there is no schema for {kind}"), nearest(kinds, &kind))),
            several => {
                let names: Vec<String> = several.iter().map(shown).collect();
                let help = format!("these fix it: {}; name one with -s", names.join(", "));
                Err(refuse(format!("there are {} schemas for {kind}", several.len()), help))
            }
        }
    }
}

/// Loads the code alone: what does not parse is told once, not for each document.
fn look(compiler: &Compiler<'_>, request: &Request, packages: &[Vec<Str>]) -> Result<Program, WrongCode> {
    let mut request = request.clone();
    let asked: Arc<str> = "".into();
    if !packages.is_empty() {
        request.entries.push(Entry::Made {
            path: "packages".into(),
            text: asked.clone(),
            statements: Arc::new(Imports(packages.to_vec())),
        });
    }
    let loaded = compiler.load(&request);
    if loaded.diagnostics.is_empty() {
        return Ok(loaded.program);
    }
    let (mut diagnostics, sources) = (loaded.diagnostics, loaded.program.sources);
    for label in diagnostics.iter_mut().flat_map(|diagnostic| &mut diagnostic.labels) {
        // The command line asked for the package: there is no line to show.
        if let Place::Span(file, _) | Place::Line(file, _) = label.place
            && sources.get(file).is_some_and(|file| Arc::ptr_eq(&file.text, &asked))
        {
            label.place = Place::None;
        }
    }
    Err(WrongCode { diagnostics, sources })
}

fn shown(name: &SchemaName) -> String {
    match name {
        SchemaName::None => String::new(),
        SchemaName::Known(parts) => parts.join("."),
        SchemaName::Imported { package, name } => format!("{}.{name}", package.join(".")),
    }
}

/// The kinds whose name or group is the one that was meant.
fn nearest(kinds: &Kinds, wanted: &Kind) -> String {
    let known = kinds.known();
    let near = |kind: &&&Kind| kind.kind == wanted.kind || kind.api_version == wanted.api_version;
    let close: Vec<String> = known.iter().filter(near).take(6).map(ToString::to_string).collect();
    match close.is_empty() {
        true => format!("the packages have schemas for {} kinds, for example {}", known.len(), known[0]),
        false => format!("there are schemas for {}", close.join(", ")),
    }
}

fn span(node: &Node) -> Span {
    Span::new(node.span.start as u32, node.span.end as u32)
}

fn is_in(place: Place, sources: &SourceMap, text: &Arc<str>) -> bool {
    match place {
        Place::Span(file, _) | Place::Line(file, _) => {
            sources.get(file).is_some_and(|file| Arc::ptr_eq(&file.text, text))
        }
        Place::None => false,
    }
}

/// A rule that cannot be computed is told at the data that it is about, with the rule beside it. What says nothing about
/// the data, as an empty mapping that lacks a value, is told at the document.
fn in_data(diagnostic: &mut Diagnostic, sources: &mut SourceMap, source: &Source, document: &Node) {
    let is_data = |place: Place| is_in(place, sources, &source.text);
    if is_data(diagnostic.place()) || diagnostic.code != Code::EVALUATION {
        return;
    }
    let mut labels = diagnostic.labels.clone();
    let data = match labels.iter().position(|label| is_data(label.place)) {
        Some(at) => labels.remove(at),
        // An assertion of the code says by itself what it is about.
        None if diagnostic.id == "assertion-failed" => return,
        None => {
            let start = Span::new(document.span.start as u32, document.span.start as u32 + 1);
            let place = Place::Span(sources.add(source.path.clone(), source.text.clone()), start);
            Label { place, message: "in this document".to_owned() }
        }
    };
    labels.insert(0, data);
    let title = diagnostic.title().to_owned();
    diagnostic.telling = Some(Telling { title, labels });
}

/// What is neither a mapping nor a list of them is no instance of any schema.
fn scalars(source: &Source, node: &Node, verdict: &mut Verdict) {
    let mut found = Vec::new();
    find_scalars(node, &mut found);
    if found.is_empty() {
        return;
    }
    let file = verdict.sources.add(source.path.clone(), source.text.clone());
    for node in found {
        let kind = match &node.value {
            Data::Null => "null",
            Data::Bool(_) => "a bool",
            Data::Int(_) => "an integer",
            Data::Float(_) => "a float",
            _ => "a text",
        };
        let message = format!("expected a mapping, got {kind}");
        let title = format!("an instance of a schema is a mapping, but this is {kind}");
        let place = Place::Span(file, span(node));
        let diagnostic = Diagnostic::error(Code::TYPE, "not-a-mapping", place, message);
        verdict.diagnostics.push(diagnostic.with_telling(Telling { title, labels: Vec::new() }));
    }
}

fn find_scalars<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    match &node.value {
        Data::Map(_) => {}
        Data::List(items) => items.iter().for_each(|item| find_scalars(item, found)),
        _ => found.push(node),
    }
}
