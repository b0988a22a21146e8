//! L0303: a comprehension that only repeats what it walks.

use kcl_check::index::TypeKind;
use kcl_syntax::ast::{Expr, ExprId, Key};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0303",
    id: "needless-comprehension",
    kind: "NeedlessComprehension",
    level: Level::Info,
    summary: "`[x for x in xs]` or `{k: v for k, v in d}`",
    why: "It is the list or dict itself. The fix is unsafe: over None and Undefined a comprehension is empty.",
    bad: "xs = [1, 2]\nys = [x for x in xs]\n",
    good: "xs = [1, 2]\nys = xs\n",
    fix: FixKind::Unsafe,
    checks: &[Check::Expr(check)],
};

fn check(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let tree = context.tree;
    let is = |expr: ExprId, name: &str| matches!(tree.expr(expr), Expr::Name(parts) if parts.len() == 1 && parts[0].name == name);
    let clause = match tree.expr(id) {
        Expr::ListComp { elt, clauses } => match &**clauses {
            [clause] if matches!(&*clause.targets, [one] if is(*elt, &one.name)) => clause,
            _ => return,
        },
        Expr::DictComp { entry, clauses } => match (&**clauses, &entry.key) {
            ([clause], Key::Name(key)) if matches!(&*clause.targets, [k, v] if k.name == *key && is(entry.value, &v.name)) => {
                clause
            }
            _ => return,
        },
        _ => return,
    };
    let kind = context.index.expr_type(clause.iter).map(|ty| context.index.kind(ty));
    let same = match tree.expr(id) {
        Expr::ListComp { .. } => matches!(kind, Some(TypeKind::List(_))),
        _ => kind == Some(TypeKind::Dict),
    };
    if clause.cond.is_none() && same {
        let walked = context.text(tree.expr_span(clause.iter));
        let finding = found.add(tree.expr_span(id), format!("the comprehension is `{walked}` itself"));
        finding.help("leave the comprehension out");
        if matches!(tree.expr(clause.iter), Expr::Name(_)) {
            finding.replace(context.package, false, tree.expr_span(id), walked);
        }
    }
}
