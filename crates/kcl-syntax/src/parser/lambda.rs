//! Lambdas and quantifiers.

use base_diag::Span;

use super::Parser;
use crate::ast::{Expr, ExprId, Lambda, Param, Quant, QuantOp};
use crate::sink::{NodeKind, Sink};
use crate::token::TokenKind as T;

impl<S: Sink> Parser<'_, S> {
    /// `lambda a, b -> T {..}` or `lambda {a, b} -> T {..}`.
    pub(super) fn lambda(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let params = self.lambda_params();
        let ret = self.eat(T::Arrow).then(|| self.ty());
        if ret.is_none() && self.at(T::Newline) {
            self.expected(&["->", "{"]);
            self.bump();
        }
        if !self.at(T::LBrace) {
            self.expected(&["{"]);
        }
        let body = self.deeper(Self::lambda_body).unwrap_or_default();
        let lambda = Expr::Lambda(Box::new(Lambda { params, ret, body }));
        self.add_node(mark, NodeKind::Lambda, lambda, start)
    }

    fn lambda_params(&mut self) -> Box<[Param]> {
        if matches!(self.kind, T::LParen | T::LBracket) {
            return Box::default();
        }
        if !self.at(T::LBrace) {
            return self.params(&[T::LBrace, T::Arrow], false);
        }
        if !self.braces_hold_params() {
            return Box::default();
        }
        self.bump();
        let params = self.params(&[T::RBrace], true);
        self.skip_layout();
        self.expect_or_stay(T::RBrace);
        params
    }

    /// True if the braces at the cursor are followed by `->`.
    fn braces_hold_params(&self) -> bool {
        let mut level = 0;
        for (i, token) in self.lexed.tokens[self.pos..].iter().enumerate() {
            match token.kind {
                T::LBrace => level += 1,
                T::RBrace => {
                    level -= 1;
                    if level == 0 {
                        return self.peek(i + 1) == T::Arrow;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn lambda_body(&mut self) -> Box<[crate::ast::StmtId]> {
        let mark = self.mark();
        self.bump();
        let mut body = Vec::new();
        loop {
            while self.kind.is_layout() {
                self.bump();
            }
            if matches!(self.kind, T::RBrace | T::Eof) {
                break;
            }
            self.statement(&mut body);
        }
        self.expect_or_stay(T::RBrace);
        self.close(mark, NodeKind::Block);
        body.into_boxed_slice()
    }

    /// `all x in xs {..}`.
    pub(super) fn quant(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let op = match self.kind {
            T::KwAll => QuantOp::All,
            T::KwAny => QuantOp::Any,
            T::KwMap => QuantOp::Map,
            _ => QuantOp::Filter,
        };
        self.bump();
        let targets = self.loop_targets(2);
        self.expect_or_stay(T::KwIn);
        let iter = self.quant_target();
        let (body, cond) = self.quant_body();
        let quant = Expr::Quant(Box::new(Quant { op, targets, iter, body, cond }));
        self.add_node(mark, NodeKind::Quant, quant, start)
    }

    fn quant_body(&mut self) -> (ExprId, Option<ExprId>) {
        self.expect_or_stay(T::LBrace);
        let block = self.eat(T::Newline);
        if block {
            self.expect_or_stay(T::Indent);
        }
        let body = self.simple_expr();
        let cond = self.eat(T::KwIf).then(|| self.expr());
        if block {
            self.expect_or_stay(T::Newline);
            self.expect_or_stay(T::Dedent);
        }
        self.expect_or_stay(T::RBrace);
        (body, cond)
    }

    /// A string, list, config or name with selectors and subscripts: no calls, because `{` ends it.
    fn quant_target(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        let mut value = match self.kind {
            T::Str => return self.string(),
            T::LBracket => return self.deeper(Self::list).unwrap_or_else(|| self.missing_operand()),
            T::LBrace => return self.config(),
            kind if kind.is_name() && !starts_operand(kind) => {
                let parts = self.dotted();
                self.add_node(mark, NodeKind::Name, Expr::Name(parts), start)
            }
            kind => {
                let wanted: &'static [&'static str] = match kind {
                    T::Int | T::Float => &["str"],
                    T::LParen => &["[", "{"],
                    kind if starts_operand(kind) => {
                        &["None", "Undefined", "lambda", "any", "all", "map", "filter"]
                    }
                    _ => return self.missing_operand_of(&["identifier", "literal"]),
                };
                self.expected(wanted);
                let here = self.start();
                return self.tree.add_expr(Expr::Missing, Span::new(here, here));
            }
        };
        loop {
            let optional = self.at(T::Question) && matches!(self.peek(1), T::Dot | T::LBracket);
            let kind = if optional { self.peek(1) } else { self.kind };
            if !matches!(kind, T::Dot | T::LBracket) || !self.higher() {
                return value;
            }
            if optional {
                self.bump();
            }
            value = if kind == T::Dot {
                self.selector(value, start, mark, optional)
            } else {
                self.subscript(value, start, mark, optional)
            };
        }
    }
}

/// A word that is never a name where an operand begins.
fn starts_operand(kind: T) -> bool {
    matches!(kind, T::KwNone | T::KwUndefined | T::KwLambda | T::KwAny | T::KwAll | T::KwMap | T::KwFilter)
}
