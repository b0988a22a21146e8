//! The versioned store: objects by resource and name, one revision counter for all, and the journal that watches read.
//!
//! It knows nothing of meaning: [`crate::write`] decides what is stored. Every change is one [`Event`] in the journal; the
//! journal is bounded, and a watch that asks for what is gone is told so ([`Store::events_after`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use ecow::EcoString;
use kube_meaning::reach::Reach;
use serde_json::Value;

/// Where the objects of a resource are kept, whatever the version they are read in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    pub group: EcoString,
    pub plural: EcoString,
}

impl ResourceKey {
    pub fn new(group: &str, plural: &str) -> ResourceKey {
        ResourceKey { group: group.into(), plural: plural.into() }
    }
}

/// An object's place within its resource; the namespace is empty for cluster-scoped ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    pub namespace: EcoString,
    pub name: EcoString,
}

impl ObjectKey {
    pub fn new(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { namespace: namespace.into(), name: name.into() }
    }

    /// Where an object says it is.
    pub fn of(object: &Value) -> ObjectKey {
        ObjectKey::new(meta_text(object, "namespace"), meta_text(object, "name"))
    }
}

/// A text under `metadata`; empty when it is not there.
pub fn meta_text<'v>(object: &'v Value, key: &str) -> &'v str {
    object.get("metadata").and_then(|meta| meta.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// A stored object. Its value carries the same revision in `metadata.resourceVersion`; its `metadata.managedFields` is kept
/// as the text of its JSON ([`with_entries`] reads it): as a tree it would be half of the memory of an object.
#[derive(Clone, Debug)]
pub struct Object {
    pub value: Arc<Value>,
    pub revision: u64,
    /// Its JSON, made when it is first asked for and then kept: one revision is written as text once.
    text: Arc<OnceLock<Text>>,
}

/// The JSON of an object, with the place where the fields after `kind` and `apiVersion` begin.
#[derive(Debug)]
pub struct Text {
    bytes: Box<[u8]>,
    rest: usize,
}

impl Object {
    pub fn new(value: Value, revision: u64) -> Object {
        Object { value: Arc::new(value), revision, text: Arc::default() }
    }

    /// Its JSON, without a line end.
    pub fn text(&self) -> &Text {
        self.text.get_or_init(|| Text::of(&self.value))
    }
}

impl Text {
    /// Writes an object: kind and apiVersion first, as the server does.
    pub fn of(object: &Value) -> Text {
        let mut bytes = Vec::with_capacity(1024);
        bytes.push(b'{');
        for key in ["kind", "apiVersion"] {
            if let Some(value) = object.get(key) {
                push_member(&mut bytes, key, value);
            }
        }
        let rest = bytes.len();
        for (key, value) in object.as_object().into_iter().flatten() {
            if key != "kind" && key != "apiVersion" {
                push_member(&mut bytes, key, value);
            }
        }
        bytes.push(b'}');
        Text { bytes: bytes.into_boxed_slice(), rest }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends it without kind and apiVersion, as items of lists of built-in kinds are written.
    pub fn push_bare(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        let rest = &self.bytes[self.rest..];
        out.extend_from_slice(if self.rest > 1 { rest.strip_prefix(b",").unwrap_or(rest) } else { rest });
    }
}

fn push_member(out: &mut Vec<u8>, key: &str, value: &Value) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    push_json(out, key);
    out.push(b':');
    match (key, value) {
        ("metadata", Value::Object(meta)) => {
            out.push(b'{');
            for (key, value) in meta {
                push_member(out, key, value);
            }
            out.push(b'}');
        }
        // Already JSON.
        (ENTRIES, Value::String(text)) => out.extend_from_slice(text.as_bytes()),
        _ => push_json(out, value),
    }
}

fn push_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let written = serde_json::to_writer(&mut *out, value);
    // Writing to memory cannot fail, and a JSON value has only text keys.
    debug_assert!(written.is_ok());
}

const ENTRIES: &str = "managedFields";

/// An object with its managedFields as a list again.
pub fn with_entries(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(slot) = out.get_mut("metadata").and_then(|meta| meta.get_mut(ENTRIES))
        && let Value::String(text) = slot
    {
        // It was written here, from a list.
        *slot = serde_json::from_str(text).unwrap_or_default();
    }
    out
}

fn set_revision(object: &mut Value, revision: u64) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.insert("resourceVersion".into(), Value::from(revision.to_string()));
    }
}

/// An object as it is kept: managedFields as text, no room for more in any map or list.
fn settled(mut object: Value) -> Value {
    if let Some(slot) = object.get_mut("metadata").and_then(|meta| meta.get_mut(ENTRIES))
        && slot.is_array()
    {
        *slot = Value::from(slot.to_string());
    }
    exact(object)
}

fn exact(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut out = serde_json::Map::with_capacity(map.len());
            for (key, value) in map {
                out.insert(key, exact(value));
            }
            Value::Object(out)
        }
        Value::Array(items) => {
            let mut out: Vec<Value> = items.into_iter().map(exact).collect();
            out.shrink_to_fit();
            Value::Array(out)
        }
        other => other,
    }
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Added,
    Modified,
    Deleted,
}

/// One change. A deletion carries the last state under a new revision.
#[derive(Clone, Debug)]
pub struct Event {
    pub kind: EventKind,
    pub resource: ResourceKey,
    pub key: ObjectKey,
    pub object: Object,
    /// What it was before, so that a selector can tell who leaves it.
    pub before: Option<Object>,
}

type Objects = BTreeMap<ObjectKey, Object>;

/// See the module.
#[derive(Clone, Debug)]
pub struct Store {
    resources: BTreeMap<ResourceKey, Objects>,
    owned: BTreeMap<EcoString, BTreeSet<(ResourceKey, ObjectKey)>>,
    /// Addresses and node ports of Services, so that a free one is found without looking at all of them.
    claimed: BTreeMap<EcoString, u32>,
    revision: u64,
    journal: VecDeque<Event>,
    window: usize,
    /// Events up to here are no longer in the journal.
    forgotten: u64,
}

impl Store {
    /// An empty store whose journal holds `window` events.
    pub fn new(window: usize) -> Store {
        Store {
            resources: BTreeMap::new(),
            owned: BTreeMap::new(),
            claimed: BTreeMap::new(),
            revision: 1,
            journal: VecDeque::new(),
            window,
            forgotten: 1,
        }
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The newest revision that watches can no longer start from (they can start from it, not from before it).
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub fn get(&self, resource: &ResourceKey, key: &ObjectKey) -> Option<&Object> {
        self.resources.get(resource)?.get(key)
    }

    /// The objects of a resource, sorted by namespace and name; of one namespace when one is given.
    pub fn list<'s>(
        &'s self,
        resource: &ResourceKey,
        namespace: Option<&'s str>,
    ) -> impl Iterator<Item = (&'s ObjectKey, &'s Object)> + use<'s> {
        let first = ObjectKey::new(namespace.unwrap_or_default(), "");
        let objects = self.resources.get(resource);
        objects
            .into_iter()
            .flat_map(move |objects| objects.range(first.clone()..))
            .take_while(move |(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace))
    }

    /// All resources that have objects.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceKey> {
        self.resources.iter().filter(|(_, objects)| !objects.is_empty()).map(|(resource, _)| resource)
    }

    /// How many objects there are in all.
    pub fn len(&self) -> usize {
        self.resources.values().map(Objects::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.resources.values().all(Objects::is_empty)
    }

    /// The objects whose owner references name that uid.
    pub fn owned_by(&self, uid: &str) -> impl Iterator<Item = &(ResourceKey, ObjectKey)> {
        self.owned.get(uid).into_iter().flatten()
    }

    /// Whether a Service has that address or node port.
    pub fn is_claimed(&self, claim: &str) -> bool {
        self.claimed.contains_key(claim)
    }

    /// Stores a new or changed object under the next revision.
    pub fn put(&mut self, resource: &ResourceKey, value: Value) -> Object {
        let object = self.stamp(value);
        self.put_stamped(resource, object)
    }

    /// The same, when all but the named fields is a copy of what is kept, and so has no room for more already.
    pub(crate) fn put_part(&mut self, resource: &ResourceKey, mut value: Value, fresh: &[&str]) -> Object {
        self.revision += 1;
        set_revision(&mut value, self.revision);
        for key in fresh {
            if let Some(slot) = value.get_mut(key) {
                *slot = exact(slot.take());
            }
        }
        self.put_stamped(resource, Object::new(value, self.revision))
    }

    fn put_stamped(&mut self, resource: &ResourceKey, object: Object) -> Object {
        let key = ObjectKey::of(&object.value);
        let objects = self.resources.entry(resource.clone()).or_default();
        let before = objects.insert(key.clone(), object.clone());
        if let Some(before) = &before {
            self.disown(resource, &key, before);
        }
        self.own(resource, &key, &object);
        let kind = if before.is_some() { EventKind::Modified } else { EventKind::Added };
        self.record(Event { kind, resource: resource.clone(), key, object: object.clone(), before });
        object
    }

    /// Removes an object; its last state (as given, or as stored) gets the next revision.
    pub fn remove(&mut self, resource: &ResourceKey, key: &ObjectKey, last: Option<Value>) -> Option<Object> {
        let before = self.resources.get_mut(resource)?.remove(key)?;
        self.disown(resource, key, &before);
        let object = self.stamp(last.unwrap_or_else(|| Value::clone(&before.value)));
        let event = Event {
            kind: EventKind::Deleted,
            resource: resource.clone(),
            key: key.clone(),
            object: object.clone(),
            before: Some(before),
        };
        self.record(event);
        Some(object)
    }

    /// Puts a kept object back as it was, without an event. `None` when it has no revision.
    pub(crate) fn load(&mut self, resource: &ResourceKey, value: Value) -> Option<()> {
        let revision = meta_text(&value, "resourceVersion").parse().ok()?;
        let key = ObjectKey::of(&value);
        self.unload(resource, &key);
        let object = Object::new(settled(value), revision);
        self.own(resource, &key, &object);
        self.resources.entry(resource.clone()).or_default().insert(key, object);
        Some(())
    }

    /// Takes a kept object away, without an event.
    pub(crate) fn unload(&mut self, resource: &ResourceKey, key: &ObjectKey) {
        if let Some(before) = self.resources.get_mut(resource).and_then(|objects| objects.remove(key)) {
            self.disown(resource, key, &before);
        }
    }

    /// Goes on from a kept revision; watches cannot start from before it.
    pub(crate) fn restart_at(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
        self.journal.clear();
        self.forgotten = self.revision;
    }

    /// The events after a revision, oldest first. `None` when some of them are no longer known.
    pub fn events_after(&self, revision: u64) -> Option<impl Iterator<Item = &Event>> {
        if revision < self.forgotten {
            return None;
        }
        let start = self.journal.partition_point(|event| event.object.revision <= revision);
        Some(self.journal.range(start..))
    }

    /// Forgets the events up to a revision, as a compaction does.
    pub fn compact(&mut self, revision: u64) {
        while self.journal.front().is_some_and(|event| event.object.revision <= revision) {
            self.journal.pop_front();
        }
        self.forgotten = self.forgotten.max(revision.min(self.revision));
    }

    fn stamp(&mut self, mut value: Value) -> Object {
        self.revision += 1;
        set_revision(&mut value, self.revision);
        Object::new(settled(value), self.revision)
    }

    fn record(&mut self, event: Event) {
        self.journal.push_back(event);
        if self.journal.len() > self.window
            && let Some(gone) = self.journal.pop_front()
        {
            self.forgotten = gone.object.revision;
        }
    }

    fn own(&mut self, resource: &ResourceKey, key: &ObjectKey, object: &Object) {
        for owner in owner_uids(&object.value) {
            self.owned.entry(owner.into()).or_default().insert((resource.clone(), key.clone()));
        }
        for claim in claims(resource, &object.value) {
            *self.claimed.entry(claim).or_default() += 1;
        }
    }

    fn disown(&mut self, resource: &ResourceKey, key: &ObjectKey, object: &Object) {
        for claim in claims(resource, &object.value) {
            if let Some(count) = self.claimed.get_mut(&claim) {
                *count -= 1;
                if *count == 0 {
                    self.claimed.remove(&claim);
                }
            }
        }
        for owner in owner_uids(&object.value) {
            if let Some(owned) = self.owned.get_mut(owner) {
                owned.remove(&(resource.clone(), key.clone()));
                if owned.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
    }
}

/// What no other Service may have: its address and its node ports.
fn claims(resource: &ResourceKey, object: &Value) -> Vec<EcoString> {
    if resource.plural != "services" || !resource.group.is_empty() {
        return Vec::new();
    }
    let spec = &object["spec"];
    let address = spec["clusterIP"].as_str().filter(|address| !matches!(*address, "" | "None"));
    let ports = spec["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_u64());
    address.map(EcoString::from).into_iter().chain(ports.map(|port| ecow::eco_format!("{port}"))).collect()
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    let references = object.at("/metadata/ownerReferences").and_then(Value::as_array);
    references.into_iter().flatten().filter_map(|reference| reference.get("uid")?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config_map(name: &str, owner: &str) -> Value {
        json!({"metadata": {"namespace": "n", "name": name, "ownerReferences": [{"uid": owner}]}})
    }

    #[test]
    fn every_change_takes_one_revision_and_one_event() {
        let maps = ResourceKey::new("", "configmaps");
        let mut store = Store::new(10);
        let first = store.put(&maps, config_map("a", "u"));
        let second = store.put(&maps, config_map("a", "u"));
        let gone = store.remove(&maps, &ObjectKey::new("n", "a"), None).unwrap();
        assert_eq!((first.revision, second.revision, gone.revision), (2, 3, 4));
        assert_eq!(gone.value["metadata"]["resourceVersion"], "4");
        let kinds: Vec<EventKind> = store.events_after(1).unwrap().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::Added, EventKind::Modified, EventKind::Deleted]);
        assert!(store.is_empty() && store.owned_by("u").next().is_none());
    }

    #[test]
    fn a_watch_from_before_the_window_is_told_so() {
        let maps = ResourceKey::new("", "configmaps");
        let mut store = Store::new(2);
        for name in ["a", "b", "c"] {
            store.put(&maps, config_map(name, "u"));
        }
        assert!(store.events_after(1).is_none());
        assert_eq!(store.events_after(2).unwrap().count(), 2);
        store.compact(3);
        assert!(store.events_after(2).is_none());
        assert_eq!(store.events_after(3).unwrap().count(), 1);
    }

    #[test]
    fn a_namespace_is_listed_alone_and_in_order() {
        let maps = ResourceKey::new("", "configmaps");
        let mut store = Store::new(10);
        for (namespace, name) in [("b", "y"), ("a", "z"), ("b", "x"), ("bb", "w")] {
            store.put(&maps, json!({"metadata": {"namespace": namespace, "name": name}}));
        }
        let names: Vec<&str> = store.list(&maps, Some("b")).map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["x", "y"]);
        assert_eq!(store.list(&maps, None).count(), 4);
    }
}
