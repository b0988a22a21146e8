//! Lenient reading of JSON objects.
//!
//! Problem: status fields come from controllers of any quality; a string where a number belongs must never stop a verdict.
//! In: any JSON value. Out: typed answers. Invariant: a field of the wrong type reads as absent, and nothing here panics.

use serde_json::Value;

/// A borrowed object (or part of one) with typed accessors over JSON pointers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a>(pub &'a Value);

impl<'a> View<'a> {
    /// The value at a JSON pointer, `None` when absent or null. Pointers here are written by us and hold no escapes, so no
    /// key has to be copied (the general form copies each one).
    pub(crate) fn get(self, pointer: &str) -> Option<&'a Value> {
        let mut found = self.0;
        for key in pointer.split('/').skip(1) {
            found = match found {
                Value::Object(map) => map.get(key)?,
                Value::Array(list) => list.get(key.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        (!found.is_null()).then_some(found)
    }

    pub(crate) fn at(self, pointer: &str) -> Option<View<'a>> {
        self.get(pointer).map(View)
    }

    pub(crate) fn text(self, pointer: &str) -> Option<&'a str> {
        self.get(pointer).and_then(Value::as_str)
    }

    /// The text at a pointer, empty when absent.
    pub(crate) fn str(self, pointer: &str) -> &'a str {
        self.text(pointer).unwrap_or_default()
    }

    pub(crate) fn int(self, pointer: &str) -> Option<i64> {
        self.get(pointer).and_then(integer)
    }

    /// The number at a pointer; controllers leave zero counters out.
    pub(crate) fn num(self, pointer: &str) -> i64 {
        self.int(pointer).unwrap_or(0)
    }

    pub(crate) fn flag(self, pointer: &str) -> bool {
        self.get(pointer).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn list(self, pointer: &str) -> &'a [Value] {
        self.get(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn items(self, pointer: &str) -> impl Iterator<Item = View<'a>> + use<'a> {
        self.list(pointer).iter().map(View)
    }

    /// The keys of a mapping in their order.
    pub(crate) fn keys(self, pointer: &str) -> Vec<&'a str> {
        let map = self.get(pointer).and_then(Value::as_object);
        map.map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    pub(crate) fn kind(self) -> &'a str {
        self.str("/kind")
    }

    pub(crate) fn name(self) -> &'a str {
        self.str("/metadata/name")
    }

    pub(crate) fn namespace(self) -> &'a str {
        self.str("/metadata/namespace")
    }

    pub(crate) fn uid(self) -> &'a str {
        self.str("/metadata/uid")
    }

    pub(crate) fn group(self) -> &'a str {
        group_of(self.str("/apiVersion"), self.kind())
    }

    pub(crate) fn generation(self) -> Option<i64> {
        self.get("/metadata/generation").and_then(lenient_integer)
    }

    pub(crate) fn annotation(self, key: &str) -> Option<&'a str> {
        self.get("/metadata/annotations")?.get(key)?.as_str()
    }

    pub(crate) fn label(self, key: &str) -> Option<&'a str> {
        self.get("/metadata/labels")?.get(key)?.as_str()
    }

    /// True when a server has stored the object; a manifest from a file has no uid.
    pub(crate) fn stored(self) -> bool {
        !self.uid().is_empty()
    }

    /// `kind/name`, the short way to speak of an object.
    pub(crate) fn short(self) -> String {
        format!("{}/{}", self.kind(), self.name())
    }

    /// Is there a status with anything in it?
    pub(crate) fn has_status(self) -> bool {
        match self.get("/status") {
            Some(Value::Object(map)) => !map.is_empty(),
            _ => false,
        }
    }
}

/// The API group, with groups of old backups mapped to where the kind lives today.
pub(crate) fn group_of<'a>(api_version: &'a str, kind: &str) -> &'a str {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match (group, kind) {
        ("extensions", "Deployment" | "DaemonSet" | "ReplicaSet") => "apps",
        ("extensions", "Ingress") => "networking.k8s.io",
        ("events.k8s.io", "Event") => "",
        _ => group,
    }
}

/// Beyond this no counter is honest.
const LARGEST: i64 = 9_000_000_000_000_000;

/// A whole number; `3.0` counts, `"3"` does not. Absurd sizes read as absent, so that sums of counters cannot overflow.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    let float = value.as_f64()?;
    (float.fract() == 0.0 && float.abs() < LARGEST as f64).then_some(float as i64)
}

/// A whole number also when it is written as text: some custom kinds type `observedGeneration` so.
pub(crate) fn lenient_integer(value: &Value) -> Option<i64> {
    integer(value).or_else(|| {
        let number: i64 = value.as_str()?.trim().parse().ok()?;
        (-LARGEST..LARGEST).contains(&number).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wrong_type_reads_as_absent() {
        let value = json!({"status": {"replicas": "3", "ready": 2.0, "list": {}, "on": "true"}});
        let view = View(&value);
        assert_eq!(view.int("/status/replicas"), None);
        assert_eq!(view.int("/status/ready"), Some(2));
        assert!(view.list("/status/list").is_empty());
        assert!(!view.flag("/status/on"));
    }

    #[test]
    fn old_groups_are_mapped() {
        assert_eq!(group_of("extensions/v1beta1", "Deployment"), "apps");
        assert_eq!(group_of("v1", "Pod"), "");
        assert_eq!(group_of("apps/v1", "Deployment"), "apps");
    }
}
