//! Custom kinds: the data table, then the generic rule, then the cause in owned objects.
//!
//! In: an object no built-in rule knows. Out: its verdict. Invariant: the walk into owned objects is at most four deep.

use crate::cause::workload::{self, Workload};
use crate::context::Context;
use crate::envelope;
use crate::verdict::{Grade, Verdict};
use crate::view::View;
use crate::{generic, table};

const DEEPEST: u8 = 4;
const MOST_OWNED: usize = 200;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let tabled = table::judge(object, context);
    let verdict = tabled.unwrap_or_else(|| generic::judge(object, context));
    if !matches!(verdict.verdict, Grade::Progressing | Grade::Failed | Grade::Unknown) {
        return verdict;
    }
    if is_workload(object) {
        let pods = workload::owned_pods(object, context);
        let expected = object.int("/spec/replicas").unwrap_or(0);
        let verdict =
            workload::apply(verdict, &Workload { pods, creator: object, expected, noun: "pods" }, context);
        if verdict.subject.is_some() {
            return verdict;
        }
        return from_owned(verdict, object, context);
    }
    from_owned(verdict, object, context)
}

/// Custom workloads whose pods decide like those of a Deployment.
fn is_workload(object: View<'_>) -> bool {
    matches!(
        (object.group(), object.kind()),
        ("apps.kusionstack.io", "CollaSet")
            | ("apps.kruise.io", "CloneSet" | "StatefulSet" | "DaemonSet")
            | ("game.kruise.io", "GameServerSet")
    )
}

/// The deepest unhealthy owned object tells why.
fn from_owned(verdict: Verdict, object: View<'_>, context: &Context<'_>) -> Verdict {
    if context.depth >= DEEPEST {
        return verdict;
    }
    let deeper = context.deeper();
    let mut worst: Option<(Grade, View<'_>, Verdict)> = None;
    for owned in context.snapshot.owned_by(object).into_iter().take(MOST_OWNED) {
        let found = envelope::judge_in(owned, &deeper);
        let bad = matches!(found.verdict, Grade::Failed | Grade::Unknown | Grade::Progressing);
        if bad && worst.as_ref().is_none_or(|(state, ..)| found.verdict > *state) {
            worst = Some((found.verdict, owned, found));
        }
    }
    let Some((_, owned, found)) = worst else { return verdict };
    let text = found.cause.clone().unwrap_or_else(|| found.full_message());
    if text.is_empty() {
        return verdict;
    }
    let cause = if found.named.iter().any(|named| named.contains(owned.name())) {
        text
    } else {
        format!("{}: {text}", owned.short())
    };
    Verdict {
        cause: Some(cause),
        named: vec![owned.name().to_owned()],
        next: found.next,
        subject: found.subject,
        evidence: found.evidence,
        ..verdict
    }
}
