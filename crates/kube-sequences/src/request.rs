//! One write: who, how, what.

use serde_json::{Map, Value, json};

use crate::Kind;

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create,
    Apply,
    Update,
    MergePatch,
    JsonPatch,
    StrategicPatch,
}

const NAMES: [(Operation, &str); 6] = [
    (Operation::Create, "create"),
    (Operation::Apply, "apply"),
    (Operation::Update, "update"),
    (Operation::MergePatch, "merge"),
    (Operation::JsonPatch, "json"),
    (Operation::StrategicPatch, "strategic"),
];

impl Operation {
    /// The word used in recordings.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(operation, _)| *operation == self).map(|(_, name)| *name).unwrap_or_default()
    }

    /// The operation of that word.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, word)| *word == name).map(|(operation, _)| *operation)
    }

    /// HTTP method and content type.
    fn protocol(self) -> (&'static str, &'static str) {
        match self {
            Self::Create => ("POST", "application/json"),
            Self::Update => ("PUT", "application/json"),
            Self::Apply => ("PATCH", "application/apply-patch+yaml"),
            Self::MergePatch => ("PATCH", "application/merge-patch+json"),
            Self::JsonPatch => ("PATCH", "application/json-patch+json"),
            Self::StrategicPatch => ("PATCH", "application/strategic-merge-patch+json"),
        }
    }
}

/// One write by one manager.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub manager: String,
    pub operation: Operation,
    /// `status` or `scale`.
    pub subresource: Option<String>,
    pub force: bool,
    pub body: Value,
}

impl Request {
    /// As fields of a recorded step.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut step = Map::new();
        step.insert("manager".into(), json!(self.manager));
        step.insert("op".into(), json!(self.operation.name()));
        if let Some(subresource) = &self.subresource {
            step.insert("subresource".into(), json!(subresource));
        }
        if self.force {
            step.insert("force".into(), json!(true));
        }
        step.insert("body".into(), self.body.clone());
        step
    }

    /// From a recorded step.
    pub fn from_json(step: &Value) -> Option<Self> {
        Some(Self {
            manager: step.get("manager")?.as_str()?.to_owned(),
            operation: Operation::from_name(step.get("op")?.as_str()?)?,
            subresource: step.get("subresource").and_then(Value::as_str).map(str::to_owned),
            force: step.get("force") == Some(&Value::Bool(true)),
            body: step.get("body")?.clone(),
        })
    }

    /// Method, path with query, content type.
    pub fn http(&self, kind: &Kind, namespace: &str, name: &str) -> (&'static str, String, &'static str) {
        let (method, content_type) = self.operation.protocol();
        let named = (self.operation != Operation::Create).then_some(name);
        let mut path = kind.path(namespace, named);
        if let Some(subresource) = &self.subresource {
            path.push('/');
            path.push_str(subresource);
        }
        path.push_str(&format!("?fieldManager={}", self.manager));
        if self.force {
            path.push_str("&force=true");
        }
        (method, path, content_type)
    }
}
