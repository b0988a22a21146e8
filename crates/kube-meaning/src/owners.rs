//! Owner references: what the server refuses of them.
//!
//! In: `metadata.ownerReferences`. Out: causes in the server's words.

use serde_json::Value;

use crate::schema::split_api_version;
use crate::status::Cause;

/// Owners are named in full, and one of them at most is the controller.
pub(crate) fn check_owners(references: Option<&Value>, causes: &mut Vec<Cause>) {
    let Some(list) = references.and_then(Value::as_array) else { return };
    let mut controller: Option<&Value> = None;
    for reference in list {
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        let (_, version) = split_api_version(text("apiVersion"));
        if version.is_empty() || version.contains('/') {
            let given = Value::from(text("apiVersion"));
            causes.push(Cause::invalid(
                "metadata.ownerReferences.apiVersion",
                &given,
                "version must not be empty",
            ));
        }
        for key in ["kind", "name", "uid"] {
            if text(key).is_empty() {
                let path = format!("metadata.ownerReferences.{key}");
                causes.push(Cause::invalid(&path, &Value::from(""), "must not be empty"));
            }
        }
        if text("apiVersion") == "v1" && text("kind") == "Event" {
            let problem = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid("metadata.ownerReferences", reference, problem));
        }
        if reference.get("controller") == Some(&Value::Bool(true)) {
            if let Some(first) = controller {
                let shown = |of: &Value| {
                    let part = |key: &str| of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                    format!("{}/{}", part("kind"), part("name"))
                };
                let problem = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
                    shown(first),
                    shown(reference)
                );
                causes.push(Cause::invalid("metadata.ownerReferences", &Value::from(list.clone()), &problem));
            }
            controller = controller.or(Some(reference));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(list: Value) -> Vec<String> {
        let mut causes = Vec::new();
        check_owners(Some(&list), &mut causes);
        causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn owners_are_whole_and_one_controls() {
        let pod = |name: &str, controller: bool| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": controller});
        assert!(problems(json!([pod("a", true), pod("b", false)])).is_empty());
        assert_eq!(problems(json!([{}])).len(), 4);
        assert_eq!(
            problems(json!([{"apiVersion": "apps/", "kind": "ReplicaSet", "name": "a", "uid": "u"}])).len(),
            1
        );
        assert!(
            problems(json!([{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u"}]))[0]
                .ends_with("owner")
        );
        assert!(problems(json!([pod("a", true), pod("b", true)]))[0].ends_with("for Pod/a and Pod/b"));
        assert!(problems(json!("x")).is_empty());
    }
}
