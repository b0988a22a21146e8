//! CustomResourceDefinition and APIService: the API itself.

use crate::condition::Conditions;
use crate::context::Context;
use crate::verdict::Verdict;
use crate::view::View;

const API_SERVICE_GRACE: i64 = 300_000;

pub(crate) fn definition(object: View<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    if let Some(ending) = conditions.truly("Terminating") {
        return Verdict::terminating("Deleting", ending.says()).because(ending.says());
    }
    if let Some(names) = conditions.falsely("NamesAccepted") {
        return Verdict::failed("NamesConflict", names.says())
            .because(names.says())
            .then("rename the kind, or remove the definition that holds the name");
    }
    match conditions.get("Established") {
        Some(established) if established.is_true() => {
            let mut verdict = Verdict::healthy("Established", "the kind is served");
            if let Some(schema) = conditions.truly("NonStructuralSchema") {
                verdict = verdict.warn(format!("NonStructuralSchema: {}", schema.says()));
            }
            if conditions.is_false("KubernetesAPIApprovalPolicyConformant") {
                verdict = verdict.warn("its group is protected and the definition is not approved");
            }
            verdict
        }
        Some(established) if established.is_false() && !matches!(established.reason, "" | "Installing") => {
            Verdict::failed(established.reason, established.says()).because(established.says())
        }
        Some(_) => Verdict::progressing("Installing", "the kind is being installed"),
        None => Verdict::progressing("NotObserved", "the server has not installed it yet"),
    }
}

pub(crate) fn api_service(object: View<'_>, context: &Context<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    if conditions.is_true("Available") {
        return Verdict::healthy("Available", "the API answers");
    }
    let available = conditions.get("Available");
    let text = available.map_or(String::new(), |condition| match (condition.reason, condition.message) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    });
    let verdict =
        Verdict::progressing("Unavailable", "the API does not answer").fails_after(API_SERVICE_GRACE);
    let name = object.str("/spec/service/name");
    let backing = context.snapshot.find("", "Service", object.str("/spec/service/namespace"), name);
    let endpoints = backing.and_then(|service| super::service::ready_endpoints(service, context));
    let detail =
        if endpoints == Some(0) { format!(" (service {name} has no ready endpoint)") } else { String::new() };
    let next = if name.is_empty() { None } else { Some(format!("look at the pods behind service {name}")) };
    let verdict = verdict.because(format!("{text}{detail}"));
    match next {
        Some(next) => verdict.then(next),
        None => verdict,
    }
}
