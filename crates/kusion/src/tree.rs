//! A resource and everything below it, judged: what `status` and the live tree show.

use kusion_health::{Profile, Rules, Snapshot, State, Verdict, dependents, judge, judge_absent, judge_with};
use kusion_model::ResourceKey;
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// Finds the object of a resource in a snapshot.
#[must_use]
pub fn find<'s>(key: &ResourceKey, snapshot: &'s Snapshot) -> Option<&'s Value> {
    let id = key.id.to_kubernetes().ok()?;
    let group = id.api_version.split_once('/').map_or("", |(group, _)| group);
    let at = |namespace: &str| snapshot.get(group, &id.kind, namespace, &id.name);
    at(id.namespace.as_deref().unwrap_or("")).or_else(|| at("default"))
}

/// Judges a resource as it is in a snapshot; absent counts too.
#[must_use]
pub fn judge_key(
    key: &ResourceKey,
    applied: Option<&Value>,
    snapshot: &Snapshot,
    profile: &Profile,
    rules: Option<&Rules>,
    now: i64,
) -> Verdict {
    match find(key, snapshot) {
        Some(object) => judge_with(object, snapshot, profile, rules, Some(now)),
        None => judge_absent(applied, snapshot, profile, Some(now)),
    }
}

/// Everything below a resource, in a stable order.
#[must_use]
pub fn below(key: &ResourceKey, snapshot: &Snapshot, profile: &Profile, now: i64) -> Vec<Node> {
    find(key, snapshot).map(|object| nodes(object, snapshot, profile, now, DEEPEST)).unwrap_or_default()
}

fn nodes(object: &Value, snapshot: &Snapshot, profile: &Profile, now: i64, deep: usize) -> Vec<Node> {
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
            let verdict = judge(below, snapshot, profile, Some(now));
            Node {
                kind: text(below, "/kind"),
                name: text(below, "/metadata/name"),
                verdict: verdict.verdict.as_str(),
                message: if verdict.verdict == State::Healthy {
                    verdict.message
                } else {
                    verdict.full_message()
                },
                children: nodes(below, snapshot, profile, now, deep - 1),
            }
        })
        .collect();
    nodes.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    nodes
}
