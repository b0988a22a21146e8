//! Import: the fields that a former tool wrote and we now apply become ours alone.
//!
//! Server-side apply shares a field between all who set it to one value, so a field that we drop later would stay for ever
//! because `kubectl-client-side-apply` or `helm` still owns it. What the configuration does not mention stays theirs: an import
//! loses nothing. kubectl's last-applied annotation is not touched; it belongs to the tool that reads it.

use http::Method;
use kube_meaning::managed::{Entry, Managed, Operation};
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::{Value, json};

use crate::apply::Made;
use crate::border::{Written, written};
use crate::conflict::is_former_tool;
use crate::kinds::Asked;
use crate::runtime::{FIELD_MANAGER, KubeRuntime};

const JSON_PATCH: &str = "application/json-patch+json";
/// Controllers write at the same time; somebody who always loses is told so.
const ROUNDS: usize = 5;
const SHARED: &str = "fields are still shared with the tool that made the object before";

impl KubeRuntime {
    /// Takes the former tools out of the owners of our fields. Returns the object as it is afterwards.
    pub(crate) async fn take_from_former_tools(
        &self,
        asked: &Asked<'_>,
        mut made: Made,
    ) -> Result<Made, RuntimeError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}", asked.path());
        for _ in 0..ROUNDS {
            let Some(patch) = handover(&made.object) else { return Ok(made) };
            let body = Some((JSON_PATCH, serde_json::to_vec(&patch).unwrap_or_default()));
            let mut answer = self.api.call(Method::PATCH, &path, body).await?;
            match written(asked, &mut answer, Written::Stored) {
                Ok(object) => return Ok(Made { object, ..made }),
                Err(error) if error.kind == ErrorKind::Conflict => {}
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    made.warnings.push(format!("{SHARED}: {}", error.message));
                    return Ok(made);
                }
            }
            let now = self.api.object(asked).await?;
            made.object = now.ok_or_else(|| {
                RuntimeError::new(ErrorKind::NotFound, "it was deleted by somebody else meanwhile")
            })?;
        }
        made.warnings.push(SHARED.to_owned());
        Ok(made)
    }
}

/// Whether a former tool still owns what we apply too.
pub(crate) fn is_shared(object: &Value) -> bool {
    handover(object).is_some()
}

/// The patch that makes the shared fields ours alone; `None` if none is shared. The resource version in it makes a race a
/// conflict.
fn handover(object: &Value) -> Option<Value> {
    let mut managed = Managed::of(object);
    let ours = managed.entries.iter().find(|entry| is_ours(entry))?.fields.clone();
    let mut shared = false;
    for entry in managed.entries.iter_mut().filter(|entry| is_former(entry)) {
        let left = entry.fields.difference(&ours);
        shared |= left != entry.fields;
        entry.fields = left;
    }
    if !shared {
        return None;
    }
    managed.entries.retain(|entry| !entry.fields.is_empty());
    let version = object.pointer("/metadata/resourceVersion")?;
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": managed.to_json()},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]))
}

fn is_ours(entry: &Entry) -> bool {
    let manager = &entry.manager;
    manager.name == FIELD_MANAGER && manager.operation == Operation::Apply && manager.subresource.is_empty()
}

fn is_former(entry: &Entry) -> bool {
    entry.manager.subresource.is_empty() && is_former_tool(&entry.manager.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn object(entries: Value) -> Value {
        json!({"metadata": {"resourceVersion": "7", "managedFields": entries}})
    }

    #[test]
    fn what_is_shared_becomes_ours_and_the_rest_stays() {
        let both = json!({"f:data": {"f:a": {}, "f:b": {}}});
        let one = json!({"f:data": {"f:a": {}}});
        let patch = handover(&object(json!([
            entry("kubectl-client-side-apply", "Update", both.clone()),
            entry("kubectl-edit", "Update", one.clone()),
            entry("kusion", "Apply", one.clone()),
        ])))
        .unwrap();
        let left = patch[0]["value"].as_array().unwrap();
        let fields: Vec<(&str, &Value)> =
            left.iter().map(|entry| (entry["manager"].as_str().unwrap(), &entry["fieldsV1"])).collect();
        let rest = json!({"f:data": {"f:b": {}}});
        assert_eq!(fields, [("kusion", &one), ("kubectl-client-side-apply", &rest), ("kubectl-edit", &one)]);
        assert_eq!(patch[1]["value"], "7", "a race is a conflict");
    }

    #[test]
    fn who_has_nothing_left_is_gone_and_nothing_shared_asks_nothing() {
        let fields = json!({"f:data": {"f:a": {}}});
        let shared =
            object(json!([entry("helm", "Apply", fields.clone()), entry("kusion", "Apply", fields.clone())]));
        assert_eq!(handover(&shared).unwrap()[0]["value"].as_array().unwrap().len(), 1);
        assert_eq!(handover(&object(json!([entry("kusion", "Apply", fields.clone())]))), None);
        let strangers =
            object(json!([entry("argocd", "Apply", fields.clone()), entry("kusion", "Apply", fields)]));
        assert_eq!(handover(&strangers), None);
    }
}
