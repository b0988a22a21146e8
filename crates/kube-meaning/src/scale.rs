//! Writes through `/scale`: one number of the parent, with ownership kept on the parent.
//!
//! The server translates the parent's entries to entries of the Scale object and back. Identities of updaters carry a version,
//! and that version differs on the two sides, so an updater that owns `replicas` comes back as an entry of its own without a
//! time. That is odd, but it is what clients see, so it is done here in the same way.

use serde_json::{Value, json};

use crate::elem::Elem;
use crate::fieldset::FieldSet;
use crate::managed::{Entry, Managed, Manager, Operation};
use crate::patch::{json_patch, merge_patch};
use crate::reach::Reach;
use crate::selectors::selector_text;
use crate::ssa::{ApplyError, Conflict, Target};
use crate::status::Refusal;
use crate::typed::same_value;
use crate::write::{Live, Verb};

const SCALE_VERSION: &str = "autoscaling/v1";

/// The `Scale` of an object.
pub fn scale_of(object: &Value) -> Value {
    let mut meta = json!({});
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.get("metadata").and_then(|m| m.get(key)) {
            meta[key] = value.clone();
        }
    }
    let replicas = object.at("/spec/replicas").cloned().unwrap_or(json!(0));
    let now = object.at("/status/replicas").cloned().unwrap_or(json!(0));
    let mut status = json!({"replicas": now});
    if let Some(selector) = object.at("/spec/selector").map(selector_text).filter(|s| !s.is_empty()) {
        status["selector"] = Value::from(selector);
    }
    json!({"kind": "Scale", "apiVersion": SCALE_VERSION, "metadata": meta, "spec": {"replicas": replicas}, "status": status})
}

/// What a write through `/scale` does: the number for the parent (if any was sent) and the parent's new entries.
pub(crate) struct Scaled {
    pub(crate) replicas: Option<Value>,
    pub(crate) managed: Managed,
}

/// Carries out the ownership part of a write through `/scale`.
pub(crate) fn scale(
    target: Target<'_>,
    live: &Live<'_>,
    verb: Verb<'_>,
    manager: &str,
    force: bool,
) -> Result<Scaled, Refusal> {
    let scale = scale_of(live.object);
    let (body, operation) = match verb {
        Verb::Apply(body) => (body.clone(), Operation::Apply),
        Verb::Update(body) | Verb::Create(body) => (body.clone(), Operation::Update),
        Verb::MergePatch(body) | Verb::StrategicPatch(body) => {
            (merge_patch(&scale, body)?, Operation::Update)
        }
        Verb::JsonPatch(body) => (json_patch(&scale, body)?, Operation::Update),
    };
    let sent = body.at("/spec/replicas").cloned().filter(|v| !v.is_null());
    let replicas = match operation {
        Operation::Apply => sent,
        Operation::Update => Some(sent.unwrap_or(json!(0))),
    };
    let parent = live.managed.clone();
    let mut entries = to_scale(&parent);
    let changed = replicas.as_ref().is_some_and(|r| !same_value(r, &scale["spec"]["replicas"]));
    let who = Manager {
        name: manager.into(),
        operation,
        api_version: SCALE_VERSION.into(),
        subresource: "scale".into(),
    };
    match operation {
        // Untracked numbers stay untracked until somebody applies.
        Operation::Update if entries.is_empty() => {}
        Operation::Update => {
            if changed {
                entries = vec![who];
            }
        }
        Operation::Apply => apply(&mut entries, who, replicas.is_some(), changed, force)?,
    }
    Ok(Scaled { replicas, managed: to_parent(target, parent, entries) })
}

fn apply(
    entries: &mut Vec<Manager>,
    who: Manager,
    states: bool,
    changed: bool,
    force: bool,
) -> Result<(), Refusal> {
    if entries.is_empty() {
        entries.push(Manager {
            name: "before-first-apply".into(),
            operation: Operation::Update,
            ..who.clone()
        });
    }
    let others: Vec<Manager> = entries.iter().filter(|e| !e.same(&who)).cloned().collect();
    if changed && !force && !others.is_empty() {
        let conflicts =
            others.into_iter().map(|manager| Conflict { manager, path: replicas_path() }).collect();
        return Err(ApplyError::Conflicts(conflicts).to_refusal());
    }
    entries.retain(|e| !e.same(&who) && !changed);
    if states {
        entries.push(who);
    }
    Ok(())
}

fn replicas_path() -> Vec<Elem> {
    vec![Elem::field("spec"), Elem::field("replicas")]
}

fn replicas_set() -> FieldSet {
    let mut set = FieldSet::new();
    set.insert(&replicas_path());
    set
}

/// The managers of `replicas`, as the Scale object names them.
fn to_scale(parent: &Managed) -> Vec<Manager> {
    let owners = parent.entries.iter().filter(|e| e.fields.has(&replicas_path()));
    owners.map(|e| Manager { api_version: SCALE_VERSION.into(), ..e.manager.clone() }).collect()
}

/// The parent's entries after the Scale object was written.
fn to_parent(target: Target<'_>, parent: Managed, mut scale: Vec<Manager>) -> Managed {
    let mut out = Managed::default();
    for mut entry in parent.entries {
        if entry.fields.has(&replicas_path()) {
            match scale.iter().position(|m| m.same(&entry.manager)) {
                Some(at) => {
                    scale.remove(at);
                }
                None => entry.fields = entry.fields.difference(&replicas_set()),
            }
        }
        out.entries.push(entry);
    }
    for manager in scale {
        let manager = Manager { api_version: target.resource.api_version(), ..manager };
        out.entries.push(Entry { manager, time: None, fields: replicas_set() });
    }
    out.drop_empty();
    out
}
