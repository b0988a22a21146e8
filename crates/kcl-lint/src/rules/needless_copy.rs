//! L0302: a copy of a list or dict by unpacking nothing but it.

use kcl_check::index::TypeKind;
use kcl_syntax::ast::{Expr, ExprId, Key};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0302",
    id: "needless-copy",
    kind: "NeedlessCopy",
    level: Level::Info,
    summary: "`[*x]` or `{**x}` with nothing beside it",
    why: "Values never change in KCL, so a copy is the same as the value itself. The fix is unsafe: for None and Undefined the copy is \
          empty.",
    bad: "a = [1, 2]\nb = [*a]\n",
    good: "a = [1, 2]\nb = a\n",
    fix: FixKind::Unsafe,
    checks: &[Check::Expr(check)],
};

fn check(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let tree = context.tree;
    let (value, shown) = match tree.expr(id) {
        Expr::List(items) => match &**items {
            [one] => match tree.expr(*one) {
                Expr::Star(value) => (*value, "[*x]"),
                _ => return,
            },
            _ => return,
        },
        Expr::Config(entries) => match &**entries {
            [one] if matches!(one.key, Key::Unpack) && !context.is_bound_config(id) => (one.value, "{**x}"),
            _ => return,
        },
        _ => return,
    };
    let Some(kind) = context.index.expr_type(value).map(|ty| context.index.kind(ty)) else { return };
    let same = match shown {
        "[*x]" => matches!(kind, TypeKind::List(_)),
        _ => kind == TypeKind::Dict,
    };
    if same {
        let finding =
            found.add(tree.expr_span(id), format!("`{shown}` is a copy of `x`, and values never change"));
        finding.help("use the value itself");
        if matches!(tree.expr(value), Expr::Name(_)) {
            finding.replace(context.package, false, tree.expr_span(id), context.text(tree.expr_span(value)));
        }
    }
}
