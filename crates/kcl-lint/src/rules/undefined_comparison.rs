//! L0203: comparisons with Undefined and None that are not what they seem.

use kcl_check::index::Meaning;
use kcl_syntax::ast::{CompareOp, Expr, ExprId};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0203",
    id: "undefined-comparison",
    kind: "UndefinedComparison",
    level: Level::Warning,
    summary: "a comparison with `Undefined` or `None` that is not what it seems",
    why: "An attribute or option without a value is Undefined, not None, and the two are not equal: `x == None` is False for an \
          attribute that nobody set, `x == Undefined` is False for one that was set to None, and an order (`<`) with either is an \
          error. Both are false as a condition: write `not x` or `x`.",
    bad: "schema App:\n    \"\"\"An application.\"\"\"\n    image?: str\n    named: bool = image != None\n\na = App {}\n",
    good: "schema App:\n    \"\"\"An application.\"\"\"\n    image?: str\n    named: bool = True if image else False\n\na = App {}\n",
    fix: FixKind::None,
    checks: &[Check::Expr(check)],
};

fn check(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let Expr::Compare(first, links) = context.tree.expr(id) else { return };
    // Who names both on one line knows the difference.
    let span = context.tree.expr_span(id);
    let before = context.before(span.start).rsplit('\n').next().unwrap_or_default();
    let line = context.after(span.start).split('\n').next().unwrap_or_default();
    let names = |word: &str| before.contains(word) || line.contains(word);
    if names("Undefined") && names("None") && !is_both(context, *first, links) {
        return;
    }
    let mut left = *first;
    for (op, right) in links {
        compare(context, id, left, *op, *right, found);
        left = *right;
    }
}

/// `None == Undefined` itself.
fn is_both(context: &Context<'_>, first: ExprId, links: &[(CompareOp, ExprId)]) -> bool {
    let nothing = |id: ExprId| matches!(context.tree.expr(context.bare(id)), Expr::None | Expr::Undefined);
    nothing(first) && links.iter().all(|(_, right)| nothing(*right))
}

fn compare(
    context: &Context<'_>,
    id: ExprId,
    left: ExprId,
    op: CompareOp,
    right: ExprId,
    found: &mut Findings<'_>,
) {
    let (left, right) = (context.bare(left), context.bare(right));
    let is = |side: ExprId, undefined: bool| match context.tree.expr(side) {
        Expr::Undefined => undefined,
        Expr::None => !undefined,
        _ => false,
    };
    let span = context.tree.expr_span(id);
    let order = matches!(op, CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge);
    let equal = matches!(op, CompareOp::Eq | CompareOp::Ne | CompareOp::Is | CompareOp::IsNot);
    for (side, other) in [(left, right), (right, left)] {
        if order && (is(side, true) || is(side, false)) {
            found.add(span, "nothing is less or greater than None or Undefined").help("write `x` or `not x`");
            return;
        }
        if equal && is(side, true) {
            let message = match is(other, false) {
                true => "None and Undefined are never equal",
                false => "a value that was set to None is not Undefined",
            };
            found.add(span, message).help("write `x` or `not x`: None and Undefined are both false");
            return;
        }
        if equal && is(side, false) && may_be_unset(context, other) {
            found
                .add(span, "what nobody set is Undefined, and that is not equal to None")
                .help("write `x` or `not x`: None and Undefined are both false");
            return;
        }
    }
}

/// Whether an expression reads an optional attribute, an option, or goes through `?.`.
fn may_be_unset(context: &Context<'_>, id: ExprId) -> bool {
    let start = match context.tree.expr(id) {
        Expr::Name(parts) => parts.last().map(|part| part.span.start),
        Expr::Selector { optional: true, .. } | Expr::Index { optional: true, .. } => return true,
        Expr::Selector { name, .. } => Some(name.span.start),
        Expr::Call(call) => {
            return matches!(context.tree.expr(call.func), Expr::Name(parts) if parts.len() == 1 && parts[0].name == "option");
        }
        _ => None,
    };
    let Some(Meaning::Declared(spot)) =
        start.and_then(|start| context.occurrence(start)).map(|name| &name.meaning)
    else {
        return false;
    };
    context.attribute(*spot).is_some_and(|(_, attr)| attr.optional && attr.default.is_none())
}
