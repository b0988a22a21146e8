//! Kinds with a rule of one or two lines.

use crate::condition::Conditions;
use crate::context::Context;
use crate::time;
use crate::verdict::Verdict;
use crate::view::View;

pub(crate) fn signing_request(object: View<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    for kind in ["Denied", "Failed"] {
        if let Some(bad) = conditions.truly(kind) {
            return Verdict::failed(bad.reason_or(kind), bad.says()).because(bad.says());
        }
    }
    if !object.str("/status/certificate").is_empty() {
        return Verdict::healthy("Issued", "the certificate is issued");
    }
    if conditions.is_true("Approved") {
        return Verdict::progressing("NotSigned", "approved; the signer has not signed yet");
    }
    Verdict::progressing("NotApproved", "needs approval by a person or signer")
        .because("nobody has approved it yet")
        .then(format!("kubectl certificate approve {}", object.name()))
}

pub(crate) fn admission_policy(object: View<'_>) -> Verdict {
    let warnings = object.items("/status/typeChecking/expressionWarnings");
    let verdict = Verdict::healthy("Exists", "the policy is in force");
    warnings.fold(verdict, |verdict, warning| verdict.warn(warning.str("/warning")))
}

/// FlowSchema and PriorityLevelConfiguration.
pub(crate) fn flow_control(object: View<'_>) -> Verdict {
    match Conditions::of(object).truly("Dangling") {
        Some(dangling) => {
            Verdict::failed(dangling.reason_or("Dangling"), dangling.says()).because(dangling.says())
        }
        None => Verdict::healthy("Exists", "in force"),
    }
}

pub(crate) fn resource_claim(object: View<'_>) -> Verdict {
    if object.at("/status/allocation").is_some() {
        return Verdict::healthy("Allocated", "allocated");
    }
    if object.list("/status/reservedFor").is_empty() {
        return Verdict::healthy("Unused", "nobody has asked for it yet");
    }
    Verdict::progressing("Pending", "reserved, but not allocated yet")
}

pub(crate) fn address_range(object: View<'_>) -> Verdict {
    match Conditions::of(object).falsely("Ready") {
        Some(bad) => Verdict::progressing(bad.reason_or("NotReady"), bad.says()).because(bad.says()),
        None => Verdict::healthy("Ready", "in use"),
    }
}

pub(crate) fn lease(object: View<'_>, context: &Context<'_>) -> Verdict {
    let verdict = Verdict::healthy("Exists", format!("held by {}", object.str("/spec/holderIdentity")));
    let renewed = time::parse(object.str("/spec/renewTime"));
    let length = object.int("/spec/leaseDurationSeconds").unwrap_or(15).clamp(1, 86_400);
    match (context.now, renewed) {
        (Some(now), Some(renewed)) if now - renewed > 3 * length * 1000 => verdict.warn("leader is gone"),
        _ => verdict,
    }
}

pub(crate) fn component_status(object: View<'_>) -> Verdict {
    let conditions = Conditions::from_list(object.list("/conditions"), None);
    match conditions.get("Healthy") {
        Some(healthy) if healthy.is_true() => Verdict::healthy("Healthy", healthy.says()),
        Some(bad) => Verdict::progressing("NotHealthy", bad.says()).because(bad.says()),
        None => Verdict::unknown("NotObserved", "no condition"),
    }
}

pub(crate) fn secret(object: View<'_>) -> Verdict {
    let verdict = plain(object);
    let token = object.str("/type") == "kubernetes.io/service-account-token";
    if token && object.stored() && object.get("/data/token").is_none() {
        verdict.warn("its token is not filled in yet")
    } else {
        verdict
    }
}

/// Webhook configurations: a dead webhook that fails closed will refuse the next applies.
pub(crate) fn webhooks(object: View<'_>, context: &Context<'_>) -> Verdict {
    let mut verdict = plain(object);
    for hook in object.items("/webhooks").take(64) {
        let name = hook.str("/name");
        let service = hook.str("/clientConfig/service/name");
        let found =
            context.snapshot.find("", "Service", hook.str("/clientConfig/service/namespace"), service);
        let endpoints = found.and_then(|service| super::service::ready_endpoints(service, context));
        if endpoints == Some(0) && hook.text("/failurePolicy").unwrap_or("Fail") == "Fail" {
            verdict = verdict
                .warn(format!("webhook {name} is unreachable: service {service} has no ready endpoint"));
        }
        let injected = object.annotation("cert-manager.io/inject-ca-from").is_some();
        if injected && hook.str("/clientConfig/caBundle").is_empty() {
            verdict = verdict.warn(format!("webhook {name} still waits for its caBundle"));
        }
    }
    verdict
}

/// Healthy as soon as the server has it.
pub(crate) fn plain(_object: View<'_>) -> Verdict {
    Verdict::healthy("NothingToWatch", "nothing to wait for")
}
