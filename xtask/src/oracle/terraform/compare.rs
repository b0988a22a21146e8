//! Both plans in one form, and what differs.

use std::collections::{BTreeMap, BTreeSet};

use tf_value::json::Json;
use tf_value::{Number, Path, Step, Type, Value};

use super::ours::{Change, Changes};

/// Places and what stands there; null, empty and known-as-usual places are left out.
type Leaves = BTreeMap<String, String>;

pub(super) fn plans(theirs: &Json, ours: &Changes) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for change in theirs.get("resource_changes").and_then(Json::as_array).unwrap_or_default() {
        let address = change.get("address").and_then(Json::as_str).unwrap_or_default();
        seen.insert(address.to_owned());
        match (change.get("change"), ours.get(address)) {
            (Some(theirs), Some(ours)) => {
                found.extend(one(theirs, ours).into_iter().map(|text| format!("{address}: {text}")));
            }
            _ => found.push(format!("{address}: only tofu has it")),
        }
    }
    found.extend(
        ours.iter()
            .filter(|(address, change)| !seen.contains(*address) && !change.actions.is_empty())
            .map(|(address, _)| format!("{address}: only ours has it")),
    );
    found
}

fn one(theirs: &Json, ours: &Change) -> Vec<String> {
    let mut found = Vec::new();
    let names = theirs.get("actions").and_then(Json::as_array).unwrap_or_default();
    let names: Vec<&str> = names.iter().filter_map(Json::as_str).collect();
    if names != ours.actions {
        found.push(format!("tofu {names:?}, ours {:?}", ours.actions));
    }
    let part = |name: &str| theirs.get(name).unwrap_or(&Json::Null);
    let (mut values, mut unknown) = (Leaves::new(), Leaves::new());
    value_leaves(&ours.after, String::new(), &mut values, &mut unknown);
    found.extend(differences("after", &json_leaves(part("after")), &values));
    found.extend(differences("unknown", &true_leaves(part("after_unknown")), &unknown));
    let sensitive = if ours.after.is_null() { Leaves::new() } else { path_leaves(&ours.sensitive) };
    // tofu sometimes says which member of a set is sensitive; that is the set, which has no places.
    let marked = true_leaves(part("after_sensitive")).into_iter();
    let marked = marked.map(|(place, text)| (whole_set(&place, ours.of.ty()), text)).collect();
    found.extend(differences("sensitive", &marked, &sensitive));
    let replace = part("replace_paths")
        .as_array()
        .unwrap_or_default()
        .iter()
        .map(|path| (steps(path), "true".to_owned()));
    let forced = ours.actions.len() == 2 && ours.replace.is_empty();
    if !forced {
        let kept = if ours.actions.len() == 2 { path_leaves(&ours.replace) } else { Leaves::new() };
        found.extend(differences("replace", &replace.collect(), &kept));
    }
    found
}

/// A place up to the first set in it.
fn whole_set(place: &str, ty: &Type) -> String {
    let (mut kept, mut at) = (String::new(), ty);
    for step in place.split('/').skip(1) {
        at = match at {
            Type::Set(_) => return kept,
            Type::Object(object) => object.attributes.get(step).unwrap_or(&Type::Dynamic),
            Type::List(of) | Type::Map(of) => of,
            _ => &Type::Dynamic,
        };
        kept.push('/');
        kept.push_str(step);
    }
    kept
}

fn differences(what: &str, theirs: &Leaves, ours: &Leaves) -> Vec<String> {
    let places: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    let differ = places.into_iter().filter(|place| theirs.get(*place) != ours.get(*place));
    differ
        .map(|place| format!("{what}{place}: tofu {:?}, ours {:?}", theirs.get(place), ours.get(place)))
        .collect()
}

fn json_leaves(json: &Json) -> Leaves {
    let mut out = Leaves::new();
    walk(json, String::new(), &mut |place, leaf| {
        let text = match leaf {
            Json::Number(digits) => {
                digits.parse::<Number>().map_or_else(|_| digits.clone(), |number| number.to_string())
            }
            Json::Null => return,
            other => other.compact(),
        };
        out.insert(place, text);
    });
    out
}

fn true_leaves(json: &Json) -> Leaves {
    let mut out = Leaves::new();
    walk(json, String::new(), &mut |place, leaf| {
        if *leaf == Json::Bool(true) {
            out.insert(place, "true".to_owned());
        }
    });
    out
}

/// Calls `visit` for everything that has no parts.
fn walk(json: &Json, place: String, visit: &mut impl FnMut(String, &Json)) {
    match json {
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| walk(item, format!("{place}/{at}"), visit));
        }
        Json::Object(members) => {
            members.iter().for_each(|(name, json)| walk(json, format!("{place}/{name}"), visit));
        }
        leaf => visit(place, leaf),
    }
}

fn value_leaves(value: &Value, place: String, values: &mut Leaves, unknown: &mut Leaves) {
    let mut leaf = |text: String| drop(values.insert(place.clone(), text));
    match value {
        Value::Null => {}
        Value::Unknown(_) => drop(unknown.insert(place, "true".to_owned())),
        Value::Bool(bool) => leaf(bool.to_string()),
        Value::Number(number) => leaf(number.to_string()),
        Value::String(text) => leaf(Json::string(&**text).compact()),
        Value::Dynamic(dynamic) => value_leaves(&dynamic.value, place, values, unknown),
        Value::Map(entries) => {
            for (name, value) in entries {
                value_leaves(value, format!("{place}/{name}"), values, unknown);
            }
        }
        Value::List(_) | Value::Set(_) => {
            for (at, item) in value.elements().unwrap_or_default().iter().enumerate() {
                value_leaves(item, format!("{place}/{at}"), values, unknown);
            }
        }
    }
}

fn path_leaves(paths: &[Path]) -> Leaves {
    let step = |step: &Step| match step {
        Step::Attribute(name) | Step::Key(name) => format!("/{name}"),
        Step::Index(at) => format!("/{at}"),
    };
    paths.iter().map(|path| (path.steps().iter().map(step).collect(), "true".to_owned())).collect()
}

/// A path of tofu's: names and numbers mixed.
fn steps(json: &Json) -> String {
    let step = |json: &Json| match json {
        Json::String(name) => format!("/{name}"),
        other => format!("/{}", other.compact()),
    };
    json.as_array().unwrap_or_default().iter().map(step).collect()
}
