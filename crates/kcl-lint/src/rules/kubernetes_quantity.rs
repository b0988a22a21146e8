//! L0601: amounts that Kubernetes cannot read.

use kcl_syntax::ast::{Expr, ExprId, Key};
use kube_meaning::quantity::Quantity;

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0601",
    id: "kubernetes-quantity",
    kind: "KubernetesQuantity",
    level: Level::Warning,
    summary: "an amount of cpu, memory or storage that Kubernetes cannot read",
    why: "The server refuses it. An amount is a number with `m`, `k`, `M`, `G`, `T`, `P`, `E` or `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`: \
          `250m`, `1.5`, `512Mi`.",
    bad: "limits = {cpu = \"100x\", memory = \"1 GB\"}\n",
    good: "limits = {cpu = \"100m\", memory = \"1Gi\"}\n",
    fix: FixKind::None,
    checks: &[Check::Expr(check)],
};

fn check(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let Expr::Config(entries) = context.tree.expr(id) else { return };
    for entry in entries {
        let (Key::Name(name) | Key::Str(name)) = &entry.key else { continue };
        if !matches!(name.as_str(), "cpu" | "memory" | "storage" | "ephemeral-storage") {
            continue;
        }
        let Expr::Str(text) = context.tree.expr(entry.value) else { continue };
        let amount = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        if amount && Quantity::parse(text).is_none() {
            found
                .add(
                    context.tree.expr_span(entry.value),
                    format!("`{text}` is no amount of {name} that Kubernetes reads"),
                )
                .help("write a number with m, k, M, G or Ki, Mi, Gi, without a blank");
        }
    }
}
