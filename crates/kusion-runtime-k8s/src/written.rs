//! What of a live object somebody has written: the rest is the server's.

use kusion_model::Attr;

use crate::owner::MARKS;

/// Fields of metadata that only the server sets.
const OF_SERVER: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];
/// Annotations that tools and controllers set for themselves.
const OF_TOOLS: [&str; 2] =
    ["kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"];

/// The object without what the server and tools have put in; the texts say what else is left out. The data of a Secret is: a
/// field that nobody writes stays as it is.
#[must_use]
pub fn as_written(object: &Attr) -> (Attr, Vec<String>) {
    let mut object = object.clone();
    let mut left_out = Vec::new();
    let is_secret = object["kind"] == "Secret" && object["apiVersion"] == "v1";
    let Some(map) = object.as_map_mut() else { return (object, left_out) };
    map.shift_remove("status");
    if is_secret && (map.shift_remove("data").is_some() | map.shift_remove("stringData").is_some()) {
        left_out.push("its data is not written: it stays as it is; write a ref:// to manage it".to_owned());
    }
    if let Some(metadata) = map.get_mut("metadata").and_then(Attr::as_map_mut) {
        OF_SERVER.iter().for_each(|name| drop(metadata.shift_remove(*name)));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Attr::as_map_mut) {
            MARKS.iter().chain(&OF_TOOLS).for_each(|name| drop(annotations.shift_remove(*name)));
        }
        let is_empty = |attr: &Attr| attr.as_map().is_some_and(|map| map.is_empty());
        if metadata.get("annotations").is_some_and(is_empty) {
            metadata.shift_remove("annotations");
        }
    }
    (object, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_was_written_is_left() {
        let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}, "status": {},
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "3", "managedFields": [],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}});
        let (written, left_out) = as_written(&Attr::from(live));
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": "c", "namespace": "n"}});
        assert_eq!((written, left_out), (Attr::from(wanted), Vec::new()));
    }

    #[test]
    fn the_data_of_a_secret_is_left_where_it_is() {
        let live = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "Y2FuYXJ5"},
            "metadata": {"name": "c"}, "type": "Opaque"});
        let (written, left_out) = as_written(&Attr::from(live));
        assert!(written.get("data").is_none() && left_out.len() == 1, "{written}");
    }
}
