//! The parser: recursive descent over tokens, writing the arena tree as it goes.
//!
//! Every production also tells a [`Sink`] where nodes start and end; the null sink costs nothing (arena road), the
//! event sink becomes the lossless tree. Errors never stop the parser: it leaves `Missing` holes and goes on.
//! Invariant: every loop consumes a token or ends; recursion is bounded by [`MAX_DEPTH`], the height of the tree by
//! [`MAX_HEIGHT`].

mod call;
mod config;
mod expr;
mod joined;
mod lambda;
mod list;
mod operand;
mod schema;
mod stmt;
mod target;
mod types;

use base_diag::Span;

use crate::ast::{Expr, ExprId, Ident, Str, Tree, TypeId};
use crate::found::{Found, Hint};
use crate::mistake::{Got, Mistake};
use crate::numbers;
use crate::sink::{Made, Mark, NodeKind, Sink};
use crate::strings;
use crate::token::{Lexed, Token, TokenKind};

/// How deeply brackets and blocks may nest.
pub const MAX_DEPTH: u32 = 200;

/// How high an expression tree may become (long operator chains are trees, too).
pub const MAX_HEIGHT: u32 = 500;

/// What starts an operand, as messages list it.
const OPERAND: &[&str] = &["identifier", "literal", "(", "[", "{"];

/// State of one run over one token list.
pub(crate) struct Parser<'a, S> {
    text: &'a str,
    lexed: Lexed,
    pos: usize,
    kind: TokenKind,
    tree: &'a mut Tree,
    base: u32,
    found: Vec<Found>,
    depth: u32,
    height: u32,
    too_deep: bool,
    sink: S,
}

impl<'a, S: Sink> Parser<'a, S> {
    /// Starts at the first token.
    pub(crate) fn new(tree: &'a mut Tree, text: &'a str, lexed: Lexed, base: u32, sink: S) -> Self {
        let mut parser = Parser {
            text,
            lexed: Lexed::default(),
            pos: 0,
            kind: TokenKind::Eof,
            tree,
            base,
            found: Vec::new(),
            depth: 0,
            height: 0,
            too_deep: false,
            sink,
        };
        parser.load(lexed);
        parser
    }

    /// Puts a token list under the cursor and reports its mistakes; returns the old list and position.
    fn load(&mut self, mut lexed: Lexed) -> (Lexed, usize) {
        for error in std::mem::take(&mut lexed.errors) {
            self.error_at(error.start, error.end, error.mistake);
        }
        let old = (std::mem::replace(&mut self.lexed, lexed), self.pos);
        self.pos = 0;
        self.kind = self.lexed.tokens.first().map_or(TokenKind::Eof, |t| t.kind);
        old
    }

    /// Puts back what [`Self::load`] returned.
    fn unload(&mut self, old: (Lexed, usize)) {
        self.lexed = old.0;
        self.pos = old.1;
        self.kind = self.token().kind;
    }

    /// Ends the run.
    pub(crate) fn finish(self) -> (Vec<Found>, S, Lexed) {
        (self.found, self.sink, self.lexed)
    }

    fn token(&self) -> Token {
        self.lexed.tokens[self.pos]
    }

    fn peek(&self, ahead: usize) -> TokenKind {
        self.lexed.tokens.get(self.pos + ahead).map_or(TokenKind::Eof, |t| t.kind)
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind == kind
    }

    /// Goes to the next token; stays at the end.
    fn bump(&mut self) {
        if self.pos + 1 < self.lexed.tokens.len() {
            self.sink.token(&self.lexed.tokens, self.pos);
            self.pos += 1;
            self.kind = self.lexed.tokens[self.pos].kind;
        }
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind == kind;
        if found {
            self.bump();
        }
        found
    }

    fn token_text(&self) -> &'a str {
        let token = self.token();
        &self.text[token.start as usize..token.end as usize]
    }

    /// Start of the current token, as package offset.
    fn start(&self) -> u32 {
        self.token().start + self.base
    }

    /// End of the last token taken, as package offset.
    fn last_end(&self) -> u32 {
        let index = self.pos.saturating_sub(1);
        self.lexed.tokens[index].end + self.base
    }

    /// From a start to the last token taken.
    fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.last_end().max(start))
    }

    fn here(&self) -> Span {
        let token = self.token();
        Span::new(token.start + self.base, token.end + self.base)
    }

    fn error_at(&mut self, start: u32, end: u32, mistake: Mistake) {
        let hint = self.keyword_as_name().map(Hint::KeywordAsName);
        self.found.push(Found { hint, ..Found::new(mistake, Span::new(start, end)) });
    }

    // `type = 1`: a word of the language where a name was meant.
    fn keyword_as_name(&self) -> Option<&'static str> {
        let word = self.lexed.tokens.get(self.pos.checked_sub(1)?)?;
        if self.kind != TokenKind::Assign {
            return None;
        }
        let text = self.text.get(word.start as usize..word.end as usize)?;
        const WORDS: &[&str] = &[
            "type", "schema", "mixin", "protocol", "rule", "import", "lambda", "all", "any", "map", "filter",
            "assert",
        ];
        WORDS.iter().find(|word| **word == text).copied()
    }

    /// Reports at the current token.
    fn error(&mut self, mistake: Mistake) {
        let token = self.token();
        self.error_at(token.start, token.end, mistake);
    }

    /// Reports at a package span.
    fn error_span(&mut self, span: Span, mistake: Mistake) {
        self.error_at(span.start - self.base, span.end - self.base, mistake);
    }

    /// The current token as messages name it: a literal by its value.
    fn got(&self) -> Got {
        match self.kind {
            TokenKind::Str => Got::Literal(strings::text(&strings::literal(self.token_text())).into_owned()),
            TokenKind::Int => Got::Literal(self.token_text().to_owned()),
            TokenKind::Float => Got::Literal(numbers::float_text(self.token_text()).to_owned()),
            kind => Got::Token(kind),
        }
    }

    /// Reports that one of some tokens was needed.
    fn expected(&mut self, wanted: &'static [&'static str]) {
        let got = self.got();
        self.error(Mistake::Expected { wanted, got });
    }

    /// Reports that a token was needed.
    fn expected_token(&mut self, kind: TokenKind) {
        let got = self.got();
        self.error(match kind {
            TokenKind::Indent => Mistake::ExpectedBlock { got },
            TokenKind::Dedent => Mistake::ExpectedEndOfBlock { got },
            kind => Mistake::Expected { wanted: kind.wanted(), got },
        });
    }

    /// Takes a token, or reports it missing and leaves what stands there.
    fn expect_or_stay(&mut self, kind: TokenKind) -> bool {
        self.odd_dedents(kind);
        let found = self.eat(kind);
        if !found {
            self.expected_token(kind);
        }
        found
    }

    /// Takes a token, or reports it missing and takes what stands there in its place.
    fn expect_or_take(&mut self, kind: TokenKind) -> bool {
        self.odd_dedents(kind);
        let found = self.kind == kind;
        if !found {
            self.expected_token(kind);
        }
        self.bump();
        found
    }

    /// Reports lines between two levels where a block begins or ends.
    fn odd_dedents(&mut self, wanted: TokenKind) {
        while matches!(wanted, TokenKind::Indent | TokenKind::Dedent) && self.kind == TokenKind::OddDedent {
            self.odd_dedent();
        }
    }

    /// Drops newlines, then indents and dedents: what stands between two lines.
    fn skip_layout(&mut self) {
        self.skip_newlines();
        while self.kind.is_layout() && self.kind != TokenKind::Newline {
            self.bump();
        }
    }

    fn skip_newlines(&mut self) {
        while self.kind == TokenKind::Newline {
            self.bump();
        }
    }

    /// Kind of the first token that is no layout token.
    fn past_layout(&self) -> TokenKind {
        let tail = self.lexed.tokens.get(self.pos..).unwrap_or(&[]);
        tail.iter().map(|t| t.kind).find(|k| !k.is_layout()).unwrap_or(TokenKind::Eof)
    }

    /// Takes the current token as a name.
    fn take_name(&mut self) -> Ident {
        let span = self.here();
        let text = self.token_text();
        let name = Str::from(text.strip_prefix('$').unwrap_or(text));
        self.bump();
        Ident { name, span }
    }

    /// Takes a name or reports that there is none.
    fn name(&mut self) -> Ident {
        if self.kind.is_name() {
            return self.take_name();
        }
        self.expected(&["identifier"]);
        Ident { name: Str::new(), span: Span::new(self.start(), self.start()) }
    }

    fn add(&mut self, kind: Expr, start: u32) -> ExprId {
        let span = self.span_from(start);
        self.tree.add_expr(kind, span)
    }

    /// Removes the node of a name that is not needed as an expression; keeps the arena small.
    fn drop_name(&mut self, first_expr: usize) {
        if self.tree.exprs.len() == first_expr + 1 {
            self.tree.exprs.truncate(first_expr);
            self.sink.forget(ExprId(first_expr as u32));
        }
    }

    fn add_type(&mut self, kind: crate::ast::Type, start: u32) -> TypeId {
        let span = self.span_from(start);
        self.tree.add_type(kind, span)
    }

    /// Runs a production one level deeper; beyond the limit it gives `None` after one report.
    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.give_up();
            return None;
        }
        let height = std::mem::replace(&mut self.height, 0);
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        self.height = height.max(self.height + 1);
        Some(result)
    }

    /// Counts one more link of a chain; false beyond the limit, after one report.
    fn higher(&mut self) -> bool {
        self.height += 1;
        if self.height > MAX_HEIGHT {
            self.give_up();
            return false;
        }
        true
    }

    /// Reports `nesting too deep` once and goes to the end of the tokens.
    fn give_up(&mut self) {
        if !self.too_deep {
            self.too_deep = true;
            self.error(Mistake::NestingTooDeep);
        }
        while self.kind != TokenKind::Eof {
            self.bump();
        }
    }

    fn mark(&self) -> Mark {
        self.sink.mark()
    }

    /// Closes a node that began at a mark and stands for nothing in the arena.
    fn close(&mut self, mark: Mark, kind: NodeKind) {
        self.sink.node(mark, kind, Made::Nothing);
    }

    /// Adds an expression and closes its node.
    fn add_node(&mut self, mark: Mark, node: NodeKind, kind: Expr, start: u32) -> ExprId {
        let id = self.add(kind, start);
        self.sink.node(mark, node, Made::Expr(id));
        id
    }

    /// An expression for callers outside.
    pub(crate) fn top_expr(&mut self) -> ExprId {
        self.skip_layout();
        self.expr()
    }

    /// Skips layout at the end of a text.
    pub(crate) fn skip_end(&mut self) {
        self.skip_layout();
    }

    /// Kind of the current token.
    pub(crate) fn kind(&self) -> TokenKind {
        self.kind
    }

    /// Reports the current token as too much.
    pub(crate) fn leftover(&mut self) {
        let got = self.got();
        self.error(Mistake::Unexpected { got });
    }
}
