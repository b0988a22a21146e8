//! Left sides of assignments.

use base_diag::Span;

use super::Parser;
use crate::ast::{Expr, ExprId, Ident, Target, TargetStep};
use crate::found::Found;
use crate::mistake::{Mistake, NoTarget};
use crate::sink::Sink;

impl<S: Sink> Parser<'_, S> {
    /// Turns an expression into a target, or tells why it is none (reported after the statement, as the oracle does).
    pub(super) fn target(&mut self, id: ExprId, first_expr: usize) -> Result<Target, Box<Found>> {
        let span = self.tree.expr_span(id);
        // The common case: one plain name, whose expression node is not needed any more.
        if id.0 as usize == first_expr
            && first_expr + 1 == self.tree.exprs.len()
            && let Expr::Name(parts) = self.tree.expr(id)
        {
            let target = named_target(parts, span);
            self.drop_name(first_expr);
            return Ok(target);
        }
        let mut steps = Vec::new();
        let mut at = id;
        let found = loop {
            match self.tree.expr(at) {
                Expr::Name(parts) => break Some(parts.clone()),
                Expr::Selector { value, name, optional: false } => {
                    steps.push(TargetStep::Member(name.clone()));
                    at = *value;
                }
                Expr::Index { value, index, optional: false } => {
                    steps.push(TargetStep::Index(*index));
                    at = *value;
                }
                _ => break None,
            }
        };
        let Some(parts) = found else {
            return Err(Box::new(self.illegal_target(at, span)));
        };
        let mut target = named_target(&parts, span);
        if !steps.is_empty() {
            let mut path = std::mem::take(&mut target.path).into_vec();
            steps.reverse();
            path.append(&mut steps);
            target.path = path.into_boxed_slice();
        }
        Ok(target)
    }

    fn illegal_target(&self, at: ExprId, span: Span) -> Found {
        let kind = self.tree.expr(at);
        let why = match kind {
            Expr::Selector { .. } => NoTarget::OptionalAttribute,
            Expr::Index { .. } => NoTarget::OptionalSubscript,
            Expr::Slice { .. } => NoTarget::Slice,
            _ => NoTarget::Other,
        };
        let mistake = Mistake::IllegalTarget { what: kind_name(kind), why };
        Found::new(mistake, Span::new(span.start - self.base, span.end - self.base))
    }
}

fn named_target(parts: &[Ident], span: Span) -> Target {
    let path = parts[1..].iter().cloned().map(TargetStep::Member).collect();
    Target { name: parts[0].clone(), path, span }
}

/// Names of expression kinds as messages use them.
fn kind_name(kind: &Expr) -> &'static str {
    match kind {
        Expr::Missing => "Missing",
        Expr::Name(_) => "Identifier",
        Expr::Int(_) | Expr::Unit(..) | Expr::Float(_) => "NumberLit",
        Expr::Str(_) => "StringLit",
        Expr::Joined(_) => "JoinedString",
        Expr::Bool(_) | Expr::None | Expr::Undefined => "NameConstantLit",
        Expr::Unary(..) => "Unary",
        Expr::Binary(..) | Expr::As(..) => "Binary",
        Expr::Compare(..) => "Compare",
        Expr::If { .. } => "If",
        Expr::Paren(_) => "Paren",
        Expr::Selector { .. } => "Selector",
        Expr::Index { .. } | Expr::Slice { .. } => "Subscript",
        Expr::Call(_) => "Call",
        Expr::List(_) => "List",
        Expr::Star(_) => "Starred",
        Expr::ListIf { .. } => "ListIfItem",
        Expr::ListComp { .. } => "ListComp",
        Expr::Config(_) => "Config",
        Expr::DictComp { .. } => "DictComp",
        Expr::Quant(_) => "Quant",
        Expr::Schema(_) => "Schema",
        Expr::Lambda(_) => "Lambda",
    }
}
