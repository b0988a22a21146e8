//! Carrying out what controllers ask for: every wish becomes a write like an API client's.

use std::sync::Arc;

use ecow::EcoString;
use kube_meaning::patch::merge_patch;
use kube_meaning::reach::Reach;
use kube_meaning::status::Refusal;
use kube_meaning::write::Verb;
use serde_json::{Value, json};

use crate::change::{Change, Note};
use crate::controllers::read::{condition, set_condition, text};
use crate::registry::Served;
use crate::store::{ObjectKey, ResourceKey, meta_text};
use crate::world::World;
use crate::write::Write;

/// What makes two Events the same one, counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Told {
    uid: EcoString,
    path: EcoString,
    reason: EcoString,
    message: EcoString,
    component: EcoString,
}

impl Told {
    /// Of a stored Event.
    pub(crate) fn of(event: &Value) -> Told {
        let component = match text(event, "/source/component") {
            "" => text(event, "/reportingComponent"),
            component => component,
        };
        Told {
            uid: text(event, "/involvedObject/uid").into(),
            path: text(event, "/involvedObject/fieldPath").into(),
            reason: text(event, "/reason").into(),
            message: text(event, "/message").into(),
            component: component.into(),
        }
    }
}

impl Told {
    /// What is similar but for its message.
    pub(crate) fn of_any_message(&self) -> Told {
        Told { message: EcoString::new(), ..self.clone() }
    }
}

/// Messages of one kind that are told one by one, and for how long they are counted together.
const SIMILAR: u32 = 9;
const SIMILAR_FOR: std::time::Duration = std::time::Duration::from_secs(600);

impl World {
    /// Carries out wishes in order. The first that is refused ends it and is given back.
    pub(crate) fn carry_all(
        &mut self,
        manager: &'static str,
        changes: Vec<Change>,
    ) -> Result<(), Box<(Change, Refusal)>> {
        for change in changes {
            if let Err(refusal) = self.carry(manager, &change) {
                return Err(Box::new((change, refusal)));
            }
        }
        Ok(())
    }

    fn carry(&mut self, manager: &'static str, change: &Change) -> Result<(), Refusal> {
        match change {
            Change::Create { object, note } => {
                let served = self.registry.of_object(object).ok_or_else(|| unknown(object))?;
                let namespace = meta_text(object, "namespace").to_owned();
                let made = self.write_as(manager, served, (&namespace, ""), "", Verb::Create(object))?;
                if let Some(note) = note {
                    let message = format!("{}{}", note.message, meta_text(&made, "name"));
                    self.note(manager, &Note { message, ..note.clone() });
                }
            }
            Change::Patch { resource, key, subresource: "status", patch } if is_status_only(patch) => {
                let live = self.store.get(resource, key).and_then(|live| live.value.get("status"));
                let status = merge_patch(live.unwrap_or(&Value::Null), &patch["status"])?;
                self.status(manager, (resource, key), &status)?;
            }
            Change::Patch { resource, key, subresource, patch } => {
                let served = self.served(resource, key)?;
                self.write_as(
                    manager,
                    served,
                    (&key.namespace, &key.name),
                    subresource,
                    Verb::MergePatch(patch),
                )?;
            }
            Change::Status { resource, key, status } => self.status(manager, (resource, key), status)?,
            Change::Delete { resource, key, removal } => {
                let served = self.served(resource, key)?;
                self.remove(&served, key, removal)?;
            }
            Change::Note(note) => self.note(manager, note),
            Change::Bind { key, node } => self.bind(key, node)?,
            Change::Finalize { namespace } => self.finalize(namespace),
            Change::Remember { key, run } => self.runtime.remember(key, run.as_deref()),
        }
        Ok(())
    }

    fn status(
        &mut self,
        manager: &str,
        (resource, key): (&ResourceKey, &ObjectKey),
        status: &Value,
    ) -> Result<(), Refusal> {
        let ask = Write {
            served: self.served(resource, key)?,
            namespace: &key.namespace,
            name: &key.name,
            subresource: "status",
            verb: Verb::Update(&Value::Null),
            manager,
            force: false,
            dry_run: false,
        };
        self.write_status(&ask, status)
    }

    fn write_as(
        &mut self,
        manager: &str,
        served: Served,
        (namespace, name): (&str, &str),
        subresource: &str,
        verb: Verb<'_>,
    ) -> Result<Arc<Value>, Refusal> {
        let ask = Write { served, namespace, name, subresource, verb, manager, force: false, dry_run: false };
        Ok(self.write(&ask)?.value)
    }

    /// The resource of a stored object, in the version it is stored in.
    fn served(&self, resource: &ResourceKey, key: &ObjectKey) -> Result<Served, Refusal> {
        let missing =
            || Refusal::new(404, "NotFound", format!("{} \"{}\" not found", resource.plural, key.name));
        let live = self.store.get(resource, key).ok_or_else(missing)?;
        self.registry.of_object(&live.value).ok_or_else(|| unknown(&live.value))
    }

    /// Gives a pod its node, as POST of a binding does.
    pub(crate) fn bind(&mut self, key: &ObjectKey, node: &str) -> Result<(), Refusal> {
        let pods = ResourceKey::new("", "pods");
        let Some(live) = self.store.get(&pods, key) else {
            return Err(Refusal::new(404, "NotFound", format!("pods \"{}\" not found", key.name)));
        };
        let taken = text(&live.value, "/spec/nodeName");
        if !taken.is_empty() {
            let message = format!(
                "Operation cannot be fulfilled on pods/binding \"{}\": pod {} is already assigned to node \"{taken}\"",
                key.name, key.name
            );
            return Err(Refusal::new(409, "Conflict", message));
        }
        let mut pod = Value::clone(&live.value);
        pod["spec"]["nodeName"] = json!(node);
        let scheduled = condition("PodScheduled", "True", "", "", &self.now.text());
        let mut scheduled = scheduled;
        if let Some(map) = scheduled.as_object_mut() {
            map.insert("lastProbeTime".into(), Value::Null);
            map.insert("observedGeneration".into(), pod["metadata"]["generation"].clone());
        }
        set_condition(&mut pod["status"], scheduled);
        self.store.put(&pods, pod);
        Ok(())
    }

    /// Takes the namespace's own finalizer away; the namespace goes when nothing else holds it.
    fn finalize(&mut self, namespace: &str) {
        let namespaces = ResourceKey::new("", "namespaces");
        let key = ObjectKey::new("", namespace);
        let Some(live) = self.store.get(&namespaces, &key) else { return };
        let mut last = Value::clone(&live.value);
        let others = last
            .at("/spec/finalizers")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter(|name| *name != "kubernetes").cloned().collect::<Vec<Value>>());
        let held = last.at("/metadata/finalizers").and_then(Value::as_array).is_some_and(|f| !f.is_empty());
        let held = held || others.as_ref().is_some_and(|others| !others.is_empty());
        last["spec"]["finalizers"] = json!(others.unwrap_or_default());
        if last["spec"]["finalizers"] == json!([]) {
            last["spec"] = json!({});
        }
        if held {
            self.store.put(&namespaces, last);
        } else {
            self.store.remove(&namespaces, &key, Some(last));
        }
    }

    /// Records an Event. Refusals (a namespace that is going) are nobody's trouble, as on a real cluster.
    fn note(&mut self, manager: &'static str, note: &Note) {
        let now = self.now;
        let mut note = note.clone();
        let mut told = Told {
            uid: text(&note.about, "/uid").into(),
            path: text(&note.about, "/fieldPath").into(),
            reason: note.reason.into(),
            message: note.message.as_str().into(),
            component: note.component.into(),
        };
        if !self.drive.told.contains_key(&told) && self.is_one_of_many(&told) {
            note.message = format!("(combined from similar events): {}", note.message);
            told.message = "(combined from similar events)".into();
        }
        let events = ResourceKey::new("", "events");
        if let Some(key) = self.drive.told.get(&told).cloned()
            && let Some(known) = self.store.get(&events, &key)
        {
            let count = known.value["count"].as_i64().unwrap_or(1) + 1;
            let patch = json!({"count": count, "lastTimestamp": now.text(), "message": note.message});
            let _ = self.carry(manager, &Change::Patch { resource: events, key, subresource: "", patch });
            return;
        }
        let namespace = match text(&note.about, "/namespace") {
            "" => "default",
            namespace => namespace,
        };
        let stamp = now.millis().unsigned_abs() * 1_000_000 + self.drive.count() % 1_000_000;
        let name = format!("{}.{stamp:016x}", text(&note.about, "/name"));
        let key = ObjectKey::new(namespace, &name);
        let event = event_of(&note, &key, now);
        if self.carry(manager, &Change::Create { object: event, note: None }).is_ok() {
            self.drive.told.insert(told, key);
        }
    }

    /// Counts a new message; whether there were so many of its kind that they are told as one.
    fn is_one_of_many(&mut self, told: &Told) -> bool {
        let now = self.now;
        let (count, first) = self.drive.similar.entry(told.of_any_message()).or_insert((0, now));
        if now.since(*first) > SIMILAR_FOR {
            (*count, *first) = (0, now);
        }
        *count = count.saturating_add(1);
        *count > SIMILAR
    }
}

fn event_of(note: &Note, key: &ObjectKey, now: crate::time::Time) -> Value {
    let kind = if note.warning { "Warning" } else { "Normal" };
    let mut event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str()},
        "involvedObject": note.about, "reason": note.reason, "message": note.message, "type": kind,
    });
    let scheduler = note.component == "default-scheduler";
    if scheduler {
        let action = if note.reason == "Scheduled" { "Binding" } else { "Scheduling" };
        event["eventTime"] = json!(now.micro_text());
        event["action"] = json!(action);
        event["reportingComponent"] = json!(note.component);
        event["reportingInstance"] = json!("default-scheduler-sandbox");
        return event;
    }
    event["source"] = json!({"component": note.component});
    if !note.host.is_empty() {
        event["source"]["host"] = json!(note.host.as_str());
        event["reportingInstance"] = json!(note.host.as_str());
    }
    event["firstTimestamp"] = json!(now.text());
    event["lastTimestamp"] = json!(now.text());
    event["count"] = json!(1);
    event["reportingComponent"] = json!(note.component);
    event
}

/// Whether a merge patch sets fields of the status and nothing else.
fn is_status_only(patch: &Value) -> bool {
    patch["status"].is_object() && patch.as_object().is_some_and(|fields| fields.len() == 1)
}

fn unknown(object: &Value) -> Refusal {
    let (api, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    Refusal::new(404, "NotFound", format!("no matches for kind \"{kind}\" in version \"{api}\""))
}
