//! ControllerRevisions: the history of a StatefulSet's or DaemonSet's template.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::hash;
use super::read::*;
use crate::change::Change;
use crate::view::View;

const HASH: &str = "controller.kubernetes.io/hash";

/// The revisions of an owner, oldest first.
pub(crate) fn of<'w>(view: View<'w>, owner: &Value) -> Vec<&'w Value> {
    let uid = text(owner, "/metadata/uid");
    let owned = view.owned(uid, "apps", "controllerrevisions").into_iter().map(|found| &**found);
    let mut all: Vec<&Value> = owned.filter(|found| is_controlled_by(found, uid)).collect();
    all.sort_by_key(|found| (int(found, "/revision"), text(found, "/metadata/name")));
    all
}

/// The template as a revision keeps it.
pub(crate) fn data(owner: &Value) -> Value {
    let mut template = owner["spec"]["template"].clone();
    template["$patch"] = json!("replace");
    json!({"spec": {"template": template}})
}

/// The template of a revision.
pub(crate) fn template(revision: &Value) -> Value {
    let mut template = revision.at("/data/spec/template").cloned().unwrap_or_default();
    if let Some(map) = template.as_object_mut() {
        map.shift_remove("$patch");
    }
    template
}

/// The revision of the present template, if it is there and is the newest; else what makes it so.
pub(crate) fn ensure<'w>(owner: &Value, known: &[&'w Value]) -> Result<&'w Value, Vec<Change>> {
    let data = data(owner);
    let newest = known.last().map_or(0, |newest| int(newest, "/revision"));
    match known.iter().find(|revision| revision["data"] == data) {
        Some(same) if int(same, "/revision") == newest => Ok(same),
        Some(same) => {
            let change = json!({"revision": newest + 1});
            Err(vec![patch("apps", "controllerrevisions", same, "", change)])
        }
        None => Err(vec![Change::Create { object: make(owner, data, newest + 1), note: None }]),
    }
}

fn make(owner: &Value, data: Value, number: i64) -> Value {
    let collisions = owner.at("/status/collisionCount").and_then(Value::as_i64).filter(|count| *count > 0);
    let salt = collisions.map(|count| count.to_string()).unwrap_or_default();
    let hash = hash::encode(hash::fnv(&data, &salt));
    let mut labels = meta_map(&owner["spec"]["template"], "labels");
    // A DaemonSet labels its pods with the revision, a StatefulSet finds it by this one.
    let key = if owner["kind"] == "DaemonSet" { "controller-revision-hash" } else { HASH };
    labels.insert(key.into(), json!(hash));
    let mut meta = json!({
        "name": format!("{}-{hash}", text(owner, "/metadata/name")), "namespace": text(owner, "/metadata/namespace"),
        "labels": labels, "ownerReferences": [reference(owner)],
    });
    let annotations = meta_map(owner, "annotations");
    if !annotations.is_empty() {
        meta["annotations"] = json!(annotations);
    }
    json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "data": data, "revision": number})
}

/// Removes the oldest revisions beyond the limit that no pod uses.
pub(crate) fn clean(owner: &Value, known: &[&Value], used: &[String]) -> Vec<Change> {
    let limit = usize::try_from(int_or(owner, "/spec/revisionHistoryLimit", 10)).unwrap_or(10);
    let unused: Vec<&&Value> = known
        .iter()
        .filter(|revision| !used.iter().any(|name| name == text(revision, "/metadata/name")))
        .collect();
    let over = unused.len().saturating_sub(limit);
    unused[..over].iter().map(|revision| delete("apps", "controllerrevisions", revision)).collect()
}
