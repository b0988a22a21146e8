//! A replacement destroys, so the server has the last word on it, twice: that the live object cannot be changed in this way, and
//! that it would take the new one.
//!
//! The decision that an immutable field differs rests on one answer, which may have been cut short on its way. A definition that
//! came without its `spec` is no reason to delete it with every object of its kind.

use kusion_model::{Note, Observed, Proposal, Proposed};
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use super::DryRunOf;
use crate::kinds::Asked;
use crate::redact::Sealer;
use crate::runtime::{KubeRuntime, object_of};

/// Names of objects that are only asked about.
const CHECK_SUFFIX: &str = "-kusion-check";

impl KubeRuntime {
    pub(super) async fn dry_replace(
        &self,
        asked: &Asked<'_>,
        question: &DryRunOf,
        mut proposal: Proposal,
        live: Option<&Observed>,
        sealer: &Sealer<'_>,
    ) -> Result<Proposal, RuntimeError> {
        match self.dry_apply(asked, &question.object, question.force).await {
            // The server says it itself.
            Err(error) if error.kind == ErrorKind::Immutable => {}
            // It would change it in place: what it showed before was not the whole object.
            Ok(made) => {
                proposal.what = Proposed::Update;
                proposal.warnings.extend(made.warnings.iter().map(|text| sealer.clean(text)));
                let fixed = proposal.changes.iter_mut().filter(|change| change.note == Some(Note::Immutable));
                fixed.for_each(|change| change.note = None);
                return Ok(proposal);
            }
            // What is known only later was not sent, and the server may miss just that (the key of a list's item): then its
            // refusal says nothing about the change, and the rules alone decide, on an object that is surely whole.
            Err(error) if error.kind == ErrorKind::Invalid && !question.whole => {
                if let Some(field) = live.and_then(|live| absent(&object_of(live), &question.object)) {
                    let text = format!("the object came without its `{field}`, so nothing is known about it");
                    return Err(RuntimeError::new(ErrorKind::Unreadable, text));
                }
            }
            Err(error) => return Err(error),
        }
        let Some(new) = replacement(asked, question) else { return Ok(proposal) };
        match self.dry_apply(&asked.kind.one(asked.namespace, &new.name), &new.object, false).await {
            Ok(made) => {
                proposal.warnings.extend(made.warnings.iter().map(|text| sealer.clean(text)));
                Ok(proposal)
            }
            Err(error) if is_refused_replacement(&error) => {
                let message = error.message.replace(CHECK_SUFFIX, "");
                Err(RuntimeError::new(ErrorKind::Invalid, format!("the replacement is refused: {message}")))
            }
            // A replacement destroys: without an answer there is none.
            Err(error) if error.is_uncertain() => Err(error),
            Err(_) => Ok(proposal),
        }
    }
}

/// A replacement deletes first: the server must have accepted the new object before, under a name that is free.
fn replacement(asked: &Asked<'_>, question: &DryRunOf) -> Option<DryRunOf> {
    let name = format!("{}{CHECK_SUFFIX}", asked.name);
    let bound = matches!(&*asked.kind.kind, "CustomResourceDefinition" | "APIService" | "Namespace" | "Node");
    if bound || !question.whole || name.len() > 63 {
        return None;
    }
    let mut object = question.object.clone();
    *object.pointer_mut("/metadata/name")? = Value::String(name.clone());
    Some(DryRunOf { name, object, force: false, whole: true })
}

/// The first part (`spec`, `data`, ...) of the wanted object that a live one does not have at all.
fn absent(live: &Value, wanted: &Value) -> Option<String> {
    wanted.as_object()?.keys().find(|field| live.get(field.as_str()).is_none()).cloned()
}

fn is_refused_replacement(error: &RuntimeError) -> bool {
    error.kind == ErrorKind::Invalid && !is_held(error)
}

/// A port that the present object holds is free once that is gone.
pub(super) fn is_held(error: &RuntimeError) -> bool {
    error.kind == ErrorKind::Invalid && error.message.contains("already allocated")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn object_is_whole_if_it_has_every_part_that_is_wanted() {
        let wanted = json!({"kind": "Service", "metadata": {}, "spec": {"clusterIP": "None"}});
        let live = json!({"kind": "Service", "metadata": {}, "spec": {}, "status": {}});
        assert_eq!(absent(&live, &wanted), None);
        let cut = json!({"kind": "Service", "metadata": {}});
        assert_eq!(absent(&cut, &wanted).as_deref(), Some("spec"));
    }
}
