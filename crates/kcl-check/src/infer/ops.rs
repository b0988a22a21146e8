//! Operators: which types they take and what they give.

use base_diag::Span;
use kcl_syntax::ast::{BinaryOp, CompareOp, Expr, ExprId, UnaryOp};

use crate::checker::Checker;
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::ty::{DictAttr, DictTy, Ty, TyId, Types};

impl<R: Recorder> Checker<'_, R> {
    pub(crate) fn compare(&mut self, first: ExprId, links: &[(CompareOp, ExprId)]) -> TyId {
        let left = self.expr(first);
        let at = self.tree.expr_span(first);
        for (i, (op, right)) in links.iter().enumerate() {
            // As in the reference, every operand of a chain is judged against the first one, and the last not looked at.
            if i > 0 && i + 1 == links.len() {
                break;
            }
            let place = if i == 0 { at } else { self.tree.expr_span(*right) };
            // ... and by the operator that follows it.
            let op = if i == 0 { *op } else { links.get(i + 1).map_or(*op, |(next, _)| *next) };
            let right = self.expr(*right);
            if !comparable(&mut self.types, op, left, right) {
                let (l, r) = (judged(&mut self.types, left), judged(&mut self.types, right));
                self.unsupported(compare_text(op), l, r, place);
            }
        }
        TyId::BOOL
    }
}

/// Infers a unary operator; `at` is the operand.
pub(crate) fn unary(checker: &mut Checker<'_, impl Recorder>, op: UnaryOp, ty: TyId, at: Span) -> TyId {
    let wide = checker.types.widen(ty);
    let number = matches!(checker.types.kind(wide), Ty::Int | Ty::Float);
    let (text, accepted) = match op {
        UnaryOp::Not => return if ty == TyId::ANY { TyId::ANY } else { ty },
        UnaryOp::Plus => ("+", number),
        UnaryOp::Minus => ("-", number),
        UnaryOp::BitNot => ("~", matches!(checker.types.kind(wide), Ty::Int | Ty::Bool)),
    };
    if accepted || wide == TyId::ANY && ty != TyId::NONE {
        return ty;
    }
    let ty = checker.kind_shown(ty);
    checker.error(at, &Mistake::Operand { op: text, ty });
    TyId::ANY
}

/// Infers a binary operator; `at` is the left operand, `right_expr` shows a literal zero divisor.
pub(crate) fn binary(
    checker: &mut Checker<'_, impl Recorder>,
    op: BinaryOp,
    left: TyId,
    right: TyId,
    at: Span,
    right_expr: Option<ExprId>,
) -> TyId {
    if matches!(op, BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod)
        && judged_number(&mut checker.types, left)
        && right_expr.is_some_and(|e| is_zero(checker, e))
    {
        checker.error(at, &Mistake::DivisionByZero);
        return TyId::ANY;
    }
    let result = match op {
        BinaryOp::Or => {
            let (l, r) = (judged(&mut checker.types, left), judged(&mut checker.types, right));
            Some(checker.types.sup(&[l, r]))
        }
        _ if left == TyId::ANY || right == TyId::ANY => Some(TyId::ANY),
        // A union with any is any, but only for operators.
        _ if judged(&mut checker.types, left) == TyId::ANY
            || judged(&mut checker.types, right) == TyId::ANY =>
        {
            Some(TyId::ANY)
        }
        BinaryOp::And => Some(TyId::BOOL),
        BinaryOp::BitOr => union(&mut checker.types, left, right),
        _ => arithmetic(&mut checker.types, op, left, right),
    };
    match result {
        Some(ty) => ty,
        None => {
            checker.unsupported(op.text(), left, right, at);
            TyId::ANY
        }
    }
}

fn is_zero(checker: &Checker<'_, impl Recorder>, id: ExprId) -> bool {
    match checker.tree.expr(id) {
        Expr::Int(0) => true,
        Expr::Float(f) => *f == 0.0,
        Expr::Paren(inner) => is_zero(checker, *inner),
        _ => false,
    }
}

fn is_number(types: &Types, ty: TyId) -> bool {
    matches!(types.kind(ty), Ty::Int | Ty::IntLit(_) | Ty::Float | Ty::FloatLit(_))
}

fn judged_number(types: &mut Types, ty: TyId) -> bool {
    let ty = judged(types, ty);
    is_number(types, ty)
}

/// Widens unions only, so that literals of one kind collapse.
fn judged(types: &mut Types, ty: TyId) -> TyId {
    if matches!(types.kind(ty), Ty::Union(_)) { types.widen(ty) } else { ty }
}

fn arithmetic(types: &mut Types, op: BinaryOp, left: TyId, right: TyId) -> Option<TyId> {
    let (left, right) = (judged(types, left), judged(types, right));
    if is_number(types, left) && is_number(types, right) {
        let int = |t: TyId| matches!(types.kind(t), Ty::Int | Ty::IntLit(_));
        let ints = int(left) && int(right);
        return match op {
            BinaryOp::Mod => Some(TyId::INT),
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::FloorDiv
            | BinaryOp::Pow => Some(if ints { TyId::INT } else { TyId::FLOAT }),
            _ if ints => Some(TyId::INT),
            _ => None,
        };
    }
    match (op, types.kind(left).clone(), types.kind(right).clone()) {
        (BinaryOp::Add, Ty::Str | Ty::StrLit(_), Ty::Str | Ty::StrLit(_)) => Some(TyId::STR),
        (BinaryOp::Add, Ty::List(a), Ty::List(b)) => {
            let item = types.sup(&[a, b]);
            Some(types.list(item))
        }
        (BinaryOp::Mul, Ty::Int | Ty::IntLit(_), _) if repeatable(types, right) => Some(right),
        (BinaryOp::Mul, _, Ty::Int | Ty::IntLit(_)) if repeatable(types, left) => Some(left),
        _ => None,
    }
}

fn repeatable(types: &Types, ty: TyId) -> bool {
    match types.kind(ty) {
        Ty::Str | Ty::StrLit(_) | Ty::List(_) => true,
        Ty::Union(members) => members.iter().all(|m| repeatable(types, *m) || *m == TyId::INT),
        _ => false,
    }
}

/// The type of `left | right`.
pub(super) fn union(types: &mut Types, left: TyId, right: TyId) -> Option<TyId> {
    if left == TyId::NONE {
        return Some(judged(types, right));
    }
    let (left, right) = (judged(types, left), judged(types, right));
    if right == TyId::NONE {
        return Some(left);
    }
    match (types.kind(left).clone(), types.kind(right).clone()) {
        (Ty::Int | Ty::IntLit(_), Ty::Int | Ty::IntLit(_)) => Some(TyId::INT),
        (Ty::List(a), Ty::List(b)) => {
            let item = types.sup(&[a, b]);
            Some(types.list(item))
        }
        (Ty::Dict(a), Ty::Dict(b)) => Some(dict_union(types, &a, &b)),
        (Ty::Schema(..), Ty::Schema(..) | Ty::Dict(_)) => Some(left),
        _ => None,
    }
}

fn dict_union(types: &mut Types, a: &DictTy, b: &DictTy) -> TyId {
    // Any text is more than one known text.
    let key = if a.key == TyId::STR { TyId::STR } else { types.sup(&[a.key, b.key]) };
    let val = types.sup(&[a.val, b.val]);
    let attrs = match (&a.attrs, &b.attrs) {
        (Some(x), Some(y)) => Some(merged_attrs(x, y).into()),
        (Some(x), None) | (None, Some(x)) => Some(x.clone()),
        (None, None) => None,
    };
    types.intern(Ty::Dict(DictTy { key, val, attrs }))
}

fn merged_attrs(a: &[DictAttr], b: &[DictAttr]) -> Vec<DictAttr> {
    let mut merged: indexmap::IndexMap<_, DictAttr, rustc_hash::FxBuildHasher> =
        a.iter().map(|attr| (attr.name.clone(), attr.clone())).collect();
    for attr in b {
        match merged.get_mut(&attr.name) {
            // Whatever the operator, the right side's type counts.
            Some(known) => *known = attr.clone(),
            None => {
                merged.insert(attr.name.clone(), attr.clone());
            }
        }
    }
    merged.into_values().collect()
}

fn comparable(types: &mut Types, op: CompareOp, left: TyId, right: TyId) -> bool {
    if left == TyId::ANY || right == TyId::ANY {
        return true;
    }
    let (left, right) = (judged(types, left), judged(types, right));
    if left == TyId::ANY || right == TyId::ANY {
        return true;
    }
    let all = |ty: TyId, test: fn(&Ty) -> bool| match types.kind(ty) {
        Ty::Union(members) => members.iter().all(|m| test(types.kind(*m))),
        kind => test(kind),
    };
    let none = left == TyId::NONE || right == TyId::NONE;
    let config = |ty: TyId| matches!(types.kind(ty), Ty::Dict(_) | Ty::Schema(..));
    let list = |ty: TyId| matches!(types.kind(ty), Ty::List(_));
    match op {
        CompareOp::Eq | CompareOp::Ne => {
            none || all(left, primitive) && all(right, primitive)
                || list(left) && list(right)
                || config(left) && config(right)
        }
        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
            all(left, ordered) && all(right, ordered)
        }
        CompareOp::Is | CompareOp::IsNot => none || all(left, ordered) && all(right, ordered),
        CompareOp::In | CompareOp::NotIn => {
            list(right) || config(right) || matches!(types.kind(right), Ty::Str | Ty::StrLit(_))
        }
    }
}

fn ordered(ty: &Ty) -> bool {
    matches!(ty, Ty::Int | Ty::IntLit(_) | Ty::Float | Ty::FloatLit(_) | Ty::Bool | Ty::BoolLit(_))
}

fn primitive(ty: &Ty) -> bool {
    ordered(ty) || matches!(ty, Ty::Str | Ty::StrLit(_))
}

fn compare_text(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
        CompareOp::In => "in",
        CompareOp::NotIn => "not in",
        CompareOp::Is => "is",
        CompareOp::IsNot => "is not",
    }
}
