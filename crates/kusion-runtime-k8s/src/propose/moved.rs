//! An id that means another namespace than it did when its object was made: the old object goes, and a new one is made.

use kube_meaning::id::KubeId;
use kusion_model::{FieldChange, FieldPath, Mover, Note, Proposal, Proposed};
use kusion_runtime::{ErrorKind, ProposeAsk, RuntimeError};
use serde_json::Value;

use super::replaced::is_held;
use super::{Coming, lost};
use crate::kinds::Kind;
use crate::owner::ownership;
use crate::redact::Sealer;
use crate::runtime::{KubeRuntime, object_of};

impl KubeRuntime {
    /// The namespace in which the object is, or was, if its id means another one now.
    pub(super) fn moved_from(&self, ask: &ProposeAsk<'_>, id: &KubeId, kind: &Kind) -> Option<String> {
        if id.namespace.is_some() || !kind.namespaced {
            return None;
        }
        let from = match ask.live {
            Some(live) => object_of(live).pointer("/metadata/namespace")?.as_str()?.to_owned(),
            None => self.home(ask.prior).to_owned(),
        };
        (from != self.namespace).then_some(from)
    }

    /// Proposes to delete the object where it is and to make it where its id means now; nothing if there is none to delete.
    pub(super) async fn propose_move(
        &self,
        ask: &ProposeAsk<'_>,
        id: &KubeId,
        kind: &Kind,
        from: &str,
        coming: &Coming,
        sealer: &Sealer<'_>,
    ) -> Result<Option<Proposal>, RuntimeError> {
        let asked = kind.one(&self.namespace, &id.name);
        if let Some(found) = self.api.object(&asked).await? {
            // One with our mark was made by a release that was cut off: it is taken up.
            let ours = ownership(&found).is_some_and(|mark| Some(&mark.owner) == self.owner.as_ref());
            if !ours {
                return Err(taken(from, &self.namespace));
            }
        }
        let Some(live) = ask.live else { return Ok(None) };
        // A move destroys: the server is asked for the new object however the plan is made.
        let mut warnings = Vec::new();
        match self.ask_new(ask, id, kind, coming)? {
            None => self.check_home(&self.namespace, coming).await?,
            Some(question) => match self.dry_apply(&asked, &question.object, question.force).await {
                Ok(made) => warnings = made.warnings.iter().map(|text| sealer.clean(text)).collect(),
                Err(error) if is_held(&error) => {}
                Err(error) => return Err(error),
            },
        }
        let path = FieldPath::keys(["metadata", "namespace"]);
        let text = |namespace: &str| Some(Value::from(namespace).into());
        let mut change = FieldChange::new(path.clone(), text(from), text(&self.namespace), Mover::Ours);
        change.note = Some(Note::Immutable);
        let mut changes = vec![change];
        // What the server would have to say about changing the old object does not count: that one goes.
        let others = self.judge_live(ask, id, kind, live, sealer).map(|(other, _)| other.changes);
        let differs = |change: &FieldChange| change.path != path && change.before != change.after;
        changes.extend(others.unwrap_or_default().into_iter().filter(differs).map(|mut change| {
            change.note = None;
            change
        }));
        let lost = lost(&kind.kind).map(str::to_owned);
        let what = Proposed::Replace { because: vec![path], lost, create_first: false };
        Ok(Some(Proposal { changes, warnings, ..Proposal::of(what) }))
    }
}

fn taken(from: &str, to: &str) -> RuntimeError {
    let text = format!(
        "it was made in namespace `{from}`; its id names none, the context means `{to}`, and somebody else has an object of this \
         name there. Write the namespace that is meant: metadata.namespace"
    );
    RuntimeError::new(ErrorKind::Owned, text)
}
