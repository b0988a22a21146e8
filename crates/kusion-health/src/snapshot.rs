//! All objects known at one moment, indexed the ways a verdict asks for them.
//!
//! Problem: a cause sits in the pods, events and nodes around an object. In: objects, one by one or as lists. Out: lookups by
//! uid, owner, involved object and (group, kind, namespace, name). Invariant: lookups answer in insertion order; an object
//! without uid (a file) is matched by name, one with a uid never by name alone.

use crate::mask;
use crate::time::{self, Millis};
use crate::view::{View, group_of};
use base_secret::Redactor;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// (group, kind, namespace, name).
type Key = (String, String, String, String);

#[derive(Default)]
pub struct Snapshot {
    objects: Vec<Option<Value>>,
    by_key: HashMap<Key, usize>,
    by_uid: HashMap<String, usize>,
    by_kind: BTreeMap<(String, String), Vec<usize>>,
    /// Owner uid → dependents; owner (kind, namespace, name) → dependents.
    by_owner_uid: HashMap<String, Vec<usize>>,
    by_owner_name: HashMap<(String, String, String), Vec<usize>>,
    events: HashMap<(String, String, String), Vec<usize>>,
    /// (kind, namespace) of what may not be read → what the server says about it.
    hidden: BTreeMap<(String, String), String>,
    /// Knows the values of the Secrets, also of those that have gone: a message may still quote them.
    redactor: Redactor,
}

impl Snapshot {
    pub fn new() -> Snapshot {
        Snapshot::default()
    }

    /// A snapshot of the given objects; lists (`kind: …List` with `items`) are opened. A name given twice stays twice: a file
    /// may hold the same object of two clusters.
    pub fn of(objects: impl IntoIterator<Item = Value>) -> Snapshot {
        let mut snapshot = Snapshot::new();
        for object in flatten(objects) {
            snapshot.add(object);
        }
        snapshot
    }

    /// Adds an object, or replaces the one of the same group, kind, namespace and name.
    pub fn insert(&mut self, object: Value) {
        let key = key_of(View(&object));
        if !key.3.is_empty()
            && let Some(old) = self.by_key.remove(&key)
        {
            self.forget(old);
        }
        self.add(object);
    }

    fn add(&mut self, object: Value) {
        let at = self.objects.len();
        let view = View(&object);
        self.by_key.entry(key_of(view)).or_insert(at);
        if view.stored() {
            self.by_uid.insert(view.uid().to_owned(), at);
        }
        self.by_kind.entry((view.group().to_owned(), view.kind().to_owned())).or_default().push(at);
        for owner in view.items("/metadata/ownerReferences") {
            let uid = owner.str("/uid");
            if !uid.is_empty() {
                self.by_owner_uid.entry(uid.to_owned()).or_default().push(at);
            }
            let name =
                (owner.str("/kind").to_owned(), view.namespace().to_owned(), owner.str("/name").to_owned());
            self.by_owner_name.entry(name).or_default().push(at);
        }
        for about in involved(view) {
            self.events.entry(about).or_default().push(at);
        }
        if view.kind() == "Secret" && view.group().is_empty() {
            mask::learn(view, &self.redactor);
        }
        self.objects.push(Some(object));
    }

    /// Removes an object after a watch has said that it is gone.
    pub fn remove(&mut self, object: &Value) {
        if let Some(at) = self.by_key.remove(&key_of(View(object))) {
            self.forget(at);
        }
    }

    fn forget(&mut self, at: usize) {
        let Some(object) = self.objects.get_mut(at).and_then(Option::take) else { return };
        let view = View(&object);
        if self.by_uid.get(view.uid()) == Some(&at) {
            self.by_uid.remove(view.uid());
        }
        let drop_from = |list: Option<&mut Vec<usize>>| {
            if let Some(list) = list {
                list.retain(|&known| known != at);
            }
        };
        drop_from(self.by_kind.get_mut(&(view.group().to_owned(), view.kind().to_owned())));
        for owner in view.items("/metadata/ownerReferences") {
            drop_from(self.by_owner_uid.get_mut(owner.str("/uid")));
            let name =
                (owner.str("/kind").to_owned(), view.namespace().to_owned(), owner.str("/name").to_owned());
            drop_from(self.by_owner_name.get_mut(&name));
        }
        for about in involved(view) {
            drop_from(self.events.get_mut(&about));
        }
    }

    /// Notes that objects of a kind may not be read in a namespace, in the server's words. Says whether that is new.
    pub fn hide(&mut self, kind: &str, namespace: &str, why: &str) -> bool {
        let before = self.hidden.insert((kind.to_owned(), namespace.to_owned()), why.to_owned());
        before.as_deref() != Some(why)
    }

    /// Notes that they can be read (again).
    pub fn reveal(&mut self, kind: &str, namespace: &str) {
        self.hidden.remove(&(kind.to_owned(), namespace.to_owned()));
    }

    /// What the server says about objects of a kind that may not be read.
    pub fn hidden(&self, kind: &str, namespace: &str) -> Option<&str> {
        self.hidden.get(&(kind.to_owned(), namespace.to_owned())).map(String::as_str)
    }

    /// What may not be read, in the server's words.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.hidden.values().map(String::as_str)
    }

    /// A text with the values of the known Secrets hidden: for logs and messages from elsewhere.
    pub fn hide_secrets(&self, text: &str) -> String {
        self.redactor.clean(text).into_owned()
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Every object in input order.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.iter().flatten()
    }

    fn view(&self, at: usize) -> Option<View<'_>> {
        self.objects.get(at)?.as_ref().map(View)
    }

    pub(crate) fn by_uid(&self, uid: &str) -> Option<View<'_>> {
        self.view(*self.by_uid.get(uid)?)
    }

    /// One object by its full name; cluster-scoped objects have an empty namespace.
    pub(crate) fn find(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<View<'_>> {
        let key = (group.to_owned(), kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.view(*self.by_key.get(&key)?)
    }

    /// One object as stored, for callers outside of the rules.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.find(group, kind, namespace, name).map(|view| view.0)
    }

    /// All objects of a kind.
    pub(crate) fn of_kind<'s>(&'s self, group: &str, kind: &str) -> impl Iterator<Item = View<'s>> + use<'s> {
        let found = self.by_kind.get(&(group.to_owned(), kind.to_owned()));
        found.map_or(&[][..], Vec::as_slice).iter().filter_map(|&at| self.view(at))
    }

    /// Does the snapshot hold any object of this kind? Without one, absence proves nothing.
    pub(crate) fn knows(&self, group: &str, kind: &str) -> bool {
        self.of_kind(group, kind).next().is_some()
    }

    /// Objects whose owner reference names this one.
    pub(crate) fn owned_by(&self, owner: View<'_>) -> Vec<View<'_>> {
        if owner.stored() {
            let by_uid = self.by_owner_uid.get(owner.uid()).map_or(&[][..], Vec::as_slice);
            if !by_uid.is_empty() {
                return by_uid.iter().filter_map(|&at| self.view(at)).collect();
            }
        }
        let name = (owner.kind().to_owned(), owner.namespace().to_owned(), owner.name().to_owned());
        let by_name = self.by_owner_name.get(&name).map_or(&[][..], Vec::as_slice);
        let found = by_name.iter().filter_map(|&at| self.view(at));
        found.filter(|dependent| owner_matches(*dependent, owner)).collect()
    }

    /// Events about an object, newest first.
    pub(crate) fn events_of(&self, object: View<'_>) -> Vec<Event<'_>> {
        let cluster = object.namespace().is_empty();
        let key = (object.kind().to_owned(), object.namespace().to_owned(), object.name().to_owned());
        let found = self.events.get(&key).map_or(&[][..], Vec::as_slice);
        let mut events: Vec<Event<'_>> = found
            .iter()
            .filter_map(|&at| self.view(at))
            .filter(|event| uid_fits(*event, object, cluster))
            .map(Event::read)
            .collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.at));
        events
    }
}

/// Opens lists, to a bounded depth, and keeps the input order.
pub fn flatten(objects: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut flat = Vec::new();
    for object in objects {
        open(object, 0, &mut flat);
    }
    flat
}

fn open(object: Value, depth: u8, flat: &mut Vec<Value>) {
    let listed = View(&object).kind().ends_with("List") && object.get("items").is_some_and(Value::is_array);
    match object {
        Value::Array(items) if depth < 4 => items.into_iter().for_each(|item| open(item, depth + 1, flat)),
        Value::Object(mut map) if listed && depth < 4 => {
            if let Some(Value::Array(items)) = map.remove("items") {
                items.into_iter().for_each(|item| open(item, depth + 1, flat));
            }
        }
        Value::Object(map) => flat.push(Value::Object(map)),
        // a stray scalar between documents is no object
        _ => {}
    }
}

fn key_of(view: View<'_>) -> Key {
    let text = str::to_owned;
    (text(view.group()), text(view.kind()), text(view.namespace()), text(view.name()))
}

fn owner_matches(dependent: View<'_>, owner: View<'_>) -> bool {
    dependent.items("/metadata/ownerReferences").any(|reference| {
        let uid = reference.str("/uid");
        let same_uid = uid.is_empty() || !owner.stored() || uid == owner.uid();
        let group = group_of(reference.str("/apiVersion"), reference.str("/kind"));
        let same_group = group == owner.group() || reference.str("/apiVersion").is_empty();
        same_uid
            && same_group
            && reference.str("/kind") == owner.kind()
            && reference.str("/name") == owner.name()
    })
}

/// The object an event is about, in both event APIs.
fn regarding(event: View<'_>) -> Option<View<'_>> {
    event.at("/involvedObject").or_else(|| event.at("/regarding"))
}

/// The names under which an event is found: a hand-written one may leave the namespace of its object out.
fn involved(event: View<'_>) -> Vec<(String, String, String)> {
    if event.kind() != "Event" || !event.group().is_empty() {
        return Vec::new();
    }
    let Some(about) = regarding(event) else { return Vec::new() };
    let key = |namespace: &str| {
        (about.str("/kind").to_owned(), namespace.to_owned(), about.str("/name").to_owned())
    };
    let mut keys = vec![key(about.str("/namespace"))];
    if about.str("/namespace").is_empty() && !event.namespace().is_empty() {
        keys.push(key(event.namespace()));
    }
    keys
}

/// Names are reused, uids are not; events on nodes carry the node's name as uid.
fn uid_fits(event: View<'_>, object: View<'_>, cluster: bool) -> bool {
    let uid = regarding(event).map_or("", |about| about.str("/uid"));
    uid.is_empty() || !object.stored() || uid == object.uid() || (cluster && uid == object.name())
}

/// One event, read through either API.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub reason: &'a str,
    pub message: &'a str,
    pub warning: bool,
    pub count: i64,
    pub at: Option<Millis>,
    /// The container the kubelet means, from the field path.
    pub container: Option<&'a str>,
}

impl<'a> Event<'a> {
    fn read(view: View<'a>) -> Event<'a> {
        let times = [
            "/lastTimestamp",
            "/eventTime",
            "/series/lastObservedTime",
            "/deprecatedLastTimestamp",
            "/firstTimestamp",
        ];
        let counts = ["/count", "/series/count", "/deprecatedCount"];
        let field = regarding(view).map_or("", |about| about.str("/fieldPath"));
        let message = view.text("/message").or_else(|| view.text("/note")).unwrap_or_default();
        Event {
            reason: view.str("/reason"),
            message: message.trim(),
            warning: view.str("/type") == "Warning",
            count: counts.iter().filter_map(|pointer| view.int(pointer)).max().unwrap_or(1).max(1),
            at: times.iter().filter_map(|pointer| time::parse(view.str(pointer))).max(),
            container: field.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, uid: &str, owner: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "n", "uid": uid,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner}]}})
    }

    #[test]
    fn lists_are_opened_in_input_order() {
        let snapshot = Snapshot::of([
            json!({"kind": "List", "items": [pod("a", "1", "o"), {"kind": "PodList", "items": [pod("b", "2", "o")]}]}),
            json!(7),
        ]);
        let names: Vec<_> = snapshot.objects().map(|object| View(object).name().to_owned()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn dependents_of_another_owner_with_the_same_name_are_not_taken() {
        let snapshot = Snapshot::of([pod("a", "1", "old"), pod("b", "2", "new")]);
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "n", "uid": "new"}});
        let owned = snapshot.owned_by(View(&owner));
        assert_eq!(owned.iter().map(|pod| pod.name()).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn events_of_an_older_object_of_the_same_name_are_not_evidence() {
        let event = |uid: &str, at: &str| {
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": at, "namespace": "n"}, "reason": "X", "type": "Warning",
            "involvedObject": {"kind": "Pod", "namespace": "n", "name": "a", "uid": uid, "fieldPath": "spec.containers{main}"}, "lastTimestamp": at})
        };
        let snapshot = Snapshot::of([
            pod("a", "2", "o"),
            event("1", "2026-01-01T00:00:00Z"),
            event("2", "2026-01-01T00:00:01Z"),
            event("2", "2026-01-01T00:00:02Z"),
        ]);
        let events = snapshot.events_of(snapshot.by_uid("2").expect("stored"));
        assert_eq!(events.len(), 2);
        assert!(events[0].at > events[1].at);
        assert_eq!(events[0].container, Some("main"));
    }

    #[test]
    fn replacing_and_removing_keep_the_indexes_right() {
        let mut snapshot = Snapshot::of([pod("a", "1", "o")]);
        snapshot.insert(pod("a", "2", "p"));
        let owner = |uid: &str| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "x", "namespace": "n", "uid": uid}});
        assert!(snapshot.owned_by(View(&owner("o"))).is_empty());
        assert_eq!(snapshot.owned_by(View(&owner("p"))).len(), 1);
        assert!(snapshot.by_uid("1").is_none());
        snapshot.remove(&pod("a", "2", "p"));
        assert_eq!(snapshot.objects().count(), 0);
        assert!(!snapshot.knows("", "Pod"));
    }
}
