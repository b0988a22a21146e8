//! Schemas, mixins, protocols and rules.

use base_diag::Span;

use super::Parser;
use super::stmt::aug_op;
use crate::ast::{
    Attr, AttrOp, Check, DottedRef, Expr, ExprId, Ident, IndexSignature, LiteralType, Param, RuleDef,
    SchemaDef, SchemaKind, Stmt, StmtId, Str, Type, TypeId,
};
use crate::sink::{Mark, NodeKind, Sink};
use crate::strings;
use crate::token::TokenKind as T;

/// What stands in a schema body besides its statements.
#[derive(Default)]
struct Body {
    doc: Option<Str>,
    mixins: Vec<DottedRef>,
    members: Vec<StmtId>,
    index_signature: Option<Box<IndexSignature>>,
    checks: Vec<Check>,
}

impl<S: Sink> Parser<'_, S> {
    /// Decorators and a schema or rule.
    pub(super) fn definition(&mut self) -> Option<StmtId> {
        let (start, mark) = (self.start(), self.mark());
        let decorators = self.decorators();
        match self.kind {
            T::KwSchema => Some(self.schema(SchemaKind::Schema, decorators, start, mark)),
            T::KwMixin => Some(self.schema(SchemaKind::Mixin, decorators, start, mark)),
            T::KwProtocol => Some(self.schema(SchemaKind::Protocol, decorators, start, mark)),
            T::KwRule => Some(self.rule(decorators, start, mark)),
            _ => {
                self.expected(&["schema", "mixin", "protocol", "rule"]);
                self.bump();
                None
            }
        }
    }

    fn decorators(&mut self) -> Box<[ExprId]> {
        let mut list = Vec::new();
        while self.at(T::At) {
            let mark = self.mark();
            self.bump();
            list.push(self.primary_checked());
            self.skip_newlines();
            self.close(mark, NodeKind::Decorator);
        }
        list.into_boxed_slice()
    }

    fn primary_checked(&mut self) -> ExprId {
        let start = self.start();
        self.deeper(Self::primary).unwrap_or_else(|| self.add(Expr::Missing, start))
    }

    fn dotted_ref(&mut self) -> DottedRef {
        let start = self.start();
        let parts = self.dotted();
        DottedRef { parts, span: self.span_from(start) }
    }

    fn bracket_params(&mut self) -> Box<[Param]> {
        if !self.eat(T::LBracket) {
            return Box::default();
        }
        let params = self.params(&[T::RBracket], true);
        self.expect_or_take(T::RBracket);
        params
    }

    fn schema(&mut self, keyword: SchemaKind, decorators: Box<[ExprId]>, start: u32, mark: Mark) -> StmtId {
        self.bump();
        let name = self.name();
        let kind = match keyword {
            _ if name.name.ends_with("Mixin") => SchemaKind::Mixin,
            _ if name.name.ends_with("Protocol") => SchemaKind::Protocol,
            other => other,
        };
        let params = self.bracket_params();
        let mut base = None;
        if self.eat(T::LParen) {
            if !self.at(T::RParen) {
                base = Some(self.dotted_ref());
            }
            self.expect_or_take(T::RParen);
        }
        let host = self.eat(T::KwFor).then(|| self.dotted_ref());
        self.expect_or_take(T::Colon);
        let mut body = Body::default();
        self.eat(T::Newline);
        if self.at(T::Indent) {
            self.bump();
            self.schema_body(&mut body);
            self.dedent();
        }
        self.close(mark, NodeKind::Schema);
        let def = SchemaDef {
            name,
            kind,
            decorators,
            params,
            base,
            host,
            doc: body.doc,
            mixins: body.mixins.into_boxed_slice(),
            body: body.members.into_boxed_slice(),
            index_signature: body.index_signature,
            checks: body.checks.into_boxed_slice(),
        };
        let span = self.span_from(start);
        self.tree.add_stmt(Stmt::Schema(Box::new(def)), span)
    }

    fn schema_body(&mut self, body: &mut Body) {
        self.skip_newlines();
        body.doc = self.doc();
        self.skip_newlines();
        if self.at(T::KwMixin) && self.peek(1) == T::LBracket {
            body.mixins = self.mixin_line();
        }
        loop {
            self.skip_newlines();
            if matches!(self.kind, T::Dedent | T::OddDedent | T::Eof) {
                return;
            }
            if self.at(T::KwCheck) && self.peek(1) == T::Colon {
                body.checks = self.check_block();
                continue;
            }
            let before = self.pos;
            self.deeper(|p| p.member(body));
            if self.pos == before {
                self.bump();
            }
        }
    }

    fn mixin_line(&mut self) -> Vec<DottedRef> {
        let mark = self.mark();
        self.bump();
        self.bump();
        let mut names = Vec::new();
        loop {
            self.skip_layout();
            if matches!(self.kind, T::RBracket | T::Eof) {
                break;
            }
            let before = self.pos;
            names.push(self.dotted_ref());
            if !self.eat(T::Comma) && self.pos == before {
                self.bump();
            }
        }
        self.expect_or_stay(T::RBracket);
        self.close(mark, NodeKind::MixinLine);
        names
    }

    fn member(&mut self, body: &mut Body) {
        let (start, mark) = (self.start(), self.mark());
        if self.at(T::At) {
            let decorators = self.decorators();
            let attr = self.attr(decorators, start, mark);
            body.members.push(attr);
            return;
        }
        let question = usize::from(self.peek(1) == T::Question);
        if (self.at(T::Str) || self.kind.is_name()) && self.peek(1 + question) == T::Colon {
            let keyword = matches!(self.kind, T::KwIf | T::KwAssert);
            let unification = question == 0 && self.schema_expr_after(2);
            if !keyword && !unification {
                let attr = self.attr(Box::default(), start, mark);
                body.members.push(attr);
                return;
            }
        }
        match self.kind {
            T::LBracket if self.at_index_signature() => self.index_signature(body),
            T::KwIf => body.members.push(self.if_stmt()),
            T::KwAssert => body.members.push(self.assert()),
            T::Int | T::Float | T::Str | T::LParen | T::LBracket | T::LBrace | T::Tilde => {
                body.members.push(self.simple_stmt());
            }
            kind if kind.is_name() => body.members.push(self.simple_stmt()),
            _ => self.unexpected(),
        }
    }

    /// True if a dotted name followed by `{` or `(` stands some tokens ahead.
    fn schema_expr_after(&self, mut ahead: usize) -> bool {
        while self.peek(ahead).is_name() && self.peek(ahead + 1) == T::Dot {
            ahead += 2;
        }
        self.peek(ahead).is_name() && matches!(self.peek(ahead + 1), T::LBrace | T::LParen)
    }

    fn attr(&mut self, decorators: Box<[ExprId]>, start: u32, mark: Mark) -> StmtId {
        let name = self.attr_name();
        let optional = self.eat(T::Question);
        self.expect_or_take(T::Colon);
        let ty = self.ty();
        let op = match self.kind {
            T::Assign => Some(AttrOp::Assign),
            T::PipeEq => Some(AttrOp::Union),
            kind => aug_op(kind).map(|_| AttrOp::OtherAug),
        };
        let (op, default) = match op {
            Some(op) => {
                self.bump();
                (Some(op), Some(self.expr()))
            }
            None => match self.literal_default(ty) {
                Some(value) => (Some(AttrOp::Assign), Some(value)),
                None => (None, None),
            },
        };
        self.close(mark, NodeKind::Attr);
        let span = self.span_from(start);
        self.tree.add_stmt(Stmt::Attr(Box::new(Attr { name, decorators, optional, ty, op, default })), span)
    }

    fn attr_name(&mut self) -> Ident {
        if self.at(T::Str) {
            let span = self.here();
            let name = Str::from(strings::value(&strings::literal(self.token_text())).as_ref());
            self.bump();
            return Ident { name, span };
        }
        let parts = self.dotted();
        if parts.len() > 1 {
            self.error_span(parts[0].span, "schema attribute can not be selected");
        }
        parts[0].clone()
    }

    /// An attribute whose type is one literal has that literal as default.
    fn literal_default(&mut self, ty: TypeId) -> Option<ExprId> {
        let Type::Literal(literal) = self.tree.ty(ty) else { return None };
        let kind = match literal {
            LiteralType::Bool(value) => Expr::Bool(*value),
            LiteralType::Int(value) => Expr::Int(*value),
            LiteralType::Unit(value, suffix) => Expr::Unit(*value, *suffix),
            LiteralType::Float(value) => Expr::Float(*value),
            LiteralType::Str(value) => Expr::Str(value.clone()),
        };
        let span = self.tree.type_span(ty);
        Some(self.tree.add_expr(kind, span))
    }

    /// `[name]:`, `[name: ..`, `[...`, or anything that cannot start a list here.
    fn at_index_signature(&self) -> bool {
        match self.peek(1) {
            T::Newline => false,
            kind if kind.is_name() => match self.peek(2) {
                T::Colon => true,
                T::RBracket => self.peek(3) == T::Colon,
                _ => false,
            },
            _ => true,
        }
    }

    fn index_signature(&mut self, body: &mut Body) {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let name = if self.kind.is_name() && self.peek(1) == T::Colon {
            let name = self.take_name();
            self.bump();
            Some(name)
        } else {
            None
        };
        let any_other = self.eat(T::Ellipsis);
        let key = self.ty();
        self.expect_or_take(T::RBracket);
        self.expect_or_take(T::Colon);
        let value = self.ty();
        let default = self.eat(T::Assign).then(|| self.expr());
        self.close(mark, NodeKind::IndexSignature);
        let span = self.span_from(start);
        if body.index_signature.is_some() {
            let at = Span::new(start, start + 1);
            self.error_span(
                at,
                "duplicate schema index signature definitions, only one is allowed in the schema",
            );
            return;
        }
        body.index_signature = Some(Box::new(IndexSignature { name, any_other, key, value, default, span }));
    }

    fn check_block(&mut self) -> Vec<Check> {
        let mark = self.mark();
        self.bump();
        self.expect_or_take(T::Colon);
        self.expect_or_take(T::Newline);
        self.expect_or_take(T::Indent);
        let checks = self.check_lines();
        self.dedent();
        self.close(mark, NodeKind::CheckBlock);
        checks
    }

    fn check_lines(&mut self) -> Vec<Check> {
        let mut checks = Vec::new();
        loop {
            self.skip_newlines();
            if matches!(self.kind, T::Dedent | T::OddDedent | T::Eof) {
                return checks;
            }
            let before = self.pos;
            let (start, mark) = (self.start(), self.mark());
            let cond = self.simple_expr();
            let guard = self.eat(T::KwIf).then(|| self.simple_expr());
            let msg = self.eat(T::Comma).then(|| self.primary_checked());
            self.close(mark, NodeKind::Check);
            checks.push(Check { cond, guard, msg, span: self.span_from(start) });
            if self.pos == before {
                self.bump();
            }
        }
    }

    fn rule(&mut self, decorators: Box<[ExprId]>, start: u32, mark: Mark) -> StmtId {
        self.bump();
        let name = self.name();
        let params = self.bracket_params();
        let mut parents = Vec::new();
        if self.eat(T::LParen) {
            while !matches!(self.kind, T::RParen | T::Newline | T::Eof) {
                let before = self.pos;
                parents.push(self.dotted_ref());
                if !self.eat(T::Comma) && self.pos == before {
                    self.bump();
                }
            }
            self.expect_or_take(T::RParen);
        }
        let host = self.eat(T::KwFor).then(|| self.dotted_ref());
        self.expect_or_take(T::Colon);
        self.expect_or_take(T::Newline);
        let mut doc = None;
        let mut checks = Vec::new();
        if self.expect_or_take(T::Indent) {
            self.skip_newlines();
            doc = self.doc();
            checks = self.check_lines();
            self.dedent();
        }
        self.close(mark, NodeKind::Rule);
        let def = RuleDef {
            name,
            decorators,
            params,
            parents: parents.into_boxed_slice(),
            host,
            doc,
            checks: checks.into_boxed_slice(),
        };
        let span = self.span_from(start);
        self.tree.add_stmt(Stmt::Rule(Box::new(def)), span)
    }
}
