//! The one road by which anything changes: API requests, controllers and kubelet alike.
//!
//! In: a request whose path, user and options were already understood. Out: the object as stored, or a refusal in the server's
//! words. Meaning (merge, defaults, validation, ownership) is `kube_meaning::write`; here is what needs the store: names,
//! namespaces, resource versions, finalizers of what is being deleted. Admission is `crate::admission`, deletion
//! `crate::removal`, what follows from a definition `crate::definitions`.

use std::borrow::Cow;
use std::sync::Arc;

use kube_meaning::reach::Reach;
use kube_meaning::status::{Cause, Refusal};
use kube_meaning::unchanged::is_unchanged_by;
use kube_meaning::write::{Live, Tracked, Verb, Writer, write_tracked};
use serde_json::{Value, json};

use crate::admission::Admission;
use crate::registry::Served;
use crate::store::{Object, ObjectKey, meta_text};
use crate::world::World;

pub use crate::removal::{Propagation, Removal, Removed};

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
    /// In the version of the request.
    pub value: Arc<Value>,
    /// As it is kept; of a dry run, as it would be.
    pub object: Object,
    pub created: bool,
    pub unchanged: bool,
}

/// How often a name is drawn before the server gives up.
const NAME_TRIES: usize = 8;

impl World {
    /// Carries out a create, update, patch or apply.
    pub fn write(&mut self, ask: &Write<'_>) -> Result<Stored, Refusal> {
        let resource = ask.served.key();
        let name = self.name_of(ask)?;
        let key = ObjectKey::new(ask.namespace, &name);
        let found = self.store.get(&resource, &key).cloned();
        let kept = self.registry.stored(&ask.served);
        let live = found.as_ref().map(|object| in_version(object, &kept, &ask.served));
        let verb = match (ask.verb, &live) {
            (Verb::Update(body), None) if creates_on_update(&ask.served) => Verb::Create(body),
            (verb, _) => verb,
        };
        check_presence(ask, verb, &name, live.as_deref())?;
        check_version(ask, verb, live.as_deref())?;
        let live = live.as_deref().map(Live::of);
        if let (Verb::Apply(body), Some(live), Some(found)) = (verb, &live, &found) {
            let target = ask.served.target(ask.subresource);
            if is_unchanged_by(target, live.object, &live.managed, ask.manager, body) {
                return self.unchanged(ask, &kept, found);
            }
        }
        let body = named_body(verb, &name);
        let verb = body.as_ref().map_or(verb, Verb::Create);
        let written = self.carry_out(ask, verb, &name, live.as_ref())?;
        let Some(object) = &written.object else {
            let found = found.as_ref().ok_or_else(|| not_found(&ask.served, &name))?;
            return self.unchanged(ask, &kept, found);
        };
        self.check_rules(ask, object, live.as_ref().map(|live| live.object))?;
        if let Some(live) = &live {
            check_finalizers(&ask.served, &name, live.object, object)?;
        }
        self.keep(ask, &kept, &key, written, found.is_some())
    }

    fn carry_out(
        &mut self,
        ask: &Write<'_>,
        verb: Verb<'_>,
        name: &str,
        live: Option<&Live<'_>>,
    ) -> Result<Tracked, Refusal> {
        let (uid, now) = (self.seed.uid(), self.now.text());
        let mut admission = Admission { store: &self.store, seed: &mut self.seed, ask, name, now: self.now };
        if live.is_none() {
            admission.namespace()?;
        }
        let mut admit = |object: &mut Value, live: Option<&Value>| admission.admit(object, live);
        let by = Writer { manager: ask.manager, force: ask.force, now: &now, uid: &uid, admit: &mut admit };
        write_tracked(ask.served.target(ask.subresource), live, verb, by)
            .map_err(|refusal| named(refusal, name))
    }

    /// Replaces the status of an object that is kept in the version of the request: what an update of its `/status` does,
    /// without looking at the rest.
    pub(crate) fn write_status(&mut self, ask: &Write<'_>, status: &Value) -> Result<(), Refusal> {
        let key = ObjectKey::new(ask.namespace, ask.name);
        let found = self.store.get(&ask.served.key(), &key).cloned();
        let found = found.ok_or_else(|| not_found(&ask.served, ask.name))?;
        let live = Live::of(&found.value);
        // A uid is drawn as for every write: what is drawn next does not depend on which way a write takes.
        let (uid, now) = (self.seed.uid(), self.now.text());
        let mut admit = |_: &mut Value, _: Option<&Value>| Ok(());
        let by = Writer { manager: ask.manager, force: ask.force, now: &now, uid: &uid, admit: &mut admit };
        let written =
            kube_meaning::write_status::write_status(ask.served.target("status"), &live, status, by)
                .map_err(|refusal| named(refusal, ask.name))?;
        if written.object.is_some() {
            let kept = self.registry.stored(&ask.served);
            self.keep(ask, &kept, &key, written, true)?;
        }
        Ok(())
    }

    /// Stores what was written, or removes an object whose last finalizer went.
    fn keep(
        &mut self,
        ask: &Write<'_>,
        kept: &Served,
        key: &ObjectKey,
        written: Tracked,
        found: bool,
    ) -> Result<Stored, Refusal> {
        let created = written.created;
        let object = with_owners(written);
        let same = kept.resource().version == ask.served.resource().version
            && kept.resource().group == ask.served.resource().group;
        let stored = match same {
            true => object,
            false => kube_meaning::convert(&object, ask.served.resource(), kept.resource()),
        };
        let resource = ask.served.key();
        let object = if ask.dry_run {
            Object::new(stored, 0)
        } else if found && is_finished(&stored) {
            // The answer shows the last state under its old version; the event has a new one.
            let last = Object::new(stored.clone(), 0);
            self.store.remove(&resource, key, Some(stored));
            self.after_removal(&resource, &last.value);
            last
        } else {
            let object = match ask.subresource {
                // The rest is a copy of what is kept.
                "status" if found => self.store.put_part(&resource, stored, &["metadata", "status"]),
                _ => self.store.put(&resource, stored),
            };
            self.after_write(&resource, &object.value);
            object
        };
        let value = match same {
            true => Arc::clone(&object.value),
            false => Arc::new(kube_meaning::convert(&object.value, kept.resource(), ask.served.resource())),
        };
        Ok(Stored { value, object, created, unchanged: false })
    }

    /// Nothing is stored.
    fn unchanged(&self, ask: &Write<'_>, kept: &Served, found: &Object) -> Result<Stored, Refusal> {
        let value = match in_version(found, kept, &ask.served) {
            Cow::Borrowed(_) => Arc::clone(&found.value),
            Cow::Owned(value) => Arc::new(value),
        };
        Ok(Stored { value, object: found.clone(), created: false, unchanged: true })
    }

    fn name_of(&mut self, ask: &Write<'_>) -> Result<String, Refusal> {
        let body = match ask.verb {
            Verb::Create(body) | Verb::Update(body) | Verb::Apply(body) => body,
            _ => return Ok(ask.name.to_owned()),
        };
        let given = meta_text(body, "name");
        let scoped = ask.subresource == "scale";
        if !ask.name.is_empty() {
            match (ask.verb, given) {
                (Verb::Create(_), _) => {}
                (Verb::Apply(_), "") => return Err(Refusal::bad_request("name must be provided")),
                (_, "") if scoped => {}
                (_, given) if given == ask.name => {}
                (_, given) => {
                    return Err(Refusal::bad_request(format!(
                        "the name of the object ({given}) does not match the name on the URL ({})",
                        ask.name
                    )));
                }
            }
            check_namespace(ask, body)?;
            return Ok(ask.name.to_owned());
        }
        check_namespace(ask, body)?;
        match (given, meta_text(body, "generateName")) {
            ("", "") => Ok(String::new()),
            ("", prefix) => self.generate_name(ask, prefix),
            (name, _) => Ok(name.to_owned()),
        }
    }

    fn generate_name(&mut self, ask: &Write<'_>, prefix: &str) -> Result<String, Refusal> {
        // The longest base that leaves room for the suffix in a name of 63.
        let base: String = prefix.chars().take(58).collect();
        let mut name = String::new();
        for _ in 0..NAME_TRIES {
            name = format!("{base}{}", self.seed.suffix(5));
            if self.store.get(&ask.served.key(), &ObjectKey::new(ask.namespace, &name)).is_none() {
                return Ok(name);
            }
        }
        let message = format!(
            "{} \"{name}\" already exists, the server was not able to generate a unique name for the object",
            full_name(&ask.served)
        );
        Err(about(&ask.served, &name, 409, "AlreadyExists", message))
    }
}

/// What was written as it is kept: its owners as text.
fn with_owners(written: Tracked) -> Value {
    let mut object = written.object.unwrap_or_default();
    if let (Some(text), Some(meta)) = (
        kube_meaning::managed_text::write(&written.managed),
        object.get_mut("metadata").and_then(Value::as_object_mut),
    ) {
        meta.insert("managedFields".to_owned(), Value::String(text));
    }
    object
}

/// A body that must be changed first: a created object is decoded with its drawn name in it, because some rules use it.
fn named_body(verb: Verb<'_>, name: &str) -> Option<Value> {
    let Verb::Create(body) = verb else { return None };
    if name.is_empty() || meta_text(body, "name") == name {
        return None;
    }
    let mut body = body.clone();
    if !body.get("metadata").is_some_and(Value::is_object) {
        body["metadata"] = json!({});
    }
    body["metadata"]["name"] = Value::from(name);
    Some(body)
}

/// A refusal of a patch does not know what it was about.
fn named(mut refusal: Refusal, name: &str) -> Refusal {
    if refusal.code == 422 && refusal.name.is_empty() && !refusal.kind.is_empty() {
        refusal.name = name.into();
    }
    refusal
}

fn check_namespace(ask: &Write<'_>, body: &Value) -> Result<(), Refusal> {
    let given = meta_text(body, "namespace");
    if given.is_empty() || given == ask.namespace {
        return Ok(());
    }
    let message = match ask.served.resource().namespaced {
        true => "the namespace of the provided object does not match the namespace sent on the request",
        false => "namespace should not be set on a cluster-scoped object",
    };
    Err(Refusal::bad_request(message))
}

fn check_presence(ask: &Write<'_>, verb: Verb<'_>, name: &str, live: Option<&Value>) -> Result<(), Refusal> {
    match (verb, live) {
        (Verb::Create(_), Some(live)) => {
            let gone = live.at("/metadata/deletionTimestamp").is_some();
            let start = if gone { "object is being deleted: " } else { "" };
            let message = format!("{start}{} \"{name}\" already exists", full_name(&ask.served));
            Err(about(&ask.served, name, 409, "AlreadyExists", message))
        }
        (Verb::Create(body), None) => match meta_text(body, "resourceVersion") {
            "" => Ok(()),
            _ if matches!(ask.verb, Verb::Update(_)) => Ok(()),
            _ => Err(Refusal::new(500, "", "resourceVersion should not be set on objects to be created")),
        },
        (Verb::Apply(body), None) => {
            if !ask.subresource.is_empty() {
                return Err(not_found(&ask.served, name));
            }
            let uid = meta_text(body, "uid");
            if uid.is_empty() {
                return Ok(());
            }
            let message = format!(
                "Operation cannot be fulfilled on {} \"{name}\": uid mismatch: the provided object specified uid {uid}, and no existing object was found",
                full_name(&ask.served)
            );
            Err(about(&ask.served, name, 409, "Conflict", message))
        }
        (_, None) => Err(not_found(&ask.served, name)),
        (_, Some(_)) => Ok(()),
    }
}

/// The version that a body insists on, and the uid.
fn check_version(ask: &Write<'_>, verb: Verb<'_>, live: Option<&Value>) -> Result<(), Refusal> {
    let Some(live) = live else { return Ok(()) };
    let (version, uid) = match verb {
        Verb::Create(_) => return Ok(()),
        Verb::Update(body) | Verb::Apply(body) | Verb::MergePatch(body) | Verb::StrategicPatch(body) => {
            (meta_text(body, "resourceVersion"), meta_text(body, "uid"))
        }
        Verb::JsonPatch(ops) => (patched(ops, "/metadata/resourceVersion"), ""),
    };
    let name = meta_text(live, "name");
    let update = matches!(verb, Verb::Update(_));
    if version.is_empty() {
        if update && ask.subresource.is_empty() && needs_version(&ask.served) {
            let cause =
                Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            let resource = ask.served.resource();
            return Err(Refusal::invalid(&resource.group, &resource.kind, name, vec![cause]));
        }
    } else if version != meta_text(live, "resourceVersion") {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": the object has been modified; please apply your changes to the latest version and try again",
            full_name(&ask.served)
        );
        return Err(about(&ask.served, name, 409, "Conflict", message));
    }
    let known = meta_text(live, "uid");
    if uid.is_empty() || uid == known {
        return Ok(());
    }
    if update {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": StorageError: invalid object, Code: 4, Key: {name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {known}",
            full_name(&ask.served)
        );
        return Err(about(&ask.served, name, 409, "Conflict", message));
    }
    let cause = Cause::invalid("metadata.uid", &Value::from(uid), "field is immutable");
    let resource = ask.served.resource();
    Err(Refusal::invalid(&resource.group, &resource.kind, name, vec![cause.clone(), cause]))
}

/// What a JSON patch sets at a path.
fn patched<'p>(ops: &'p Value, path: &str) -> &'p str {
    let ops = ops.as_array().into_iter().flatten();
    let mut sets =
        ops.filter(|op| matches!(op["op"].as_str(), Some("add" | "replace")) && op["path"] == path);
    sets.next_back().and_then(|op| op["value"].as_str()).unwrap_or_default()
}

/// While an object is being deleted its finalizers can only become fewer.
fn check_finalizers(served: &Served, name: &str, live: &Value, new: &Value) -> Result<(), Refusal> {
    if live.at("/metadata/deletionTimestamp").is_none() {
        return Ok(());
    }
    let list = |object: &Value| -> Vec<String> {
        let found = object.at("/metadata/finalizers").and_then(Value::as_array);
        found.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let old = list(live);
    let fresh: Vec<String> = list(new).into_iter().filter(|text| !old.contains(text)).collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = fresh.iter().map(|text| format!("{text:?}")).collect();
    let text = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        shown.join(", ")
    );
    let resource = served.resource();
    let cause = Cause::forbidden("metadata.finalizers", &text);
    Err(Refusal::invalid(&resource.group, &resource.kind, name, vec![cause]))
}

/// Whether nothing holds an object that is being deleted.
pub(crate) fn is_finished(object: &Value) -> bool {
    let empty = |pointer: &str| object.at(pointer).and_then(Value::as_array).is_none_or(Vec::is_empty);
    let meta = &object["metadata"];
    meta.get("deletionTimestamp").is_some_and(Value::is_string)
        && meta.get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) == 0
        && empty("/metadata/finalizers")
        && (object["kind"] != "Namespace" || empty("/spec/finalizers"))
}

/// A stored object in the version of a request.
pub(crate) fn in_version<'o>(object: &'o Object, kept: &Served, asked: &Served) -> Cow<'o, Value> {
    let (from, to) = (kept.resource(), asked.resource());
    match from.version == to.version && from.group == to.group {
        true => Cow::Borrowed(&*object.value),
        false => Cow::Owned(kube_meaning::convert(&object.value, from, to)),
    }
}

/// Kinds that a PUT to a missing name creates.
fn creates_on_update(served: &Served) -> bool {
    let resource = served.resource();
    !resource.custom
        && (resource.group == "rbac.authorization.k8s.io"
            || matches!(
                resource.kind.as_str(),
                "Service"
                    | "Endpoints"
                    | "Lease"
                    | "LimitRange"
                    | "Node"
                    | "PriorityClass"
                    | "RuntimeClass"
                    | "IngressClass"
                    | "Event"
                    | "CSIDriver"
                    | "CSINode"
                    | "CSIStorageCapacity"
            ))
}

/// Kinds that cannot be updated without saying which version.
fn needs_version(served: &Served) -> bool {
    let resource = served.resource();
    resource.custom
        || matches!(
            resource.kind.as_str(),
            "PodDisruptionBudget"
                | "CustomResourceDefinition"
                | "APIService"
                | "Lease"
                | "RuntimeClass"
                | "CSINode"
                | "CSIDriver"
                | "CSIStorageCapacity"
                | "VolumeAttachment"
                | "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
        )
}

/// `deployments.apps`, as the server's messages name a resource.
pub fn full_name(served: &Served) -> String {
    let resource = served.resource();
    match resource.group.as_str() {
        "" => resource.plural.to_string(),
        group => format!("{}.{group}", resource.plural),
    }
}

/// A refusal about one object of a resource.
pub fn about(
    served: &Served,
    name: &str,
    code: u16,
    reason: &'static str,
    message: impl Into<String>,
) -> Refusal {
    let resource = served.resource();
    Refusal {
        name: name.into(),
        group: resource.group.clone(),
        kind: resource.plural.clone(),
        ..Refusal::new(code, reason, message)
    }
}

/// The refusal for an object that is not there.
pub fn not_found(served: &Served, name: &str) -> Refusal {
    about(served, name, 404, "NotFound", format!("{} \"{name}\" not found", full_name(served)))
}

/// The refusal of admission.
pub fn forbidden(served: &Served, name: &str, text: &str) -> Refusal {
    let message = format!("{} \"{name}\" is forbidden: {text}", full_name(served));
    about(served, name, 403, "Forbidden", message)
}
