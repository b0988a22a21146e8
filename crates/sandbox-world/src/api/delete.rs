//! DELETE of an object and of a collection.

use kube_meaning::reach::Reach;
use kube_meaning::status::{Cause, Refusal};
use serde_json::{Value, json};

use super::body;
use super::query::Query;
use super::resource::Ask;
use super::respond::{details, success};
use super::select::Selector;
use super::show::ListHead;
use super::{Answer, Response};
use crate::removal::{Propagation, Removal, Removed};
use crate::store::{Object, ObjectKey, meta_text};
use crate::world::World;

impl World {
    pub(crate) fn delete(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let removal = options(ask)?;
        let key = ObjectKey::new(ask.namespace, ask.name);
        let Removed { object, gone } = self.remove_object(&ask.served, &key, &removal)?;
        if gone && ask.served.resource().kind != "Pod" {
            let mut details = details(&ask.served, ask.name);
            details["uid"] = json!(meta_text(&object.value, "uid"));
            return Ok(Response::json(200, &success(details)).into());
        }
        Ok(Response::bytes(200, &ask.show(self).one(&object)).into())
    }

    /// Deletes what a selector matches; answers with the list of it.
    pub(crate) fn delete_collection(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let removal = options(ask)?;
        let selector = Selector::read(ask.query, &ask.served)?;
        let limit = ask.query.number("limit")?.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let show = ask.show(self);
        let objects = self.store.list(&ask.served.key(), ask.listed_namespace());
        let matching = objects.filter(|(_, object)| selector.matches(&show.value(object)));
        let keys: Vec<ObjectKey> = matching.take(limit).map(|(key, _)| key.clone()).collect();
        let mut deleted: Vec<Object> = Vec::new();
        for key in keys {
            deleted.push(self.remove_object(&ask.served, &key, &removal)?.object);
        }
        let head = ListHead { revision: self.store.revision(), ..ListHead::default() };
        Ok(Response::bytes(200, &show.list(&head, deleted.iter())).into())
    }
}

/// The options of a delete: its body, or the query.
pub(crate) fn options(ask: &Ask<'_>) -> Result<Removal, Refusal> {
    let empty = ask.request.body.iter().all(u8::is_ascii_whitespace);
    let body = if empty { Value::Null } else { body::object(ask.request)?.value };
    if !body.is_object() && !body.is_null() {
        return Err(Refusal::bad_request("the delete options are not an object"));
    }
    let kind = body["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let message = format!("{kind} cannot be handled as a DeleteOptions: unknown conversion");
        return Err(Refusal::bad_request(message));
    }
    read_options(&body, ask.query)
}

/// Reads `DeleteOptions`.
pub(crate) fn read_options(body: &Value, query: &Query<'_>) -> Result<Removal, Refusal> {
    let text = |pointer: &str| body.at(pointer).and_then(Value::as_str).map(str::to_owned);
    let mut causes = Vec::new();
    let policy = text("/propagationPolicy").or_else(|| query.get("propagationPolicy").map(str::to_owned));
    let orphan = body["orphanDependents"].as_bool();
    let propagation = match policy.as_deref() {
        None | Some("") => match orphan {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        },
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            let allowed = ["Background", "Foreground", "Orphan", "nil"];
            causes.push(Cause::not_supported("propagationPolicy", &Value::from(other), &allowed));
            None
        }
    };
    let mut dry_run = query.dry_run("DeleteOptions")?;
    for value in body["dryRun"].as_array().into_iter().flatten() {
        match value.as_str() {
            Some("All") => dry_run = true,
            _ => causes.push(Cause::not_supported("dryRun", value, &["All"])),
        }
    }
    if !causes.is_empty() {
        return Err(Refusal::invalid("meta.k8s.io", "DeleteOptions", "", causes));
    }
    Ok(Removal {
        uid: text("/preconditions/uid"),
        resource_version: text("/preconditions/resourceVersion"),
        grace_seconds: body["gracePeriodSeconds"].as_i64().or(query.number("gracePeriodSeconds")?),
        propagation,
        dry_run,
    })
}
