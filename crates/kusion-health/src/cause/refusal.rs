//! Why no pod can be created: rows 2 to 8 of the priority table.
//!
//! In: the text of a FailedCreate event or a ReplicaFailure condition. Out: a cause. Invariant: every text gives one, the
//! unread ones quoted whole.

use super::{Cause, Weight, between, shorten};
use crate::profile::Profile;

/// Reads a refusal of the API server.
pub(crate) fn read(message: &str, namespace: &str, profile: &Profile) -> Cause {
    let lower = message.to_lowercase();
    let wait = |grace| Weight::Grace { grace, armed: true, snapshot_fails: false };
    if lower.contains("exceeded quota") {
        return quota(message, namespace, wait(profile.refusal_grace));
    }
    if lower.contains("must specify") && lower.contains("quota") {
        return quota_demands(message);
    }
    if lower.contains("violates podsecurity") {
        return pod_security(message, namespace);
    }
    if lower.contains("denied") && (lower.contains("admission webhook") || lower.contains("admissionpolicy"))
    {
        return policy(message);
    }
    if lower.contains("failed calling webhook") || lower.contains("failed to call webhook") {
        return webhook_down(message);
    }
    if let Some(thing) = missing(message, &lower) {
        let sentence = format!("pods need {thing}, which does not exist");
        return Cause::new(7, "CannotCreatePods", sentence, wait(profile.missing_account_grace))
            .next("create it; order it before the workload");
    }
    if (lower.contains("maximum")
        || lower.contains("minimum")
        || lower.contains("max limit to request ratio"))
        && (lower.contains(" per container") || lower.contains(" per pod") || lower.contains("ratio"))
    {
        return limit_range(message, namespace);
    }
    let text = tail(message);
    let sentence = match text {
        "" => "no pod can be created; no reason is given".to_owned(),
        _ => format!("no pod can be created: {}", shorten(text, 300)),
    };
    Cause::new(8, "CannotCreatePods", sentence, wait(profile.refusal_grace))
}

/// True for refusals that no waiting will change.
pub(crate) fn is_terminal(cause: &Cause) -> bool {
    cause.weight == Weight::Terminal
}

/// Cuts the prefix every refusal carries: `Error creating: pods "x" is forbidden: `.
fn tail(message: &str) -> &str {
    let message = message.strip_prefix("Error creating: ").unwrap_or(message);
    message.split_once(" is forbidden: ").map_or(message, |(_, rest)| rest).trim()
}

fn quota(message: &str, namespace: &str, weight: Weight) -> Cause {
    let name = between(message, "exceeded quota: ", ",").unwrap_or("?").trim();
    let section = |open: &str, close: &str| {
        let (_, rest) = message.split_once(open)?;
        Some(rest.split_once(close).map_or(rest, |(inner, _)| inner))
    };
    let used = amounts(section("used: ", ", limited:").unwrap_or_default());
    let hard = amounts(section("limited: ", ", requested:").unwrap_or_default());
    let pairs: Vec<String> = hard
        .iter()
        .map(|(resource, limit)| {
            let taken = used.iter().find(|(name, _)| name == resource).map_or("0", |(_, amount)| amount);
            format!("{taken} of {limit} {resource}")
        })
        .collect();
    let numbers = if pairs.is_empty() { String::new() } else { format!(" ({})", pairs.join(", ")) };
    let place = if namespace.is_empty() { "the namespace" } else { namespace };
    Cause::new(
        2,
        "CannotCreatePods",
        format!("no pod can be created: quota {name} is used up{numbers}"),
        weight,
    )
    .next(format!("raise quota {name}, lower requests, or free pods in {place}"))
    .key(format!("quota:{name}"))
}

/// `cpu=1,memory=2Gi` as pairs.
fn amounts(text: &str) -> Vec<(&str, &str)> {
    text.split(',').filter_map(|pair| pair.trim().split_once('=')).collect()
}

fn quota_demands(message: &str) -> Cause {
    let name = between(message, "failed quota: ", ":").unwrap_or("?").trim();
    let what = message.split_once("must specify ").map_or("", |(_, rest)| rest).trim();
    let (resource, container) = what.split_once(" for: ").unwrap_or((what, ""));
    let who = if container.is_empty() { "a container".to_owned() } else { format!("container {container}") };
    let sentence = format!("quota {name} demands {resource} on every container, and {who} has none");
    Cause::new(3, "PodsRefused", sentence, Weight::Terminal).next("set resources or a LimitRange default")
}

fn pod_security(message: &str, namespace: &str) -> Cause {
    let level = between(message, "violates PodSecurity \"", "\"").unwrap_or("?");
    let violation = message.split_once("\": ").map_or(message, |(_, rest)| rest);
    // the first `": ` may end the pod's name; the violation follows the level
    let violation = message.split_once(&format!("\"{level}\": ")).map_or(violation, |(_, rest)| rest);
    let level = level.split(':').next().unwrap_or(level);
    let sentence = format!(
        "pods are refused by the {level} security level of namespace {namespace}: {}",
        shorten(violation, 300)
    );
    Cause::new(4, "PodsRefused", sentence, Weight::Terminal)
        .next("set the securityContext it names, or the namespace label")
}

fn policy(message: &str) -> Cause {
    let name = between(message, "admission webhook \"", "\"")
        .or_else(|| between(message, "AdmissionPolicy '", "'"))
        .unwrap_or("of the cluster");
    let text = message.split_once("denied the request").or_else(|| message.split_once("denied request"));
    let text = text.map_or(message, |(_, rest)| rest).trim_start_matches([':', ' ']);
    let sentence = format!("policy {name} refuses the pod: {}", shorten(text, 300));
    Cause::new(5, "PodsRefused", sentence, Weight::Terminal).next("change the pod as the policy asks")
}

fn webhook_down(message: &str) -> Cause {
    let name = between(message, "webhook \"", "\"").unwrap_or("?");
    let error = message.split_once(&format!("\"{name}\": ")).map_or(message, |(_, rest)| rest);
    let error = error.rsplit_once("\": ").map_or(error, |(_, rest)| rest);
    let sentence =
        format!("webhook {name} does not answer ({}), so nothing can be created", shorten(error, 200));
    Cause::new(6, "CannotCreatePods", sentence, Weight::Recover)
        .next("bring its service up, or set failurePolicy or namespaceSelector")
        .key(format!("webhook:{name}"))
}

fn missing(message: &str, lower: &str) -> Option<String> {
    if lower.contains("serviceaccount") && lower.contains("not found") {
        let name = between(message, "serviceaccount \"", "\"").unwrap_or("?");
        return Some(format!("service account {name}"));
    }
    if let Some((_, rest)) = message.split_once("no PriorityClass with name ") {
        return Some(format!("priority class {}", rest.split_whitespace().next().unwrap_or("?")));
    }
    let constraint = "unable to validate against any security context constraint";
    lower.contains(constraint).then(|| "a fitting security context constraint".to_owned())
}

fn limit_range(message: &str, namespace: &str) -> Cause {
    let text = tail(message);
    let sentence = match text.split_once(", but ") {
        Some((allowed, asked)) => {
            format!(
                "the LimitRange of {namespace} is broken: {}, but {}",
                shorten(allowed, 150),
                shorten(asked, 150)
            )
        }
        None => format!("the LimitRange of {namespace} refuses the pod: {}", shorten(text, 300)),
    };
    Cause::new(8, "PodsRefused", sentence, Weight::Terminal).next("adapt requests and limits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(message: &str) -> Cause {
        read(message, "shop", &Profile::default())
    }

    #[test]
    fn quota_is_named_with_its_numbers() {
        let found = cause(
            "Error creating: pods \"web-1\" is forbidden: exceeded quota: q, requested: cpu=2,pods=1, used: cpu=3,pods=1, limited: cpu=4,pods=1",
        );
        assert_eq!(found.sentence, "no pod can be created: quota q is used up (3 of 4 cpu, 1 of 1 pods)");
        assert_eq!(found.next.as_deref(), Some("raise quota q, lower requests, or free pods in shop"));
        assert!(!is_terminal(&found));
    }

    #[test]
    fn refusals_by_rule_are_terminal() {
        for message in [
            "pods \"x\" is forbidden: failed quota: q: must specify limits.cpu for: main",
            "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true (pod or container \"c\" must set it)",
            "admission webhook \"policy.example.com\" denied the request: image is not signed",
            "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'demo' with binding 'b' denied request: too big",
            "pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 2",
        ] {
            assert!(is_terminal(&cause(message)), "{message}");
        }
    }

    #[test]
    fn what_may_clear_is_not_terminal() {
        for (message, part) in [
            (
                "Internal error occurred: failed calling webhook \"w.io\": failed to call webhook: Post \"https://w.svc:443/x\": dial tcp: connection refused",
                "webhook w.io does not answer",
            ),
            (
                "pods \"x\" is forbidden: error looking up service account shop/robot: serviceaccount \"robot\" not found",
                "service account robot",
            ),
            ("pods \"x\" is forbidden: no PriorityClass with name gold was found", "priority class gold"),
            ("something new", "no pod can be created: something new"),
        ] {
            let found = cause(message);
            assert!(!is_terminal(&found), "{message}");
            assert!(found.sentence.contains(part), "{}", found.sentence);
        }
    }

    #[test]
    fn pod_security_quotes_level_and_violation() {
        let found = cause(
            "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false",
        );
        assert!(
            found
                .sentence
                .contains("by the restricted security level of namespace shop: allowPrivilegeEscalation")
        );
    }
}
