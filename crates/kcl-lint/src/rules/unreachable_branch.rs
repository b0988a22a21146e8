//! L0202: a branch that can never be taken.

use kcl_syntax::ast::{Expr, ExprId, Key, Stmt, StmtId, UnaryOp};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0202",
    id: "unreachable-branch",
    kind: "UnreachableBranch",
    level: Level::Warning,
    summary: "a branch that can never be taken",
    why: "The condition is a constant, or an earlier branch has the same one. What stands in the branch is never looked at again.",
    bad: "_env = option(\"env\")\nif _env == \"prod\":\n    _replicas = 3\nelif _env == \"prod\":\n    _replicas = 2\nelse:\n    _replicas = 1\nreplicas = _replicas\n",
    good: "_env = option(\"env\")\nif _env == \"prod\":\n    _replicas = 3\nelif _env == \"test\":\n    _replicas = 2\nelse:\n    _replicas = 1\nreplicas = _replicas\n",
    fix: FixKind::None,
    checks: &[Check::Expr(expr), Check::Stmt(stmt)],
};

/// What a condition always is, if that is written in it.
fn constant(context: &Context<'_>, id: ExprId) -> Option<bool> {
    match context.tree.expr(id) {
        Expr::Bool(value) => Some(*value),
        Expr::None | Expr::Undefined => Some(false),
        Expr::Int(value) => Some(*value != 0),
        Expr::Str(text) => Some(!text.is_empty()),
        Expr::Paren(inner) => constant(context, *inner),
        Expr::Unary(UnaryOp::Not, inner) => constant(context, *inner).map(|value| !value),
        _ => None,
    }
}

fn judge(context: &Context<'_>, cond: ExprId, has_else: bool, found: &mut Findings<'_>) {
    let span = context.tree.expr_span(cond);
    match constant(context, cond) {
        Some(true) if has_else => {
            found.add(span, "the condition is always true: what stands after `else` is never reached");
        }
        Some(false) => {
            found.add(span, "the condition is always false: this branch is never reached");
        }
        _ => {}
    }
}

fn expr(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    match context.tree.expr(id) {
        Expr::If { cond, .. } => judge(context, *cond, true, found),
        Expr::ListIf { cond, orelse, .. } => judge(context, *cond, !orelse.is_empty(), found),
        Expr::Config(entries) => {
            for entry in entries {
                if let Key::If { cond, orelse } = &entry.key {
                    judge(context, *cond, orelse.is_some(), found);
                }
            }
        }
        Expr::ListComp { clauses, .. } | Expr::DictComp { clauses, .. } => {
            clauses
                .iter()
                .filter_map(|clause| clause.cond)
                .for_each(|cond| judge(context, cond, false, found));
        }
        _ => {}
    }
}

fn stmt(context: &Context<'_>, id: StmtId, found: &mut Findings<'_>) {
    let Stmt::If { cond, orelse, .. } = context.tree.stmt(id) else { return };
    judge(context, *cond, !orelse.is_empty(), found);
    // An `elif` with the same condition: the nearest one is told here, the others by the branches between.
    let first = context.text(context.tree.expr_span(*cond));
    let mut rest: &[StmtId] = orelse;
    while let [next] = rest
        && let Stmt::If { cond: other, orelse, .. } = context.tree.stmt(*next)
    {
        let span = context.tree.expr_span(*other);
        if context.text(span) == first && constant(context, *other).is_none() {
            let at = context.tree.expr_span(*cond);
            found.add(span, "an earlier branch has the same condition: this one is never reached").related(
                context.package,
                at,
                "the earlier branch",
            );
            return;
        }
        rest = orelse;
    }
}
