//! Upstream's view of a plan: `{stepKeys, changeSteps}`, for scripts that read it.

use serde_json::{Map, Value, json};

use crate::{Action, Attr, Plan, Step};

/// Returns the keys `stepKeys` and `changeSteps` as upstream prints them, with secrets sealed.
/// Upstream has four actions: replace shows as Update, import as Create, release as Delete, because that is what its readers act on.
#[must_use]
pub fn upstream_view(plan: &Plan) -> Value {
    let keys: Vec<Value> = plan.steps.iter().map(|step| json!(step.key.to_string())).collect();
    let steps: Map<String, Value> =
        plan.steps.iter().map(|step| (step.key.to_string(), change_step(step))).collect();
    json!({ "stepKeys": keys, "changeSteps": steps })
}

fn change_step(step: &Step) -> Value {
    let action = match step.action {
        Action::Create | Action::Import => "Create",
        Action::Update | Action::Replace => "Update",
        Action::Delete => "Delete",
        Action::Release | Action::Read | Action::NoOp => "UnChanged",
    };
    json!({
        "id": step.key.to_string(),
        "action": action,
        "from": step.before.as_ref().map(|attributes| as_resource(step, attributes)),
        "to": step.desired.as_ref().map(|attributes| as_resource(step, attributes)),
    })
}

fn as_resource(step: &Step, attributes: &Attr) -> Value {
    let depends_on: Vec<String> = step.depends_on.iter().map(|key| key.id.to_string()).collect();
    json!({
        "id": step.key.id.as_str(),
        "type": step.kind.0,
        "attributes": attributes,
        "dependsOn": depends_on,
        "extensions": step.extensions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{plan, step};

    #[test]
    fn step_keys_and_change_steps_have_upstreams_shape() {
        let view = upstream_view(&plan(vec![
            step("v1:Namespace:shop", Action::Create),
            step("v1:Service:shop:web", Action::NoOp),
        ]));
        assert_eq!(view["stepKeys"], json!(["v1:Namespace:shop", "v1:Service:shop:web"]));
        assert_eq!(view["changeSteps"]["v1:Namespace:shop"]["action"], "Create");
        assert_eq!(view["changeSteps"]["v1:Service:shop:web"]["action"], "UnChanged");
        assert_eq!(view["changeSteps"]["v1:Namespace:shop"]["to"]["attributes"]["kind"], "Namespace");
    }
}
