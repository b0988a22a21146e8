//! A resource and everything below it, judged: what `status` and the live tree show.

use kube_meaning::id::KubeId;
use kusion_health::{Grade, Profile, Rules, Snapshot, Verdict, dependents, judge, judge_absent, judge_with};
use kusion_model::{Attr, ResourceKey};
use serde::Serialize;
use serde_json::Value;

/// How deep a tree is shown: Deployment, ReplicaSet, Pod, and one more for custom kinds.
const DEEPEST: usize = 4;

/// One object of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    pub kind: String,
    pub name: String,
    pub verdict: &'static str,
    pub message: String,
    /// A ReplicaSet of an earlier revision.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub old: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// Finds the object of a resource in a snapshot. `home` is where objects live that name no namespace.
#[must_use]
pub fn find<'s>(key: &ResourceKey, snapshot: &'s Snapshot, home: &str) -> Option<&'s Value> {
    let id = KubeId::from_parts(key.id.parts()).ok()?;
    let group = id.api_version.split_once('/').map_or("", |(group, _)| group);
    let at = |namespace: &str| snapshot.get(group, &id.kind, namespace, &id.name);
    // Cluster-scoped kinds may be written with a namespace, which means nothing.
    at(id.namespace.as_deref().unwrap_or(home)).or_else(|| at(""))
}

/// Judges a resource as it is in a snapshot; absent counts too. Without a clock what only waiting could tell counts as it looks.
pub(crate) fn judge_key(
    key: &ResourceKey,
    applied: Option<&Attr>,
    snapshot: &Snapshot,
    home: &str,
    profile: &Profile,
    rules: Option<&Rules>,
    now: Option<i64>,
) -> Verdict {
    match find(key, snapshot, home) {
        Some(object) => judge_with(object, snapshot, profile, rules, now),
        None => judge_absent(applied.map(Attr::to_shown).as_ref(), snapshot, profile, now),
    }
}

/// Everything below a resource, in a stable order.
pub(crate) fn below(
    key: &ResourceKey,
    snapshot: &Snapshot,
    home: &str,
    profile: &Profile,
    now: Option<i64>,
) -> Vec<Node> {
    find(key, snapshot, home).map(|object| nodes(object, snapshot, profile, now, DEEPEST)).unwrap_or_default()
}

fn nodes(object: &Value, snapshot: &Snapshot, profile: &Profile, now: Option<i64>, deep: usize) -> Vec<Node> {
    if deep == 0 {
        return Vec::new();
    }
    let text = |object: &Value, pointer: &str| {
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut nodes: Vec<Node> = dependents(object, snapshot)
        .into_iter()
        .filter(|below| {
            !matches!(text(below, "/kind").as_str(), "Event" | "EndpointSlice" | "ControllerRevision")
        })
        .map(|below| {
            let verdict = judge(below, snapshot, profile, now);
            let old = is_old(object, below);
            Node {
                kind: text(below, "/kind"),
                name: text(below, "/metadata/name"),
                verdict: verdict.verdict.as_str(),
                message: if old { leaving(below) } else { said(below, verdict) },
                old,
                children: nodes(below, snapshot, profile, now, deep - 1),
            }
        })
        .collect();
    nodes.sort_by(|a, b| (&a.kind, a.old, &a.name).cmp(&(&b.kind, b.old, &b.name)));
    nodes
}

const REVISION: &str = "deployment.kubernetes.io/revision";

/// Whether a ReplicaSet is of another revision than its Deployment.
fn is_old(owner: &Value, set: &Value) -> bool {
    let revision =
        |object: &Value| object.pointer("/metadata/annotations")?.get(REVISION)?.as_str().map(str::to_owned);
    let set_kind = set.get("kind").and_then(Value::as_str) == Some("ReplicaSet");
    set_kind && matches!((revision(owner), revision(set)), (Some(current), Some(own)) if current != own)
}

fn leaving(set: &Value) -> String {
    match set.pointer("/status/replicas").and_then(Value::as_u64).unwrap_or(0) {
        1 => "1 pod leaving".to_owned(),
        count => format!("{count} pods leaving"),
    }
}

/// One line about an object; of a pod that is well, where it runs.
fn said(object: &Value, verdict: Verdict) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match text("/spec/nodeName") {
        node if verdict.verdict == Grade::Healthy && verdict.reason == "Ready" && !node.is_empty() => {
            format!("running on {node}")
        }
        _ if verdict.verdict == Grade::Healthy => verdict.message,
        _ => verdict.full_message(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kusion_model::ResourceId;
    use serde_json::json;

    #[test]
    fn an_id_without_a_namespace_is_found_where_the_context_says_and_nowhere_else() {
        let of = |namespace: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}});
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}});
        let snapshot = Snapshot::of([of("default"), of("team"), role]);
        let key = ResourceKey::new(ResourceId::from_parts(["v1", "ConfigMap", "a"]));
        assert_eq!(find(&key, &snapshot, "team"), Some(&of("team")));
        assert_eq!(find(&key, &snapshot, "other"), None);
        let id = ResourceId::from_parts(["rbac.authorization.k8s.io/v1", "ClusterRole", "x", "r"]);
        assert!(find(&ResourceKey::new(id), &snapshot, "team").is_some());
    }

    #[test]
    fn old_sets_come_last_and_pods_tell_where_they_run() {
        let owned =
            |kind: &str, uid: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": uid, "uid": uid}]);
        let set = |name: &str, revision: &str| {
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "n", "uid": name,
                "annotations": {REVISION: revision}, "ownerReferences": owned("Deployment", "web")},
                "spec": {"replicas": 1}, "status": {"replicas": 1}})
        };
        let root = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n", "uid": "web",
            "annotations": {REVISION: "2"}}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "uid": "p",
            "ownerReferences": owned("ReplicaSet", "b-new")}, "spec": {"nodeName": "node-1"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let snapshot = Snapshot::of([root, set("a-old", "1"), set("b-new", "2"), pod]);
        let key = ResourceKey::new(ResourceId::from_parts(["apps/v1", "Deployment", "n", "web"]));
        let nodes = below(&key, &snapshot, "default", &Profile::default(), None);
        let rows: Vec<(&str, bool)> = nodes.iter().map(|node| (node.name.as_str(), node.old)).collect();
        assert_eq!(rows, [("b-new", false), ("a-old", true)]);
        assert_eq!(nodes[1].message, "1 pod leaving");
        assert_eq!(nodes[0].children[0].message, "running on node-1");
    }
}
