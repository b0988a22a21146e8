//! Which object a write may land on: a create on none, an update on the one that was planned.
//!
//! A server-side apply makes what is missing and changes what is there, whoever made it. Two fields of its body are preconditions
//! that the server compares in the step that writes: a `resourceVersion` that no object can have lets it create only, a `uid`
//! keeps it from anything but that object. So a stack that comes second finds out without having changed anything, and no request
//! more is sent when all is well.

use std::sync::PoisonError;

use kube_meaning::managed::Managed;
use kusion_model::Action;
use kusion_runtime::{ErrorKind, RuntimeError, WriteAsk};
use serde_json::Value;

use crate::gone::Same;
use crate::kinds::Asked;
use crate::owner::ownership;
use crate::runtime::{FIELD_MANAGER, KubeRuntime};

/// The store begins to count at one, and its first write is the second: no object has this version.
const NO_VERSION: &str = "1";

/// The object that a write is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// None: it is made by this write.
    New,
    /// The one with this uid.
    This(String),
    /// Whatever has the name.
    Any,
}

impl Claim {
    /// Who marks no object as its own could not tell later what it has made.
    pub(crate) fn of(ask: &WriteAsk<'_>, has_owner: bool) -> Claim {
        match (ask.action, ask.uid) {
            _ if !has_owner => Claim::Any,
            (Action::Create | Action::Replace, _) => Claim::New,
            (_, Some(uid)) => Claim::This(uid.to_owned()),
            (_, None) => Claim::Any,
        }
    }

    /// Puts the precondition into a body.
    pub(crate) fn stamp(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        metadata.remove("resourceVersion");
        metadata.remove("uid");
        match self {
            Claim::New => metadata.insert("resourceVersion".into(), NO_VERSION.into()),
            Claim::This(uid) => metadata.insert("uid".into(), uid.clone().into()),
            Claim::Any => None,
        };
    }

    /// Whether a refusal may be about the precondition. A conflict of managers tells a create that something is there.
    pub(crate) fn may_be_why(&self, error: &RuntimeError) -> bool {
        match self {
            Claim::New => matches!(error.kind, ErrorKind::Conflict | ErrorKind::Owned),
            Claim::This(_) => matches!(error.kind, ErrorKind::Conflict | ErrorKind::Immutable),
            Claim::Any => false,
        }
    }
}

impl KubeRuntime {
    /// A write was refused: the object that it is for now, or why it is for none.
    pub(crate) async fn claim_again(
        &self,
        asked: &Asked<'_>,
        claim: &Claim,
        refusal: RuntimeError,
    ) -> Result<Claim, RuntimeError> {
        let uid = if let Claim::This(uid) = claim { Some(uid.as_str()) } else { None };
        let object = match self.read_same(asked, uid).await? {
            // It was deleted since we looked, and is made again.
            Same::Gone => return Ok(Claim::New),
            // It is the one that was meant: the refusal is about something else.
            Same::Here(_) if uid.is_some() => return Err(refusal),
            Same::Here(object) | Same::MadeAnew(object) => object,
        };
        let found = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let claim = Claim::This(found.to_owned());
        match ownership(&object).map(|found| found.owner) {
            // Made by a write of ours whose answer was lost.
            Some(owner) if Some(&owner) == self.owner.as_ref() => Ok(claim),
            Some(owner) => {
                Err(owned(&format!("{owner} created it meanwhile"), "keep it in one of the two stacks"))
            }
            // Controllers furnish a new namespace while we do.
            None if asked.kind.namespaced && self.is_coming(asked.namespace) => Ok(claim),
            None => Err(owned(
                &format!("{} created it after this plan was made", managers(&object)),
                "plan again: it is shown as an import",
            )),
        }
    }

    fn is_coming(&self, namespace: &str) -> bool {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner).namespaces.contains(namespace)
    }
}

fn owned(what: &str, next: &str) -> RuntimeError {
    RuntimeError::new(ErrorKind::Owned, format!("{what}, and it is left as it is; {next}"))
}

/// Who has written an object, its status apart.
fn managers(object: &Value) -> String {
    let managed = Managed::of(object);
    let mut names: Vec<&str> = Vec::new();
    for entry in managed.entries.iter().filter(|entry| entry.manager.subresource.is_empty()) {
        if entry.manager.name != FIELD_MANAGER && !names.contains(&&*entry.manager.name) {
            names.push(&entry.manager.name);
        }
    }
    if names.is_empty() { "somebody".to_owned() } else { names.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn precondition_stands_in_the_metadata_and_goes_with_its_claim() {
        let mut object = json!({"metadata": {"name": "a"}});
        Claim::New.stamp(&mut object);
        assert_eq!(object["metadata"], json!({"name": "a", "resourceVersion": "1"}));
        Claim::This("u".into()).stamp(&mut object);
        assert_eq!(object["metadata"], json!({"name": "a", "uid": "u"}));
        Claim::Any.stamp(&mut object);
        assert_eq!(object["metadata"], json!({"name": "a"}));
    }

    #[test]
    fn writers_are_named_once_and_writers_of_the_status_are_not() {
        let entry = |manager: &str, part: &str| {
            json!({"manager": manager, "operation": "Update", "apiVersion": "v1",
            "subresource": part, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}})
        };
        let object = json!({"metadata": {"managedFields":
            [entry("kubectl-create", ""), entry("helm", ""), entry("kubectl-create", ""), entry("kubelet", "status")]}});
        let told = managers(&object);
        assert!(told == "kubectl-create and helm" || told == "helm and kubectl-create", "{told}");
        assert_eq!(managers(&json!({})), "somebody");
    }
}
