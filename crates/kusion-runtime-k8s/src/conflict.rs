//! What to do about a field that another manager owns.
//!
//! The stack's rules come first. Without one: replicas that an autoscaler moves are left alone; on import and ever after, fields
//! of the tools that wrote the object before us are taken over; everything else is refused.

use kusion_model::{ConflictPolicy, ConflictRule, FieldPath};
use serde_json::Value;

use crate::path::{locate, named};

/// Managers whose work an import takes over: the approval of the plan is the consent.
const FORMER_TOOLS: [&str; 6] =
    ["kubectl-client-side-apply", "kubectl-create", "kubectl-run", "before-first-apply", "helm", "Helm"];

pub(crate) fn is_former_tool(manager: &str) -> bool {
    FORMER_TOOLS.contains(&manager)
}

/// A conflict as rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clash {
    pub(crate) manager: String,
    /// The owner wrote through the scale sub-resource.
    pub(crate) by_scale: bool,
    /// With positions, for taking it out of the object.
    pub(crate) place: FieldPath,
    /// With names, for people and rules.
    pub(crate) path: FieldPath,
}

/// Decides about one conflict.
pub(crate) fn policy(clash: &Clash, kind: &str, rules: &[ConflictRule], import: bool) -> ConflictPolicy {
    if let Some(rule) = rules.iter().find(|rule| rule.covers(kind, &clash.path)) {
        return rule.policy;
    }
    if clash.by_scale && clash.path == FieldPath::keys(["spec", "replicas"]) {
        return ConflictPolicy::Leave;
    }
    if import && is_former_tool(&clash.manager) {
        return ConflictPolicy::TakeOver;
    }
    ConflictPolicy::Refuse
}

/// Reads the causes of a refused apply. `None` if one cannot be placed in the object.
pub(crate) fn from_causes(object: &Value, body: &Value) -> Option<Vec<Clash>> {
    let causes = body.pointer("/details/causes")?.as_array()?;
    causes
        .iter()
        .map(|cause| {
            let message = cause.get("message")?.as_str()?;
            let place = locate(object, cause.get("field")?.as_str()?)?;
            Some(Clash {
                manager: message.split('"').nth(1)?.to_owned(),
                by_scale: message.contains("with subresource \"scale\""),
                path: named(object, &place),
                place,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn clash(manager: &str, path: &str, by_scale: bool) -> Clash {
        let path = FieldPath::parse(path).unwrap();
        Clash { manager: manager.into(), by_scale, place: path.clone(), path }
    }

    #[test]
    fn rules_win_over_defaults_and_the_first_one_counts() {
        let rule = |path: &str, policy| ConflictRule {
            kind: "Deployment".into(),
            path: FieldPath::parse(path).unwrap(),
            policy,
        };
        let rules = [rule("spec.replicas", ConflictPolicy::TakeOver), rule("spec", ConflictPolicy::Leave)];
        let of = |path: &str| policy(&clash("hpa", path, true), "Deployment", &rules, false);
        assert_eq!(of("spec.replicas"), ConflictPolicy::TakeOver);
        assert_eq!(of("spec.paused"), ConflictPolicy::Leave);
    }

    #[test]
    fn autoscaled_replicas_are_left_and_strangers_are_refused() {
        let of = |clash: Clash, import| policy(&clash, "Deployment", &[], import);
        assert_eq!(of(clash("kcm", "spec.replicas", true), false), ConflictPolicy::Leave);
        assert_eq!(of(clash("kubectl-edit", "spec.replicas", false), false), ConflictPolicy::Refuse);
        assert_eq!(of(clash("helm", "spec.paused", false), false), ConflictPolicy::Refuse);
        assert_eq!(of(clash("helm", "spec.paused", false), true), ConflictPolicy::TakeOver);
    }

    #[test]
    fn causes_of_the_server_are_placed_in_the_object() {
        let object = json!({"spec": {"replicas": 2, "containers": [{"name": "c", "image": "x"}]}});
        let body = json!({"details": {"causes": [
            {"reason": "FieldManagerConflict", "message": "conflict with \"kcm\" with subresource \"scale\"", "field": ".spec.replicas"},
            {"reason": "FieldManagerConflict", "message": "conflict with \"m\" using apps/v1", "field": ".spec.containers[name=\"c\"].image"}]}});
        let clashes = from_causes(&object, &body).unwrap();
        assert_eq!((clashes[0].manager.as_str(), clashes[0].by_scale), ("kcm", true));
        assert_eq!(clashes[1].path.to_string(), "spec.containers[c].image");
        assert_eq!(clashes[1].place.to_string(), "spec.containers[0].image");
    }
}
