//! Paths of fields: from `kube-meaning`'s form and from the server's text to the engine's.

use kube_meaning::elem::{Elem, Scalar};
use kusion_model::{FieldPath, Segment};
use serde_json::Value;

/// Turns a path of elements into the engine's form: list entries are named by their keys (`80/TCP`).
pub(crate) fn from_elems(path: &[Elem]) -> FieldPath {
    let segment = |elem: &Elem| match elem {
        Elem::Field(name) => Segment::Key(name.to_string()),
        Elem::Index(at) => Segment::Index(*at),
        Elem::Value(value) => Segment::Item(text(value)),
        Elem::Key(keys) => {
            let texts: Vec<String> = keys.iter().map(|(_, value)| text(value)).collect();
            Segment::Item(texts.join("/"))
        }
    };
    FieldPath(path.iter().map(segment).collect())
}

fn text(value: &Scalar) -> String {
    match value.to_json() {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Reads the field of a conflict (`.spec.containers[name="c"].image`) against the object it is about. Keys may have dots,
/// so only the object can tell where one ends. Positions for lists, so that the field can be found again.
pub(crate) fn locate(object: &Value, text: &str) -> Option<FieldPath> {
    let mut path = FieldPath::root();
    let (mut at, mut rest) = (object, text);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let keys = at.as_object()?.keys();
            let ends = |key: &str| {
                after.strip_prefix(key).is_some_and(|r| r.is_empty() || r.starts_with(['.', '[']))
            };
            let key = keys.filter(|key| ends(key)).max_by_key(|key| key.len())?;
            at = &at[key.as_str()];
            path.0.push(Segment::Key(key.clone()));
            rest = &after[key.len()..];
        } else {
            let end = rest.find(']')?;
            let index = entry(at.as_array()?, rest.get(1..end)?)?;
            at = &at[index];
            path.0.push(Segment::Index(index));
            rest = &rest[end + 1..];
        }
    }
    Some(path)
}

/// Finds a list entry by `name="c",port=80`, `="value"` or a position.
fn entry(items: &[Value], selector: &str) -> Option<usize> {
    if let Ok(index) = selector.parse() {
        return (index < items.len()).then_some(index);
    }
    if let Some(value) = selector.strip_prefix('=') {
        let value: Value = serde_json::from_str(value).ok()?;
        return items.iter().position(|item| *item == value);
    }
    let pairs: Vec<(&str, Value)> = selector
        .split(',')
        .map(|pair| {
            pair.split_once('=').and_then(|(key, value)| Some((key, serde_json::from_str(value).ok()?)))
        })
        .collect::<Option<_>>()?;
    // A manifest may leave out a key that has a default, such as the protocol.
    let fits =
        |item: &Value| pairs.iter().all(|(key, value)| item.get(key).is_none_or(|found| found == value));
    items.iter().position(fits)
}

/// Takes a field out of an object.
pub(crate) fn remove(object: &mut Value, path: &FieldPath) -> Option<Value> {
    let (last, parents) = path.0.split_last()?;
    let parent = FieldPath(parents.to_vec()).get_mut(object)?;
    match last {
        Segment::Key(key) => parent.as_object_mut()?.shift_remove(key),
        Segment::Index(at) if *at < parent.as_array()?.len() => Some(parent.as_array_mut()?.remove(*at)),
        _ => None,
    }
}

/// Names list entries that a path has by position, for people and rules.
pub(crate) fn named(object: &Value, path: &FieldPath) -> FieldPath {
    let mut way = FieldPath::root();
    let mut shown = FieldPath::root();
    for segment in &path.0 {
        way.0.push(segment.clone());
        let name = way.get(object).and_then(|item| item.get("name")).and_then(Value::as_str);
        shown.0.push(match (segment, name) {
            (Segment::Index(_), Some(name)) => Segment::Item(name.to_owned()),
            _ => segment.clone(),
        });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_with_dots_are_found_by_looking_at_the_object() {
        let object = json!({"metadata": {"labels": {"app.kubernetes.io/name": "x", "app": "y"}}});
        let path = locate(&object, ".metadata.labels.app.kubernetes.io/name").unwrap();
        assert_eq!(path.get(&object), Some(&json!("x")));
        assert_eq!(locate(&object, ".metadata.labels.nowhere"), None);
    }

    #[test]
    fn list_entries_are_found_by_their_keys() {
        let object =
            json!({"c": [{"name": "a"}, {"name": "b", "ports": [{"containerPort": 80}], "set": ["x", "y"]}]});
        let path = locate(&object, r#".c[name="b"].ports[containerPort=80,protocol="TCP"]"#).unwrap();
        assert_eq!(path.to_string(), "c[1].ports[0]");
        assert_eq!(named(&object, &path).to_string(), "c[b].ports[0]");
        assert_eq!(locate(&object, r#".c[name="b"].set[="y"]"#).unwrap().to_string(), "c[1].set[1]");
    }

    #[test]
    fn removing_a_field_leaves_the_rest() {
        let mut object = json!({"spec": {"replicas": 2, "x": 1}});
        assert_eq!(remove(&mut object, &FieldPath::keys(["spec", "replicas"])), Some(json!(2)));
        assert_eq!(object, json!({"spec": {"x": 1}}));
        assert_eq!(remove(&mut object, &FieldPath::keys(["spec", "replicas"])), None);
    }
}
