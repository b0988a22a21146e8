//! Expressions: conditionals, operator climbing with comparison chains, unary operators.

use base_diag::Span;
use smallvec::SmallVec;

use super::{OPERAND, Parser};
use crate::ast::{BasicType, BinaryOp, CompareOp, Expr, ExprId, Type, TypeId, UnaryOp};
use crate::mistake::Mistake;
use crate::sink::{Made, Mark, NodeKind, Sink};
use crate::token::TokenKind as T;

/// What an infix operator does.
#[derive(Clone, Copy)]
enum Infix {
    As,
    Binary(BinaryOp),
    Compare(CompareOp),
}

/// The links of an open comparison; most have one.
type Chain = SmallVec<[(CompareOp, ExprId); 2]>;

impl<S: Sink> Parser<'_, S> {
    /// `simple [if simple else expr]`.
    pub(super) fn expr(&mut self) -> ExprId {
        let start = self.start();
        let found = match self.at_lone_literal() {
            true => self.deeper(Self::operand),
            false => self.deeper(Self::expr_inner),
        };
        found.unwrap_or_else(|| self.add(Expr::Missing, start))
    }

    /// True at a literal that is the whole expression: most values of data are.
    fn at_lone_literal(&self) -> bool {
        let literal = matches!(
            self.kind,
            T::Int | T::Float | T::Str | T::KwTrue | T::KwFalse | T::KwNone | T::KwUndefined
        );
        literal && matches!(self.peek(1), T::Newline | T::Comma | T::RBracket | T::RBrace | T::RParen)
    }

    fn expr_inner(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let then = self.simple_level(0);
        if !self.at(T::KwIf) {
            return then;
        }
        self.bump();
        let cond = self.simple_level(0);
        let orelse = if self.at(T::KwElse) {
            self.bump();
            self.expr()
        } else {
            self.expected(&["else"]);
            let here = self.start();
            self.tree.add_expr(Expr::Missing, Span::new(here, here))
        };
        self.add_node(mark, NodeKind::IfExpr, Expr::If { cond, then, orelse }, start)
    }

    /// An expression without conditional.
    pub(super) fn simple_expr(&mut self) -> ExprId {
        let start = self.start();
        match self.deeper(|p| p.simple_level(0)) {
            Some(id) => id,
            None => self.add(Expr::Missing, start),
        }
    }

    /// Climbs operators of a level above `min`. A comparison joins the open chain, every other operator closes it.
    fn simple_level(&mut self, min: u8) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let mut left = self.unary();
        let mut chain = Chain::new();
        loop {
            self.unary_between();
            let Some((infix, level, width)) = self.infix() else { break };
            if level <= min || !self.higher() {
                break;
            }
            if !matches!(infix, Infix::Compare(_)) {
                left = self.close_chain(left, &mut chain, start, mark);
            }
            for _ in 0..width {
                self.bump();
            }
            let right = self.simple_level(level);
            match infix {
                Infix::Compare(op) => chain.push((op, right)),
                Infix::Binary(op) => {
                    left = self.add_node(mark, NodeKind::Binary, Expr::Binary(op, left, right), start);
                }
                Infix::As => {
                    let ty = self.type_of_expr(right);
                    left = self.add_node(mark, NodeKind::Cast, Expr::As(left, ty), start);
                }
            }
        }
        self.close_chain(left, &mut chain, start, mark)
    }

    /// `a ! b`, `a ~ b`: no operators between operands.
    fn unary_between(&mut self) {
        if matches!(self.kind, T::Bang | T::Tilde) {
            self.expected(&[
                "+", "-", "*", "/", "%", "**", "//", "<<", ">>", "^", "&", "|", "and", "or", "as", "==",
                "!=", "<", "<=", ">", ">=", "is", "in", "not in", "not", "is not",
            ]);
        }
    }

    fn close_chain(&mut self, left: ExprId, chain: &mut Chain, start: u32, mark: Mark) -> ExprId {
        if chain.is_empty() {
            return left;
        }
        let end = chain.last().map_or(start, |(_, e)| self.tree.expr_span(*e).end);
        let links = std::mem::take(chain).into_boxed_slice();
        let id = self.tree.add_expr(Expr::Compare(left, links), Span::new(start, end));
        self.sink.node(mark, NodeKind::Compare, Made::Expr(id));
        id
    }

    /// Operator at the cursor: what it does, its level, how many tokens it has.
    fn infix(&self) -> Option<(Infix, u8, usize)> {
        use BinaryOp as B;
        use CompareOp as C;
        let (infix, level) = match self.kind {
            T::KwAs => (Infix::As, 1),
            T::KwOr => (Infix::Binary(B::Or), 2),
            T::KwAnd => (Infix::Binary(B::And), 3),
            T::Eq => (Infix::Compare(C::Eq), 4),
            T::Ne => (Infix::Compare(C::Ne), 4),
            T::KwIn => (Infix::Compare(C::In), 5),
            T::KwNot if self.peek(1) == T::KwIn => return Some((Infix::Compare(C::NotIn), 5, 2)),
            T::KwIs if self.peek(1) == T::KwNot => return Some((Infix::Compare(C::IsNot), 6, 2)),
            T::KwIs => (Infix::Compare(C::Is), 6),
            T::Lt => (Infix::Compare(C::Lt), 7),
            T::Le => (Infix::Compare(C::Le), 7),
            T::Gt => (Infix::Compare(C::Gt), 7),
            T::Ge => (Infix::Compare(C::Ge), 7),
            T::Pipe => (Infix::Binary(B::BitOr), 8),
            T::Caret => (Infix::Binary(B::BitXor), 9),
            T::Amp => (Infix::Binary(B::BitAnd), 10),
            T::Shl => (Infix::Binary(B::Shl), 11),
            T::Shr => (Infix::Binary(B::Shr), 11),
            T::Plus => (Infix::Binary(B::Add), 12),
            T::Minus => (Infix::Binary(B::Sub), 12),
            T::Star => (Infix::Binary(B::Mul), 13),
            T::Slash => (Infix::Binary(B::Div), 13),
            T::SlashSlash => (Infix::Binary(B::FloorDiv), 13),
            T::Percent => (Infix::Binary(B::Mod), 13),
            T::StarStar => (Infix::Binary(B::Pow), 14),
            _ => return None,
        };
        Some((infix, level, 1))
    }

    fn unary(&mut self) -> ExprId {
        let op = match self.kind {
            T::Plus => UnaryOp::Plus,
            T::Minus => UnaryOp::Minus,
            T::Tilde => UnaryOp::BitNot,
            T::KwNot | T::Bang => UnaryOp::Not,
            _ => return self.primary(),
        };
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let value = self.primary();
        self.add_node(mark, NodeKind::Unary, Expr::Unary(op, value), start)
    }

    /// Reports a missing operand and leaves a hole.
    pub(super) fn missing_operand(&mut self) -> ExprId {
        self.missing_operand_of(OPERAND)
    }

    /// The same where only some tokens may start an operand.
    pub(super) fn missing_operand_of(&mut self, wanted: &'static [&'static str]) -> ExprId {
        let got = self.got();
        self.error(Mistake::ExpectedExpression { wanted, got });
        let here = self.start();
        self.tree.add_expr(Expr::Missing, Span::new(here, here))
    }

    /// Reports a token where an expression should be, and skips it.
    pub(super) fn no_expression(&mut self) {
        let got = self.got();
        self.error(Mistake::NoExpression { got });
        self.bump();
    }

    /// Reads the right side of `as` as a type: only names are types there.
    fn type_of_expr(&mut self, right: ExprId) -> TypeId {
        let span = self.tree.expr_span(right);
        let kind = match self.tree.expr(right) {
            Expr::Name(parts) => match parts.as_ref() {
                [one] => named_type(&one.name).unwrap_or_else(|| Type::Named(parts.clone())),
                _ => Type::Named(parts.clone()),
            },
            Expr::Missing => Type::Missing,
            _ => Type::NotAType(right),
        };
        self.tree.add_type(kind, span)
    }
}

/// The built-in type of a name.
pub(super) fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "any" => Type::Any,
        "bool" => Type::Basic(BasicType::Bool),
        "int" => Type::Basic(BasicType::Int),
        "float" => Type::Basic(BasicType::Float),
        "str" => Type::Basic(BasicType::Str),
        _ => return None,
    })
}
