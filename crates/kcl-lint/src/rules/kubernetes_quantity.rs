//! L0601: amounts that Kubernetes cannot read.

use kcl_syntax::ast::{Expr, ExprId, Key, Stmt, StmtId, TargetStep};
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
    why: "The server refuses it. Judged are the braces of `limits`, `requests`, `hard`, `capacity` and their like. An amount is a number with `m`, `k`, `M`, `G`, `T`, `P`, `E` or `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`: \
          `250m`, `1.5`, `512Mi`.",
    bad: "limits = {cpu = \"100x\", memory = \"1 GB\"}\n",
    good: "limits = {cpu = \"100m\", memory = \"1Gi\"}\n",
    fix: FixKind::None,
    checks: &[Check::Expr(expr), Check::Stmt(stmt)],
};

/// Keys whose braces are amounts of resources in Kubernetes: of containers, nodes, quotas and limit ranges.
const HOLDERS: &[&str] = &[
    "limits",
    "requests",
    "hard",
    "capacity",
    "allocatable",
    "overhead",
    "podFixed",
    "min",
    "max",
    "default",
    "defaultRequest",
    "resource",
    "resources",
];

fn expr(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let Expr::Config(entries) = context.tree.expr(id) else { return };
    for entry in entries {
        if let Key::Name(name) | Key::Str(name) = &entry.key {
            held(context, name, entry.value, found);
        }
    }
}

fn stmt(context: &Context<'_>, id: StmtId, found: &mut Findings<'_>) {
    match context.tree.stmt(id) {
        Stmt::Assign { targets, value, .. } => {
            let [target] = &**targets else { return };
            match &*target.path {
                [] => held(context, target.name.name.trim_start_matches('_'), *value, found),
                // `a.resources.limits.cpu = ..`
                [.., TargetStep::Member(holder), TargetStep::Member(name)]
                    if HOLDERS.contains(&holder.name.as_str()) && is_amount(&name.name) =>
                {
                    judge(context, &name.name, *value, found);
                }
                _ => {}
            }
        }
        Stmt::Attr(attr) => {
            attr.default.into_iter().for_each(|default| held(context, &attr.name.name, default, found));
        }
        _ => {}
    }
}

/// The amounts in braces under a key that holds amounts. Elsewhere `memory` may be anything: of a machine, of a person.
fn held(context: &Context<'_>, name: &str, value: ExprId, found: &mut Findings<'_>) {
    if !HOLDERS.contains(&name) {
        return;
    }
    let braces = match context.tree.expr(value) {
        Expr::Schema(schema) => schema.config,
        _ => value,
    };
    let Expr::Config(entries) = context.tree.expr(braces) else { return };
    for entry in entries {
        let (Key::Name(name) | Key::Str(name)) = &entry.key else { continue };
        if is_amount(name) {
            judge(context, name, entry.value, found);
        }
    }
}

/// Whether a key names an amount; quotas say of what: `requests.cpu`.
fn is_amount(name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or(name.strip_prefix("limits.")).unwrap_or(name);
    matches!(bare, "cpu" | "memory" | "storage" | "ephemeral-storage") || bare.starts_with("hugepages-")
}

fn judge(context: &Context<'_>, name: &str, value: ExprId, found: &mut Findings<'_>) {
    let Expr::Str(text) = context.tree.expr(value) else { return };
    let amount = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    if amount && Quantity::parse(text).is_none() {
        let message = format!("`{text}` is no amount of {name} that Kubernetes reads");
        let finding = found.add(context.tree.expr_span(value), message);
        finding.help("write a number with m, k, M, G or Ki, Mi, Gi, without a blank");
    }
}
