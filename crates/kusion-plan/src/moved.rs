//! Whether a saved plan still says the truth.
//!
//! Versions of live objects move all the time (a controller writes status), so plans are compared by what they do.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{Action, Attr, FieldChange, FieldPath, Plan, Reason, ResourceKey, Step};

/// One step that would be different today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub key: ResourceKey,
    pub what: String,
}

/// Compares a saved plan with one made now from the same sources; empty means that it can be applied as it is.
///
/// The order of the steps is not compared: it follows from what is compared and from the engine, and the plan that is carried
/// out is the one that was made now.
#[must_use]
pub fn moved_since(saved: &Plan, now: &Plan) -> Vec<Moved> {
    let today: BTreeMap<&ResourceKey, &Step> = now.steps.iter().map(|step| (&step.key, step)).collect();
    let mut moved = Vec::new();
    for step in &saved.steps {
        match today.get(&step.key) {
            None if step.is_change() => moved.push(of(step, "is not part of the plan any more".to_owned())),
            Some(other) if other.action != step.action => {
                moved.push(of(
                    step,
                    format!("was {}, would now be {} ({})", step.action, other.action, other.reason),
                ));
            }
            Some(other) if owner(step) != owner(other) => {
                moved.push(of(step, format!("was {}, now it {}", step.reason, other.reason)));
            }
            Some(other) if elsewhere(step, other) => {
                moved.push(of(step, "its id leaves the place open, and means another one now".to_owned()));
            }
            Some(other) if destroys(step) && step.live_uid != other.live_uid => {
                moved.push(of(step, "was made anew since".to_owned()));
            }
            Some(other) if step.old_goes_first() != other.old_goes_first() => {
                let first = if other.old_goes_first() { "old" } else { "new" };
                moved.push(of(
                    step,
                    format!("is still to be replaced, but now with the {first} object first"),
                ));
            }
            Some(other) if what_changes(step) != what_changes(other) => {
                moved.push(of(step, "other fields differ now".to_owned()));
            }
            Some(other) if step.desired != other.desired => {
                moved.push(of(step, "the configuration asks for something else now".to_owned()));
            }
            _ => {}
        }
    }
    let known: BTreeSet<&ResourceKey> = saved.steps.iter().map(|step| &step.key).collect();
    for step in now.steps.iter().filter(|step| step.is_change() && !known.contains(&step.key)) {
        moved.push(of(step, format!("was not in the plan, would now be {}", step.action)));
    }
    moved
}

/// The other stack that a step has to do with.
fn owner(step: &Step) -> Option<&str> {
    match &step.reason {
        Reason::OwnedBy(owner) | Reason::TakenOver(owner) => Some(owner),
        _ => None,
    }
}

/// Whether the platform means another object now. Plans from before do not say which one they mean.
fn elsewhere(saved: &Step, now: &Step) -> bool {
    matches!((&saved.kept, &now.kept), (Some(then), Some(now)) if then != now)
}

fn destroys(step: &Step) -> bool {
    matches!(step.action, Action::Delete | Action::Replace)
}

fn of(step: &Step, what: String) -> Moved {
    Moved { key: step.key.clone(), what }
}

fn what_changes(step: &Step) -> Vec<(&FieldPath, &Option<Attr>, &Option<Attr>)> {
    step.changes
        .iter()
        .filter(|change| change.is_effective())
        .map(|FieldChange { path, before, after, .. }| (path, before, after))
        .collect()
}
