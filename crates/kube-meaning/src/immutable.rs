//! Fields that never change after creation, with the server's refusal for each.
//!
//! In: the live object and the new one, both in the server's form. Out: the causes of a 422, empty when the change is allowed.
//! The planner reads the same causes as "must be replaced".

use serde_json::{Map, Value};

use crate::reach::Reach;
use crate::schema::Resource;
use crate::status::Cause;
use crate::strategy::is_alike;

const IMMUTABLE: &str = "field is immutable";

/// How a change of a field is refused.
#[derive(Clone, Copy)]
enum How {
    Invalid(&'static str),
    Forbidden(&'static str),
}

/// Rows: kind, field (dotted), refusal.
const ROWS: &[(&str, &str, How)] = &[
    ("Deployment", "spec.selector", How::Invalid(IMMUTABLE)),
    ("ReplicaSet", "spec.selector", How::Invalid(IMMUTABLE)),
    ("DaemonSet", "spec.selector", How::Invalid(IMMUTABLE)),
    ("Job", "spec.completionMode", How::Invalid(IMMUTABLE)),
    ("Job", "spec.podFailurePolicy", How::Invalid(IMMUTABLE)),
    ("Job", "spec.backoffLimitPerIndex", How::Invalid(IMMUTABLE)),
    ("Job", "spec.managedBy", How::Invalid(IMMUTABLE)),
    ("Job", "spec.successPolicy", How::Invalid(IMMUTABLE)),
    ("Secret", "type", How::Invalid(IMMUTABLE)),
    ("RoleBinding", "roleRef", How::Invalid("cannot change roleRef")),
    ("ClusterRoleBinding", "roleRef", How::Invalid("cannot change roleRef")),
    ("IngressClass", "spec.controller", How::Invalid(IMMUTABLE)),
    ("RuntimeClass", "handler", How::Invalid(IMMUTABLE)),
    ("EndpointSlice", "addressType", How::Invalid(IMMUTABLE)),
    ("ControllerRevision", "data", How::Invalid(IMMUTABLE)),
    ("StorageClass", "parameters", How::Forbidden("updates to parameters are forbidden.")),
    ("StorageClass", "provisioner", How::Forbidden("updates to provisioner are forbidden.")),
    ("StorageClass", "reclaimPolicy", How::Forbidden("updates to reclaimPolicy are forbidden.")),
    ("StorageClass", "volumeBindingMode", How::Invalid(IMMUTABLE)),
    ("PriorityClass", "value", How::Forbidden("may not be changed in an update.")),
    ("PriorityClass", "preemptionPolicy", How::Invalid(IMMUTABLE)),
    ("ResourceQuota", "spec.scopes", How::Invalid(IMMUTABLE)),
    ("CSIDriver", "spec.attachRequired", How::Invalid(IMMUTABLE)),
    ("CSIDriver", "spec.fsGroupPolicy", How::Invalid(IMMUTABLE)),
    ("CSIDriver", "spec.volumeLifecycleModes", How::Invalid(IMMUTABLE)),
    ("CustomResourceDefinition", "spec.group", How::Invalid(IMMUTABLE)),
    ("CustomResourceDefinition", "spec.names.kind", How::Invalid(IMMUTABLE)),
    ("CustomResourceDefinition", "spec.names.plural", How::Invalid(IMMUTABLE)),
    ("CustomResourceDefinition", "spec.scope", How::Invalid(IMMUTABLE)),
    ("PersistentVolume", "spec.volumeMode", How::Invalid(IMMUTABLE)),
];

/// The immutable fields that differ.
pub fn immutable_changes(resource: &Resource, live: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let given = new.at("/metadata/uid").filter(|u| !u.is_null());
    if let (Some(given), Some(uid)) = (given, live.at("/metadata/uid"))
        && given != uid
    {
        causes.extend([
            Cause::invalid("metadata.uid", given, IMMUTABLE),
            Cause::invalid("metadata.uid", given, IMMUTABLE),
        ]);
    }
    if resource.custom {
        return causes;
    }
    for (kind, field, how) in ROWS {
        if *kind == resource.kind && differs(live, new, field) {
            causes.push(refuse(new, field, *how));
        }
    }
    match resource.kind.as_str() {
        "StatefulSet" => stateful_set(live, new, &mut causes),
        "Job" => job(live, new, &mut causes),
        "Service" => service(live, new, &mut causes),
        "PersistentVolumeClaim" => claim(live, new, &mut causes),
        "PersistentVolume" => volume(live, new, &mut causes),
        "Secret" | "ConfigMap" => sealed(live, new, &mut causes),
        "Pod" => pod(live, new, &mut causes),
        _ => {}
    }
    causes
}

/// Whether a cause means that the object must be deleted and made again.
pub fn needs_replace(cause: &Cause) -> bool {
    matches!(cause.reason, "FieldValueInvalid" | "FieldValueForbidden") && is_fixed(&cause.message)
}

/// Whether a sentence of the server says that a field cannot be changed on a live object.
pub fn is_fixed(message: &str) -> bool {
    const TEXTS: [&str; 10] = [
        "immutable",
        "may not change once set",
        "cannot change roleRef",
        "updates to statefulset spec",
        "pod updates may not change",
        "may not be changed in an update",
        "updates to parameters are forbidden",
        "updates to provisioner are forbidden",
        "updates to reclaimPolicy are forbidden",
        "spec.persistentvolumesource is immutable",
    ];
    TEXTS.iter().any(|text| message.contains(text))
}

fn at<'v>(object: &'v Value, field: &str) -> &'v Value {
    field.split('.').fold(object, |at, key| at.get(key).unwrap_or(&Value::Null))
}

fn differs(live: &Value, new: &Value, field: &str) -> bool {
    !is_alike(Some(at(live, field)), Some(at(new, field)))
}

fn refuse(new: &Value, field: &str, how: How) -> Cause {
    match how {
        How::Invalid(text) => Cause::invalid(field, at(new, field), text),
        How::Forbidden(text) => Cause::forbidden(field, text),
    }
}

fn same_beside(a: &Value, b: &Value, allowed: &[&str]) -> bool {
    let empty = Map::new();
    let (a, b) = (a.as_object().unwrap_or(&empty), b.as_object().unwrap_or(&empty));
    let fixed = |k: &&String| !allowed.contains(&k.as_str());
    a.keys().chain(b.keys()).filter(fixed).all(|k| is_alike(a.get(k), b.get(k)))
}

fn stateful_set(live: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let allowed = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    if !same_beside(at(live, "spec"), at(new, "spec"), &allowed) {
        causes.push(Cause::forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ));
    }
}

fn job(live: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let indexed = at(live, "spec.completionMode") == "Indexed";
    if !indexed && differs(live, new, "spec.completions") {
        causes.push(refuse(new, "spec.completions", How::Invalid(IMMUTABLE)));
    }
    if differs(live, new, "spec.selector") {
        causes.push(refuse(new, "spec.selector", How::Invalid(IMMUTABLE)));
    }
    if !differs(live, new, "spec.template") {
        return;
    }
    let waiting = at(live, "spec.suspend") == true && at(live, "status.startTime").is_null();
    let scheduling = waiting && {
        // Until it starts, a suspended Job may still be moved and sized.
        let plain = |object: &Value| {
            let mut spec = at(object, "spec.template.spec").clone();
            for list in ["containers", "initContainers"] {
                for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                    if let Some(map) = container.as_object_mut() {
                        map.shift_remove("resources");
                    }
                }
            }
            spec
        };
        let keys = ["nodeSelector", "affinity", "tolerations", "schedulingGates", "nodeName", "resources"];
        let (old, changed) = (at(live, "spec.template"), at(new, "spec.template"));
        same_beside(old, changed, &["metadata", "spec"]) && same_beside(&plain(live), &plain(new), &keys)
    };
    if !scheduling {
        causes.push(refuse(new, "spec.template", How::Invalid(IMMUTABLE)));
    }
}

fn service(live: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let external = at(live, "spec.type") == "ExternalName" || at(new, "spec.type") == "ExternalName";
    let old = at(live, "spec.clusterIP").as_str().unwrap_or_default();
    let changed = at(new, "spec.clusterIP").as_str().unwrap_or_default();
    if !external && !old.is_empty() && old != changed {
        causes.push(Cause::invalid(
            "spec.clusterIPs[0]",
            &Value::from(vec![changed]),
            "may not change once set",
        ));
    }
    let balanced = at(live, "spec.type") == "LoadBalancer" && at(new, "spec.type") == "LoadBalancer";
    let class = at(live, "spec.loadBalancerClass");
    if balanced && !class.is_null() && differs(live, new, "spec.loadBalancerClass") {
        causes.push(Cause::invalid(
            "spec.loadBalancerClass",
            at(new, "spec.loadBalancerClass"),
            "may not change once set",
        ));
    }
}

fn claim(live: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (old, changed) = (at(live, "spec"), at(new, "spec"));
    let bound = at(live, "status.phase") == "Bound";
    let mut allowed = vec!["volumeAttributesClassName"];
    for once in ["storageClassName", "volumeName"] {
        if old.get(once).is_none_or(Value::is_null) {
            allowed.push(once);
        }
    }
    if bound {
        allowed.push("resources");
    }
    if !same_beside(old, changed, &allowed) {
        let text = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        causes.push(Cause::forbidden("spec", text));
    }
}

fn volume(live: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let plain = [
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    ];
    if !same_beside(at(live, "spec"), at(new, "spec"), &plain) {
        causes.push(Cause::forbidden(
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation",
        ));
    }
}

fn sealed(live: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if live.get("immutable") != Some(&Value::Bool(true)) {
        return;
    }
    for field in ["immutable", "data", "binaryData"] {
        if differs(live, new, field) {
            causes.push(Cause::forbidden(field, "field is immutable when `immutable` is set"));
        }
    }
}

fn pod(live: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let plain = |object: &Value| {
        let mut spec = at(object, "spec").clone();
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(map) = container.as_object_mut() {
                    map.shift_remove("image");
                }
            }
        }
        spec
    };
    let allowed = ["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    if !same_beside(&plain(live), &plain(new), &allowed) {
        causes.push(Cause::forbidden(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use serde_json::json;

    fn causes(group: &str, kind: &str, live: Value, new: Value) -> Vec<(String, bool)> {
        let resource = builtin().resource(group, "v1", kind).unwrap();
        immutable_changes(resource, &live, &new).iter().map(|c| (c.field.clone(), needs_replace(c))).collect()
    }

    #[test]
    fn selectors_claims_and_role_references_need_a_replace() {
        let selector = |v: &str| json!({"spec": {"selector": {"matchLabels": {"a": v}}}});
        assert_eq!(
            causes("apps", "Deployment", selector("x"), selector("y")),
            [("spec.selector".to_owned(), true)]
        );
        let name = |v: &str| json!({"spec": {"serviceName": v, "replicas": 1}});
        assert_eq!(causes("apps", "StatefulSet", name("x"), name("y")), [("spec".to_owned(), true)]);
        let role = |v: &str| json!({"roleRef": {"name": v}});
        assert_eq!(
            causes("rbac.authorization.k8s.io", "RoleBinding", role("x"), role("y")),
            [("roleRef".to_owned(), true)]
        );
    }

    #[test]
    fn allowed_changes_have_no_cause() {
        let replicas = |n: i64| json!({"spec": {"replicas": n, "selector": {}}});
        assert!(causes("apps", "StatefulSet", replicas(1), replicas(2)).is_empty());
        let data = |v: &str| json!({"data": {"a": v}});
        assert!(causes("", "ConfigMap", data("x"), data("y")).is_empty());
        let pod = |image: &str| json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        assert!(causes("", "Pod", pod("x"), pod("y")).is_empty());
    }
}
