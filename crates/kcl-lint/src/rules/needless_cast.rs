//! L0301: a conversion to the type that the value has already.

use base_diag::Span;
use kcl_check::index::{Meaning, TypeKind};
use kcl_syntax::ast::{BasicType, Expr, ExprId, Type};

use crate::context::Context;
use crate::finding::Findings;
use crate::rule::{Check, FixKind, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    code: "L0301",
    id: "needless-cast",
    kind: "NeedlessCast",
    level: Level::Info,
    summary: "a conversion to the type that the value has already",
    why: "`str(..)` of text and `x as int` of an int change nothing. The fix is unsafe: a variable may be None or Undefined in \
          spite of its type, and a bare literal is checked against the literals that an attribute allows.",
    bad: "a = str(\"x\")\nb = 1 as int\n",
    good: "a = \"x\"\nb = 1\n",
    fix: FixKind::Unsafe,
    checks: &[Check::Expr(check)],
};

fn check(context: &Context<'_>, id: ExprId, found: &mut Findings<'_>) {
    let tree = context.tree;
    let (value, wanted, shown) = match tree.expr(id) {
        Expr::As(value, ty) => {
            let wanted = match tree.ty(*ty) {
                Type::Basic(BasicType::Bool) => TypeKind::Bool,
                Type::Basic(BasicType::Int) => TypeKind::Int,
                Type::Basic(BasicType::Float) => TypeKind::Float,
                Type::Basic(BasicType::Str) => TypeKind::Str,
                _ => return,
            };
            (*value, wanted, format!("as {}", context.text(tree.type_span(*ty))))
        }
        Expr::Call(call) if call.kwargs.is_empty() => {
            let ([value], Expr::Name(parts)) = (&*call.args, tree.expr(call.func)) else { return };
            let [name] = &**parts else { return };
            let wanted = match name.name.as_str() {
                "str" => TypeKind::Str,
                "int" => TypeKind::Int,
                "float" => TypeKind::Float,
                "bool" => TypeKind::Bool,
                _ => return,
            };
            if !matches!(context.occurrence(name.span.start).map(|o| &o.meaning), Some(Meaning::Builtin(_))) {
                return;
            }
            (*value, wanted, format!("{}(..)", name.name))
        }
        _ => return,
    };
    let literal = literal(context, value);
    let typed = || context.index.expr_type(value).map(|ty| context.index.kind(ty));
    if literal.as_ref().map_or_else(|| typed() == Some(wanted.clone()), |kind| *kind == wanted) {
        report(context, id, value, literal.is_some(), &shown, found);
    }
}

/// The kind of a literal.
fn literal(context: &Context<'_>, id: ExprId) -> Option<TypeKind> {
    match context.tree.expr(id) {
        Expr::Str(_) | Expr::Joined(_) => Some(TypeKind::Str),
        // The checker refuses a literal zero as a divisor.
        Expr::Int(value) if *value != 0 => Some(TypeKind::Int),
        // A conversion refuses what is out of range.
        Expr::Float(value) if *value != 0.0 && value.abs() <= f64::from(f32::MAX) => Some(TypeKind::Float),
        Expr::Bool(_) => Some(TypeKind::Bool),
        _ => None,
    }
}

fn report(
    context: &Context<'_>,
    id: ExprId,
    value: ExprId,
    literal: bool,
    shown: &str,
    found: &mut Findings<'_>,
) {
    let tree = context.tree;
    let (span, inner) = (tree.expr_span(id), tree.expr_span(value));
    let finding = found.add(span, format!("`{shown}` changes nothing: the value has that type already"));
    finding.help("leave it out");
    // What binds less tightly than a call keeps together only in brackets.
    let simple =
        literal || matches!(tree.expr(value), Expr::Name(_) | Expr::Paren(_) | Expr::Call(_) | Expr::List(_));
    if simple && !is_position_that_matters(context, span) {
        finding.replace(context.package, false, span, context.text(inner));
    }
}

/// As a key, an index, a statement or beside another text a literal means more than a value.
fn is_position_that_matters(context: &Context<'_>, span: Span) -> bool {
    let before = context.before(span.start);
    let line = before.rsplit('\n').next().unwrap_or_default().trim_end();
    let after = context.after(span.end).trim_start();
    after.starts_with([':', '=', '+', '.', '?', '[', '(', '{', '"', '\''])
        || line.is_empty()
        || line.ends_with(['[', '.', '"', '\'', ')', ']', '}'])
}
