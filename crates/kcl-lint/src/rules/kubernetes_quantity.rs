//! L0601: amounts that Kubernetes cannot read.

use kcl_syntax::ast::{Entry, Expr, ExprId, Key, Stmt, StmtId, TargetStep};
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
    why: "The server refuses it. Judged are the braces of `limits`, `requests`, `hard`, `capacity` and their like, and `sizeLimit` of an `emptyDir`. An amount is a number with `m`, `k`, `M`, `G`, `T`, `P`, `E` or `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`: \
          `250m`, `1.5`, `512Mi`. A word is judged where it is certain that an amount was meant: under `resources`, or beside an amount.",
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

/// Keys that hold one amount in the braces of another key, and mean nothing else there.
const SINGLE: &[(&str, &str)] = &[("emptyDir", "sizeLimit"), ("resourceFieldRef", "divisor")];

/// Schemas of Kubernetes models whose braces are those of `resources`.
const REQUIREMENTS: &[&str] = &["ResourceRequirements", "VolumeResourceRequirements"];

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
                [before @ .., TargetStep::Member(holder), TargetStep::Member(name)]
                    if HOLDERS.contains(&holder.name.as_str()) && is_amount(&name.name) =>
                {
                    judge_number(context, &name.name, *value, found);
                    let above = match before.last() {
                        Some(TargetStep::Member(above)) => Some(above),
                        None => Some(&target.name),
                        _ => None,
                    };
                    if is_container(&holder.name) && above.is_some_and(|above| above.name == "resources") {
                        judge_word(context, &name.name, *value, found);
                    }
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
    if name == "resources" {
        requirements(context, value, found);
    }
    for (_, single) in SINGLE.iter().filter(|(holder, _)| *holder == name) {
        for (key, value) in named(braces(context, value)).filter(|(key, _)| key == single) {
            judge_number(context, key, value, found);
            judge_word(context, key, value, found);
        }
    }
    if !HOLDERS.contains(&name) {
        return;
    }
    let entries = braces(context, value);
    for (key, value) in amounts(entries) {
        judge_number(context, key, value, found);
        if is_container(name) && has_amount(context, entries) {
            judge_word(context, key, value, found);
        }
    }
}

/// `resources = {limits = {..}, requests = {..}}`: in plain braces, or a schema of the Kubernetes models, a word is no amount either.
/// A schema of somebody's own may know sizes by name.
fn requirements(context: &Context<'_>, value: ExprId, found: &mut Findings<'_>) {
    if let Expr::Schema(schema) = context.tree.expr(value) {
        let Expr::Name(parts) = context.tree.expr(schema.name) else { return };
        if !parts.last().is_some_and(|name| REQUIREMENTS.contains(&name.name.as_str())) {
            return;
        }
    }
    for (_, value) in named(braces(context, value)).filter(|(key, _)| is_container(key)) {
        let Expr::Config(entries) = context.tree.expr(value) else { continue };
        // Beside an amount it is found by whoever looks at these braces.
        if !has_amount(context, entries) {
            amounts(entries).for_each(|(key, value)| judge_word(context, key, value, found));
        }
    }
}

/// The braces of a value: its own, or those of a schema expression.
fn braces<'t>(context: &Context<'t>, value: ExprId) -> &'t [Entry] {
    let value = match context.tree.expr(value) {
        Expr::Schema(schema) => schema.config,
        _ => value,
    };
    match context.tree.expr(value) {
        Expr::Config(entries) => entries,
        _ => &[],
    }
}

fn named(entries: &[Entry]) -> impl Iterator<Item = (&str, ExprId)> {
    entries.iter().filter_map(|entry| match &entry.key {
        Key::Name(name) | Key::Str(name) => Some((name.as_str(), entry.value)),
        _ => None,
    })
}

fn amounts(entries: &[Entry]) -> impl Iterator<Item = (&str, ExprId)> {
    named(entries).filter(|(key, _)| is_amount(key))
}

fn has_amount(context: &Context<'_>, entries: &[Entry]) -> bool {
    let reads = |value| match context.tree.expr(value) {
        Expr::Str(text) => {
            text.ends_with(|c: char| c.is_ascii_alphabetic()) && Quantity::parse(text).is_some()
        }
        Expr::Unit(..) => true,
        _ => false,
    };
    amounts(entries).any(|(_, value)| reads(value))
}

fn is_container(name: &str) -> bool {
    matches!(name, "limits" | "requests")
}

/// Whether a key names an amount; quotas say of what: `requests.cpu`.
fn is_amount(name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or(name.strip_prefix("limits.")).unwrap_or(name);
    matches!(bare, "cpu" | "memory" | "storage" | "ephemeral-storage") || bare.starts_with("hugepages-")
}

/// What looks like a number, and is none.
fn judge_number(context: &Context<'_>, name: &str, value: ExprId, found: &mut Findings<'_>) {
    judge(context, name, value, found, |first| first.is_ascii_digit() || "+-.".contains(first));
}

/// A word where an amount stands. What begins otherwise is filled in by somebody: `$(CPU)`, `{{ .cpu }}`, `<cpu>`.
fn judge_word(context: &Context<'_>, name: &str, value: ExprId, found: &mut Findings<'_>) {
    judge(context, name, value, found, |first| first.is_alphabetic());
}

fn judge(
    context: &Context<'_>,
    name: &str,
    value: ExprId,
    found: &mut Findings<'_>,
    begins: impl Fn(char) -> bool,
) {
    let Expr::Str(text) = context.tree.expr(value) else { return };
    if text.starts_with(begins) && Quantity::parse(text).is_none() {
        let message = format!("`{text}` is no amount of {name} that Kubernetes reads");
        let finding = found.add(context.tree.expr_span(value), message);
        finding.help("write a number with m, k, M, G or Ki, Mi, Gi, without a blank");
    }
}
