//! Gateway API: conditions carry generations, and stale ones are ignored.

use crate::condition::{Condition, Conditions, Tri};
use crate::context::Context;
use crate::verdict::Verdict;
use crate::view::View;

const LATE_GRACE: i64 = 120_000;
const BACKEND_GRACE: i64 = 30_000;

pub(crate) fn class(object: View<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    match conditions.get("Accepted") {
        Some(accepted) if accepted.is_true() => Verdict::healthy("Accepted", accepted.message),
        Some(accepted) if accepted.is_false() => refuse(accepted),
        Some(accepted) => Verdict::progressing(accepted.reason_or("Pending"), accepted.message),
        None => Verdict::progressing("NotObserved", "no controller has accepted it yet"),
    }
}

fn refuse(condition: &Condition<'_>) -> Verdict {
    let reason = condition.reason_or("NotAccepted");
    Verdict::failed(reason, condition.says()).because(format!("{}: {}", condition.kind, condition.says()))
}

/// Gateway and ListenerSet.
pub(crate) fn gateway(object: View<'_>, context: &Context<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    let generation = object.generation();
    let bad = conditions.falsely("ResolvedRefs").or_else(|| conditions.falsely("Accepted"));
    if let Some(bad) = bad.or_else(|| conditions.truly("Conflicted")) {
        return refuse(bad);
    }
    let listeners: Vec<Conditions<'_>> = object
        .items("/status/listeners")
        .take(256)
        .map(|listener| Conditions::from_list(listener.list("/conditions"), generation))
        .collect();
    for listener in &listeners {
        let bad = listener.falsely("ResolvedRefs").or_else(|| listener.falsely("Accepted"));
        if let Some(bad) = bad.or_else(|| listener.truly("Conflicted")) {
            return refuse(bad);
        }
    }
    // the first versions of the API said Ready and Scheduled
    if conditions.get("Accepted").is_none() {
        if let Some(old) = conditions.truly("Ready").or_else(|| conditions.truly("Scheduled")) {
            return Verdict::healthy(old.kind, old.message);
        }
        return Verdict::progressing("NotObserved", "no controller has accepted it yet");
    }
    if !conditions.is_true("Accepted") {
        return Verdict::progressing("Pending", "not accepted yet");
    }
    if !conditions.is_true("Programmed") {
        return unprogrammed(conditions.get("Programmed"), context);
    }
    if object.kind() != "Gateway" && listeners.is_empty() && !object.list("/spec/listeners").is_empty() {
        return Verdict::progressing("NotProgrammed", "no listener has been reported yet");
    }
    for listener in &listeners {
        if listener.get("Programmed").is_some_and(|programmed| programmed.status != Tri::True) {
            return unprogrammed(listener.get("Programmed"), context);
        }
    }
    let addresses: Vec<&str> =
        object.items("/status/addresses").map(|address| address.str("/value")).collect();
    Verdict::healthy("Programmed", addresses.join(", "))
}

fn unprogrammed(condition: Option<&Condition<'_>>, _context: &Context<'_>) -> Verdict {
    let Some(condition) = condition else {
        return Verdict::progressing("NotProgrammed", "not programmed yet");
    };
    let verdict = Verdict::progressing(condition.reason_or("NotProgrammed"), condition.says())
        .because(condition.says());
    if matches!(condition.reason, "Invalid" | "NoResources") {
        verdict.fails_after(LATE_GRACE)
    } else {
        verdict
    }
}

/// HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute.
pub(crate) fn route(object: View<'_>, context: &Context<'_>) -> Verdict {
    let generation = object.generation();
    let parents: Vec<Conditions<'_>> = object
        .items("/status/parents")
        .take(256)
        .map(|parent| Conditions::from_list(parent.list("/conditions"), generation))
        .collect();
    for parent in &parents {
        for kind in ["ResolvedRefs", "Accepted"] {
            let Some(bad) = parent.falsely(kind) else { continue };
            if bad.reason == "BackendNotFound" && context.live() {
                // the Service may come later in the same apply
                return Verdict::progressing(bad.reason, bad.says())
                    .because(bad.says())
                    .fails_after(BACKEND_GRACE);
            }
            return refuse(bad);
        }
    }
    if parents.iter().all(Conditions::is_empty) {
        return Verdict::progressing("NotObserved", "no gateway has answered yet");
    }
    // entries of an older generation may stay behind for parents that are left: they count as absent
    let parents: Vec<Conditions<'_>> =
        parents.into_iter().filter(|conditions| !conditions.is_empty()).collect();
    if parents.len() < distinct_parents(object) {
        return Verdict::progressing("NotObserved", "not every parent has answered yet");
    }
    for parent in &parents {
        if parent.get("Programmed").is_some_and(|programmed| programmed.status != Tri::True) {
            return unprogrammed(parent.get("Programmed"), context);
        }
        if parent.get("Accepted").is_some_and(|accepted| !accepted.is_true()) {
            return Verdict::progressing("Pending", "not accepted yet");
        }
        if parent.get("Accepted").is_none() && !parent.is_true("ResolvedRefs") {
            return Verdict::progressing("Pending", "not accepted yet");
        }
    }
    let verdict = Verdict::healthy("Accepted", format!("accepted by {} parents", parents.len()));
    match parents.iter().find_map(|parent| parent.truly("PartiallyInvalid")) {
        Some(partly) => verdict.warn(format!("PartiallyInvalid: {}", partly.says())),
        None => verdict,
    }
}

/// Parent references may repeat a gateway with several listeners; a controller reports each reference once.
fn distinct_parents(object: View<'_>) -> usize {
    let mut refs: Vec<&serde_json::Value> = Vec::new();
    for reference in object.list("/spec/parentRefs").iter().take(256) {
        if !refs.contains(&reference) {
            refs.push(reference);
        }
    }
    refs.len()
}

/// BackendTLSPolicy and the other policies with `ancestors`.
pub(crate) fn policy(object: View<'_>) -> Verdict {
    let generation = object.generation();
    let ancestors: Vec<Conditions<'_>> = object
        .items("/status/ancestors")
        .take(256)
        .map(|ancestor| Conditions::from_list(ancestor.list("/conditions"), generation))
        .collect();
    if ancestors.iter().any(|conditions| conditions.stale) {
        return Verdict::progressing("SpecNotObserved", "an ancestor speaks of an older generation");
    }
    let foreign = foreign_answers(object, &ancestors);
    let ancestors: Vec<Conditions<'_>> = ancestors
        .into_iter()
        .zip(foreign)
        .filter(|(_, foreign)| !foreign)
        .map(|(conditions, _)| conditions)
        .collect();
    for ancestor in &ancestors {
        if let Some(bad) = ancestor.falsely("Accepted").or_else(|| ancestor.falsely("ResolvedRefs")) {
            return refuse(bad);
        }
    }
    let accepted = !ancestors.is_empty() && ancestors.iter().all(|conditions| conditions.is_true("Accepted"));
    if accepted {
        return Verdict::healthy("Accepted", format!("accepted by {} ancestors", ancestors.len()));
    }
    Verdict::progressing("NotObserved", "not every ancestor has accepted it yet")
}

/// A second implementation that cannot know the target answers `TargetNotFound`; once another controller has accepted the
/// policy, that answer is noise.
fn foreign_answers(object: View<'_>, ancestors: &[Conditions<'_>]) -> Vec<bool> {
    let names: Vec<&str> =
        object.items("/status/ancestors").take(256).map(|ancestor| ancestor.str("/controllerName")).collect();
    let accepted: Vec<&str> = names
        .iter()
        .zip(ancestors)
        .filter(|(_, found)| found.is_true("Accepted"))
        .map(|(name, _)| *name)
        .collect();
    let foreign = |(name, found): (&&str, &Conditions<'_>)| {
        let lost = found.falsely("Accepted").is_some_and(|accepted| accepted.reason == "TargetNotFound");
        lost && !accepted.is_empty() && !accepted.contains(name)
    };
    names.iter().zip(ancestors).map(foreign).collect()
}
