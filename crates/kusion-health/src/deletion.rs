//! Objects that are going away: what they still wait for, and who must act.
//!
//! In: an object with a deletion timestamp. Out: a terminating verdict that names the finalizer and its owner. Invariant: a
//! finalizer is never removed by us and no patch is offered here.

use crate::cause::shorten;
use crate::condition::Conditions;
use crate::context::Context;
use crate::finalizer;
use crate::time;
use crate::verdict::Verdict;
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    if object.kind() == "Namespace" && object.group().is_empty() {
        return namespace(object);
    }
    let finalizers = finalizers(object);
    if finalizers.is_empty() {
        return without_finalizer(object, context);
    }
    let verdict =
        Verdict::terminating("Deleting", format!("waits for finalizers: {}", finalizers.join(", ")));
    let first = finalizers.iter().find(|name| !matches!(**name, "foregroundDeletion" | "orphan"));
    let name = first.or(finalizers.first()).copied().unwrap_or_default();
    let held = holder(object, name, context);
    let owner = finalizer::owner(name);
    let cause = format!("finalizer {name} is still set; {} must remove it: {held}", owner.who);
    let mut verdict = verdict.because(cause).then(owner.next);
    verdict.also = finalizers
        .iter()
        .filter(|other| **other != name)
        .take(2)
        .map(|other| format!("finalizer {other}"))
        .collect();
    verdict
}

pub(crate) fn finalizers(object: View<'_>) -> Vec<&str> {
    let list = object.list("/metadata/finalizers").iter();
    list.filter_map(serde_json::Value::as_str).filter(|name| !name.is_empty()).take(64).collect()
}

/// What keeps the finalizer's owner from removing it, as far as the snapshot shows.
fn holder(object: View<'_>, name: &str, context: &Context<'_>) -> String {
    let snapshot = context.snapshot;
    match name {
        "foregroundDeletion" => {
            let blocking: Vec<String> =
                snapshot.owned_by(object).into_iter().take(5).map(View::short).collect();
            if blocking.is_empty() {
                "dependents remain".to_owned()
            } else {
                format!("{} still exist", blocking.join(", "))
            }
        }
        "kubernetes.io/pvc-protection" => {
            let uses = |pod: &View<'_>| {
                pod.namespace() == object.namespace()
                    && pod
                        .items("/spec/volumes")
                        .any(|v| v.str("/persistentVolumeClaim/claimName") == object.name())
            };
            let users: Vec<&str> = snapshot.of_kind("", "Pod").filter(uses).take(5).map(View::name).collect();
            if users.is_empty() {
                finalizer::owner(name).stuck.to_owned()
            } else {
                format!("pod {} still uses the claim", users.join(", "))
            }
        }
        "kubernetes.io/pv-protection" => match object.str("/spec/claimRef/name") {
            "" => finalizer::owner(name).stuck.to_owned(),
            claim => format!("still bound to claim {claim}"),
        },
        _ => {
            let events = context.events(object);
            let told = events.iter().find(|event| event.warning);
            told.map_or_else(|| finalizer::owner(name).stuck.to_owned(), |event| shorten(event.message, 200))
        }
    }
}

fn without_finalizer(object: View<'_>, context: &Context<'_>) -> Verdict {
    let grace = object.int("/metadata/deletionGracePeriodSeconds");
    let asked = time::parse(object.str("/metadata/deletionTimestamp"));
    // the timestamp of a pod's deletion is the end of its grace period
    if let (Some(now), Some(end), true) = (context.now, asked, object.kind() == "Pod") {
        if now <= end {
            return Verdict::terminating("Deleting", format!("{} of grace left", time::span(end - now)));
        }
        if now > end + 30_000 {
            let node = object.str("/spec/nodeName");
            return Verdict::terminating("Deleting", "its grace is over, but the kubelet has not removed it")
                .because(format!(
                    "the kubelet of node {node} does not answer, or a preStop hook or unmount hangs"
                ))
                .then(format!("look at node {node}"));
        }
    }
    let message =
        grace.map_or("is being deleted".to_owned(), |grace| format!("is being deleted, grace {grace} s"));
    Verdict::terminating("Deleting", message)
}

/// A namespace tells in its conditions what is left.
pub(crate) fn namespace(object: View<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    let verdict = Verdict::terminating("Deleting", "the namespace is being emptied");
    let order = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "an API group does not answer",
            "repair or delete the APIService it names",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "an API group has a bad version",
            "repair the APIService it names",
        ),
        (
            "NamespaceFinalizersRemaining",
            "objects in it have finalizers",
            "look at the controllers of these finalizers",
        ),
        (
            "NamespaceDeletionContentFailure",
            "objects in it cannot be deleted",
            "a webhook or the API refuses deletes",
        ),
        ("NamespaceContentRemaining", "objects remain in it", "wait, or look at the objects it names"),
    ];
    for (kind, fact, next) in order {
        if let Some(condition) = conditions.truly(kind) {
            return verdict.because(format!("{fact}: {}", condition.says())).then(next);
        }
    }
    let finalizers = finalizers(object);
    if finalizers.is_empty() {
        return verdict;
    }
    let owner = finalizer::owner(finalizers[0]);
    let cause = format!("finalizer {} is still set; {} must remove it", finalizers.join(", "), owner.who);
    verdict.because(cause).then(owner.next)
}
