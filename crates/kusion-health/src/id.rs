//! The id of an object as a user sees it everywhere: `apiVersion:Kind:[namespace:]name`.

use kube_meaning::id::KubeId;
use kusion_model::ResourceId;
use serde_json::Value;

/// The id of an object as shown in plans, trees and health rows.
pub fn object_id(object: &Value) -> String {
    ResourceId::from_parts(KubeId::of(object).parts()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_with_colon_or_dot_are_escaped() {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:node"}});
        assert_eq!(object_id(&role), "rbac.authorization.k8s.io/v1:ClusterRole:system\\:node");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a.b", "namespace": "n"}});
        assert_eq!(object_id(&pod), "v1:Pod:n:a\\.b");
    }
}
