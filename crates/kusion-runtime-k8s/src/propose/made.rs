//! An object that is made: whether the server would take it, asked where it can be, judged here where it cannot.

use std::borrow::Cow;

use kube_meaning::id::KubeId;
use kube_meaning::write::{Verb, Writer, write};
use kusion_model::Proposal;
use kusion_runtime::{DryRun, ErrorKind, ProposeAsk, RuntimeError};
use serde_json::Value;

use super::{Coming, DryRunOf, exposed};
use crate::failure::refused;
use crate::kinds::{Kind, builtin_kind};
use crate::runtime::{FIELD_MANAGER, KubeRuntime};

impl KubeRuntime {
    /// A new object needs a namespace. Where the server is asked about creates it says so itself; otherwise it is looked up here,
    /// so that a plan is refused alike whoever makes it.
    pub(super) async fn check_home(&self, namespace: &str, coming: &Coming) -> Result<(), RuntimeError> {
        if coming.namespaces.contains(namespace) {
            return Ok(());
        }
        let mut homes = self.homes.lock().await;
        let known = homes.get(namespace).copied();
        let there = match (known, builtin_kind("v1", "Namespace")) {
            (Some(known), _) => known,
            (None, None) => true,
            (None, Some(namespaces)) => match self.api.object(&namespaces.one("", namespace)).await {
                Ok(found) => found.is_some(),
                // Who may not read namespaces may still write in them.
                Err(error) if error.kind == ErrorKind::Forbidden => true,
                Err(error) => return Err(error),
            },
        };
        homes.insert(namespace.to_owned(), there);
        match there {
            true => Ok(()),
            false => {
                let text = format!("namespaces \"{namespace}\" not found");
                Err(RuntimeError::new(ErrorKind::ParentMissing, text))
            }
        }
    }

    pub(super) fn judge_new(
        &self,
        ask: &ProposeAsk<'_>,
        id: &KubeId,
        kind: &Kind,
        coming: &Coming,
    ) -> Result<(Proposal, Option<DryRunOf>), RuntimeError> {
        let question = match self.ask_new(ask, id, kind, coming)? {
            Some(question) if self.dry_run == DryRun::Updates => {
                check_locally(kind, &question.object)?;
                None
            }
            question => question,
        };
        Ok((Proposal::create(), question))
    }

    /// Whether the server would make an object. It can be asked only later where a value is not known yet, and where the namespace
    /// or the kind comes with the plan.
    pub(super) fn ask_new(
        &self,
        ask: &ProposeAsk<'_>,
        id: &KubeId,
        kind: &Kind,
        coming: &Coming,
    ) -> Result<Option<DryRunOf>, RuntimeError> {
        if !ask.desired.unknown.is_empty() {
            return Ok(None);
        }
        let mut object = Cow::Owned(exposed(&ask.desired.attributes)?);
        kind.settle(&mut object);
        let object = object.into_owned();
        let homeless = kind.namespaced && coming.namespaces.contains(self.namespace_of(id));
        let kindless = coming.kinds.contains(&(id.api_version.clone(), id.kind.clone()));
        if homeless || kindless {
            check_locally(kind, &object)?;
            return Ok(None);
        }
        Ok(Some(DryRunOf::of(id, object, false)))
    }
}

fn check_locally(kind: &Kind, object: &Value) -> Result<(), RuntimeError> {
    let Some(target) = kind.target() else { return Ok(()) };
    let mut admit = |_: &mut Value, _: Option<&Value>| Ok(());
    let (now, uid) = ("1970-01-01T00:00:00Z", "00000000-0000-0000-0000-000000000000");
    let by = Writer { manager: FIELD_MANAGER, force: false, now, uid, admit: &mut admit };
    match write(target, None, Verb::Apply(object), by) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(refused(&refusal.message)),
    }
}
