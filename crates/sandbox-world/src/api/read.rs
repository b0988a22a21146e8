//! GET of one object, and lists: selectors, pages, revisions.

use kube_meaning::status::{Cause, Refusal};
use serde_json::Value;

use super::page::{self, Continue};
use super::query::Query;
use super::resource::Ask;
use super::select::Selector;
use super::show::ListHead;
use super::{Answer, Response};
use crate::store::{Object, ObjectKey};
use crate::world::World;
use crate::write::not_found;

/// Which revision a read is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// The newest.
    Newest,
    /// Whatever is at hand: paging is ignored.
    Any,
    NotOlder,
    Exact(u64),
}

impl World {
    pub(crate) fn get(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        if let Some(text) = ask.query.get("resourceVersion") {
            self.check_reached(revision(text)?)?;
        }
        let key = ObjectKey::new(ask.namespace, ask.name);
        let Some(object) = self.store.get(&ask.served.key(), &key) else {
            return Err(not_found(&ask.served, ask.name));
        };
        let mut body = ask.show(self).one(object);
        body.push(b'\n');
        Ok(Response::of(200, super::respond::JSON, body).into())
    }

    pub(crate) fn list(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        if ask.query.flag("sendInitialEvents")?.is_some() {
            let text = "sendInitialEvents is forbidden for list";
            return Err(list_options(vec![Cause::forbidden("sendInitialEvents", text)]));
        }
        let selector = Selector::read(ask.query, &ask.served)?;
        let limit = ask.query.number("limit")?.unwrap_or(0);
        let limit = usize::try_from(limit).unwrap_or(0);
        let from = match ask.query.get("continue") {
            Some(text) => Some(Continue::read(text)?),
            None => None,
        };
        let at = self.read_at(ask.query, from.is_some())?;
        let show = ask.show(self);
        let resource = ask.served.key();
        let (revision, then) = match (&from, at) {
            (Some(from), _) if from.revision > 0 => {
                let revision = u64::try_from(from.revision).unwrap_or(0);
                self.check_reached(revision)?;
                match page::at_revision(&self.store, &resource, revision) {
                    Some(objects) => (revision, Some(objects)),
                    None => return Ok(Response::json(410, &page::expired(from)).into()),
                }
            }
            (_, At::Exact(revision)) => match page::at_revision(&self.store, &resource, revision) {
                Some(objects) => (revision, Some(objects)),
                None => {
                    let text = "The resourceVersion for the provided list is too old.";
                    return Err(Refusal::new(410, "Expired", text));
                }
            },
            _ => (self.store.revision(), None),
        };
        let namespace = ask.listed_namespace();
        let after = from.as_ref().map(|from| &from.after);
        let matching = |(key, object): &(&ObjectKey, &Object)| {
            namespace.is_none_or(|namespace| key.namespace == namespace)
                && after.is_none_or(|after| *key > after)
                && (selector.is_empty() || selector.matches(&show.value(object)))
        };
        let mut all: Box<dyn Iterator<Item = (&ObjectKey, &Object)>> = match &then {
            Some(objects) => Box::new(objects.iter().filter(matching)),
            None => Box::new(self.store.list(&resource, namespace).filter(matching)),
        };
        let limit = if limit == 0 || at == At::Any { usize::MAX } else { limit };
        let found: Vec<(&ObjectKey, &Object)> = all.by_ref().take(limit).collect();
        let mut head = ListHead { revision, ..ListHead::default() };
        // What is left is counted only where the server tells it.
        let left = if selector.is_empty() { all.count() } else { usize::from(all.next().is_some()) };
        if let (Some((last, _)), 1..) = (found.last(), left) {
            let revision = i64::try_from(revision).unwrap_or(i64::MAX);
            head.next = Some(Continue { revision, after: ObjectKey::clone(last) }.write());
            head.remaining = selector.is_empty().then_some(left);
        }
        let mut body = show.list(&head, found.iter().map(|(_, object)| *object));
        body.push(b'\n');
        Ok(Response::of(200, super::respond::JSON, body).into())
    }

    /// Which revision a list is about, from its parameters.
    fn read_at(&self, query: &Query<'_>, continued: bool) -> Result<At, Refusal> {
        let version = query.get("resourceVersion");
        let rule = query.get("resourceVersionMatch");
        match (version, rule) {
            (None, Some(_)) => {
                let text = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                Err(list_options(vec![Cause::forbidden("resourceVersionMatch", text)]))
            }
            (Some(_), Some(_)) if continued => {
                let text = "resourceVersionMatch is forbidden when continue is provided";
                Err(list_options(vec![Cause::forbidden("resourceVersionMatch", text)]))
            }
            (Some(text), _) if continued && text != "0" => {
                Err(Refusal::bad_request("specifying resource version is not allowed when using continue"))
            }
            (_, _) if continued => Ok(At::Newest),
            (None, None) => Ok(At::Newest),
            (Some("0"), Some("Exact")) => {
                let text = "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"";
                Err(list_options(vec![Cause::forbidden("resourceVersionMatch", text)]))
            }
            (Some("0"), _) => Ok(At::Any),
            (Some(text), rule) => {
                let revision = revision(text)?;
                self.check_reached(revision)?;
                match rule {
                    Some("Exact") => Ok(At::Exact(revision)),
                    None | Some("NotOlderThan") => Ok(At::NotOlder),
                    Some(other) => {
                        let allowed = ["Exact", "NotOlderThan", ""];
                        let cause =
                            Cause::not_supported("resourceVersionMatch", &Value::from(other), &allowed);
                        Err(list_options(vec![cause]))
                    }
                }
            }
        }
    }

    /// A revision that has not been reached cannot be read.
    pub(crate) fn check_reached(&self, revision: u64) -> Result<(), Refusal> {
        let current = self.store.revision();
        if revision <= current {
            return Ok(());
        }
        let text = format!("Too large resource version: {revision}, current: {current}");
        let mut refusal = Refusal::new(504, "Timeout", format!("Timeout: {text}"));
        refusal.causes.push(Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            field: String::new(),
        });
        refusal.retry_after = Some(1);
        Err(refusal)
    }
}

/// Reads a resource version.
pub(crate) fn revision(text: &str) -> Result<u64, Refusal> {
    let wrong = |_| {
        Refusal::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    };
    text.parse().map_err(wrong)
}

/// The refusal of a list's or a watch's parameters.
pub(crate) fn list_options(causes: Vec<Cause>) -> Refusal {
    Refusal::invalid("meta.k8s.io", "ListOptions", "", causes)
}
