//! One write, from request to stored object: the road that every create, update, patch and apply takes.
//!
//! In: the live object (if any), the request body, who writes. Out: the object to store, or a refusal in the server's words.
//! Order, as on the server: merge or patch, decode (convert, default, normalise), track ownership, the caller's admission,
//! the kind's strategy, validation, and last the check whether anything changed at all. Pure: time and uid are given.

use serde_json::{Value, json};

use crate::crd;
use crate::decode::{decode, decode_request};
use crate::immutable::immutable_changes;
use crate::managed::Managed;
use crate::normalise::{empty_object, stored};
use crate::patch::{json_patch, merge_patch, strategic_patch};
use crate::scale::scale;
use crate::service;
use crate::ssa::{self, Applier, LAST_APPLIED, Target, same_object, without_managed};
use crate::status::{Cause, Refusal};
use crate::strategy::{prepare_create, prepare_update};
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

/// Carries out one write. The caller has found the live object and checked names, versions and preconditions.
pub fn write(
    target: Target<'_>,
    live: Option<&Value>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    let stored = live.filter(|_| is_service(target)).and_then(service::as_stored);
    let mut written = write_stored(target, stored.as_ref().or(live), verb, by)?;
    if is_service(target) {
        service::hide(&mut written.object);
    }
    Ok(written)
}

fn is_service(target: Target<'_>) -> bool {
    target.resource.kind == "Service" && !target.resource.custom
}

/// The same with objects as they are stored, where a Service has a value that no reader sees ([`service::hide`] takes it away).
pub fn write_stored(
    target: Target<'_>,
    live: Option<&Value>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    if target.subresource == "scale" {
        return write_scale(target, live, verb, by);
    }
    match (verb, live) {
        (Verb::Apply(body), live) => apply(target, live, body, by),
        (Verb::Create(body), _) => create(target, body, by),
        (_, None) => Err(Refusal::new(404, "NotFound", "not found")),
        (Verb::Update(body), Some(live)) => {
            let managed = ssa::entries_for_update(target, live, body);
            update(target, live, decode_request(target, body.clone())?, managed, by)
        }
        (Verb::MergePatch(body), Some(live)) => patch(target, live, merge_patch(live, body)?, by),
        (Verb::JsonPatch(body), Some(live)) => patch(target, live, json_patch(live, body)?, by),
        (Verb::StrategicPatch(_), Some(_)) if target.resource.custom => Err(Refusal::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
        (Verb::StrategicPatch(body), Some(live)) => {
            patch(target, live, strategic_patch(target.schema, target.resource, live, body)?, by)
        }
    }
}

fn create(target: Target<'_>, body: &Value, by: Writer<'_>) -> Result<Written, Refusal> {
    let mut object = decode_request(target, body.clone())?;
    // Whatever list the client sends is not kept: a new object has no history.
    let managed = ssa::update(
        target,
        &empty_object(target.schema, target.resource),
        &without_managed(&object),
        Managed::default(),
        by.manager,
        by.now,
    );
    finish_create(target, &mut object, managed, by)
}

fn finish_create(
    target: Target<'_>,
    object: &mut Value,
    managed: Managed,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    let mut object = std::mem::take(object);
    prepare_create(target, &mut object, by.uid, by.now);
    (by.admit)(&mut object, None)?;
    let mut object = decode(target, object)?;
    refuse(target, &object, problems(target, &object, None))?;
    stored(target.schema, target.resource, &mut object);
    managed.write_to(&mut object);
    Ok(Written { object, unchanged: false, created: true })
}

/// A patched object that cannot be read is refused as an invalid patch, not as a bad request.
fn patch(target: Target<'_>, live: &Value, patched: Value, by: Writer<'_>) -> Result<Written, Refusal> {
    let managed = ssa::entries_for_update(target, live, &patched);
    let new = decode_request(target, patched.clone()).map_err(|refusal| match refusal.code {
        400 => Refusal::invalid(
            "",
            "",
            "",
            vec![Cause::invalid("patch", &Value::from(patched.to_string()), &refusal.message)],
        ),
        _ => refusal,
    })?;
    update(target, live, new, managed, by)
}

fn update(
    target: Target<'_>,
    live: &Value,
    new: Value,
    managed: Managed,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    let managed = ssa::update(target, live, &without_managed(&new), managed, by.manager, by.now);
    finish_update(target, live, new, managed, by)
}

fn finish_update(
    target: Target<'_>,
    live: &Value,
    mut new: Value,
    managed: Managed,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    prepare_update(target, live, &mut new);
    (by.admit)(&mut new, Some(live))?;
    refuse(
        target,
        &new,
        problems(target, &new, Some(live)).into_iter().chain(immutable_changes(target.resource, live, &new)),
    )?;
    stored(target.schema, target.resource, &mut new);
    Managed::default().write_to(&mut new);
    if same_object(&new, live) && managed.is_of(live) {
        return Ok(Written { object: live.clone(), unchanged: true, created: false });
    }
    managed.write_to(&mut new);
    Ok(Written { object: new, unchanged: false, created: false })
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
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Refusal::invalid(&target.resource.group, &target.resource.kind, name, causes))
}

fn apply(target: Target<'_>, live: Option<&Value>, body: &Value, by: Writer<'_>) -> Result<Written, Refusal> {
    check_apply_body(target, body)?;
    let applier = Applier { manager: by.manager, force: by.force, now: by.now };
    let Some(live) = live else {
        let empty = empty_object(target.schema, target.resource);
        let applied =
            ssa::apply(target, &empty, Managed::default(), body, applier).map_err(|e| e.to_refusal())?;
        let mut object = decode(target, applied.object.unwrap_or(empty))?;
        return finish_create(target, &mut object, applied.managed, by);
    };
    let applied = ssa::apply(target, live, Managed::of(live), body, applier).map_err(|e| e.to_refusal())?;
    let mut new = match applied.object {
        Some(object) => decode(target, object)?,
        None => without_managed(live),
    };
    rewrite_last_applied(by.manager, body, &mut new);
    finish_update(target, live, new, applied.managed, by)
}

fn check_apply_body(target: Target<'_>, body: &Value) -> Result<(), Refusal> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != target.resource.api_version() || text("kind") != target.resource.kind {
        let message = format!("invalid object type: {}, Kind={}", text("apiVersion"), text("kind"));
        return Err(Refusal::bad_request(message));
    }
    if body.pointer("/metadata/managedFields").is_some_and(|m| !m.is_null()) {
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
    live: Option<&Value>,
    verb: Verb<'_>,
    by: Writer<'_>,
) -> Result<Written, Refusal> {
    let Some(live) = live else { return Err(Refusal::new(404, "NotFound", "not found")) };
    let scaled = scale(target, live, verb, by.manager, by.force)?;
    let mut new = without_managed(live);
    if let Some(replicas) = scaled.replicas
        && let Some(map) = new.as_object_mut()
    {
        map.entry("spec").or_insert_with(|| json!({}))["replicas"] = replicas;
    }
    let new = decode(target, new)?;
    finish_update(target, live, new, scaled.managed, by)
}

/// What a custom resource loses when it is read: fields its schema no longer has; and what it gains: defaults.
pub fn read_custom(target: Target<'_>, object: &mut Value) {
    if let Some(structural) = &target.resource.structural {
        crd::prune(structural, object);
        crd::fill_defaults(structural, object);
    }
}
