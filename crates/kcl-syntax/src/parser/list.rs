//! Lists, list comprehensions and comprehension clauses.

use smallvec::SmallVec;

use super::Parser;
use super::call::joined_name;
use crate::ast::{CompClause, Expr, ExprId, Ident};
use crate::mistake::{Comprehension, Mistake};
use crate::sink::{NodeKind, Sink};
use crate::token::TokenKind as T;

impl<S: Sink> Parser<'_, S> {
    /// `[..]`.
    pub(super) fn list(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let mut items: SmallVec<[ExprId; 8]> = SmallVec::new();
        let mut clauses = Vec::new();
        let mut first = self.here();
        loop {
            self.skip_layout();
            if items.is_empty() {
                first = self.here();
            }
            if matches!(self.kind, T::RBracket | T::Eof) {
                break;
            }
            if self.at(T::KwFor) {
                clauses = self.comp_clauses();
                break;
            }
            let before = self.pos;
            items.push(self.item());
            if self.pos == before && (items.len() > 1 || !self.at(T::Comma)) {
                self.expected(&[","]);
                self.bump();
            }
            if !self.eat(T::Comma) && self.pos == before {
                self.bump();
            }
        }
        self.skip_layout();
        self.expect_or_stay(T::RBracket);
        if clauses.is_empty() {
            return self.add_node(mark, NodeKind::List, Expr::List(items.into_boxed_slice()), start);
        }
        let elt = match items.as_slice() {
            [one] => *one,
            [] => {
                self.error_span(first, Mistake::NoElement { of: Comprehension::List });
                self.tree.add_expr(Expr::Missing, first)
            }
            [one, ..] => {
                let (one, count) = (*one, items.len());
                self.error_span(first, Mistake::SeveralElements { of: Comprehension::List, count });
                one
            }
        };
        let comp = Expr::ListComp { elt, clauses: clauses.into_boxed_slice() };
        self.add_node(mark, NodeKind::List, comp, start)
    }

    fn item(&mut self) -> ExprId {
        match self.kind {
            T::Star => {
                let (start, mark) = (self.start(), self.mark());
                self.bump();
                let value = self.expr();
                self.add_node(mark, NodeKind::Star, Expr::Star(value), start)
            }
            T::KwIf => self.deeper(|p| p.if_item(false)).unwrap_or_else(|| self.missing_operand()),
            _ => self.expr(),
        }
    }

    /// `if c: items elif c: items else: items`.
    fn if_item(&mut self, forced: bool) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let cond = self.expr();
        self.expect_or_take(T::Colon);
        let block = forced || self.at(T::Newline);
        let then = self.items_block(forced);
        let orelse = self.else_items(block);
        self.add_node(mark, NodeKind::ListIf, Expr::ListIf { cond, then, orelse }, start)
    }

    fn else_items(&mut self, block: bool) -> Box<[ExprId]> {
        self.newline_before_else();
        match self.kind {
            T::KwElif => {
                let nested = self.deeper(|p| p.if_item(block)).unwrap_or_else(|| self.missing_operand());
                Box::new([nested])
            }
            T::KwElse => {
                self.bump();
                self.expect_or_take(T::Colon);
                self.items_block(block)
            }
            _ => Box::default(),
        }
    }

    /// Skips newlines if `elif` or `else` follows them.
    pub(super) fn newline_before_else(&mut self) {
        if self.at(T::Newline) && matches!(self.peek(1), T::KwElif | T::KwElse) {
            self.bump();
        }
    }

    /// Items after the colon. Quirk: after a block, `else` must be followed by a block.
    fn items_block(&mut self, block: bool) -> Box<[ExprId]> {
        if !self.at(T::Newline) && !block {
            return Box::new([self.item()]);
        }
        let mark = self.mark();
        self.eat(T::Newline);
        self.expect_or_take(T::Indent);
        let mut items = Vec::new();
        loop {
            self.skip_line_ends();
            if matches!(self.kind, T::Dedent | T::Eof | T::RBracket) {
                break;
            }
            let before = self.pos;
            items.push(self.item());
            if !self.eat(T::Comma) && self.pos == before {
                self.bump();
            }
        }
        self.dedent();
        self.close(mark, NodeKind::Block);
        items.into_boxed_slice()
    }

    /// `for .. in .. [if ..]`, one or more.
    pub(super) fn comp_clauses(&mut self) -> Vec<CompClause> {
        let mut clauses = Vec::new();
        while self.at(T::KwFor) {
            clauses.push(self.comp_clause());
        }
        clauses
    }

    fn comp_clause(&mut self) -> CompClause {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let targets = self.loop_targets(usize::MAX);
        self.expect_or_take(T::KwIn);
        let iter = self.simple_expr();
        // A line may begin with `if` or `for`, but not deeper than the line before.
        self.skip_newlines();
        let cond = self.eat(T::KwIf).then(|| self.expr());
        self.close(mark, NodeKind::CompClause);
        CompClause { targets, iter, cond, span: self.span_from(start) }
    }

    /// `a, b` before `in`; a dotted one keeps its dots, for the checker to judge.
    pub(super) fn loop_targets(&mut self, limit: usize) -> Box<[Ident]> {
        let mut targets = Vec::new();
        loop {
            let (start, mark) = (self.start(), self.mark());
            let parts = self.dotted();
            self.close(mark, NodeKind::Name);
            targets.push(joined_name(&parts, self.span_from(start)));
            if targets.len() >= limit || !self.eat(T::Comma) {
                return targets.into_boxed_slice();
            }
        }
    }
}
