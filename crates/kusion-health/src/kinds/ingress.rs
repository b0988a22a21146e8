//! Ingress and IngressClass: wait for an address only if somebody of the class ever publishes one.

use super::service::addresses;
use crate::context::Context;
use crate::verdict::Verdict;
use crate::view::View;

const GROUP: &str = "networking.k8s.io";
const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
const NO_CLASS_GRACE: i64 = 120_000;

fn class_of(object: View<'_>) -> Option<&str> {
    object.text("/spec/ingressClassName").or_else(|| object.annotation("kubernetes.io/ingress.class"))
}

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let published = addresses(object);
    if !published.is_empty() {
        return Verdict::healthy("Address", published.join(", "));
    }
    let snapshot = context.snapshot;
    let known = if snapshot.knows(GROUP, "IngressClass") { "" } else { " among the objects known here" };
    let class = class_of(object);
    match class {
        Some(name) if snapshot.find(GROUP, "IngressClass", "", name).is_none() => {
            return no_class(format!("ingress class {name} does not exist{known}"));
        }
        None if !snapshot.of_kind(GROUP, "IngressClass").any(is_default) => {
            return no_class(format!("no ingress class is named and none is the default{known}"));
        }
        _ => {}
    }
    let trouble = context.events(object).into_iter().find(|event| event.warning);
    let others = snapshot
        .of_kind(GROUP, "Ingress")
        .filter(|other| other.name() != object.name() && class_of(*other) == class);
    let somebody = others.into_iter().any(|other| !addresses(other).is_empty());
    let message = "no address has been published yet";
    let verdict = if somebody {
        Verdict::progressing("AddressPending", message)
    } else {
        Verdict::progressing("AddressPending", message).heals_after(
            context.profile.unpublished_grace,
            "Unpublished",
            "its controller publishes no address",
        )
    };
    match trouble {
        Some(event) => verdict.because(event.message),
        None => verdict,
    }
}

fn no_class(cause: String) -> Verdict {
    Verdict::progressing("NoClass", "no controller will serve it")
        .because(cause)
        .then("create the IngressClass (install its controller), or name another in spec.ingressClassName")
        .fails_after(NO_CLASS_GRACE)
}

fn is_default(class: View<'_>) -> bool {
    class.annotation(DEFAULT) == Some("true")
}

pub(crate) fn class(object: View<'_>, context: &Context<'_>) -> Verdict {
    let verdict = Verdict::healthy("Exists", "nothing to wait for");
    let defaults = context.snapshot.of_kind(GROUP, "IngressClass").filter(|class| is_default(*class)).count();
    if is_default(object) && defaults > 1 {
        verdict.warn(format!("{defaults} classes are the default"))
    } else {
        verdict
    }
}
