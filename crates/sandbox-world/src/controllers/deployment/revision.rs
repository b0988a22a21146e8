//! Which set belongs to the template, its name and revision, and how many old ones are kept.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::*;
use crate::controllers::hash;

/// Annotations that belong to one object and are not handed down.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];

/// Whether a set has the Deployment's template.
pub(crate) fn same_template(deployment: &Value, set: &Value) -> bool {
    let Some(mut template) = set.at("/spec/template").cloned() else { return false };
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.shift_remove(HASH);
    }
    deployment.at("/spec/template") == Some(&template)
}

fn revision_of(object: &Value) -> i64 {
    annotation(object, REVISION).parse().unwrap_or(0)
}

/// Makes the new set, or brings its annotations up to date, or the Deployment's revision. Empty when all is right.
pub(crate) fn ensure(rollout: &Rollout<'_>) -> Vec<Change> {
    let next = rollout.old.iter().map(|set| revision_of(set)).max().unwrap_or(0) + 1;
    match rollout.new {
        None => create(rollout, next),
        Some(set) => refresh(rollout, set, next),
    }
}

fn handed_down(deployment: &Value) -> serde_json::Map<String, Value> {
    let mut annotations = meta_map(deployment, "annotations");
    annotations.retain(|name, _| !OWN.contains(&name.as_str()));
    annotations
}

fn create(rollout: &Rollout<'_>, next: i64) -> Vec<Change> {
    let deployment = rollout.deployment;
    let template = &deployment["spec"]["template"];
    let salt = deployment.at("/status/collisionCount").map(Value::to_string).unwrap_or_default();
    let hash = hash::encode(hash::fnv(template, &salt));
    let name = format!("{}-{hash}", text(deployment, "/metadata/name"));
    let mut template = template.clone();
    template["metadata"]["labels"][HASH] = json!(hash);
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = json!(hash);
    let count = super::rolling::new_size(rollout, 0);
    let mut annotations = handed_down(deployment);
    annotations.insert(REVISION.into(), json!(next.to_string()));
    annotations.insert(DESIRED.into(), json!(rollout.wanted().to_string()));
    annotations.insert(MAX.into(), json!((rollout.wanted() + rollout.bounds().0).to_string()));
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": text(deployment, "/metadata/namespace"),
            "labels": template["metadata"]["labels"], "annotations": annotations,
            "ownerReferences": [reference(deployment)],
        },
        "spec": {"replicas": count, "selector": selector, "template": template},
    });
    let min_ready = int(deployment, "/spec/minReadySeconds");
    if min_ready > 0 {
        set["spec"]["minReadySeconds"] = json!(min_ready);
    }
    let mut changes = vec![Change::Create { object: set, note: None }];
    if count > 0 {
        let message = format!("Scaled up replica set {name} from 0 to {count}");
        changes.push(Change::Note(normal(deployment, COMPONENT, "ScalingReplicaSet", message)));
    }
    let told = format!("Created new replica set \"{name}\"");
    changes.extend(tell(rollout, next, Some(("NewReplicaSetCreated", told))));
    changes
}

fn refresh(rollout: &Rollout<'_>, set: &Value, next: i64) -> Vec<Change> {
    let deployment = rollout.deployment;
    let mut annotations = handed_down(deployment);
    annotations.retain(|name, value| annotation(set, name) != value.as_str().unwrap_or_default());
    let now = revision_of(set);
    if now < next {
        annotations.insert(REVISION.into(), json!(next.to_string()));
        if now > 0 {
            let past = match annotation(set, HISTORY) {
                "" => now.to_string(),
                past => format!("{past},{now}"),
            };
            annotations.insert(HISTORY.into(), json!(past));
        }
    }
    let mut change = json!({});
    if !annotations.is_empty() {
        change["metadata"] = json!({"annotations": annotations});
    }
    if int(deployment, "/spec/minReadySeconds") != int(set, "/spec/minReadySeconds") {
        change["spec"] = json!({"minReadySeconds": int(deployment, "/spec/minReadySeconds")});
    }
    if change != json!({}) {
        return vec![patch("apps", "replicasets", set, "", change)];
    }
    let found = find_condition(&deployment["status"], "Progressing").is_none().then(|| {
        ("FoundNewReplicaSet", format!("Found new replica set \"{}\"", text(set, "/metadata/name")))
    });
    tell(rollout, now, found)
}

/// The Deployment's own revision, and why it moves; nothing when both are told.
fn tell(rollout: &Rollout<'_>, revision: i64, why: Option<(&str, String)>) -> Vec<Change> {
    let deployment = rollout.deployment;
    let revision = revision.to_string();
    let mut change = json!({});
    if annotation(deployment, REVISION) != revision {
        change["metadata"] = json!({"annotations": {REVISION: revision}});
    }
    if let Some((reason, message)) = why.filter(|_| rollout.has_deadline()) {
        let mut status = deployment.get("status").cloned().unwrap_or_else(|| json!({}));
        let new = super::status::new_condition("Progressing", "True", reason, &message, rollout.view.now);
        super::status::set(&mut status, new);
        change["status"] = json!({"conditions": status["conditions"]});
    }
    match change == json!({}) {
        true => Vec::new(),
        false => vec![patch("apps", "deployments", deployment, "status", change)],
    }
}

/// Removes the oldest empty sets beyond the history limit.
pub(crate) fn clean(rollout: &Rollout<'_>) -> Vec<Change> {
    let Some(limit) = rollout.deployment.at("/spec/revisionHistoryLimit").and_then(Value::as_i64) else {
        return Vec::new();
    };
    let mut old: Vec<&Value> = rollout.old.iter().copied().filter(|set| !is_deleting(set)).collect();
    let over = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    old.sort_by_key(|set| revision_of(set));
    let empty = old.into_iter().take(over).filter(|set| {
        replicas(set) == 0
            && int(set, "/status/replicas") == 0
            && int(set, "/metadata/generation") <= int(set, "/status/observedGeneration")
    });
    empty.map(|set| delete("apps", "replicasets", set)).collect()
}
