//! Operands and what may follow them: names, literals, brackets, selectors, subscripts, calls.

use base_diag::Span;
use smallvec::{SmallVec, smallvec};

use super::Parser;
use crate::ast::{Call, Expr, ExprId, Ident, SchemaExpr, Str};
use crate::mistake::Mistake;
use crate::numbers;
use crate::sink::{Mark, NodeKind, Sink};
use crate::strings;
use crate::token::TokenKind as T;

impl<S: Sink> Parser<'_, S> {
    /// An operand with its selectors, subscripts and calls.
    pub(super) fn primary(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let mut value = self.operand();
        loop {
            let optional = self.at(T::Question) && matches!(self.peek(1), T::Dot | T::LBracket);
            let kind = if optional { self.peek(1) } else { self.kind };
            if !matches!(kind, T::Dot | T::LBracket | T::LParen) || !self.higher() {
                return value;
            }
            if optional {
                self.bump();
            }
            value = match kind {
                T::Dot => self.selector(value, start, mark, optional),
                T::LBracket => self.subscript(value, start, mark, optional),
                _ => self.call(value, start, mark),
            };
        }
    }

    pub(super) fn selector(&mut self, value: ExprId, start: u32, mark: Mark, optional: bool) -> ExprId {
        self.bump();
        let name = self.name();
        self.add_node(mark, NodeKind::Selector, Expr::Selector { value, name, optional }, start)
    }

    fn call(&mut self, func: ExprId, start: u32, mark: Mark) -> ExprId {
        let (args, kwargs) = self.args();
        self.add_node(mark, NodeKind::Call, Expr::Call(Box::new(Call { func, args, kwargs })), start)
    }

    pub(super) fn subscript(&mut self, value: ExprId, start: u32, mark: Mark, optional: bool) -> ExprId {
        self.bump();
        let mut bounds = [None, None, None];
        let mut colons = 0;
        let mut count = 0;
        while colons < 2 && !self.at(T::RBracket) {
            if self.eat(T::Colon) {
                colons += 1;
                continue;
            }
            if colons == 0 && count == 1 {
                self.error(Mistake::TwoIndices);
            }
            let before = self.pos;
            let again = bounds[colons].replace(self.expr()).is_some();
            count += 1;
            if again {
                self.error(Mistake::ConsecutiveBounds);
                if self.pos == before {
                    break;
                }
            }
        }
        if colons == 2 && self.eat(T::Colon) {
            self.expected(&["expression", "]"]);
        }
        if colons == 2 && !matches!(self.kind, T::RBracket | T::Colon) {
            bounds[2] = Some(self.expr());
        }
        self.expect_or_stay(T::RBracket);
        let [lower, upper, step] = bounds;
        if colons > 0 {
            let slice = Expr::Slice { value, lower, upper, step, optional };
            return self.add_node(mark, NodeKind::Index, slice, start);
        }
        let index = lower.unwrap_or_else(|| {
            let got = self.got();
            self.error(Mistake::EmptyIndex { got });
            let here = self.start();
            self.tree.add_expr(Expr::Missing, Span::new(here, here))
        });
        self.add_node(mark, NodeKind::Index, Expr::Index { value, index, optional }, start)
    }

    pub(super) fn operand(&mut self) -> ExprId {
        match self.kind {
            T::Int => self.int(),
            T::Float => self.float(),
            T::Str => self.string(),
            T::KwTrue => self.constant(Expr::Bool(true)),
            T::KwFalse => self.constant(Expr::Bool(false)),
            T::KwNone => self.constant(Expr::None),
            T::KwUndefined => self.constant(Expr::Undefined),
            T::KwLambda => self.lambda(),
            T::KwAll | T::KwAny | T::KwMap | T::KwFilter => self.quant(),
            T::LParen => self.paren(),
            T::LBracket => self.list(),
            T::LBrace => self.config(),
            kind if kind.is_name() => self.name_operand(),
            _ => self.missing_operand(),
        }
    }

    fn constant(&mut self, kind: Expr) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        self.add_node(mark, NodeKind::Literal, kind, start)
    }

    pub(super) fn int(&mut self) -> ExprId {
        let (start, text) = (self.start(), self.token_text());
        let kind = match numbers::plain_int(text) {
            Some(value) => Expr::Int(value),
            None => {
                let (digits, suffix) = numbers::split_suffix(text);
                let value = self.int_value(digits);
                suffix.map_or(Expr::Int(value), |suffix| Expr::Unit(value, suffix))
            }
        };
        let mark = self.mark();
        self.bump();
        self.add_node(mark, NodeKind::Literal, kind, start)
    }

    /// Reads digits; reports them if they make no number (unless the lexer did).
    pub(super) fn int_value(&mut self, digits: &str) -> i64 {
        if numbers::lexer_reported(digits) {
            return 0;
        }
        numbers::int(digits).unwrap_or_else(|| {
            self.error(Mistake::InvalidInt { digits: digits.to_owned() });
            0
        })
    }

    fn float(&mut self) -> ExprId {
        let start = self.start();
        let value = self.float_value();
        let mark = self.mark();
        self.bump();
        self.add_node(mark, NodeKind::Literal, Expr::Float(value), start)
    }

    /// Reads the float at the cursor without taking it.
    pub(super) fn float_value(&mut self) -> f64 {
        let text = self.token_text();
        if numbers::scan(text).error.is_some() {
            return 0.0;
        }
        let digits = numbers::float_text(text);
        numbers::float(digits).unwrap_or_else(|| {
            self.error(Mistake::InvalidFloat { digits: digits.to_owned() });
            0.0
        })
    }

    pub(super) fn string(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let token = self.token();
        let lit = strings::literal(self.token_text());
        if !lit.raw && strings::has_placeholder(lit.content) {
            let parts = self.joined(&lit, token.start as usize + lit.lead);
            self.bump();
            return self.add_node(mark, NodeKind::Literal, Expr::Joined(parts), start);
        }
        let value = Str::from(strings::value(&lit).as_ref());
        self.bump();
        self.add_node(mark, NodeKind::Literal, Expr::Str(value), start)
    }

    fn paren(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let inner = self.expr();
        self.expect_or_stay(T::RParen);
        self.add_node(mark, NodeKind::Paren, Expr::Paren(inner), start)
    }

    /// `a.b.c`; after a dot every word is a name.
    pub(super) fn dotted(&mut self) -> Box<[Ident]> {
        let first = self.name();
        if !self.at(T::Dot) {
            return Box::new([first]);
        }
        let mut parts: SmallVec<[Ident; 4]> = smallvec![first];
        while self.eat(T::Dot) {
            parts.push(self.name());
        }
        parts.into_boxed_slice()
    }

    /// A dotted name, a call of it, or a schema expression.
    fn name_operand(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let parts = self.dotted();
        let name = self.add_node(mark, NodeKind::Name, Expr::Name(parts), start);
        let has_args = self.at(T::LParen);
        let (args, kwargs) = if has_args { self.args() } else { Default::default() };
        if self.at(T::LBrace) {
            let config = self.config();
            let schema = Expr::Schema(Box::new(SchemaExpr { name, has_args, args, kwargs, config }));
            return self.add_node(mark, NodeKind::SchemaExpr, schema, start);
        }
        if has_args {
            let call = Expr::Call(Box::new(Call { func: name, args, kwargs }));
            return self.add_node(mark, NodeKind::Call, call, start);
        }
        name
    }

    /// The schema expression of a unification: `S {..}`, `S(..) {..}`.
    pub(super) fn schema_expr(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let parts = self.dotted();
        let name = self.add_node(mark, NodeKind::Name, Expr::Name(parts), start);
        let has_args = self.at(T::LParen);
        let (args, kwargs) = if has_args { self.args() } else { Default::default() };
        // Whatever stands here is taken as the brace.
        let config = self.config();
        let schema = Expr::Schema(Box::new(SchemaExpr { name, has_args, args, kwargs, config }));
        self.add_node(mark, NodeKind::SchemaExpr, schema, start)
    }
}
