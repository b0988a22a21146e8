//! The write that controllers do all the time: the status of an object is replaced, and nothing else.
//!
//! In: the live object, the new status. Out: what an update through `/status` with the object as read and that status gives.
//! Only the status is decoded, compared and normalised; the rest is the live object's own and has its form already.
//! Invariant: [`crate::write::write_tracked`] with that update gives the same, byte for byte (a test holds both together).

use serde_json::{Map, Value};

use crate::decode::decode_field;
use crate::schema::Ty;
use crate::ssa::{self, Target};
use crate::status::Refusal;
use crate::typed::{compare_at, same_value};
use crate::write::{Live, Tracked, Verb, Writer, is_listed, write_tracked};

/// Replaces the status of a live object. The target is its `/status`.
pub fn write_status(
    target: Target<'_>,
    live: &Live<'_>,
    status: &Value,
    by: Writer<'_>,
) -> Result<Tracked, Refusal> {
    let resource = target.resource;
    let plain = !resource.custom && resource.kind != "Service" && target.subresource == "status";
    let (Ty::Named { id, .. }, true, Some(fields)) = (&resource.ty, plain, live.object.as_object()) else {
        return long_way(target, live, status, by);
    };
    let Some(field) = target.schema.get(*id).field("status") else {
        return long_way(target, live, status, by);
    };
    let mut new = status.clone();
    let kept = decode_field(target, field, &mut new)?;
    let (old, new) = (live.object.get("status"), kept.then_some(new));
    let own = compare_at(target.schema, &resource.ty, "status", (old, new.as_ref()));
    let same = match (old, &new) {
        (Some(old), Some(new)) => same_value(old, new),
        (old, new) => old.is_none() && new.is_none(),
    };
    let object = with_status(fields, new);
    let managed = ssa::update_compared(target, (live.object, &object), own, live.managed.clone(), &by);
    let same = same && is_listed(live) && managed.same_ownership(&live.managed);
    Ok(Tracked { object: (!same).then_some(object), managed, created: false })
}

fn long_way(target: Target<'_>, live: &Live<'_>, status: &Value, by: Writer<'_>) -> Result<Tracked, Refusal> {
    let mut body = ssa::without_managed(live.object);
    body["status"] = status.clone();
    write_tracked(target, Some(live), Verb::Update(&body), by)
}

/// A copy without owners and with another status, at its place.
fn with_status(fields: &Map<String, Value>, status: Option<Value>) -> Value {
    let mut out = Map::with_capacity(fields.len() + 1);
    let mut status = status;
    for (key, value) in fields {
        match key.as_str() {
            "status" => {
                if let Some(status) = status.take() {
                    out.insert(key.clone(), status);
                }
            }
            "metadata" => {
                let mut meta = Map::with_capacity(value.as_object().map_or(0, Map::len));
                for (key, value) in value.as_object().into_iter().flatten() {
                    if key != "managedFields" {
                        meta.insert(key.clone(), value.clone());
                    }
                }
                out.insert(key.clone(), Value::Object(meta));
            }
            _ => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    if let Some(status) = status {
        out.insert("status".to_owned(), status);
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn by<'a>(manager: &'a str, admit: crate::write::Admit<'a>) -> Writer<'a> {
        Writer { manager, force: false, now: "2026-01-01T00:00:01Z", uid: "u", admit }
    }

    #[test]
    fn it_gives_what_the_update_of_the_whole_object_gives() {
        let schema = crate::builtin();
        let target = Target::main(schema, schema.resource("apps", "v1", "Deployment").unwrap());
        let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"a": "b"}},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        let made = write_tracked(target, None, Verb::Apply(&body), by("m", &mut |_, _| Ok(()))).unwrap();
        let mut object = made.object.unwrap();
        let mut managed = made.managed;
        let to = Target { subresource: "status", ..target };
        let condition = json!({"type": "Available", "status": "True", "reason": "", "message": "x",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T01:00:00+01:00"});
        let statuses = [
            json!({"replicas": 1, "conditions": [condition]}),
            json!({"replicas": 0, "unknown": 1, "conditions": []}),
            json!({"replicas": 0}),
            json!({"replicas": 2, "conditions": [condition, condition]}),
            json!({"replicas": 2, "conditions": [condition]}),
            json!({}),
            json!({"replicas": "x"}),
        ];
        for status in statuses {
            for text in [false, true] {
                let mut kept = object.clone();
                match text {
                    true => kept["metadata"]["managedFields"] = crate::managed_text::write(&managed).into(),
                    false => managed.write_to(&mut kept),
                }
                let live = Live::of(&kept);
                let short = write_status(to, &live, &status, by("k", &mut |_, _| Ok(())));
                let long = long_way(to, &live, &status, by("k", &mut |_, _| Ok(())));
                assert_eq!(format!("{short:?}"), format!("{long:?}"), "{status}");
                if let (Ok(Tracked { object: Some(new), managed: owners, .. }), true) = (short, text) {
                    (object, managed) = (new, owners);
                }
            }
        }
    }
}
