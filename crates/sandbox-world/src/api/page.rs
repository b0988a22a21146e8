//! Paging: the continue token, and what a resource held at an earlier revision.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use kube_meaning::status::Refusal;
use serde_json::{Value, json};

use crate::store::{EventKind, Object, ObjectKey, ResourceKey, Store};

const FORM: &str = "meta.k8s.io/v1";

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Continue {
    /// The revision of the first page; `-1` goes on in the newest one.
    pub(crate) revision: i64,
    /// The last object that was shown.
    pub(crate) after: ObjectKey,
}

impl Continue {
    pub(crate) fn write(&self) -> String {
        let start = format!("{}/{}\0", self.after.namespace, self.after.name);
        let token = json!({"v": FORM, "rv": self.revision, "start": start});
        BASE64URL_NOPAD.encode(token.to_string().as_bytes())
    }

    pub(crate) fn read(text: &str) -> Result<Continue, Refusal> {
        let wrong = |why: &str| Refusal::bad_request(format!("continue key is not valid: {why}"));
        let bytes = BASE64URL_NOPAD
            .decode(text.trim_end_matches('=').as_bytes())
            .map_err(|_| wrong("illegal base64 data"))?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| wrong("not a token"))?;
        if token["v"] != FORM {
            return Err(wrong("unrecognized encoded version"));
        }
        let revision = token["rv"].as_i64().filter(|rv| *rv != 0).ok_or_else(|| wrong("no revision"))?;
        let start =
            token["start"].as_str().filter(|start| !start.is_empty()).ok_or_else(|| wrong("no start"))?;
        let start = start.trim_end_matches('\0');
        let (namespace, name) = start.split_once('/').unwrap_or(("", start));
        Ok(Continue { revision, after: ObjectKey::new(namespace, name) })
    }
}

/// The refusal of a token whose revision is forgotten; it carries a token that goes on with the newest state.
pub(crate) fn expired(from: &Continue) -> Value {
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
    let mut status = Refusal::new(410, "Expired", message).to_json();
    status["metadata"] = json!({"continue": Continue { revision: -1, after: from.after.clone() }.write()});
    status
}

/// The objects of a resource as they were at a revision; `None` when that is forgotten.
pub(crate) fn at_revision(
    store: &Store,
    resource: &ResourceKey,
    revision: u64,
) -> Option<BTreeMap<ObjectKey, Object>> {
    let events: Vec<_> = store.events_after(revision)?.filter(|event| event.resource == *resource).collect();
    let mut objects: BTreeMap<ObjectKey, Object> =
        store.list(resource, None).map(|(key, object)| (key.clone(), object.clone())).collect();
    for event in events.iter().rev() {
        match (&event.before, event.kind) {
            (_, EventKind::Added) | (None, _) => objects.remove(&event.key),
            (Some(before), _) => objects.insert(event.key.clone(), before.clone()),
        };
    }
    Some(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_as_it_went() {
        let token = Continue { revision: 7, after: ObjectKey::new("n", "a.b") };
        assert_eq!(Continue::read(&token.write()).unwrap(), token);
        for bad in ["", "x", "e30", "!!"] {
            assert_eq!(Continue::read(bad).unwrap_err().code, 400, "{bad}");
        }
    }

    #[test]
    fn an_earlier_state_is_found_again() {
        let maps = ResourceKey::new("", "configmaps");
        let map = |name: &str, data: u32| json!({"metadata": {"namespace": "n", "name": name}, "data": data});
        let mut store = Store::new(100);
        store.put(&maps, map("a", 1));
        let then = store.put(&maps, map("b", 1)).revision;
        store.put(&maps, map("a", 2));
        store.remove(&maps, &ObjectKey::new("n", "b"), None);
        store.put(&maps, map("c", 1));
        let was = at_revision(&store, &maps, then).unwrap();
        let seen: Vec<(&str, &Value)> =
            was.iter().map(|(key, object)| (key.name.as_str(), &object.value["data"])).collect();
        assert_eq!(seen, [("a", &json!(1)), ("b", &json!(1))]);
    }
}
