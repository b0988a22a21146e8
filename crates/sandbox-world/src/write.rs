//! The one road by which anything changes: API requests, controllers and kubelet alike.
//!
//! In: a request whose path, user and options were already understood. Out: the object as stored, or a refusal in the server's
//! words. Meaning (merge, defaults, validation, ownership) is `kube_meaning::write`; here is what needs the store: names,
//! namespaces, resource versions, preconditions, finalizers, addresses.

use std::sync::Arc;

use kube_meaning::service::{Pool, allocate};
use kube_meaning::status::Refusal;
use kube_meaning::write::{Verb, Writer, write};
use serde_json::{Value, json};

use crate::registry::Served;
use crate::seed::Seed;
use crate::store::{ObjectKey, meta_text};
use crate::world::World;

/// A write that is understood.
#[derive(Clone, Debug)]
pub struct Write<'a> {
    pub served: Served,
    pub namespace: &'a str,
    /// Empty for a create: the body says it.
    pub name: &'a str,
    pub subresource: &'a str,
    pub verb: Verb<'a>,
    pub manager: &'a str,
    pub force: bool,
    pub dry_run: bool,
}

/// What a write came to.
#[derive(Clone, Debug)]
pub struct Stored {
    pub value: Arc<Value>,
    pub created: bool,
    pub unchanged: bool,
}

/// How something is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub grace_seconds: Option<i64>,
    pub propagation: Option<Propagation>,
    pub dry_run: bool,
}

/// What becomes of dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl World {
    /// Carries out a create, update, patch or apply.
    pub fn write(&mut self, ask: &Write<'_>) -> Result<Stored, Refusal> {
        let resource = ask.served.key();
        let named = self.name_of(ask);
        let key = ObjectKey::new(ask.namespace, &named);
        let live = self.store.get(&resource, &key).map(|object| Arc::clone(&object.value));
        let full = full_name(&ask.served);
        match (&ask.verb, &live) {
            (Verb::Create(_), Some(_)) => {
                return Err(Refusal::new(409, "AlreadyExists", format!("{full} \"{named}\" already exists")));
            }
            (Verb::Create(_) | Verb::Apply(_), None) => {}
            (_, None) => return Err(not_found(&ask.served, &named)),
            (_, Some(_)) => {}
        }
        let (uid, now) = (self.seed.uid(), self.now.text());
        let namespace = ask.namespace;
        let mut pool = Addresses { seed: &mut self.seed };
        let mut admit = |object: &mut Value, live: Option<&Value>| {
            object["metadata"]["name"] = json!(named);
            if !namespace.is_empty() {
                object["metadata"]["namespace"] = json!(namespace);
            }
            match object["kind"] == "Service" && object["apiVersion"] == "v1" {
                true => allocate(object, live, &mut pool),
                false => Ok(()),
            }
        };
        let by = Writer { manager: ask.manager, force: ask.force, now: &now, uid: &uid, admit: &mut admit };
        let written = write(ask.served.target(ask.subresource), live.as_deref(), ask.verb, by)?;
        if written.unchanged || ask.dry_run {
            let unchanged = written.unchanged;
            return Ok(Stored { value: Arc::new(written.object), created: written.created, unchanged });
        }
        let object = self.store.put(&resource, written.object);
        Ok(Stored { value: object.value, created: written.created, unchanged: false })
    }

    /// Carries out a delete. Returns the last state; the object is still there while finalizers hold it.
    pub fn remove(
        &mut self,
        served: &Served,
        key: &ObjectKey,
        removal: &Removal,
    ) -> Result<Arc<Value>, Refusal> {
        let resource = served.key();
        let Some(live) = self.store.get(&resource, key) else { return Err(not_found(served, &key.name)) };
        let live = Arc::clone(&live.value);
        if removal.uid.as_deref().is_some_and(|uid| uid != meta_text(&live, "uid")) {
            let message = format!(
                "Operation cannot be fulfilled on {} \"{}\": the UID in the precondition ({}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                full_name(served),
                key.name,
                removal.uid.as_deref().unwrap_or_default(),
                meta_text(&live, "uid")
            );
            return Err(Refusal::new(409, "Conflict", message));
        }
        if removal.dry_run {
            return Ok(live);
        }
        let removed = self.store.remove(&resource, key, None);
        Ok(removed.map_or(live, |object| object.value))
    }

    fn name_of(&mut self, ask: &Write<'_>) -> String {
        if !ask.name.is_empty() {
            return ask.name.to_owned();
        }
        let (Verb::Create(body) | Verb::Update(body) | Verb::Apply(body)) = ask.verb else {
            return String::new();
        };
        match (meta_text(body, "name"), meta_text(body, "generateName")) {
            ("", "") => String::new(),
            ("", prefix) => format!("{prefix}{}", self.seed.suffix(5)),
            (name, _) => name.to_owned(),
        }
    }
}

/// `deployments.apps`, as the server's messages name a resource.
pub fn full_name(served: &Served) -> String {
    let resource = served.resource();
    match resource.group.as_str() {
        "" => resource.plural.to_string(),
        group => format!("{}.{group}", resource.plural),
    }
}

/// The refusal for an object that is not there.
pub fn not_found(served: &Served, name: &str) -> Refusal {
    Refusal::new(404, "NotFound", format!("{} \"{name}\" not found", full_name(served)))
}

struct Addresses<'s> {
    seed: &'s mut Seed,
}

impl Pool for Addresses<'_> {
    fn address(&mut self) -> String {
        format!("10.96.{}.{}", self.seed.below(255), 1 + self.seed.below(254))
    }

    fn node_port(&mut self) -> u16 {
        30000 + self.seed.below(2768) as u16
    }
}
