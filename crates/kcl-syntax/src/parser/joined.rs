//! Strings with placeholders.

use base_diag::Span;

use super::Parser;
use crate::ast::{Expr, JoinPart, Str};
use crate::lexer::{LexMode, lex};
use crate::mistake::Mistake;
use crate::sink::Sink;
use crate::strings::{self, Literal, Piece};
use crate::token::TokenKind as T;

impl<S: Sink> Parser<'_, S> {
    /// Parses the pieces of a string whose content begins at `at` in the text. Takes no token.
    pub(super) fn joined(&mut self, lit: &Literal<'_>, at: usize) -> Box<[JoinPart]> {
        let rule = lit.long.then(|| strings::dedent_of(&strings::plain(lit.content, false)));
        let width = rule.map_or(0, |r| r.width);
        let mut skip = rule.map_or(0, |r| r.skip);
        let mut parts: Vec<JoinPart> = Vec::new();
        let mut text = String::new();
        for piece in strings::pieces(lit.content) {
            match piece {
                Piece::Value(from, to) => {
                    if !text.is_empty() {
                        parts.push(JoinPart::Text(Str::from(text.as_str())));
                        text.clear();
                    }
                    parts.push(self.placeholder(at + from, at + to));
                }
                Piece::Text(from, to) | Piece::Escaped(from, to) | Piece::Unclosed(from, to) => {
                    let raw = &lit.content[from..to];
                    let decoded = strings::plain(raw, false);
                    let line_start = from == 0;
                    let body = if from == 0 { &decoded[skip..] } else { &decoded[..] };
                    skip = 0;
                    let mut piece_text = strings::dedent(body, width, line_start).into_owned();
                    if matches!(piece, Piece::Escaped(..)) {
                        piece_text.pop();
                    }
                    text.push_str(&piece_text);
                    if matches!(piece, Piece::Unclosed(..)) {
                        let next = self.lexed.tokens[(self.pos + 1).min(self.lexed.tokens.len() - 1)];
                        let quoted =
                            next.start == self.token().end && (next.kind.is_name() || next.kind.is_literal());
                        self.error_at(next.start, next.end, Mistake::UnclosedPlaceholder { quoted });
                    }
                }
            }
        }
        if !text.is_empty() {
            parts.push(JoinPart::Text(Str::from(text.as_str())));
        }
        parts.into_boxed_slice()
    }

    /// Parses the expression in `${..}` with tokens of its own.
    fn placeholder(&mut self, from: usize, to: usize) -> JoinPart {
        let text = &self.text[from..to];
        let mark = self.sink.open_placeholder(self.token().start, from as u32);
        let old = self.load(lex(self.text, from, to, LexMode::Placeholder));
        let expr = if self.at(T::Newline) {
            let start = (from as u32).saturating_sub(2);
            self.error_at(start, to as u32, Mistake::InvalidPlaceholder { text: text.to_owned() });
            let here = self.start();
            self.tree.add_expr(Expr::Missing, Span::new(here, here))
        } else {
            self.expr()
        };
        let mut spec = None;
        if self.eat(T::Colon) {
            if self.at(T::Comment) {
                spec = Some(Str::from(self.token_text()));
                self.bump();
            } else {
                self.error(Mistake::PlaceholderFormat);
                while !self.at(T::Newline) && !self.at(T::Eof) {
                    self.bump();
                }
            }
        }
        self.skip_newlines();
        if !self.at(T::Eof) {
            let mistake = Mistake::InvalidPlaceholder { text: text.to_owned() };
            self.error_at(from as u32, to as u32, mistake);
        }
        self.sink.close_placeholder(mark, to as u32);
        self.unload(old);
        JoinPart::Value { expr, spec }
    }
}
