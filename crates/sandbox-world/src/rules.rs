//! CEL rules of custom resources (`x-kubernetes-validations`).

use kube_meaning::crd::check_values;
use kube_meaning::status::Cause;
use serde_json::Value;

/// The rules that an object breaks.
pub(crate) fn broken(structural: &Value, object: &Value, live: Option<&Value>) -> Vec<Cause> {
    // Without the feature a rule holds nothing up: an object that a cluster refuses may pass here.
    check_values(structural, object, live, None)
}
