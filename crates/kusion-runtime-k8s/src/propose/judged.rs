//! From the decision about a live object to the proposal: which fields a user is shown, and what the server is asked.

use kube_meaning::decide::{Change, Decision};
use kube_meaning::id::KubeId;
use kube_meaning::ssa::Target;
use kusion_model::{ConflictPolicy, FieldChange, Proposal, Proposed};
use kusion_runtime::{ProposeAsk, RuntimeError};
use serde_json::Value;

use super::{
    DryRunOf, Shown, clash_of, interrupted_import, note_conflicts, owns_anew, replace_with, unchanged,
    update, was_foreign,
};
use crate::conflict::{Clash, policy};
use crate::failure::refused;
use crate::handover::is_shared;
use crate::kinds::Kind;
use crate::redact::Sealer;

/// What is known about a live object once it was compared.
pub(super) struct Judged<'a> {
    pub(super) ask: &'a ProposeAsk<'a>,
    pub(super) id: &'a KubeId,
    pub(super) kind: &'a Kind,
    pub(super) target: Target<'a>,
    pub(super) current: &'a Value,
    /// What would be sent.
    pub(super) object: Value,
    /// Fields that are left to somebody else.
    pub(super) left: Vec<FieldChange>,
    pub(super) sealer: &'a Sealer<'a>,
}

impl Judged<'_> {
    pub(super) fn proposal(self, decision: Decision) -> Result<(Proposal, Option<DryRunOf>), RuntimeError> {
        let shown = Shown { live: self.current, import: self.ask.prior.is_none(), sealer: self.sealer };
        let half_imported = interrupted_import(self.ask) && is_shared(self.current);
        match decision {
            Decision::NoChange if half_imported => Ok((update(self.left), None)),
            Decision::NoChange => Ok((unchanged(self.left), None)),
            Decision::Refused(refusal) => Err(refused(&refusal.message)),
            Decision::Replace(replace) => {
                // By force, so that the server speaks about the fields and not about their owners.
                let whole = self.ask.desired.unknown.is_empty();
                let question = DryRunOf { whole, ..DryRunOf::of(self.id, self.object, true) };
                Ok((replace_with(replace, self.kind, &shown), Some(question)))
            }
            // The server would only book what others did before the first apply: nothing of ours changes.
            Decision::Change(Change { fields, conflicts })
                if fields.is_empty()
                    && conflicts.is_empty()
                    && !owns_anew(self.target, self.current, &self.object)
                    && !half_imported =>
            {
                Ok((unchanged(self.left), None))
            }
            Decision::Change(change) => Ok(self.change(change, &shown)),
        }
    }

    fn change(self, change: Change, shown: &Shown<'_>) -> (Proposal, Option<DryRunOf>) {
        let Judged { ask, object, .. } = self;
        let clashes: Vec<Clash> =
            change.conflicts.iter().filter_map(|conflict| clash_of(&object, conflict)).collect();
        let rule = |clash: &Clash| policy(clash, &self.kind.kind, ask.rules, was_foreign(ask));
        let mut changes: Vec<FieldChange> =
            change.fields.into_iter().map(|field| shown.change(field)).collect();
        note_conflicts(&mut changes, &clashes, &rule);
        changes.extend(self.left);
        let proposal = Proposal { changes, ..Proposal::of(Proposed::Update) };
        let refused = clashes.iter().any(|clash| rule(clash) == ConflictPolicy::Refuse);
        let open = !ask.desired.unknown.is_empty();
        let question = || DryRunOf::of(self.id, object, !clashes.is_empty());
        (proposal, (!refused && !open).then(question))
    }
}
