//! The rule for kinds nobody wrote a rule for: well-known conditions, then phase words, then numbers.
//!
//! In: a custom object. Out: its verdict. Invariant: first match wins; stale conditions count as absent, and a status made
//! only of stale conditions is not success.

use crate::condition::{Condition, Conditions, Tri};
use crate::context::Context;
use crate::verdict::{Grade, Verdict};
use crate::view::View;
use crate::vocabulary;
use serde_json::Value;

const NO_CONTROLLER_GRACE: i64 = 30_000;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    let found = suspended(object, &conditions)
        .or_else(|| under_way(&conditions))
        .or_else(|| broken(&conditions))
        .or_else(|| ready(&conditions, context))
        .or_else(|| finished(&conditions))
        .or_else(|| available(&conditions))
        .or_else(|| other_positive(&conditions));
    if let Some(verdict) = found {
        return verdict;
    }
    if conditions.stale {
        return Verdict::progressing("SpecNotObserved", "its conditions speak of an older generation");
    }
    let found = phase(object).or_else(|| ready_flag(object)).or_else(|| numbers(object));
    found.unwrap_or_else(|| unrecognised(object, context))
}

fn says(state: Grade, condition: &Condition<'_>) -> Verdict {
    let verdict = Verdict::new(state, condition.reason_or(condition.kind), condition.message);
    if state.is_good() { verdict } else { verdict.because(condition.says()) }
}

fn suspended(object: View<'_>, conditions: &Conditions<'_>) -> Option<Verdict> {
    if let Some(stalled) = conditions.truly("Stalled") {
        return Some(says(Grade::Failed, stalled));
    }
    for pointer in ["/spec/suspend", "/spec/suspended", "/spec/paused"] {
        if object.flag(pointer) {
            return Some(Verdict::suspended(
                "Suspended",
                format!("held back by {}", &pointer[1..].replace('/', ".")),
            ));
        }
    }
    let held = conditions.truly("Suspended").or_else(|| conditions.truly("Paused"))?;
    Some(says(Grade::Suspended, held))
}

fn under_way(conditions: &Conditions<'_>) -> Option<Verdict> {
    conditions.truly("Reconciling").map(|reconciling| says(Grade::Progressing, reconciling))
}

fn broken(conditions: &Conditions<'_>) -> Option<Verdict> {
    let listed = ["Failed", "Failure", "Error", "Degraded", "ReconcileFailed", "Invalid"];
    let bad = listed.iter().find_map(|kind| conditions.truly(kind));
    let terminal = || {
        conditions.list.iter().find(|condition| condition.kind.ends_with("Terminal") && condition.is_true())
    };
    let bad = bad.or_else(terminal)?;
    let verdict = says(Grade::Failed, bad);
    if bad.kind == "Degraded" && conditions.is_true("Available") {
        return Some(
            Verdict { reason: "Degraded".to_owned(), ..verdict }.note("it serves, but below its spec"),
        );
    }
    Some(verdict)
}

fn ready(conditions: &Conditions<'_>, context: &Context<'_>) -> Option<Verdict> {
    let ready = conditions.get("Ready")?;
    Some(match ready.status {
        Tri::True => says(Grade::Healthy, ready),
        Tri::False if vocabulary::is_doom(ready.reason, ready.message) => says(Grade::Failed, ready),
        Tri::False => says(Grade::Progressing, ready).fails_after(context.profile.ready_grace),
        Tri::Unknown => says(Grade::Progressing, ready),
    })
}

fn finished(conditions: &Conditions<'_>) -> Option<Verdict> {
    let done = ["Succeeded", "Complete", "Completed"].iter().find_map(|kind| conditions.get(kind))?;
    Some(match done.status {
        Tri::True => says(Grade::Healthy, done),
        Tri::False if done.kind == "Succeeded" => says(Grade::Failed, done),
        _ => says(Grade::Progressing, done),
    })
}

fn available(conditions: &Conditions<'_>) -> Option<Verdict> {
    let available = conditions.get("Available")?;
    if !available.is_true() {
        return Some(says(Grade::Progressing, available));
    }
    Some(match conditions.truly("Progressing") {
        Some(progressing) => says(Grade::Progressing, progressing),
        None => says(Grade::Healthy, available),
    })
}

fn other_positive(conditions: &Conditions<'_>) -> Option<Verdict> {
    const KINDS: [&str; 10] = [
        "Healthy",
        "Synced",
        "Established",
        "Accepted",
        "Programmed",
        "Deployed",
        "Installed",
        "Valid",
        "Initialized",
        "Reconciled",
    ];
    let found = KINDS.iter().find_map(|kind| conditions.get(kind))?;
    Some(match found.status {
        Tri::True => says(Grade::Healthy, found),
        Tri::False if matches!(found.kind, "Synced" | "Accepted" | "Valid") => says(Grade::Failed, found),
        _ => says(Grade::Progressing, found),
    })
}

fn phase(object: View<'_>) -> Option<Verdict> {
    for name in ["phase", "state", "status", "currentState", "health"] {
        let Some(word) = object.text(&format!("/status/{name}")) else { continue };
        let Some(state) = vocabulary::phase(word) else { continue };
        let reason = if word.is_empty() || word.contains(char::is_whitespace) { "Phase" } else { word };
        let said = ["message", "reason", "errorMessage"]
            .iter()
            .find_map(|key| object.text(&format!("/status/{key}")));
        let verdict = Verdict::new(state, reason, format!("{name} is {word:?}"));
        return Some(match said {
            Some(said) if !state.is_good() => verdict.because(said),
            _ => verdict,
        });
    }
    None
}

fn ready_flag(object: View<'_>) -> Option<Verdict> {
    match object.get("/status/ready") {
        Some(Value::Bool(true)) => Some(Verdict::healthy("Ready", "ready")),
        Some(Value::Bool(false)) => Some(Verdict::progressing("NotReady", "not ready yet")),
        _ => None,
    }
}

/// Replica counters, as far as they are given.
fn numbers(object: View<'_>) -> Option<Verdict> {
    let n = object.int("/spec/replicas")?;
    let counters = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    let given: Vec<(&str, i64)> =
        counters.iter().filter_map(|name| Some((*name, object.int(&format!("/status/{name}"))?))).collect();
    if given.is_empty() {
        return None;
    }
    if let Some((name, count)) = given.iter().find(|(_, count)| *count < n) {
        return Some(Verdict::progressing("NotAvailable", format!("{name} is {count} of {n}")));
    }
    let replicas = object.num("/status/replicas");
    if replicas > n {
        return Some(Verdict::progressing("ScalingDown", format!("{} to remove", replicas - n)));
    }
    Some(Verdict::healthy("Available", format!("{n} of {n} available")))
}

fn unrecognised(object: View<'_>, context: &Context<'_>) -> Verdict {
    if object.has_status() {
        return Verdict::healthy("NoKnownCondition", "its status has no condition or phase known here");
    }
    if schema_has_status(object, context) {
        return Verdict::progressing("NotObserved", "no controller has reported on it yet").heals_after(
            NO_CONTROLLER_GRACE,
            "NotObserved",
            "no controller has reported on it; is its operator running?",
        );
    }
    Verdict::healthy("NothingToWatch", "nothing to wait for")
}

/// Does the kind's definition, if known, promise conditions or an observed generation?
fn schema_has_status(object: View<'_>, context: &Context<'_>) -> bool {
    let mut definitions = context.snapshot.of_kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let Some(definition) = definitions
        .find(|crd| crd.str("/spec/group") == object.group() && crd.str("/spec/names/kind") == object.kind())
    else {
        return false;
    };
    let version = object.str("/apiVersion").rsplit('/').next().unwrap_or_default();
    let mut versions = definition.items("/spec/versions").filter(|known| known.str("/name") == version);
    versions.any(|known| {
        let status = known.at("/schema/openAPIV3Schema/properties/status/properties");
        status.is_some_and(|status| {
            status.get("/conditions").is_some() || status.get("/observedGeneration").is_some()
        })
    })
}
