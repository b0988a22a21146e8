//! L0205: `=` where a merge with the default was probably meant.

use kcl_check::index::Meaning;
use kcl_syntax::ast::{Entry, EntryOp, Expr, ExprId, Key, Tree};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0205",
    id: "override-for-merge",
    kind: "OverrideForMerge",
    level: Level::Warning,
    summary: "braces after `=` throw away a default that has keys of its own",
    why: "`labels = {..}` replaces the default of the attribute as a whole; `labels: {..}` adds to it. Where the default has keys, \
          adding is usually meant. The fix writes `:`; it changes the result, so it is unsafe.",
    bad: "schema App:\n    \"\"\"An application.\"\"\"\n    labels: {str:str} = {team = \"a\"}\n\na = App {\n    labels = {app = \"x\"}\n}\n",
    good: "schema App:\n    \"\"\"An application.\"\"\"\n    labels: {str:str} = {team = \"a\"}\n\na = App {\n    labels: {app = \"x\"}\n}\n",
    fix: FixKind::Unsafe,
    checks: &[Check::Expr(check)],
};

fn check(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let Expr::Config(entries) = context.tree.expr(id) else { return };
    for entry in entries.iter().filter(|entry| entry.op == EntryOp::Override) {
        if matches!(entry.key, Key::Name(_) | Key::Str(_)) && has_keys(context.tree, entry.value) {
            judge(context, entry, found);
        }
    }
}

fn judge(context: &Context<'_>, entry: &Entry, found: &mut Findings<'_>) {
    let Some(name) = context.occurrence(entry.key_span.start) else { return };
    let Meaning::Declared(spot) = &name.meaning else { return };
    let Some((package, attr)) = context.attribute(*spot) else { return };
    let Some(default) = attr.default.filter(|default| has_keys(&package.tree, *default)) else { return };
    if misses_nothing(context.tree, entry.value, &package.tree, default) {
        return;
    }
    let finding = found.add(
        entry.key_span,
        format!("`=` throws away the default of `{}`, which has keys of its own", attr.name.name),
    );
    finding.help(format!("write `{}: {{..}}` to add to it", attr.name.name));
    let value = context.tree.expr_span(entry.value);
    let between = base_diag::Span::new(entry.key_span.end, value.start);
    if context.text(between).trim() == "=" {
        finding.replace(context.package, false, between, ": ");
    }
}

/// Whether an expression is braces with a literal key, with or without a schema in front.
fn has_keys(tree: &Tree, id: ExprId) -> bool {
    keys(tree, id).is_some_and(|keys| !keys.is_empty())
}

fn keys(tree: &Tree, id: ExprId) -> Option<Vec<&str>> {
    let config = match tree.expr(id) {
        Expr::Schema(schema) => schema.config,
        Expr::Config(_) => id,
        _ => return None,
    };
    let Expr::Config(entries) = tree.expr(config) else { return None };
    let names = entries.iter().filter_map(|entry| match &entry.key {
        Key::Name(name) | Key::Str(name) => Some(name.as_str()),
        _ => None,
    });
    Some(names.collect())
}

/// Whether the new braces set every key that the default has: then they are a replacement on purpose.
fn misses_nothing(tree: &Tree, value: ExprId, other: &Tree, default: ExprId) -> bool {
    let (Some(new), Some(old)) = (keys(tree, value), keys(other, default)) else { return false };
    old.iter().all(|key| new.contains(key))
}
