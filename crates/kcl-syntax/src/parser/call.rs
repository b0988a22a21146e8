//! Arguments of calls and parameters of lambdas, schemas and rules.

use base_diag::Span;

use super::Parser;
use crate::ast::{Expr, ExprId, Ident, Keyword, Param, Str};
use crate::mistake::Mistake;
use crate::sink::{NodeKind, Sink};
use crate::token::TokenKind as T;

impl<S: Sink> Parser<'_, S> {
    /// `( [arg {[,] arg} [,]] )`: newlines only if the first follows the parenthesis.
    pub(super) fn args(&mut self) -> (Box<[ExprId]>, Box<[Keyword]>) {
        let mark = self.mark();
        self.bump();
        let multiline = self.at(T::Newline);
        let mut args: Vec<ExprId> = Vec::new();
        let mut kwargs: Vec<Keyword> = Vec::new();
        loop {
            if multiline {
                self.skip_layout();
            }
            if matches!(self.kind, T::RParen | T::KwFor | T::Eof) || (!multiline && self.at(T::Newline)) {
                break;
            }
            let before = self.pos;
            self.arg(&mut args, &mut kwargs);
            if self.pos == before {
                self.expected(&[","]);
                self.bump();
            }
            self.eat(T::Comma);
        }
        self.expect_or_stay(T::RParen);
        self.close(mark, NodeKind::Args);
        (args.into_boxed_slice(), kwargs.into_boxed_slice())
    }

    fn arg(&mut self, args: &mut Vec<ExprId>, kwargs: &mut Vec<Keyword>) {
        let (start, mark) = (self.token(), self.mark());
        let first_expr = self.tree.exprs.len();
        let value = self.expr();
        if self.eat(T::Assign) {
            let name = self.keyword_name(value);
            self.drop_name(first_expr);
            let value = self.expr();
            self.close(mark, NodeKind::Keyword);
            kwargs.push(Keyword { name, value });
            return;
        }
        if !kwargs.is_empty() {
            self.error_at(start.start, start.end, Mistake::PositionalAfterKeyword);
        }
        args.push(value);
    }

    /// The name before `=`; of a dotted one the first part counts.
    fn keyword_name(&mut self, id: ExprId) -> Ident {
        let span = self.tree.expr_span(id);
        match self.tree.expr(id) {
            Expr::Name(parts) => Ident { name: parts[0].name.clone(), span },
            _ => {
                self.expected(&["identifier"]);
                Ident { name: Str::new(), span }
            }
        }
    }

    /// `[param {, param} [,]]` up to a token that ends the list.
    pub(super) fn params(&mut self, ends: &[T], multiline: bool) -> Box<[Param]> {
        let mark = self.mark();
        let mut params = Vec::new();
        loop {
            if multiline {
                self.skip_layout();
            }
            if ends.contains(&self.kind) || self.at(T::Eof) || self.kind.is_layout() {
                break;
            }
            let before = self.pos;
            params.push(self.param());
            if !self.eat(T::Comma) && self.pos == before {
                self.no_expression();
            }
        }
        self.close(mark, NodeKind::Params);
        params.into_boxed_slice()
    }

    fn param(&mut self) -> Param {
        let mark = self.mark();
        let start = self.start();
        let parts = self.dotted();
        let name = joined_name(&parts, self.span_from(start));
        let ty = self.eat(T::Colon).then(|| self.ty());
        let default = self.eat(T::Assign).then(|| self.expr());
        self.close(mark, NodeKind::Param);
        Param { name, ty, default }
    }
}

/// A dotted name as one name with dots.
pub(super) fn joined_name(parts: &[Ident], span: Span) -> Ident {
    if let [one] = parts {
        return one.clone();
    }
    let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
    Ident { name: Str::from(names.join(".").as_str()), span }
}
