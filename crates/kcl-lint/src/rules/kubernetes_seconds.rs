//! L0603: times with a unit where Kubernetes counts seconds.

use kcl_syntax::ast::{Entry, Expr, ExprId, Key};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0603",
    id: "kubernetes-seconds",
    kind: "KubernetesSeconds",
    level: Level::Warning,
    summary: "a time as a text where Kubernetes counts whole seconds",
    why: "The server refuses it: fields like `periodSeconds` and `terminationGracePeriodSeconds` are whole numbers, without a unit and without quotes.",
    bad: "probe = {periodSeconds = \"10s\"}\n",
    good: "probe = {periodSeconds = 10}\n",
    fix: FixKind::None,
    checks: &[Check::Expr(expr)],
};

/// Fields that only objects of Kubernetes have.
const FIELDS: &[&str] = &[
    "activeDeadlineSeconds",
    "initialDelaySeconds",
    "minReadySeconds",
    "periodSeconds",
    "progressDeadlineSeconds",
    "stabilizationWindowSeconds",
    "startingDeadlineSeconds",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
    "ttlSecondsAfterFinished",
];

fn expr(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let Expr::Config(entries) = context.tree.expr(id) else { return };
    for Entry { key, key_span, value, .. } in entries {
        let (Key::Name(key) | Key::Str(key)) = key else { continue };
        if !FIELDS.contains(&key.as_str()) {
            continue;
        }
        let wrong = match context.tree.expr(*value) {
            // What has other characters is filled in by somebody: `$(SECONDS)`, `{{ .seconds }}`.
            Expr::Str(text) => {
                !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-. ".contains(c))
            }
            Expr::Float(number) => number.fract() != 0.0,
            _ => false,
        };
        if wrong && !context.is_text_attribute(*key_span) {
            let message = format!("`{key}` is a whole number of seconds");
            found.add(context.tree.expr_span(*value), message).help(help(context, *value));
        }
    }
}

/// The number to write, where the text says it.
fn help(context: &Context<'_>, value: ExprId) -> String {
    let nanos = match context.tree.expr(value) {
        Expr::Str(text) => kube_meaning::time::parse_duration(text)
            .or_else(|| text.parse::<i64>().ok().map(|seconds| i128::from(seconds) * SECOND)),
        _ => None,
    };
    match nanos.filter(|nanos| nanos % SECOND == 0) {
        Some(nanos) => format!("write {}", nanos / SECOND),
        None => "write the number without a unit and without quotes".to_owned(),
    }
}

const SECOND: i128 = 1_000_000_000;
