//! The two shapes of an Event: the core group's, in which it is kept, and that of `events.k8s.io`.

use serde_json::{Map, Value};

use crate::schema::Resource;

/// Names of a field in the core group and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The event in the other shape, or `None` when nothing is to be translated.
pub(crate) fn convert(object: &Value, from: &Resource, to: &Resource) -> Option<Value> {
    if from.kind != "Event" || from.custom || from.group == to.group {
        return None;
    }
    let to_core = to.group.is_empty();
    let rename = |key: &str| {
        let found = NAMES.iter().find(|(core, other)| key == if to_core { *other } else { *core });
        found.map(|(core, other)| if to_core { *core } else { *other })
    };
    let fields = object.as_object()?.iter();
    let renamed = fields.map(|(key, value)| (rename(key).unwrap_or(key).to_owned(), value.clone()));
    Some(Value::Object(renamed.collect::<Map<String, Value>>()))
}

#[cfg(test)]
mod tests {
    use crate::builtin::builtin;
    use serde_json::json;

    #[test]
    fn an_event_is_read_in_both_groups() {
        let schema = builtin();
        let core = schema.resource("", "v1", "Event").unwrap();
        let new = schema.resource("events.k8s.io", "v1", "Event").unwrap();
        let event =
            json!({"apiVersion": "v1", "kind": "Event", "message": "m", "involvedObject": {"name": "p"}});
        let seen = crate::convert(&event, core, new);
        assert_eq!(
            seen,
            json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "m", "regarding": {"name": "p"}})
        );
        assert_eq!(crate::convert(&seen, new, core), event);
    }
}
