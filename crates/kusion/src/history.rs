//! Questions about releases: where to go back to, what has drifted.

use kusion_model::{Phase, Plan, Reason, ReleaseNo, Spec, Step};
use kusion_plan::rollback_spec;
use kusion_store::{StackStore, State, StoreError};

/// The newest release before the latest one that succeeded: where a plain rollback goes.
#[must_use]
pub fn previous_good(state: &State) -> Option<ReleaseNo> {
    let latest = state.latest()?.no;
    let good = |no: &&ReleaseNo| **no < latest && state.releases[*no].phase == Phase::Succeeded;
    state.releases.keys().rev().find(good).copied()
}

/// The Spec of a past release, from its records.
///
/// # Errors
/// A release that does not exist or can no longer be rebuilt.
pub async fn rollback_target(store: &StackStore, to: ReleaseNo) -> Result<Spec, StoreError> {
    let records = store.state_at(to).await?;
    Ok(rollback_spec(&records))
}

/// The steps of a plan of the recorded state that the world has caused.
#[must_use]
pub fn drifted(plan: &Plan) -> Vec<&Step> {
    plan.steps.iter().filter(|step| is_drift(step)).collect()
}

/// The other steps of such a plan, which end what the last release has begun: objects that are only half made, and objects that
/// were replaced and are still there.
#[must_use]
pub fn unfinished(plan: &Plan) -> Vec<&Step> {
    let is_left = |step: &&Step| matches!(step.reason, Reason::Tainted | Reason::LeftBehind);
    plan.steps.iter().filter(|step| is_left(step) && !is_drift(step)).collect()
}

fn is_drift(step: &Step) -> bool {
    step.drift || matches!(step.reason, Reason::DeletedOutside | Reason::OwnedBy(_))
}
