//! Braces: entries, if entries, dict comprehensions, dotted keys.

use base_diag::Span;
use smallvec::SmallVec;

use super::Parser;
use crate::ast::{Entry, EntryOp, Expr, ExprId, Ident, Key};
use crate::mistake::{Comprehension, Mistake};
use crate::sink::{Made, NodeKind, Sink};
use crate::token::TokenKind as T;

impl<S: Sink> Parser<'_, S> {
    /// `{..}`.
    pub(super) fn config(&mut self) -> ExprId {
        let start = self.start();
        self.deeper(Self::config_inner).unwrap_or_else(|| self.add(Expr::Missing, start))
    }

    fn config_inner(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let multiline = self.at(T::Newline);
        let mut entries: SmallVec<[Entry; 4]> = SmallVec::new();
        let mut clauses = Vec::new();
        let mut first = self.here();
        loop {
            if multiline || matches!(self.past_layout(), T::RBrace | T::KwFor) {
                self.skip_layout();
            }
            if entries.is_empty() {
                first = self.here();
            }
            if matches!(self.kind, T::RBrace | T::Eof) || (!multiline && self.at(T::Newline)) {
                break;
            }
            if self.at(T::KwFor) {
                clauses = self.comp_clauses();
                break;
            }
            let (before, if_entry) = (self.pos, self.at(T::KwIf));
            entries.push(self.entry());
            if !self.eat(T::Comma) && self.pos == before {
                self.bump();
            }
            // A line may end after an if entry, wherever the braces began.
            if if_entry && !multiline {
                self.skip_layout();
            }
        }
        self.skip_layout();
        self.expect_or_stay(T::RBrace);
        if clauses.is_empty() {
            return self.add_node(mark, NodeKind::Config, Expr::Config(entries.into_boxed_slice()), start);
        }
        let count = entries.len();
        if count == 0 {
            self.error_span(first, Mistake::NoElement { of: Comprehension::Config });
            entries.push(self.hole_entry());
        } else if count > 1 {
            self.error_span(first, Mistake::SeveralElements { of: Comprehension::Config, count });
        }
        let mut entry = Box::new(entries.swap_remove(0));
        if matches!(entry.key, Key::Indexed(..)) {
            entry.key = self.subscript_key(entry.key_span);
        }
        let comp = Expr::DictComp { entry, clauses: clauses.into_boxed_slice() };
        self.add_node(mark, NodeKind::Config, comp, start)
    }

    fn entry(&mut self) -> Entry {
        match self.kind {
            T::StarStar => self.unpack(false),
            T::KwIf => self.deeper(Self::if_entry).unwrap_or_else(|| self.hole_entry()),
            _ => self.plain_entry(true),
        }
    }

    fn hole_entry(&mut self) -> Entry {
        let here = self.start();
        let span = Span::new(here, here);
        let value = self.tree.add_expr(Expr::Missing, span);
        Entry { key: Key::Unpack, key_span: span, op: EntryOp::Union, value }
    }

    /// `**value`; in an if entry only a primary.
    fn unpack(&mut self, primary: bool) -> Entry {
        let (key_span, mark) = (self.here(), self.mark());
        self.bump();
        let value = if primary { self.primary() } else { self.expr() };
        self.close(mark, NodeKind::Unpack);
        Entry { key: Key::Unpack, key_span, op: EntryOp::Union, value }
    }

    /// `key OP value`. What stands in place of a missing operator is skipped, except in blocks.
    fn plain_entry(&mut self, skip: bool) -> Entry {
        let mark = self.mark();
        let first_expr = self.tree.exprs.len();
        let key = match self.bare_key() {
            Some(name) => Ok(name),
            None => Err(self.expr()),
        };
        let op = match self.kind {
            T::Colon => EntryOp::Union,
            T::Assign => EntryOp::Override,
            T::PlusEq => EntryOp::Insert,
            _ => {
                self.expected(&[":", "=", "+="]);
                if !skip {
                    return self.hole_entry();
                }
                EntryOp::Override
            }
        };
        self.bump();
        let (key, key_span, rest) = match key {
            Ok(name) => (Key::Name(name.name), name.span, Vec::new()),
            Err(id) => self.key_of(id, first_expr),
        };
        let value = self.expr();
        self.close(mark, NodeKind::Entry);
        self.nest(key, key_span, &rest, op, value)
    }

    /// Takes the usual key, a bare name before its operator; anything else is read as an expression.
    fn bare_key(&mut self) -> Option<Ident> {
        if self.kind != T::Ident || !matches!(self.peek(1), T::Colon | T::Assign | T::PlusEq) {
            return None;
        }
        let mark = self.mark();
        let name = self.take_name();
        self.close(mark, NodeKind::Name);
        Some(name)
    }

    /// Turns a key expression into a key; further parts of a dotted name are returned apart.
    fn key_of(&mut self, id: ExprId, first_expr: usize) -> (Key, Span, Vec<Ident>) {
        let span = self.tree.expr_span(id);
        let (key, key_span, rest) = match self.tree.expr(id) {
            Expr::Name(parts) => {
                let rest = parts[1..].to_vec();
                (Key::Name(parts[0].name.clone()), parts[0].span, rest)
            }
            Expr::Str(text) => (Key::Str(text.clone()), span, Vec::new()),
            Expr::Index { value, index, .. } => {
                // Quirk: of a dotted name only the first part counts.
                return match (self.tree.expr(*value), self.literal_int(*index)) {
                    (Expr::Name(parts), Some(index)) => {
                        (Key::Indexed(parts[0].name.clone(), index), span, Vec::new())
                    }
                    _ => (Key::Computed(id), span, Vec::new()),
                };
            }
            _ => return (Key::Computed(id), span, Vec::new()),
        };
        self.drop_name(first_expr);
        (key, key_span, rest)
    }

    /// The key `p[0]` of a comprehension is an item, not a place in a list: the subscript that was read for it.
    fn subscript_key(&self, span: Span) -> Key {
        let is_key =
            |node: &crate::ast::ExprNode| node.span == span && matches!(node.kind, Expr::Index { .. });
        let at = self.tree.exprs.iter().rposition(is_key).expect("the key was read as a subscript");
        Key::Computed(ExprId(at as u32))
    }

    fn literal_int(&self, id: ExprId) -> Option<i64> {
        let plain = |id: ExprId| match self.tree.expr(id) {
            Expr::Int(value) | Expr::Unit(value, _) => Some(*value),
            _ => None,
        };
        match self.tree.expr(id) {
            // Quirk: every unary operator is taken for a minus.
            Expr::Unary(_, inner) => plain(*inner).map(i64::wrapping_neg),
            _ => plain(id),
        }
    }

    /// `a.b.c OP v` is `a: {b: {c OP v}}`.
    fn nest(&mut self, key: Key, key_span: Span, rest: &[Ident], op: EntryOp, value: ExprId) -> Entry {
        if rest.is_empty() {
            return Entry { key, key_span, op, value };
        }
        let (mut value, mut op) = (value, op);
        for part in rest.iter().rev() {
            if !self.higher() {
                break;
            }
            let end = self.tree.expr_span(value).end.max(part.span.end);
            let entry = Entry { key: Key::Name(part.name.clone()), key_span: part.span, op, value };
            value = self.tree.add_expr(Expr::Config(Box::new([entry])), Span::new(part.span.start, end));
            op = EntryOp::Union;
        }
        Entry { key, key_span, op, value }
    }

    /// `if c: entries elif c: entries else: entries`.
    fn if_entry(&mut self) -> Entry {
        let (key_span, mark) = (self.here(), self.mark());
        self.bump();
        let cond = self.expr();
        self.expect_or_take(T::Colon);
        let value = self.entries_block();
        let orelse = self.else_entries();
        self.close(mark, NodeKind::ConfigIf);
        Entry { key: Key::If { cond, orelse }, key_span, op: EntryOp::Union, value }
    }

    fn else_entries(&mut self) -> Option<ExprId> {
        self.newline_before_else();
        let start = self.start();
        match self.kind {
            T::KwElif => {
                let nested = self.deeper(Self::if_entry).unwrap_or_else(|| self.hole_entry());
                Some(self.add(Expr::Config(Box::new([nested])), start))
            }
            T::KwElse => {
                self.bump();
                self.expect_or_take(T::Colon);
                Some(self.entries_block())
            }
            _ => None,
        }
    }

    fn block_entry(&mut self) -> Entry {
        match self.kind {
            T::StarStar => self.unpack(true),
            T::KwIf => self.entry(),
            _ => self.plain_entry(false),
        }
    }

    fn entries_block(&mut self) -> ExprId {
        let (start, mark) = (self.start(), self.mark());
        if !self.at(T::Newline) {
            let entry = self.block_entry();
            return self.add(Expr::Config(Box::new([entry])), start);
        }
        self.bump();
        self.expect_or_take(T::Indent);
        let start = self.start();
        let mut entries = Vec::new();
        loop {
            self.skip_line_ends();
            if matches!(self.kind, T::Dedent | T::Eof) {
                break;
            }
            let before = self.pos;
            entries.push(self.block_entry());
            if !self.eat(T::Comma) && self.pos == before {
                self.no_expression();
            }
        }
        let config = self.add(Expr::Config(entries.into_boxed_slice()), start);
        self.dedent();
        self.sink.node(mark, NodeKind::Block, Made::Expr(config));
        config
    }
}
