//! Writes of every kind, one after the other, on one object.

use super::feed::Feed;
use kube_meaning::decide::{Decision, Question, decide};
use kube_meaning::managed::Managed;
use kube_meaning::patch::merge_patch;
use kube_meaning::ssa::Target;
use kube_meaning::status::Refusal;
use kube_meaning::strategy::is_hollow;
use kube_meaning::unchanged::is_unchanged;
use kube_meaning::write::{Verb, Writer, Written, write};
use serde_json::{Map, Value, json};

/// Writes of an object: none panics, each is refused with a code or leaves an object with a readable list of owners; what
/// was read can be written back without a change; an apply that was done need not be done again.
pub fn patches(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let schema = kube_meaning::builtin();
    let sample = feed.sample();
    let Some(resource) = schema.resource_of(&sample) else { return };
    let mut live: Option<Value> = None;
    for step in 0..8 {
        if feed.is_empty() && step > 1 {
            return;
        }
        // What is not there has no status to write.
        let status = feed.rarely(6) && live.is_some();
        let target = Target { schema, resource, subresource: if status { "status" } else { "" } };
        let manager = *feed.pick(&["a", "b", "kubectl"]);
        let force = feed.byte().is_multiple_of(2);
        let old = live.clone();
        let (kind, body) = body(&mut feed, target, &sample, old.as_ref());
        let verb = match kind {
            0 => Verb::Apply(&body),
            1 => Verb::Create(&body),
            2 => Verb::Update(&body),
            3 => Verb::MergePatch(&body),
            4 => Verb::JsonPatch(&body),
            _ => Verb::StrategicPatch(&body),
        };
        if let (Verb::MergePatch(patch), Some(live)) = (verb, &old)
            && let Ok(once) = merge_patch(live, patch)
            && let Ok(twice) = merge_patch(&once, patch)
        {
            assert_eq!(once, twice, "a merge patch done twice is not itself");
        }
        match ask(target, old.as_ref(), verb, manager, force) {
            Err(refusal) => assert!((400..600).contains(&refusal.code), "{refusal:?}"),
            Ok(written) => {
                check(target, old.as_ref(), &written);
                if let Verb::Apply(body) = verb {
                    applied(target, old.as_ref(), body, manager, &written);
                }
                live = Some(written.object);
            }
        }
    }
}

fn ask(
    target: Target<'_>,
    live: Option<&Value>,
    verb: Verb<'_>,
    manager: &str,
    force: bool,
) -> Result<Written, Refusal> {
    let uid = "00000000-0000-4000-8000-000000000001";
    let by = Writer { manager, force, now: "2026-01-01T00:00:00Z", uid, admit: &mut |_, _| Ok(()) };
    write(target, live, verb, by)
}

fn check(target: Target<'_>, live: Option<&Value>, written: &Written) {
    let object = &written.object;
    let meta = object["metadata"].as_object().expect("an object has metadata");
    if let Some(list) = meta.get("managedFields") {
        let managed = Managed::parse(list).expect("a list of owners that can be read");
        assert_eq!(managed.to_json(), *list, "the list of owners is not in its order");
    }
    if let (true, Some(live)) = (written.unchanged, live) {
        assert_eq!(object.to_string(), live.to_string(), "unchanged, and yet another object");
    }
    let main = Target { subresource: "", ..target };
    if object["spec"]["type"] == "ExternalName" {
        // What is read of it is not all that is stored.
        return;
    }
    match ask(main, Some(object), Verb::Update(object), "reader", false) {
        Ok(again) => assert!(again.unchanged, "written back as read, it changes\n{object}\n{}", again.object),
        // A status may hold what the main path's validation never saw.
        Err(refusal) => {
            assert!(!target.subresource.is_empty() || refusal.code == 422, "{refusal:?}\n{object}");
        }
    }
}

/// After an apply that went through.
fn applied(target: Target<'_>, old: Option<&Value>, body: &Value, manager: &str, written: &Written) {
    let live = &written.object;
    if let Some(old) = old
        && is_unchanged(target, old, manager, body)
    {
        assert!(written.unchanged, "the short way says unchanged, the long one does not\n{old}\n{live}");
    }
    // An object that nobody owns anything of counts as made before the first apply, and the next one says so.
    if live["metadata"].get("managedFields").is_none() {
        return;
    }
    // The server itself never comes to rest here: the generation of such an object rises with every apply, and nothing else.
    let hollow = is_hollow(target, body);
    if let Ok(again) = ask(target, Some(live), Verb::Apply(body), manager, true)
        && !again.unchanged
    {
        // An update may have left two items with one key: the apply after it ends that, the next one owns what is left.
        // And an empty list is another value than none: it is taken from whoever owns the list, once.
        let twins = old.is_some_and(has_twins) || is_empty_over_null(body, live);
        assert!(hollow || twins, "applied again, it changes\n{live}\n{}\n{body}\n{old:?}", again.object);
        let mut settled = again.object.clone();
        for (key, _) in [("generation", hollow), ("managedFields", twins)].iter().filter(|(_, may)| *may) {
            settled["metadata"][*key] = live["metadata"][*key].clone();
        }
        assert_eq!(settled.to_string(), live.to_string(), "more changes than on the server");
        if twins && !hollow {
            let more = ask(target, Some(&again.object), Verb::Apply(body), manager, true);
            assert!(more.is_ok_and(|more| more.unchanged), "a third apply changes\n{}", again.object);
        }
    }
    // The planner says what becomes of the object; the server may refuse an apply that would not change it.
    if hollow || is_empty_over_null(body, live) {
        return;
    }
    if target.subresource.is_empty()
        && let Decision::NoChange = decide(Question { target, live, manager, desired: body, prior: None })
    {
        let again = ask(target, Some(live), Verb::Apply(body), manager, false);
        let again = again.map(|again| (again.unchanged, again.object));
        assert!(
            matches!(again, Ok((true, _))),
            "the planner says no change, the writer does not: {again:?}\n{live}\n{body}"
        );
    }
}

/// Whether a list of the manifest is empty where the live one is null.
fn is_empty_over_null(body: &Value, live: &Value) -> bool {
    match (body, live) {
        (Value::Array(list), Value::Null) => list.is_empty(),
        (Value::Array(list), Value::Array(items)) => {
            list.iter().any(|item| items.iter().any(|other| is_empty_over_null(item, other)))
        }
        (Value::Object(map), Value::Object(fields)) => {
            map.iter().any(|(key, value)| fields.get(key).is_some_and(|live| is_empty_over_null(value, live)))
        }
        _ => false,
    }
}

/// Whether two items of some list have one key.
fn has_twins(value: &Value) -> bool {
    const KEYS: [&str; 9] =
        ["name", "containerPort", "port", "ip", "mountPath", "devicePath", "type", "key", "uid"];
    match value {
        Value::Object(map) => map.values().any(has_twins),
        Value::Array(items) => {
            let twin = |a: &Value, b: &Value| {
                a == b || KEYS.iter().any(|key| a.get(key).is_some() && a.get(key) == b.get(key))
            };
            items.iter().any(has_twins)
                || (1..items.len()).any(|i| items[..i].iter().any(|item| twin(item, &items[i])))
        }
        _ => false,
    }
}

/// Which write, and its body.
fn body(feed: &mut Feed<'_>, target: Target<'_>, sample: &Value, live: Option<&Value>) -> (usize, Value) {
    let (schema, resource) = (target.schema, target.resource);
    let kind = if live.is_none() { feed.below(2) } else { feed.below(6) };
    let mut body = match (kind, live) {
        (0 | 1, _) => feed.changed(schema, resource, sample.clone()),
        (2, Some(live)) => feed.changed(schema, resource, live.clone()),
        (4, Some(live)) => operations(feed, live),
        _ => {
            let mut patch = feed.value(schema, &resource.ty);
            sprinkle(feed, &mut patch, kind == 5, 6);
            patch
        }
    };
    if let (0 | 2, Some(live)) = (kind, live) {
        // Whoever asks has found the object by these and compared them.
        for key in ["name", "namespace", "uid", "resourceVersion", "generateName"] {
            match (body["metadata"].as_object_mut(), live["metadata"].get(key)) {
                (Some(meta), Some(known)) => drop(meta.insert(key.to_owned(), known.clone())),
                (Some(meta), None) => drop(meta.shift_remove(key)),
                (None, _) => {}
            }
        }
    }
    (kind, body)
}

/// Nulls, and for a strategic patch its directives.
fn sprinkle(feed: &mut Feed<'_>, value: &mut Value, strategic: bool, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Object(map) => {
            for (_, below) in map.iter_mut() {
                match feed.rarely(7) {
                    true => *below = Value::Null,
                    false => sprinkle(feed, below, strategic, depth - 1),
                }
            }
            if strategic && feed.rarely(4) {
                directive(feed, map);
            }
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                sprinkle(feed, item, strategic, depth - 1);
            }
        }
        _ => {}
    }
}

fn directive(feed: &mut Feed<'_>, map: &mut Map<String, Value>) {
    let field = match feed.byte() % 3 {
        0 => "containers",
        1 => "finalizers",
        _ => map.keys().next().map_or("ports", String::as_str),
    }
    .to_owned();
    let words = |feed: &mut Feed<'_>| (0..feed.below(3)).map(|_| Value::from(feed.word())).collect::<Value>();
    match feed.below(5) {
        0 => drop(map.insert("$patch".into(), Value::from(*feed.pick(&["delete", "replace", "merge", "x"])))),
        1 => drop(map.insert(format!("$setElementOrder/{field}"), words(feed))),
        2 => drop(map.insert(format!("$deleteFromPrimitiveList/{field}"), words(feed))),
        3 => drop(map.insert("$retainKeys".into(), words(feed))),
        _ => drop(map.insert(format!("$setElementOrder/{field}"), json!([{"name": "main"}, {"name": "c"}]))),
    }
}

/// A JSON patch whose paths mostly exist.
fn operations(feed: &mut Feed<'_>, live: &Value) -> Value {
    let count = feed.below(5);
    (0..count)
        .map(|_| {
            let op = *feed.pick(&["add", "remove", "replace", "move", "copy", "test", "x"]);
            let mut operation = json!({"op": op, "path": pointer(feed, live), "value": feed.any(3)});
            if feed.byte().is_multiple_of(2) {
                operation["from"] = Value::from(pointer(feed, live));
            }
            operation
        })
        .collect()
}

fn pointer(feed: &mut Feed<'_>, live: &Value) -> String {
    let (mut at, mut path) = (live, String::new());
    for _ in 0..feed.below(7) {
        let key = match at {
            Value::Object(map) if !map.is_empty() => {
                map.keys().nth(feed.below(map.len())).cloned().unwrap_or_default()
            }
            Value::Array(items) if !items.is_empty() => feed.below(items.len()).to_string(),
            _ => (*feed.pick(&["-", "0", "a", "", "~0", "~2", "99999999999999999999"])).to_owned(),
        };
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        at = at.get(&key).or_else(|| at.get(key.parse::<usize>().ok()?)).unwrap_or(&Value::Null);
    }
    path
}
