//! The id of an object: `apiVersion:Kind:[namespace:]name`.
//!
//! In: an object. Out: the name a user sees everywhere. Invariant: `:` and `.` in names are escaped with `\`, so that an
//! id can be split again.

use crate::view::View;
use serde_json::Value;

/// The id of an object as shown in plans, trees and health rows.
pub fn object_id(object: &Value) -> String {
    let view = View(object);
    let mut id = format!("{}:{}:", view.str("/apiVersion"), view.kind());
    if !view.namespace().is_empty() {
        id.push_str(&escape(view.namespace()));
        id.push(':');
    }
    id.push_str(&escape(view.name()));
    id
}

fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for ch in name.chars() {
        if matches!(ch, ':' | '.') {
            out.push('\\');
        }
        out.push(ch);
    }
    out
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
