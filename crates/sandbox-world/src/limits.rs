//! LimitRanges: what a namespace fills in for containers that say nothing, and what it refuses.
//!
//! In: a new pod or claim and the LimitRanges of its namespace. Out, in place: requests and limits of its containers; or a
//! refusal that lists all that is too small or too large.

use kube_meaning::quantity::Quantity;
use kube_meaning::reach::Reach;
use kube_meaning::status::Refusal;
use serde_json::{Map, Value, json};

use crate::registry::Served;
use crate::store::{ResourceKey, Store};
use crate::write::forbidden;

const NOTE: &str = "kubernetes.io/limit-ranger";

/// Applies the LimitRanges of a namespace to a new object.
pub(crate) fn apply(
    store: &Store,
    served: &Served,
    (namespace, name): (&str, &str),
    object: &mut Value,
) -> Result<(), Refusal> {
    let mut problems = Vec::new();
    for (_, range) in store.list(&ResourceKey::new("", "limitranges"), Some(namespace)) {
        for item in range.value.at("/spec/limits").and_then(Value::as_array).into_iter().flatten() {
            match (item["type"].as_str().unwrap_or_default(), served.resource().kind.as_str()) {
                ("Container", "Pod") => {
                    fill(item, object);
                    for container in containers(object) {
                        check(item, "Container", &container["resources"], &mut problems);
                    }
                }
                ("Pod", "Pod") => check(item, "Pod", &together(object), &mut problems),
                ("PersistentVolumeClaim", "PersistentVolumeClaim") => {
                    let resources = json!({"requests": object["spec"]["resources"]["requests"],
                        "limits": object["spec"]["resources"]["requests"]});
                    check(item, "PersistentVolumeClaim", &resources, &mut problems);
                }
                _ => {}
            }
        }
    }
    match problems.as_slice() {
        [] => Ok(()),
        [one] => Err(forbidden(served, name, one)),
        many => Err(forbidden(served, name, &format!("[{}]", many.join(", ")))),
    }
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let list = |name: &str| pod["spec"][name].as_array().into_iter().flatten();
    list("containers").chain(list("initContainers"))
}

/// Gives containers the defaults that they do not have themselves, and notes it on the pod.
fn fill(item: &Value, pod: &mut Value) {
    let mut notes = Vec::new();
    for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            let Some(container) = container.as_object_mut() else { continue };
            for (from, to, word) in
                [("defaultRequest", "requests", "request"), ("default", "limits", "limit")]
            {
                let set = fill_one(item[from].as_object(), container, to);
                if !set.is_empty() {
                    notes.push(format!("{} {word} for {what} {name}", set.join(", ")));
                }
            }
        }
    }
    let Some(meta) = pod.get_mut("metadata").and_then(Value::as_object_mut).filter(|_| !notes.is_empty())
    else {
        return;
    };
    let annotations = meta.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(NOTE.into(), json!(format!("LimitRanger plugin set: {}", notes.join("; "))));
    }
}

fn fill_one(
    defaults: Option<&Map<String, Value>>,
    container: &mut Map<String, Value>,
    to: &str,
) -> Vec<String> {
    let mut set = Vec::new();
    for (resource, amount) in defaults.into_iter().flatten() {
        let resources = container.entry("resources").or_insert_with(|| json!({}));
        let Some(resources) = resources.as_object_mut() else { return set };
        let list = resources.entry(to).or_insert_with(|| json!({}));
        if let Some(list) = list.as_object_mut().filter(|list| !list.contains_key(resource)) {
            list.insert(resource.clone(), amount.clone());
            set.push(resource.clone());
        }
    }
    set.sort();
    set
}

/// What the containers of a pod ask for together.
fn together(pod: &Value) -> Value {
    let mut sums = json!({"requests": {}, "limits": {}});
    for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
        for list in ["requests", "limits"] {
            for (resource, amount) in container["resources"][list].as_object().into_iter().flatten() {
                let Some(amount) = Quantity::from_json(amount) else { continue };
                let known = Quantity::from_json(&sums[list][resource]);
                let sum = known.map_or_else(|| amount.canonical(), |known| known.plus(&amount).canonical());
                sums[list][resource] = json!(sum);
            }
        }
    }
    sums
}

fn check(item: &Value, what: &str, resources: &Value, problems: &mut Vec<String>) {
    let bounds = [("min", "minimum", "requests", "request"), ("max", "maximum", "limits", "limit")];
    for (key, word, list, one) in bounds {
        for (resource, bound) in item[key].as_object().into_iter().flatten() {
            let Some(bound) = Quantity::from_json(bound) else { continue };
            let start = format!("{word} {resource} usage per {what} is {}", bound.canonical());
            match Quantity::from_json(&resources[list][resource]) {
                None => problems.push(format!("{start}.  No {one} is specified")),
                Some(given) if (key == "min" && given < bound) || (key == "max" && given > bound) => {
                    problems.push(format!("{start}, but {one} is {}", given.canonical()));
                }
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_filled_and_bounds_are_held() {
        let item = json!({"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"},
            "max": {"cpu": "1"}, "min": {"cpu": "50m"}});
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"},
            {"name": "b", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "10m"}}}]}});
        fill(&item, &mut pod);
        assert_eq!(
            pod["spec"]["containers"][0]["resources"],
            json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}})
        );
        let note = "LimitRanger plugin set: cpu request for container a; cpu limit for container a";
        assert_eq!(pod["metadata"]["annotations"][NOTE], note);
        let mut problems = Vec::new();
        check(&item, "Container", &pod["spec"]["containers"][0]["resources"], &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        check(&item, "Container", &pod["spec"]["containers"][1]["resources"], &mut problems);
        assert_eq!(
            problems,
            [
                "minimum cpu usage per Container is 50m, but request is 10m",
                "maximum cpu usage per Container is 1, but limit is 2"
            ]
        );
        assert_eq!(together(&pod)["limits"]["cpu"], "2500m");
    }
}
