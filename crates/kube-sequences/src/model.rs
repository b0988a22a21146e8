//! The same sequence on our own meaning of Kubernetes, compared step by step with the real server's answers.
//!
//! In: requests and the server's outcomes, live or recorded. Out: agreement or a [`Difference`] per step.
//! After a difference the model goes on from the server's object, so that one mistake is counted once.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use kube_meaning::schema::Schema;
use kube_meaning::service::{Pool, allocate, hide};
use kube_meaning::ssa::Target;
use kube_meaning::status::Refusal;
use kube_meaning::write::{Verb, Writer, write, write_stored};
use serde_json::{Value, json};

use crate::{Kind, Operation, Request, definition, normal};

const NOW: &str = "2026-01-01T00:00:00Z";
const UID: &str = "00000000-0000-4000-8000-000000000000";

/// How a step differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Another HTTP status.
    Code,
    /// The server's validation refuses (422) what the model accepts.
    Validation,
    /// The same status with another reason, message or causes.
    Words,
    /// Another object.
    Object,
    /// The same object with other owners.
    Owners,
    /// One wrote where the other saw no change.
    Unchanged,
}

/// One step on which model and server disagree.
#[derive(Debug, Clone)]
pub struct Difference {
    pub class: Class,
    pub request: Request,
    /// Ours and the server's, normalised.
    pub ours: Value,
    pub theirs: Value,
}

impl Difference {
    /// Where the two sides differ: a line per path, ours first.
    pub fn lines(&self) -> Vec<String> {
        lines(&self.ours, &self.theirs)
    }
}

/// Where two values differ: a line per path, ours first.
pub fn lines(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = vec![(String::new(), Some(ours), Some(theirs))];
    while let Some((path, ours, theirs)) = open.pop() {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours == theirs => {}
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
                open.extend(
                    keys.iter().map(|key| (format!("{path}.{key}"), ours.get(*key), theirs.get(*key))),
                );
            }
            (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
                let length = ours.len().max(theirs.len());
                open.extend((0..length).map(|n| (format!("{path}[{n}]"), ours.get(n), theirs.get(n))));
            }
            (ours, theirs) => {
                let text = |side: Option<&Value>| side.map_or("nothing".to_owned(), Value::to_string);
                lines.push(format!("{path}: {} ≠ {}", text(ours), text(theirs)));
            }
        }
    }
    lines.sort();
    lines
}

/// What a step came to, on either side: status and object or error.
pub struct Answer<'a> {
    pub code: u16,
    pub outcome: &'a Result<Value, Value>,
    pub unchanged: bool,
}

/// One object in the model's hands.
pub struct Model {
    schema: &'static Schema,
    kind: &'static Kind,
    live: Option<Value>,
}

impl Model {
    /// No object yet.
    pub fn new(kind: &'static Kind) -> Result<Self, String> {
        let schema = if kind.kind == "Widget" { custom_schema()? } else { kube_meaning::builtin() };
        Ok(Self { schema, kind, live: None })
    }

    /// Does the request and compares.
    pub fn step(&mut self, request: &Request, theirs: &Answer<'_>) -> Result<(), Box<Difference>> {
        let ours = self.write(request);
        let difference = compare(request, &ours, theirs);
        match (&difference, ours.0) {
            (None, Ok((object, _, _))) => self.live = Some(object),
            (None, Err(_)) => {}
            (Some(_), _) => {
                if let Ok(object) = theirs.outcome {
                    self.live = Some(with_identity(object));
                }
            }
        }
        difference.map_or(Ok(()), |difference| Err(Box::new(difference)))
    }

    fn write(&self, request: &Request) -> Ours {
        let (group, version) = kube_meaning::schema::split_api_version(&self.kind.api_version);
        let Some(resource) = self.schema.resource(group, version, &self.kind.kind) else {
            return Ours(Err(json!({"code": 404, "message": "no such resource in the model"})));
        };
        let subresource = request.subresource.as_deref().unwrap_or_default();
        let target = Target { schema: self.schema, resource, subresource };
        let body = &request.body;
        let verb = match request.operation {
            Operation::Create => Verb::Create(body),
            Operation::Apply => Verb::Apply(body),
            Operation::Update => Verb::Update(body),
            Operation::MergePatch => Verb::MergePatch(body),
            Operation::JsonPatch => Verb::JsonPatch(body),
            Operation::StrategicPatch => Verb::StrategicPatch(body),
        };
        let mut admit = |object: &mut Value, live: Option<&Value>| admit(Some("sequences"), object, live);
        let by =
            Writer { manager: &request.manager, force: request.force, now: NOW, uid: UID, admit: &mut admit };
        match write_stored(target, self.live.as_ref(), verb, by) {
            Ok(written) => Ours(Ok((written.object, written.created, written.unchanged))),
            Err(refusal) => Ours(Err(status(&refusal))),
        }
    }
}

/// What the model makes of a new object of a built-in kind, by manager `sample`: normalised object or error.
pub fn create(body: &Value) -> Result<Value, Value> {
    let schema = kube_meaning::builtin();
    let Some(resource) = schema.resource_of(body) else {
        return Err(json!({"code": 404, "message": "no such resource in the model"}));
    };
    let namespace = resource.namespaced.then_some("samples");
    let mut admit = |object: &mut Value, live: Option<&Value>| admit(namespace, object, live);
    let by = Writer { manager: "sample", force: false, now: NOW, uid: UID, admit: &mut admit };
    let written = write(Target::main(schema, resource), None, Verb::Create(body), by);
    written.map(|written| normal::object(&written.object)).map_err(|refusal| status(&refusal))
}

/// Object, created, unchanged; or the error.
struct Ours(Result<(Value, bool, bool), Value>);

/// What the API server does around a write that is not meaning: the namespace of the path, an address for a Service.
fn admit(namespace: Option<&str>, object: &mut Value, live: Option<&Value>) -> Result<(), Refusal> {
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    match object["kind"] == "Service" {
        true => allocate(object, live, &mut OneAddress),
        false => Ok(()),
    }
}

/// Addresses are drawn by the server: a fixed one here, as in normalised answers.
struct OneAddress;

impl Pool for OneAddress {
    fn address(&mut self) -> String {
        "10.96.0.1".into()
    }

    fn node_port(&mut self) -> u16 {
        30000
    }
}

fn custom_schema() -> Result<&'static Schema, String> {
    static SCHEMA: OnceLock<Option<Schema>> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| kube_meaning::crd::schema_of(definition()));
    schema.as_ref().ok_or_else(|| "the model cannot read the definition of the custom kind".into())
}

fn status(refusal: &Refusal) -> Value {
    normal::error(&refusal.to_json())
}

/// A normalised object as a stored one: with the identity that was taken away.
fn with_identity(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["uid"] = json!(UID);
    object["metadata"]["creationTimestamp"] = json!(NOW);
    if let Some(entries) = object["metadata"].get_mut("managedFields").and_then(Value::as_array_mut) {
        for entry in entries {
            entry["time"] = json!(NOW);
        }
    }
    object
}

fn compare(request: &Request, ours: &Ours, theirs: &Answer<'_>) -> Option<Difference> {
    let differs = |class, ours: Value, theirs: Value| {
        Some(Difference { class, request: request.clone(), ours, theirs })
    };
    match (&ours.0, theirs.outcome) {
        (Ok((object, created, unchanged)), Ok(expected)) => {
            let object = normal::object(&shown(request, object));
            let code = if *created { 201 } else { 200 };
            if without_owners(&object) != without_owners(expected) {
                return differs(Class::Object, object, expected.clone());
            }
            if object != *expected {
                return differs(Class::Owners, owners(&object), owners(expected));
            }
            if code != theirs.code {
                return differs(Class::Code, json!(code), json!(theirs.code));
            }
            if *unchanged != theirs.unchanged {
                return differs(Class::Unchanged, json!(unchanged), json!(theirs.unchanged));
            }
            None
        }
        (Err(error), Err(expected)) if error["code"] == expected["code"] => {
            if error == expected {
                return None;
            }
            differs(Class::Words, error.clone(), expected.clone())
        }
        (Ok((object, _, _)), Err(expected)) => {
            let class = if theirs.code == 422 { Class::Validation } else { Class::Code };
            differs(class, normal::object(&shown(request, object)), expected.clone())
        }
        (Err(error), Err(expected)) | (Err(error), Ok(expected)) => {
            differs(Class::Code, error.clone(), expected.clone())
        }
    }
}

/// What an answer shows of a stored object. The status path shows all of it.
fn shown(request: &Request, object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "Service" && request.subresource.is_none() {
        hide(&mut object);
    }
    object
}

fn owners(object: &Value) -> Value {
    object.pointer("/metadata/managedFields").cloned().unwrap_or_default()
}

fn without_owners(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    object
}
