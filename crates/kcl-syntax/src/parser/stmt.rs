//! Files, statements and blocks.

use base_diag::Span;

use super::Parser;
use super::call::joined_name;
use super::expr::named_type;
use crate::ast::{
    BinaryOp, DottedRef, Expr, ExprId, Ident, Import, Stmt, StmtId, Str, Target, TargetStep, TypeId,
};
use crate::found::Found;
use crate::mistake::Mistake;
use crate::sink::{Made, Mark, NodeKind, Sink};
use crate::strings;
use crate::token::TokenKind as T;

impl<S: Sink> Parser<'_, S> {
    /// A whole file; returns the place of its doc string, and its statements.
    pub(crate) fn file(&mut self) -> (Option<Span>, Vec<StmtId>) {
        self.skip_newlines();
        let doc = self.doc();
        let mut body = Vec::new();
        loop {
            self.skip_newlines();
            if self.at(T::Eof) {
                break;
            }
            self.statement(&mut body);
        }
        (doc, body)
    }

    /// A leading long string.
    pub(super) fn doc(&mut self) -> Option<Span> {
        if !self.at(T::Str) {
            return None;
        }
        let lit = strings::literal(self.token_text());
        if !lit.long {
            return None;
        }
        let (mark, doc) = (self.mark(), self.here());
        // Placeholders must be expressions even here; nobody computes them.
        if self.lexed.long_dollar && !lit.raw && strings::has_placeholder(lit.content) {
            self.joined(&lit, self.token().start as usize + lit.lead);
        }
        self.bump();
        self.close(mark, NodeKind::Doc);
        Some(doc)
    }

    /// Adds a statement and closes its node.
    pub(super) fn add_stmt(&mut self, mark: Mark, node: NodeKind, kind: Stmt, start: u32) -> StmtId {
        let span = self.span_from(start);
        let id = self.tree.add_stmt(kind, span);
        self.sink.node(mark, node, Made::Stmt(id));
        id
    }

    /// Takes one statement, or reports and skips one token.
    pub(super) fn statement(&mut self, body: &mut Vec<StmtId>) {
        let done = self.deeper(|p| p.statement_inner());
        if let Some(Some(id)) = done {
            body.push(id);
        }
    }

    fn statement_inner(&mut self) -> Option<StmtId> {
        Some(match self.kind {
            T::KwIf => self.if_stmt(),
            T::At | T::KwSchema | T::KwMixin | T::KwProtocol | T::KwRule => return self.definition(),
            T::KwImport => self.import(),
            T::KwType => self.type_alias(),
            T::KwAssert => self.assert(),
            T::Tilde => self.expr_stmt(),
            T::Int | T::Float | T::Str | T::LParen | T::LBracket | T::LBrace | T::Bang => self.simple_stmt(),
            kind if kind.is_name() => self.simple_stmt(),
            _ => {
                self.unexpected();
                return None;
            }
        })
    }

    /// Reports the current token and skips it.
    pub(super) fn unexpected(&mut self) {
        self.leftover();
        self.bump();
    }

    fn import(&mut self) -> StmtId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let mut dots = 0;
        loop {
            match self.kind {
                T::Dot => dots += 1,
                T::Ellipsis => dots += 3,
                _ => break,
            }
            self.bump();
        }
        let name = self.mark();
        let path = self.dotted();
        self.close(name, NodeKind::Name);
        let alias = if self.eat(T::KwAs) { Some(self.import_alias()) } else { None };
        let import = Stmt::Import(Box::new(Import { dots, path, alias }));
        self.add_stmt(mark, NodeKind::Import, import, start)
    }

    fn import_alias(&mut self) -> Ident {
        let mark = self.mark();
        let parts = self.dotted();
        self.close(mark, NodeKind::Name);
        if parts.len() > 1 {
            self.error(Mistake::InvalidImportName);
        }
        parts[0].clone()
    }

    fn type_alias(&mut self) -> StmtId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let name = self.name_ref();
        let name = joined_name(&name.parts, name.span);
        self.expect_or_take(T::Assign);
        let ty = self.ty();
        self.add_stmt(mark, NodeKind::TypeAlias, Stmt::TypeAlias { name, ty }, start)
    }

    fn expr_stmt(&mut self) -> StmtId {
        let (start, mark) = (self.start(), self.mark());
        let value = self.expr();
        self.add_stmt(mark, NodeKind::ExprStmt, Stmt::Expr(value), start)
    }

    /// A dotted name; anything else is parsed as an expression and refused.
    pub(super) fn name_ref(&mut self) -> DottedRef {
        let at = self.here();
        let first_expr = self.tree.exprs.len();
        let id = self.expr();
        let span = self.tree.expr_span(id);
        let found = match self.tree.expr(id) {
            Expr::Name(parts) => Some(parts.clone()),
            _ => None,
        };
        self.drop_name(first_expr);
        let parts = found.unwrap_or_else(|| {
            self.error_span(at, Mistake::ExpectedName);
            Box::new([Ident { name: Str::new(), span: at }])
        });
        DottedRef { parts, span }
    }

    pub(super) fn assert(&mut self) -> StmtId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let cond = self.simple_expr();
        let guard = self.eat(T::KwIf).then(|| self.simple_expr());
        let msg = self.eat(T::Comma).then(|| self.expr());
        self.add_stmt(mark, NodeKind::Assert, Stmt::Assert { cond, guard, msg }, start)
    }

    pub(super) fn if_stmt(&mut self) -> StmtId {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let cond = self.expr();
        self.expect_or_take(T::Colon);
        let body = self.body();
        let mut branches = vec![(start, mark, cond, body)];
        while self.at(T::KwElif) {
            let (at, mark) = (self.start(), self.mark());
            self.bump();
            let cond = self.expr();
            self.expect_or_take(T::Colon);
            let body = self.body();
            branches.push((at, mark, cond, body));
            if !self.higher() {
                break;
            }
        }
        let mut orelse: Box<[StmtId]> = Box::default();
        if self.at(T::KwElse) {
            let at = self.token();
            self.bump();
            if self.at(T::KwIf) {
                self.error_at(at.start, at.end, Mistake::UseElif);
                self.bump();
            }
            self.expect_or_take(T::Colon);
            orelse = self.body();
        }
        while branches.len() > 1 {
            if let Some((at, mark, cond, body)) = branches.pop() {
                let nested = self.add_stmt(mark, NodeKind::IfStmt, Stmt::If { cond, body, orelse }, at);
                orelse = Box::new([nested]);
            }
        }
        let (start, mark, cond, body) = branches.remove(0);
        self.add_stmt(mark, NodeKind::IfStmt, Stmt::If { cond, body, orelse }, start)
    }

    /// One simple statement on the same line, or an indented block.
    fn body(&mut self) -> Box<[StmtId]> {
        if !self.at(T::Newline) {
            let stmt = self.simple_stmt();
            self.newline_before_else();
            return Box::new([stmt]);
        }
        let mark = self.mark();
        self.bump();
        self.expect_or_take(T::Indent);
        let mut body = Vec::new();
        loop {
            self.skip_line_ends();
            if matches!(self.kind, T::Dedent | T::Eof) {
                break;
            }
            self.statement(&mut body);
        }
        if !self.at(T::Eof) {
            self.dedent();
        }
        self.close(mark, NodeKind::Block);
        body.into_boxed_slice()
    }

    /// Takes the dedent that ends a block.
    pub(super) fn dedent(&mut self) {
        self.expect_or_take(T::Dedent);
    }

    /// Skips newlines in a block; reports a line that is indented between two levels.
    pub(super) fn skip_line_ends(&mut self) {
        loop {
            match self.kind {
                T::Newline => self.bump(),
                T::OddDedent => self.odd_dedent(),
                _ => return,
            }
        }
    }

    /// Reports a line that is indented between two levels.
    pub(super) fn odd_dedent(&mut self) {
        let pos = self.pos as u32;
        let index = self.lexed.odd.binary_search_by_key(&pos, |(i, _)| *i);
        let spaces = index.map_or(0, |i| self.lexed.odd[i].1);
        self.error(Mistake::InconsistentIndentation { spaces });
        self.bump();
    }

    /// Assignment, augmented assignment, unification or expression.
    pub(super) fn simple_stmt(&mut self) -> StmtId {
        let (start, mark) = (self.start(), self.mark());
        let first_expr = self.tree.exprs.len();
        let first = self.expr();
        match self.kind {
            T::Assign => self.assign(first, first_expr, None, start, mark),
            T::Colon => self.annotated(first, first_expr, start, mark),
            kind => match aug_op(kind) {
                Some(op) => {
                    self.bump();
                    let target = self.target(first, first_expr).map_err(|wrong| self.found.push(*wrong));
                    let value = self.expr();
                    let kind = match target {
                        Ok(target) => Stmt::AugAssign { target: target.into(), op, value },
                        Err(()) => Stmt::Expr(value),
                    };
                    self.add_stmt(mark, NodeKind::AugAssign, kind, start)
                }
                None => self.add_stmt(mark, NodeKind::ExprStmt, Stmt::Expr(first), start),
            },
        }
    }

    /// `a: T = v` or `a: S {..}`.
    fn annotated(&mut self, first: ExprId, first_expr: usize, start: u32, mark: Mark) -> StmtId {
        self.bump();
        if self.at_schema_expr(0) {
            let target = self.target(first, first_expr);
            let value = self.schema_expr();
            let kind = match target {
                Ok(target) if !matches!(target.path.first(), Some(TargetStep::Index(_))) => {
                    Stmt::Unification { target: target.name, value, selected: !target.path.is_empty() }
                }
                _ => {
                    self.error_at(start - self.base, start - self.base, Mistake::ExpectedName);
                    Stmt::Expr(value)
                }
            };
            return self.add_stmt(mark, NodeKind::Unification, kind, start);
        }
        let ty = self.ty();
        if self.at(T::Assign) {
            return self.assign(first, first_expr, Some(ty), start, mark);
        }
        self.skip_newlines();
        self.expected(&["="]);
        let target = self.target(first, first_expr);
        let here = self.start();
        let value = self.tree.add_expr(Expr::Missing, Span::new(here, here));
        self.finish_assign(vec![target], Some(ty), value, start, mark)
    }

    /// True if a dotted name followed by `{` or `(` stands some tokens ahead. Built-in types do not count.
    pub(super) fn at_schema_expr(&self, mut ahead: usize) -> bool {
        let first = ahead;
        while self.peek(ahead).is_name() && self.peek(ahead + 1) == T::Dot {
            ahead += 2;
        }
        if !self.peek(ahead).is_name() || !matches!(self.peek(ahead + 1), T::LBrace | T::LParen) {
            return false;
        }
        // A basic type is a type, whatever follows it.
        let Some(token) = self.lexed.tokens.get(self.pos + first) else { return false };
        let text = &self.text[token.start as usize..token.end as usize];
        let literal = first == ahead && matches!(token.kind, T::KwTrue | T::KwFalse);
        !(literal || named_type(text).is_some())
    }

    fn assign(
        &mut self,
        first: ExprId,
        first_expr: usize,
        ty: Option<TypeId>,
        start: u32,
        mark: Mark,
    ) -> StmtId {
        let mut targets = vec![self.target(first, first_expr)];
        let value = self.assign_rest(&mut targets);
        self.finish_assign(targets, ty, value, start, mark)
    }

    /// `= target = .. = value`, beginning at the first `=`.
    pub(super) fn assign_rest(&mut self, targets: &mut Vec<Result<Target, Box<Found>>>) -> ExprId {
        loop {
            self.bump();
            let first_expr = self.tree.exprs.len();
            let value = self.expr();
            if !self.at(T::Assign) {
                return value;
            }
            targets.push(self.target(value, first_expr));
        }
    }

    /// Reports illegal targets and drops them; without any target the value remains as a statement.
    pub(super) fn finish_assign(
        &mut self,
        found: Vec<Result<Target, Box<Found>>>,
        ty: Option<TypeId>,
        value: ExprId,
        start: u32,
        mark: Mark,
    ) -> StmtId {
        let mut targets = Vec::with_capacity(found.len());
        for target in found {
            match target {
                Ok(target) => targets.push(target),
                Err(wrong) => self.found.push(*wrong),
            }
        }
        let kind = if targets.is_empty() {
            Stmt::Expr(value)
        } else {
            Stmt::Assign { targets: targets.into_boxed_slice(), ty, value }
        };
        self.add_stmt(mark, NodeKind::Assign, kind, start)
    }
}

/// Operator of an augmented assignment.
pub(super) fn aug_op(kind: T) -> Option<BinaryOp> {
    Some(match kind {
        T::PlusEq => BinaryOp::Add,
        T::MinusEq => BinaryOp::Sub,
        T::StarEq => BinaryOp::Mul,
        T::SlashEq => BinaryOp::Div,
        T::SlashSlashEq => BinaryOp::FloorDiv,
        T::PercentEq => BinaryOp::Mod,
        T::StarStarEq => BinaryOp::Pow,
        T::AmpEq => BinaryOp::BitAnd,
        T::PipeEq => BinaryOp::BitOr,
        T::CaretEq => BinaryOp::BitXor,
        T::ShlEq => BinaryOp::Shl,
        T::ShrEq => BinaryOp::Shr,
        _ => return None,
    })
}
