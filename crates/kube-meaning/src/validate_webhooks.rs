//! What the server refuses of webhook configurations.

use serde_json::Value;

use crate::status::Cause;

/// The problems of `webhooks`.
pub(crate) fn webhooks(object: &Value, causes: &mut Vec<Cause>) {
    let mut names: Vec<&str> = Vec::new();
    for (i, webhook) in object["webhooks"].as_array().into_iter().flatten().enumerate() {
        let at = |field: &str| format!("webhooks[{i}].{field}");
        let name = webhook["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(Cause::required(&at("name"), ""));
        } else if name.split('.').count() < 3 {
            let text = "should be a domain with at least three segments separated by dots";
            causes.push(Cause::invalid(&at("name"), &webhook["name"], text));
        }
        let effects = webhook["sideEffects"].as_str().unwrap_or_default();
        if effects.is_empty() {
            causes.push(Cause::required(&at("sideEffects"), "must specify one of None, NoneOnDryRun"));
        } else if !matches!(effects, "None" | "NoneOnDryRun") {
            let known = ["None", "NoneOnDryRun"];
            causes.push(Cause::not_supported(&at("sideEffects"), &webhook["sideEffects"], &known));
        }
        let client = &webhook["clientConfig"];
        if client["url"].is_null() == client["service"].is_null() {
            causes.push(Cause::required(&at("clientConfig"), "exactly one of url or service is required"));
        }
        let versions = &webhook["admissionReviewVersions"];
        match versions.as_array().filter(|list| !list.is_empty()) {
            None => {
                let text = "must specify one of v1, v1beta1";
                causes.push(Cause::required(&at("admissionReviewVersions"), text));
            }
            Some(list) if list.iter().all(|version| version != "v1" && version != "v1beta1") => {
                let text = "must include at least one of v1, v1beta1";
                causes.push(Cause::invalid(&at("admissionReviewVersions"), versions, text));
            }
            Some(_) => {}
        }
        if !name.is_empty() && names.contains(&name) {
            causes.push(Cause::duplicate(&at("name"), &webhook["name"]));
        }
        names.push(name);
    }
}
