//! `status.conditions` read as a map by type.
//!
//! Problem: lists have no order, statuses may be absent, and a condition may speak of an older generation. In: an object or
//! a list. Out: the conditions that speak of this generation. Invariant: stale conditions are as good as absent.

use crate::time::{self, Millis};
use crate::view::{View, lenient_integer};
use serde_json::Value;

/// The three values of a condition; an absent status is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tri {
    True,
    False,
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition<'a> {
    pub kind: &'a str,
    pub status: Tri,
    pub reason: &'a str,
    pub message: &'a str,
    pub at: Option<Millis>,
}

impl Condition<'_> {
    pub(crate) fn is_true(&self) -> bool {
        self.status == Tri::True
    }

    pub(crate) fn is_false(&self) -> bool {
        self.status == Tri::False
    }

    /// The message for people, or the reason when there is none.
    pub(crate) fn says(&self) -> &str {
        if self.message.trim().is_empty() { self.reason } else { self.message.trim() }
    }

    pub(crate) fn reason_or<'b>(&'b self, default: &'b str) -> &'b str {
        if self.reason.is_empty() { default } else { self.reason }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions<'a> {
    pub list: Vec<Condition<'a>>,
    /// A condition older than the object was dropped.
    pub stale: bool,
}

impl<'a> Conditions<'a> {
    /// The conditions of an object's status.
    pub(crate) fn of(object: View<'a>) -> Conditions<'a> {
        Conditions::from_list(object.list("/status/conditions"), object.generation())
    }

    pub(crate) fn from_list(list: &'a [Value], generation: Option<i64>) -> Conditions<'a> {
        let mut found = Conditions::default();
        for entry in list {
            // a condition without a type says nothing
            if View(entry).str("/type").is_empty() {
                continue;
            }
            if is_stale(entry, generation) {
                found.stale = true;
                continue;
            }
            found.list.push(read(View(entry)));
        }
        found
    }

    /// The condition of this type; the last one wins when a controller wrote it twice.
    pub(crate) fn get(&self, kind: &str) -> Option<&Condition<'a>> {
        self.list.iter().rev().find(|condition| condition.kind == kind)
    }

    pub(crate) fn is_true(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(Condition::is_true)
    }

    pub(crate) fn is_false(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(Condition::is_false)
    }

    /// The condition if it is true.
    pub(crate) fn truly(&self, kind: &str) -> Option<&Condition<'a>> {
        self.get(kind).filter(|condition| condition.is_true())
    }

    pub(crate) fn falsely(&self, kind: &str) -> Option<&Condition<'a>> {
        self.get(kind).filter(|condition| condition.is_false())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Does this condition speak of an older generation than the object's?
pub(crate) fn is_stale(entry: &Value, generation: Option<i64>) -> bool {
    let observed = entry.get("observedGeneration").and_then(lenient_integer);
    matches!((observed, generation), (Some(observed), Some(current)) if observed > 0 && observed < current)
}

fn read(entry: View<'_>) -> Condition<'_> {
    let times = ["/lastTransitionTime", "/lastUpdateTime"];
    Condition {
        kind: entry.str("/type"),
        status: tri(entry.get("/status")),
        reason: entry.str("/reason"),
        message: entry.str("/message"),
        at: times.iter().filter_map(|pointer| time::parse(entry.str(pointer))).max(),
    }
}

fn tri(status: Option<&Value>) -> Tri {
    match status {
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Tri::True,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Tri::False,
        Some(Value::Bool(true)) => Tri::True,
        Some(Value::Bool(false)) => Tri::False,
        _ => Tri::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stale_condition_is_dropped_and_noted() {
        let object = json!({"metadata": {"generation": 3}, "status": {"conditions": [
            {"type": "Ready", "status": "True", "observedGeneration": 2},
            {"type": "Synced", "status": "False", "observedGeneration": 3}, 7]}});
        let conditions = Conditions::of(View(&object));
        assert!(conditions.stale);
        assert!(conditions.get("Ready").is_none());
        assert!(conditions.is_false("Synced"));
    }

    #[test]
    fn an_absent_status_is_unknown() {
        let object = json!({"status": {"conditions": [{"type": "Ready"}]}});
        assert_eq!(Conditions::of(View(&object)).get("Ready").map(|c| c.status), Some(Tri::Unknown));
    }
}
