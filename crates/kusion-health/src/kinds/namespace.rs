//! Namespace and ResourceQuota.

use crate::deletion;
use crate::verdict::Verdict;
use crate::view::View;
use kube_meaning::quantity::{Quantity, same_quantity};
use serde_json::Value;

pub(crate) fn namespace(object: View<'_>) -> Verdict {
    match object.str("/status/phase") {
        "Active" => Verdict::healthy("Active", "active"),
        "Terminating" => deletion::namespace(object),
        // a manifest, or a server that has not answered: a namespace is active as soon as it is stored
        "" if !object.stored() => {
            Verdict::healthy("NothingToWatch", "a manifest; active as soon as it is stored")
        }
        _ => Verdict::progressing("NotObserved", "not active yet"),
    }
}

pub(crate) fn quota(object: View<'_>) -> Verdict {
    if !same_amounts(object.get("/spec/hard"), object.get("/status/hard")) {
        return Verdict::progressing(
            "NotObserved",
            "the quota is not counted yet; until then pods are refused",
        );
    }
    let full: Vec<&str> =
        object.keys("/status/hard").into_iter().filter(|name| used_up(object, name)).collect();
    let verdict = Verdict::healthy("Counted", "the quota is counted");
    if full.is_empty() { verdict } else { verdict.warn(format!("used up: {}", full.join(", "))) }
}

fn used_up(object: View<'_>, name: &str) -> bool {
    let amount = |pointer: &str| object.get(pointer)?.get(name).and_then(Quantity::from_json);
    match (amount("/status/used"), amount("/status/hard")) {
        (Some(used), Some(hard)) => used >= hard,
        _ => false,
    }
}

/// Equal by meaning: the server may write `1` for `1000m`.
fn same_amounts(wanted: Option<&Value>, counted: Option<&Value>) -> bool {
    let empty = serde_json::Map::new();
    let map =
        |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_else(|| empty.clone());
    let (wanted, counted) = (map(wanted), map(counted));
    wanted.len() == counted.len()
        && wanted
            .iter()
            .all(|(name, amount)| counted.get(name).is_some_and(|other| same_quantity(other, amount)))
}
