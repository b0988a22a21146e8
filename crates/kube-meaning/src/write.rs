//! One write, from request to stored object: the road that every create, update, patch and apply takes.
//!
//! In: the live object (if any), the request body, who writes. Out: the object to store, or a refusal in the server's words.
//! Order, as on the server: merge or patch, decode (convert, default, normalise), track ownership, the caller's admission,
//! the kind's strategy, validation, and last the check whether anything changed at all. Pure: time and uid are given.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::crd;
use crate::decode::{decode, decode_request};
use crate::defaults;
use crate::immutable::immutable_changes;
use crate::managed::Managed;
use crate::normalise::{empty_object, stored};
use crate::patch::{json_patch, merge_patch, strategic_patch};
use crate::reach::Reach;
use crate::scale::scale;
use crate::service;
use crate::ssa::{self, Applier, LAST_APPLIED, Target, same_object, without_managed};
use crate::status::{Cause, Refusal};
use crate::strategy::{is_hollow, prepare_create, prepare_update};
use crate::validate::problems;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub enum Verb<'b> {
    Create(&'b Value),
    Update(&'b Value),
    Apply(&'b Value),
    MergePatch(&'b Value),
    JsonPatch(&'b Value),
    StrategicPatch(&'b Value),
}

/// Changes by the caller between ownership and validation: admission and allocation. Gets the new object and the live one.
pub type Admit<'a> = &'a mut dyn FnMut(&mut Value, Option<&Value>) -> Result<(), Refusal>;

/// Who writes, when, and what the caller adds.
pub struct Writer<'a> {
    pub manager: &'a str,
    pub force: bool,
    /// RFC 3339 with whole seconds.
    pub now: &'a str,
    /// The uid that a new object gets.
    pub uid: &'a str,
    pub admit: Admit<'a>,
}

/// The outcome of a write.
#[derive(Clone, Debug)]
pub struct Written {
    pub object: Value,
    /// Nothing differs from the live object: nothing is stored and its version stays.
    pub unchanged: bool,
    pub created: bool,
}

/// What is there already: the object, with managedFields as a list or as its text, and its entries, read once.
#[derive(Clone, Debug)]
pub struct Live<'v> {
    pub object: &'v Value,
    pub managed: Managed,
}

impl<'v> Live<'v> {
    pub fn of(object: &'v Value) -> Live<'v> {
        Live { object, managed: Managed::of(object) }
    }
}

/// The outcome of a write, ownership apart: for stores that keep it in a form of their own.
#[derive(Clone, Debug)]
pub struct Tracked {
    /// Without managedFields. `None`: nothing differs from the live object.
    pub object: Option<Value>,
    pub managed: Managed,
    pub created: bool,
}

/// Carries out one write. The caller has found the live object and checked names, versions and preconditions.
pub fn write(
    target: Target<'_>,
    live: Option<&Value>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    let found = live.map(Live::of);
    let tracked = write_tracked(target, found.as_ref(), verb, by)?;
    Ok(listed(tracked, live))
}

/// The same, ownership apart.
pub fn write_tracked(
    target: Target<'_>,
    live: Option<&Live<'_>>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    if target.resource.kind != "Service" || target.resource.custom {
        return carry_out(target, live, verb, by);
    }
    let stored = live.and_then(|live| service::as_stored(live.object, &live.managed));
    let kept = stored.as_ref().zip(live).map(|(object, live)| Live { object, managed: live.managed.clone() });
    let mut tracked = carry_out(target, kept.as_ref().or(live), verb, by)?;
    if let Some(object) = &mut tracked.object {
        service::hide(object);
    }
    // What was guessed of the store is no change when nobody can see it.
    if let (Some(_), Some(live), Some(object)) = (&kept, live, &tracked.object)
        && same_object(object, live.object)
        && tracked.managed.same_ownership(&live.managed)
    {
        tracked.object = None;
    }
    Ok(tracked)
}

/// As [`write()`] with objects as they are stored, where a Service has a value that no reader sees ([`service::hide`] takes it away).
pub fn write_stored(
    target: Target<'_>,
    live: Option<&Value>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    let found = live.map(Live::of);
    let tracked = carry_out(target, found.as_ref(), verb, by)?;
    Ok(listed(tracked, live))
}

fn listed(tracked: Tracked, live: Option<&Value>) -> Written {
    match tracked.object {
        Some(mut object) => {
            tracked.managed.write_to(&mut object);
            Written { object, unchanged: false, created: tracked.created }
        }
        None => Written { object: live.cloned().unwrap_or_default(), unchanged: true, created: false },
    }
}

fn carry_out(
    target: Target<'_>,
    live: Option<&Live<'_>>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    if target.subresource == "scale" {
        return write_scale(target, live, verb, by);
    }
    match (verb, live) {
        (Verb::Apply(body), live) => apply(target, live, body, by),
        (Verb::Create(body), _) => create(target, body, by),
        (_, None) => Err(Refusal::new(404, "NotFound", "not found")),
        (Verb::Update(body), Some(live)) => {
            let managed = ssa::entries_for_update(target, &live.managed, body);
            let hollow = is_hollow(target, body);
            let new = decode_request(target, without_text(Cow::Borrowed(body)))?;
            update(target, live, (new, hollow), managed, by)
        }
        (Verb::MergePatch(body), Some(live)) => {
            let patched = merge_patch(&patchable(live, verb), body)?;
            patch(target, live, patched, by)
        }
        (Verb::JsonPatch(body), Some(live)) => {
            let patched = json_patch(&patchable(live, verb), body)?;
            patch(target, live, patched, by)
        }
        (Verb::StrategicPatch(_), Some(_)) if target.resource.custom => Err(Refusal::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
        (Verb::StrategicPatch(body), Some(live)) => {
            let patched = strategic_patch(target.schema, target.resource, &patchable(live, verb), body)?;
            patch(target, live, patched, by)
        }
    }
}

fn is_text(object: &Value) -> bool {
    object.get("metadata").and_then(|meta| meta.get("managedFields")).is_some_and(Value::is_string)
}

/// The live object as a patch sees it: with a list of owners when the patch may look at it.
fn patchable<'v>(live: &Live<'v>, verb: Verb<'_>) -> Cow<'v, Value> {
    let looks = match verb {
        Verb::MergePatch(patch) | Verb::StrategicPatch(patch) => {
            patch.at("/metadata/managedFields").is_some()
        }
        _ => true,
    };
    if !looks || !is_text(live.object) {
        return Cow::Borrowed(live.object);
    }
    let mut whole = live.object.clone();
    live.managed.write_to(&mut whole);
    Cow::Owned(whole)
}

/// A body that was taken from a store says nothing about owners.
fn without_text(object: Cow<'_, Value>) -> Value {
    match is_text(&object) {
        true => without_managed(&object),
        false => object.into_owned(),
    }
}

fn create(target: Target<'_>, body: &Value, by: Writer<'_>) -> Result<Tracked, Refusal> {
    let object = decode_request(target, without_text(Cow::Borrowed(body)))?;
    // Whatever list the client sends is not kept: a new object has no history.
    let empty = empty_object(target.schema, target.resource);
    let managed = ssa::update(target, &empty, &object, Managed::default(), by.manager, by.now);
    finish_create(target, object, managed, by)
}

fn finish_create(
    target: Target<'_>,
    mut object: Value,
    managed: Managed,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    prepare_create(target, &mut object, by.uid, by.now);
    (by.admit)(&mut object, None)?;
    let mut object = decode(target, object)?;
    refuse(target, &object, problems(target, &object, None))?;
    stored(target.schema, target.resource, &mut object);
    forget_owners(&mut object);
    Ok(Tracked { object: Some(object), managed, created: true })
}

/// A patched object that cannot be read is refused as an invalid patch, not as a bad request.
fn patch(target: Target<'_>, live: &Live<'_>, patched: Value, by: Writer<'_>) -> Result<Tracked, Refusal> {
    let managed = ssa::entries_for_update(target, &live.managed, &patched);
    let hollow = is_hollow(target, &patched);
    let new = decode_request(target, without_text(Cow::Borrowed(&patched))).map_err(|refusal| {
        if refusal.code != 400 {
            return refusal;
        }
        let mut shown = patched;
        if is_text(&shown) {
            live.managed.write_to(&mut shown);
        }
        let cause = Cause::invalid("patch", &Value::from(shown.to_string()), &refusal.message);
        Refusal::invalid("", "", "", vec![cause])
    })?;
    update(target, live, (new, hollow), managed, by)
}

fn update(
    target: Target<'_>,
    live: &Live<'_>,
    (new, hollow): (Value, bool),
    managed: Managed,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    let managed = ssa::update(target, live.object, &new, managed, by.manager, by.now);
    finish_update(target, live, (new, hollow), managed, by)
}

fn finish_update(
    target: Target<'_>,
    live: &Live<'_>,
    (mut new, hollow): (Value, bool),
    managed: Managed,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    let old = live.object;
    prepare_update(target, old, &mut new, hollow);
    (by.admit)(&mut new, Some(old))?;
    refuse(
        target,
        &new,
        problems(target, &new, Some(old)).into_iter().chain(immutable_changes(target.resource, old, &new)),
    )?;
    stored(target.schema, target.resource, &mut new);
    defaults::fill_read(target.resource, &mut new);
    forget_owners(&mut new);
    let same = same_object(&new, old) && is_listed(live) && managed.same_ownership(&live.managed);
    Ok(Tracked { object: (!same).then_some(new), managed, created: false })
}

/// Whether the list of the live object has no entry that counts for nothing.
pub(crate) fn is_listed(live: &Live<'_>) -> bool {
    let list = live.object.get("metadata").and_then(|meta| meta.get("managedFields"));
    let owners = live.managed.entries.iter().filter(|entry| !entry.fields.is_empty()).count();
    match list {
        Some(Value::Array(list)) => list.len() == owners,
        Some(Value::String(_)) => true,
        _ => owners == 0,
    }
}

fn forget_owners(object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.shift_remove("managedFields");
    }
}

/// One refusal for everything that is wrong.
fn refuse(
    target: Target<'_>,
    object: &Value,
    causes: impl IntoIterator<Item = Cause>,
) -> Result<(), Refusal> {
    let causes: Vec<Cause> = causes.into_iter().collect();
    if causes.is_empty() {
        return Ok(());
    }
    let name = object.at("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Refusal::invalid(&target.resource.group, &target.resource.kind, name, causes))
}

fn apply(
    target: Target<'_>,
    live: Option<&Live<'_>>,
    body: &Value,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    check_apply_body(target, body)?;
    let applier = Applier { manager: by.manager, force: by.force, now: by.now };
    let Some(live) = live else {
        let empty = empty_object(target.schema, target.resource);
        let applied =
            ssa::apply(target, &empty, Managed::default(), body, applier).map_err(|e| e.to_refusal())?;
        let object = decode(target, applied.object.unwrap_or(empty))?;
        return finish_create(target, object, applied.managed, by);
    };
    let applied =
        ssa::apply(target, live.object, live.managed.clone(), body, applier).map_err(|e| e.to_refusal())?;
    let hollow = applied.object.as_ref().is_some_and(|object| is_hollow(target, object));
    let mut new = match applied.object {
        Some(object) => decode(target, object)?,
        None => without_managed(live.object),
    };
    rewrite_last_applied(by.manager, body, &mut new);
    finish_update(target, live, (new, hollow), applied.managed, by)
}

fn check_apply_body(target: Target<'_>, body: &Value) -> Result<(), Refusal> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != target.resource.api_version() || text("kind") != target.resource.kind {
        let message = format!("invalid object type: {}, Kind={}", text("apiVersion"), text("kind"));
        return Err(Refusal::bad_request(message));
    }
    if body.at("/metadata/managedFields").is_some_and(|m| !m.is_null()) {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// Manager `kubectl` keeps the annotation of client-side apply up to date, if it is there.
fn rewrite_last_applied(manager: &str, body: &Value, object: &mut Value) {
    if manager != "kubectl" {
        return;
    }
    if let Some(slot) = object.pointer_mut("/metadata/annotations").and_then(|a| a.get_mut(LAST_APPLIED)) {
        let mut applied = body.clone();
        if let Some(annotations) = applied.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        {
            annotations.shift_remove(LAST_APPLIED);
        }
        *slot = Value::from(format!("{applied}\n"));
    }
}

/// Writes through `/scale` reach `spec.replicas` of the parent.
fn write_scale(
    target: Target<'_>,
    live: Option<&Live<'_>>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    let Some(live) = live else { return Err(Refusal::new(404, "NotFound", "not found")) };
    let scaled = scale(target, live, verb, by.manager, by.force)?;
    let mut new = without_managed(live.object);
    if let Some(replicas) = scaled.replicas
        && let Some(map) = new.as_object_mut()
    {
        map.entry("spec").or_insert_with(|| json!({}))["replicas"] = replicas;
    }
    let new = decode(target, new)?;
    finish_update(target, live, (new, false), scaled.managed, by)
}

/// What a custom resource loses when it is read: fields its schema no longer has; and what it gains: defaults.
pub fn read_custom(target: Target<'_>, object: &mut Value) {
    if let Some(structural) = &target.resource.structural {
        crd::prune(structural, object);
        crd::fill_defaults(structural, object);
    }
}
