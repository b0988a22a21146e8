//! Schemas, mixins, protocols and rules.

use base_diag::Span;
use smallvec::SmallVec;

use super::Parser;
use super::call::joined_name;
use super::stmt::aug_op;
use crate::ast::{
    Attr, AttrOp, Check, DottedRef, Expr, ExprId, Ident, IndexSignature, LiteralType, Param, RuleDef,
    SchemaDef, SchemaKind, Stmt, StmtId, Str, Target, TargetStep, Type, TypeId,
};
use crate::mistake::Mistake;
use crate::sink::{Mark, NodeKind, Sink};
use crate::strings;
use crate::token::TokenKind as T;

/// What stands in a schema body besides its statements.
#[derive(Default)]
struct Body {
    doc: Option<Span>,
    mixins: Vec<DottedRef>,
    members: SmallVec<[StmtId; 16]>,
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
            // `if` begins no statement here: it is a name.
            T::KwIf => Some(self.simple_stmt()),
            // Decorators before anything else are dropped.
            _ => {
                let mut body = Vec::new();
                self.statement(&mut body);
                body.pop()
            }
        }
    }

    fn decorators(&mut self) -> Box<[ExprId]> {
        let mut list = Vec::new();
        while self.at(T::At) {
            let mark = self.mark();
            self.bump();
            let id = self.expr();
            if !self.is_decorator(id) {
                self.expected(&["identifier"]);
            }
            list.push(id);
            self.close(mark, NodeKind::Decorator);
            self.skip_newlines();
        }
        list.into_boxed_slice()
    }

    fn is_decorator(&self, id: ExprId) -> bool {
        match self.tree.expr(id) {
            // What is called need not be a name here: the checker says so.
            Expr::Name(_) | Expr::Call(_) => true,
            _ => false,
        }
    }

    fn primary_checked(&mut self) -> ExprId {
        let start = self.start();
        self.deeper(Self::primary).unwrap_or_else(|| self.add(Expr::Missing, start))
    }

    fn dotted_ref(&mut self) -> DottedRef {
        let (start, mark) = (self.start(), self.mark());
        let parts = self.dotted();
        self.close(mark, NodeKind::Name);
        DottedRef { parts, span: self.span_from(start) }
    }

    /// Quirk: a dotted name is one name with dots.
    fn definition_name(&mut self) -> Ident {
        let (start, mark) = (self.start(), self.mark());
        let parts = self.dotted();
        self.close(mark, NodeKind::Name);
        joined_name(&parts, self.span_from(start))
    }

    fn bracket_params(&mut self) -> Box<[Param]> {
        if !self.eat(T::LBracket) {
            return Box::default();
        }
        let params = self.params(&[T::RBracket], false);
        self.expect_or_take(T::RBracket);
        self.skip_newlines();
        params
    }

    fn schema(&mut self, keyword: SchemaKind, decorators: Box<[ExprId]>, start: u32, mark: Mark) -> StmtId {
        self.bump();
        let name = self.definition_name();
        let kind = match keyword {
            _ if name.name.ends_with("Mixin") => SchemaKind::Mixin,
            _ if name.name.ends_with("Protocol") => SchemaKind::Protocol,
            other => other,
        };
        let params = self.bracket_params();
        let mut base = None;
        if self.eat(T::LParen) {
            base = Some(self.dotted_ref());
            self.expect_or_take(T::RParen);
        }
        let host = self.eat(T::KwFor).then(|| self.name_ref());
        self.expect_or_take(T::Colon);
        let mut body = Body::default();
        let block = self.mark();
        self.eat(T::Newline);
        if self.at(T::Indent) {
            self.bump();
            self.schema_body(&mut body);
            self.dedent();
            self.close(block, NodeKind::Block);
        }
        let def = SchemaDef {
            name,
            kind,
            keyword,
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
        self.add_stmt(mark, NodeKind::Schema, Stmt::Schema(Box::new(def)), start)
    }

    fn schema_body(&mut self, body: &mut Body) {
        self.skip_newlines();
        if !matches!(self.peek(1), T::Colon | T::Question) {
            body.doc = self.doc();
        }
        self.skip_newlines();
        if self.at(T::KwMixin) {
            body.mixins = self.mixin_line();
        }
        loop {
            self.skip_line_ends();
            if matches!(self.kind, T::Dedent | T::Eof) {
                return;
            }
            if self.at(T::Indent) {
                self.unexpected();
                continue;
            }
            if self.at(T::KwCheck) {
                body.checks = self.check_block();
                return;
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
        self.expect_or_take(T::LBracket);
        let multiline = self.at(T::Newline);
        if multiline {
            self.bump();
            self.expect_or_take(T::Indent);
        }
        let mut names = Vec::new();
        loop {
            self.skip_newlines();
            if matches!(self.kind, T::RBracket | T::Dedent | T::OddDedent | T::Eof) {
                break;
            }
            let before = self.pos;
            names.push(self.dotted_ref());
            if !self.eat(T::Comma) && self.pos == before {
                self.no_expression();
            }
        }
        if multiline && !self.at(T::Newline) {
            self.expect_or_take(T::Dedent);
        }
        self.expect_or_take(T::RBracket);
        self.close(mark, NodeKind::MixinLine);
        names
    }

    fn member(&mut self, body: &mut Body) {
        let (start, mark) = (self.start(), self.mark());
        if self.at(T::At) {
            let decorators = self.decorators();
            body.members.push(self.attr(decorators, start, mark));
            return;
        }
        if self.at_attr() {
            body.members.push(self.attr(Box::default(), start, mark));
            return;
        }
        match self.kind {
            T::LBracket => self.bracket_member(body),
            T::KwIf => body.members.push(self.if_stmt()),
            T::KwAssert => body.members.push(self.assert()),
            _ => self.statement_member(body),
        }
    }

    /// True if `name:`, `name?:` or `a.b:` stands here and no unification.
    fn at_attr(&self) -> bool {
        let operand_word = matches!(
            self.kind,
            T::KwIf
                | T::KwAssert
                | T::KwNot
                | T::KwLambda
                | T::KwAll
                | T::KwAny
                | T::KwMap
                | T::KwFilter
                | T::KwTrue
                | T::KwFalse
                | T::KwNone
                | T::KwUndefined
        );
        if !(self.at(T::Str) || self.kind.is_name()) {
            return false;
        }
        let mut ahead = 1;
        while self.peek(ahead) == T::Dot && self.peek(ahead + 1).is_name() {
            ahead += 2;
        }
        match self.peek(ahead) {
            T::Question if ahead > 1 => false,
            // These two begin a statement, whatever follows.
            T::Question => !matches!(self.kind, T::KwIf | T::KwAssert),
            T::Colon if operand_word => false,
            T::Colon => self.at(T::Str) || !self.at_schema_expr(ahead + 1),
            _ => false,
        }
    }

    /// `[`: an index signature, or a list.
    fn bracket_member(&mut self, body: &mut Body) {
        match self.peek(1) {
            T::Ellipsis if self.peek(2).is_name() => self.index_signature(body),
            kind if kind.is_name() || matches!(kind, T::Newline | T::RBracket) => {
                if self.at_index_signature() {
                    return self.index_signature(body);
                }
                let (start, mark) = (self.start(), self.mark());
                // Only the list itself: what follows it is a member of its own.
                let value = self.deeper(Self::list).unwrap_or_else(|| self.missing_operand());
                body.members.push(self.add_stmt(mark, NodeKind::ExprStmt, Stmt::Expr(value), start));
            }
            _ => {
                self.bump();
                let got = self.got();
                self.error(Mistake::ExpectedIndexSignature { got });
                self.bump();
            }
        }
    }

    /// An assignment or expression; what starts none is reported and skipped.
    fn statement_member(&mut self, body: &mut Body) {
        let before = self.pos;
        let stmt = self.simple_stmt();
        self.subscripted_attr(stmt);
        body.members.push(stmt);
        if self.pos == before {
            self.no_expression();
            self.expr();
        }
    }

    /// Quirk: `a[i]: T = v` declares a; nobody looks at the subscript.
    fn subscripted_attr(&mut self, stmt: StmtId) {
        let node = &mut self.tree.stmts[stmt.0 as usize];
        let Stmt::Assign { targets, ty: Some(ty), value } = &node.kind else { return };
        let [target] = &targets[..] else { return };
        if !matches!(target.path.first(), Some(TargetStep::Index(_))) {
            return;
        }
        node.kind = Stmt::Attr(Attr {
            name: target.name.clone(),
            decorators: Box::default(),
            optional: false,
            ty: *ty,
            selected: false,
            op: Some(AttrOp::Assign),
            default: Some(*value),
        });
    }

    fn attr(&mut self, decorators: Box<[ExprId]>, start: u32, mark: Mark) -> StmtId {
        let (name, selected) = self.attr_name();
        let optional = self.eat(T::Question);
        self.expect_or_take(T::Colon);
        let ty = self.ty();
        let op = match self.kind {
            T::Assign => Some(AttrOp::Assign),
            T::PipeEq => Some(AttrOp::Union),
            kind => aug_op(kind).map(|_| AttrOp::OtherAug),
        };
        // Quirk: `a.b: T = v` declares a; only without default, or decorated, it is an error.
        let selected = selected && (op.is_none() || !decorators.is_empty());
        let (op, default) = match op {
            Some(op) => {
                self.bump();
                let first_expr = self.tree.exprs.len();
                let value = self.expr();
                if op == AttrOp::Assign && !optional && decorators.is_empty() && self.at(T::Assign) {
                    return self.attr_chain(name, ty, value, first_expr, start, mark);
                }
                (Some(op), Some(value))
            }
            None if optional => (None, None),
            None => match self.literal_default(ty) {
                Some(value) => (Some(AttrOp::Assign), Some(value)),
                None => (None, None),
            },
        };
        let attr = Attr { name, decorators, optional, ty, selected, op, default };
        self.add_stmt(mark, NodeKind::Attr, Stmt::Attr(attr), start)
    }

    /// The name and, for the quirk of dotted names, whether there was a dot.
    fn attr_name(&mut self) -> (Ident, bool) {
        if self.at(T::Str) {
            let span = self.here();
            let lit = strings::literal(self.token_text());
            let name = Str::from(strings::value(&lit).as_ref());
            self.bump();
            if !lit.raw && strings::has_placeholder(lit.content) {
                self.expected(&["identifier"]);
            }
            return (Ident { name, span }, false);
        }
        let (first, selected) = (self.name(), self.at(T::Dot));
        while self.eat(T::Dot) {
            self.name();
        }
        (first, selected)
    }

    /// Quirk: `a: T = b = v` in a body is an assignment of two names, no attribute.
    fn attr_chain(
        &mut self,
        name: Ident,
        ty: TypeId,
        value: ExprId,
        first_expr: usize,
        start: u32,
        mark: Mark,
    ) -> StmtId {
        let span = name.span;
        let mut targets =
            vec![Ok(Target { name, path: Box::default(), span }), self.target(value, first_expr)];
        let value = self.assign_rest(&mut targets);
        self.finish_assign(targets, Some(ty), value, start, mark)
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

    /// `[name]:` or `[name: ..`: a name and a colon as the next but one or the one after it.
    fn at_index_signature(&self) -> bool {
        self.peek(1).is_name() && (self.peek(2) == T::Colon || self.peek(3) == T::Colon)
    }

    fn index_signature(&mut self, body: &mut Body) {
        let (start, mark) = (self.start(), self.mark());
        self.bump();
        let name = if self.kind.is_name() && self.peek(1) != T::RBracket {
            let name = self.take_name();
            self.expect_or_take(T::Colon);
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
            self.error_span(at, Mistake::SecondIndexSignature);
            return;
        }
        body.index_signature = Some(Box::new(IndexSignature { name, any_other, key, value, default, span }));
    }

    fn check_block(&mut self) -> Vec<Check> {
        let mark = self.mark();
        self.bump();
        self.expect_or_take(T::Colon);
        let block = self.mark();
        self.eat(T::Newline);
        self.expect_or_take(T::Indent);
        let checks = self.check_lines();
        self.dedent();
        self.close(block, NodeKind::Block);
        self.close(mark, NodeKind::CheckBlock);
        checks
    }

    fn check_lines(&mut self) -> Vec<Check> {
        let mut checks = Vec::new();
        loop {
            self.skip_newlines();
            if matches!(self.kind, T::Dedent | T::Eof) {
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
                self.no_expression();
            }
        }
    }

    fn parents(&mut self, parents: &mut Vec<DottedRef>) {
        while !self.eat(T::RParen) {
            if matches!(self.kind, T::Newline | T::Eof) {
                return self.expected(&[")", ","]);
            }
            parents.push(self.name_ref());
            if !self.at(T::RParen) && !self.eat(T::Comma) {
                self.expected(&[",", ")"]);
                self.bump();
            }
        }
    }

    fn rule(&mut self, decorators: Box<[ExprId]>, start: u32, mark: Mark) -> StmtId {
        self.bump();
        let name = self.definition_name();
        let params = self.bracket_params();
        let mut parents = Vec::new();
        if self.eat(T::LParen) {
            self.parents(&mut parents);
        }
        let host = self.eat(T::KwFor).then(|| self.name_ref());
        self.expect_or_take(T::Colon);
        let block = self.mark();
        self.eat(T::Newline);
        self.expect_or_take(T::Indent);
        self.skip_newlines();
        let doc = self.doc();
        let checks = self.check_lines();
        self.dedent();
        self.close(block, NodeKind::Block);
        let def = RuleDef {
            name,
            decorators,
            params,
            parents: parents.into_boxed_slice(),
            host,
            doc,
            checks: checks.into_boxed_slice(),
        };
        self.add_stmt(mark, NodeKind::Rule, Stmt::Rule(Box::new(def)), start)
    }
}
