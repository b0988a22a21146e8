//! Whose an object is: the annotations that say it, written with every apply and taken off when an object is given up.
//!
//! They are no part of the configuration: a record does not have them, and a plan does not show them. An object from before, which
//! has none, gets them with its next change; until then it is left as it is, so that an unchanged stack writes nothing.

use std::borrow::Cow;

use http::Method;
use kube_meaning::managed::Managed;
use kusion_model::{FieldPath, IMPORTED_ANNOTATION, OWNER_ANNOTATION, Ownership};
use kusion_runtime::{DeleteAsk, ErrorKind, RuntimeError};
use serde_json::{Map, Value, json};

use crate::border::{Written, written};
use crate::gone::Same;
use crate::runtime::{FIELD_MANAGER, KubeRuntime};

/// The annotations that are ours.
pub(crate) const MARKS: [&str; 2] = [OWNER_ANNOTATION, IMPORTED_ANNOTATION];
const JSON_PATCH: &str = "application/json-patch+json";
/// Controllers write at the same time.
const ROUNDS: usize = 5;

/// Reads whose an object is.
pub(crate) fn ownership(object: &Value) -> Option<Ownership> {
    let owner = annotation(object, OWNER_ANNOTATION)?;
    let imported = annotation(object, IMPORTED_ANNOTATION) == Some("true");
    Some(Ownership { owner: owner.to_owned(), imported })
}

fn annotation<'o>(object: &'o Value, name: &str) -> Option<&'o str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
}

/// Whether a change is about a mark of ours, which is nobody's business.
pub(crate) fn is_mark(path: &FieldPath) -> bool {
    MARKS.iter().any(|mark| *path == FieldPath::keys(["metadata", "annotations", *mark]))
}

impl KubeRuntime {
    /// Puts the marks on an object that is sent.
    pub(crate) fn mark(&self, object: &mut Value, imported: bool) {
        let Some(owner) = &self.owner else { return };
        set(object, OWNER_ANNOTATION, owner);
        if imported {
            set(object, IMPORTED_ANNOTATION, "true");
        }
    }

    /// Puts those marks on a wanted object that the live one has: then they make no difference, unless it is another's.
    pub(crate) fn mark_like(&self, object: &mut Cow<'_, Value>, live: &Value) {
        let Some(owner) = &self.owner else { return };
        if annotation(live, OWNER_ANNOTATION).is_some() {
            set(object.to_mut(), OWNER_ANNOTATION, owner);
        }
        if let Some(imported) = annotation(live, IMPORTED_ANNOTATION) {
            set(object.to_mut(), IMPORTED_ANNOTATION, imported);
        }
    }

    /// An object that another stack owns is not ours to delete.
    pub(crate) fn check_owner(&self, object: &Value) -> Result<(), RuntimeError> {
        match (ownership(object), &self.owner) {
            (Some(Ownership { owner, .. }), Some(us)) if owner != *us => Err(RuntimeError::new(
                ErrorKind::Owned,
                format!("it belongs to {owner} now, and is left alone"),
            )),
            _ => Ok(()),
        }
    }

    pub(crate) async fn release_one(&self, ask: DeleteAsk<'_>) -> Result<(), RuntimeError> {
        let Some((id, kind)) = self.recorded_kind(ask.key).await? else { return Ok(()) };
        let asked = kind.one(self.home_of(&id, ask.prior), &id.name);
        let path = format!("{}?fieldManager={FIELD_MANAGER}", asked.path());
        for _ in 0..ROUNDS {
            // What is gone, or another object of its name, is not ours to give up.
            let Same::Here(object) = self.read_same(&asked, ask.uid).await? else { return Ok(()) };
            if self.check_owner(&object).is_err() {
                return Ok(());
            }
            let body = serde_json::to_vec(&given_back(&object)).unwrap_or_default();
            let mut answer = self.api.call(Method::PATCH, &path, Some((JSON_PATCH, body))).await?;
            match written(&asked, &mut answer, Written::Stored) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind == ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
        }
        Err(RuntimeError::new(
            ErrorKind::Conflict,
            "others keep writing this object; it could not be released",
        ))
    }
}

fn set(object: &mut Value, name: &str, value: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(name.to_owned(), Value::String(value.to_owned()));
    }
}

/// The patch that takes our marks and our ownership of fields off; the resource version in it makes a race a conflict.
fn given_back(object: &Value) -> Value {
    let mut patch = Vec::new();
    for mark in MARKS.iter().filter(|mark| annotation(object, mark).is_some()) {
        let pointer = mark.replace('~', "~0").replace('/', "~1");
        patch.push(json!({"op": "remove", "path": format!("/metadata/annotations/{pointer}")}));
    }
    let mut managed = Managed::of(object);
    managed.entries.retain(|entry| entry.manager.name != FIELD_MANAGER);
    // An empty list would count as not said: one empty entry is how the server is told that nobody owns anything.
    let entries = if managed.entries.is_empty() { json!([{}]) } else { managed.to_json() };
    patch.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}));
    if let Some(version) = object.pointer("/metadata/resourceVersion") {
        patch.push(json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
    }
    Value::Array(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_has_no_trace_of_us() {
        let entry = |manager: &str| {
            json!({"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {"f:a": {}}}})
        };
        let object = json!({"metadata": {"resourceVersion": "7", "annotations": {OWNER_ANNOTATION: "a/b/c", "x": "y"},
            "managedFields": [entry("kusion"), entry("helm")]}});
        let patch = given_back(&object);
        assert_eq!(patch[0]["path"], "/metadata/annotations/kusion.io~1owner");
        let left = patch[1]["value"].as_array().unwrap();
        assert_eq!(left.iter().map(|entry| entry["manager"].as_str().unwrap()).collect::<Vec<_>>(), ["helm"]);
        assert_eq!(patch[2]["value"], "7");
    }
}
