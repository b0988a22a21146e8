//! The checks before any kind rule, and the order in which rules are asked.
//!
//! Problem: every kind shares the same first questions: is it being deleted, has its controller seen this generation, did
//! the user give a rule? In: an object with its context. Out: the verdict. Invariant: first match wins; no input panics.

use crate::context::Context;
use crate::profile::Profile;
use crate::rules::Rules;
use crate::snapshot::{Snapshot, flatten};
use crate::time::Millis;
use crate::verdict::{Grade, Verdict};
use crate::view::{View, lenient_integer};
use crate::{custom, deletion, id, kinds, mask, rules};
use serde_json::Value;

/// Judges one object. `now` is the clock of a wait; `None` for files and one-shot checks.
pub fn judge(object: &Value, snapshot: &Snapshot, profile: &Profile, now: Option<Millis>) -> Verdict {
    judge_with(object, snapshot, profile, None, now)
}

/// Judges one object with the user's own rules for custom kinds.
pub fn judge_with(
    object: &Value,
    snapshot: &Snapshot,
    profile: &Profile,
    rules: Option<&Rules>,
    now: Option<Millis>,
) -> Verdict {
    let verdict = judge_in(View(object), &Context { snapshot, profile, rules, now, depth: 0 });
    let verdict = without_pods(verdict, View(object), snapshot);
    mask::hide_in(verdict, snapshot.redactor())
}

/// Judges every object of a snapshot, in input order.
pub fn judge_all<'s>(
    snapshot: &'s Snapshot,
    profile: &Profile,
    rules: Option<&Rules>,
    now: Option<Millis>,
) -> Vec<(&'s Value, Verdict)> {
    let judged = |object| (object, judge_with(object, snapshot, profile, rules, now));
    snapshot.objects().map(judged).collect()
}

/// Judges the objects of one input offline: the array `kusion health -o json` prints.
pub fn judge_input(objects: impl IntoIterator<Item = Value>, rules: Option<&Rules>) -> Vec<Value> {
    let snapshot = Snapshot::of(flatten(objects));
    let profile = Profile::default();
    let rows = judge_all(&snapshot, &profile, rules, None);
    rows.into_iter().map(|(object, verdict)| verdict.to_json(&id::object_id(object))).collect()
}

pub(crate) fn judge_in(object: View<'_>, context: &Context<'_>) -> Verdict {
    if object.get("/metadata/deletionTimestamp").is_some() {
        return deletion::judge(object, context);
    }
    if let (Some(seen), Some(current)) = (observed_generation(object), object.generation())
        && seen < current
    {
        let message = format!("generation {current} is not observed yet, only {seen}");
        return Verdict::progressing("SpecNotObserved", message);
    }
    if let Some(verdict) = rules::judge(object, context) {
        return verdict;
    }
    let verdict = kinds::judge(object, context).unwrap_or_else(|| custom::judge(object, context));
    at_least_its_own_words(verdict, object)
}

/// Only pods tell why a workload is not well. Where they may not be read, that is said: a count of pods is no cause.
fn without_pods(verdict: Verdict, object: View<'_>, snapshot: &Snapshot) -> Verdict {
    const WITH_PODS: [&str; 6] =
        ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"];
    let hidden = snapshot.hidden("Pod", object.namespace());
    let Some(why) = hidden.filter(|_| !verdict.verdict.is_good() && WITH_PODS.contains(&object.kind()))
    else {
        return verdict;
    };
    let own = verdict.cause.as_ref().map(|cause| format!("{cause}; ")).unwrap_or_default();
    verdict
        .because(format!("{own}why cannot be seen, its pods may not be read: {why}"))
        .then("ask for the right to list pods, or let somebody look who has it")
}

/// A failure always has a cause: where nothing better is known, what the object says of itself.
fn at_least_its_own_words(verdict: Verdict, object: View<'_>) -> Verdict {
    if verdict.verdict != Grade::Failed || verdict.cause.is_some() {
        return verdict;
    }
    let said = match verdict.message.trim() {
        "" => format!("{} reports {}", object.short(), verdict.reason),
        text => format!("{}: {text}", object.short()),
    };
    verdict.because(said)
}

/// `status.observedGeneration` as a number; some custom kinds write it as text.
pub(crate) fn observed_generation(object: View<'_>) -> Option<i64> {
    object.get("/status/observedGeneration").and_then(lenient_integer)
}

/// Has the controller seen the object at all? For kinds whose controller always says so.
pub(crate) fn observed(object: View<'_>) -> bool {
    observed_generation(object).is_some_and(|seen| seen > 0)
}

/// The verdict for an object that is not there after it was applied; a Job that removes itself counts by its last state.
pub fn judge_absent(
    last: Option<&Value>,
    snapshot: &Snapshot,
    profile: &Profile,
    now: Option<Millis>,
) -> Verdict {
    if let Some(object) = last {
        let view = View(object);
        let expires = view.kind() == "Job" && view.get("/spec/ttlSecondsAfterFinished").is_some();
        if expires {
            let verdict = judge(object, snapshot, profile, now);
            if matches!(verdict.verdict, Grade::Healthy | Grade::Failed) {
                return verdict.note("removed after its time to live");
            }
        }
    }
    Verdict::failed("Gone", "it does not exist any more")
        .because("somebody or something deleted it after it was applied")
        .then("find out who deletes it (another tool, a controller), then apply again")
}

/// The verdict when the server refuses to show the object.
pub fn judge_forbidden(message: &str) -> Verdict {
    Verdict::unknown("Forbidden", message).because(format!("it may not be read: {message}"))
}

/// The verdict when the server does not know the kind.
pub fn judge_no_kind(api_version: &str, kind: &str) -> Verdict {
    let message = format!("the server has no kind {kind} in {api_version}");
    Verdict::failed("NoKind", &*message).because(message).then("install its CustomResourceDefinition first")
}
