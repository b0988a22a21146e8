//! Text to tokens.
//!
//! Emits layout tokens (newline, indent, dedent) everywhere, also inside brackets; the parser drops them where the
//! language allows it. Trivia (blanks, comments, line continuations) are the gaps between tokens, so every byte is
//! recoverable. One pass, no allocation per token.

use crate::mistake::Mistake;
use crate::numbers::{self, ScanError};
use crate::strings;
use crate::token::{LexError, Lexed, Token, TokenKind};

/// Which rules apply to the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LexMode {
    /// A file: layout tokens, comments dropped.
    File,
    /// An expression inside a string: no layout tokens, comments kept (they can be format specs).
    Placeholder,
}

/// Lexes the bytes `start..end` of a text; token ranges are offsets in the whole text.
pub fn lex(text: &str, start: usize, end: usize, mode: LexMode) -> Lexed {
    let text = text.get(..end).unwrap_or(text);
    let mut out = Lexed::default();
    if mode == LexMode::File {
        out.tokens.reserve(text.len() / 4);
    }
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        pos: start,
        mode,
        out,
        levels: vec![Level::default()],
        brackets: Vec::new(),
        line_has_token: false,
    };
    lexer.run();
    lexer.out
}

/// Indentation of a line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Level {
    tabs: u32,
    spaces: u32,
}

/// How two levels relate.
enum Order {
    Less,
    Equal,
    Greater,
    Mixed,
}

impl Level {
    fn compare(self, other: Level) -> Order {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match (self.tabs.cmp(&other.tabs), self.spaces.cmp(&other.spaces)) {
            (Equal, Equal) => Order::Equal,
            (Less, Less | Equal) | (Equal, Less) => Order::Less,
            (Greater, Greater | Equal) | (Equal, Greater) => Order::Greater,
            _ => Order::Mixed,
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    mode: LexMode,
    out: Lexed,
    levels: Vec<Level>,
    brackets: Vec<u8>,
    line_has_token: bool,
}

impl Lexer<'_> {
    fn run(&mut self) {
        if self.mode == LexMode::File && self.text.starts_with('\u{feff}') {
            self.pos = '\u{feff}'.len_utf8();
        }
        while let Some(&byte) = self.bytes.get(self.pos) {
            self.step(byte);
        }
        // The end of a file is reported on its last line, also when a newline ends that line (see `LineIndex`).
        let end = self.text.len();
        if self.mode == LexMode::File {
            if self.line_has_token {
                self.push(TokenKind::Newline, end, end);
            }
            for _ in 1..self.levels.len() {
                self.push(TokenKind::Dedent, end, end);
            }
            if self.levels.len() > 1 {
                self.push(TokenKind::Newline, end, end);
            }
        }
        if self.mode == LexMode::Placeholder {
            self.push(TokenKind::Newline, end, end);
        }
        self.push(TokenKind::Eof, end, end);
    }

    fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        self.out.tokens.push(Token { kind, start: start as u32, end: end as u32 });
    }

    fn error(&mut self, start: usize, end: usize, mistake: Mistake) {
        self.out.errors.push(LexError { start: start as u32, end: end as u32, mistake });
    }

    fn at(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// Takes one token or one piece of trivia.
    fn step(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.pos += 1,
            b'\n' => self.newline(),
            b'#' => self.comment(),
            b'\\' => self.continuation(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(self.pos),
            b'$' => self.dollar(),
            b'0'..=b'9' => self.number(),
            b'"' | b'\'' => self.string(self.pos),
            0x80.. => self.non_ascii(),
            _ => self.symbol(byte),
        }
    }

    fn newline(&mut self) {
        if self.mode == LexMode::File && self.line_has_token {
            // The carriage return before it is part of the newline.
            let taken = self.out.tokens.last().map_or(0, |t| t.end as usize);
            let cr = self.pos > taken && self.bytes[self.pos - 1] == b'\r';
            self.push(TokenKind::Newline, self.pos - usize::from(cr), self.pos + 1);
        }
        self.line_has_token = false;
        self.pos += 1;
        if self.mode == LexMode::File {
            self.line_start();
        }
    }

    fn comment(&mut self) {
        let start = self.pos;
        let rest = &self.bytes[start..];
        self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        if self.mode == LexMode::Placeholder {
            self.push(TokenKind::Comment, start, self.pos);
        }
    }

    fn continuation(&mut self) {
        let start = self.pos;
        self.pos += 1;
        if self.pos >= self.bytes.len() {
            return;
        }
        if self.at(0) == b'\n' {
            self.pos += 1;
        } else if self.at(0) == b'\r' && self.at(1) == b'\n' {
            self.pos += 2;
        } else {
            self.error(start, self.pos, Mistake::StrayBackslash);
        }
    }

    /// Measures the indentation of the next line that has a token and emits indent and dedents.
    fn line_start(&mut self) {
        let mut level = Level::default();
        loop {
            match self.bytes.get(self.pos) {
                Some(b' ') => level.spaces += 1,
                Some(b'\t') => level.tabs += 1,
                Some(b'\n') => level = Level::default(),
                Some(b'\r') if self.at(1) == b'\n' => {}
                Some(b'#') => {
                    self.comment();
                    continue;
                }
                _ => break,
            }
            self.pos += 1;
        }
        if self.pos < self.bytes.len() {
            self.layout(level, self.at_other_blank());
        }
    }

    /// True at trivia that are neither blanks of an indentation nor line ends nor comments.
    fn at_other_blank(&self) -> bool {
        match self.at(0) {
            b'\\' | b'\r' | 0x0b | 0x0c => true,
            0x80.. => self.text[self.pos..].starts_with(is_wide_blank),
            _ => false,
        }
    }

    /// Compares a line with the open levels. Quirk: a line that begins with other trivia changes the levels silently.
    fn layout(&mut self, level: Level, silent: bool) {
        let pos = self.pos;
        while let Some(&top) = self.levels.last() {
            match level.compare(top) {
                Order::Equal => return,
                Order::Greater => {
                    self.levels.push(level);
                    if !silent {
                        self.push(TokenKind::Indent, pos, pos);
                    }
                    return;
                }
                Order::Less => {
                    let below = self.levels.len().checked_sub(2).map_or(Level::default(), |i| self.levels[i]);
                    if let Order::Greater = level.compare(below) {
                        if silent {
                            return;
                        }
                        let index = self.out.tokens.len() as u32;
                        self.out.odd.push((index, level.spaces.saturating_sub(below.spaces)));
                        self.push(TokenKind::OddDedent, pos, pos);
                        return;
                    }
                    self.levels.pop();
                    if !silent {
                        self.push(TokenKind::Dedent, pos, pos);
                    }
                }
                Order::Mixed => {
                    self.error(pos, pos, Mistake::MixedTabsAndSpaces);
                    return;
                }
            }
        }
    }

    /// Takes a word whose first character is at the cursor; `start` may be a `$` before it.
    fn word(&mut self, start: usize) {
        let from = self.pos;
        while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') = self.bytes.get(self.pos) {
            self.pos += 1;
        }
        if self.bytes.get(self.pos).is_some_and(|b| *b >= 0x80) {
            let rest = &self.text[self.pos..];
            let len = rest.find(|c| !unicode_ident::is_xid_continue(c)).unwrap_or(rest.len());
            self.pos += len;
        }
        let word = &self.text[from..self.pos];
        let quote = self.at(0);
        if from == start && (quote == b'"' || quote == b'\'') && (word == "r" || word == "R") {
            return self.string(start);
        }
        let kind = if from == start { TokenKind::of_word(word) } else { TokenKind::Ident };
        self.token(kind, start);
    }

    fn token(&mut self, kind: TokenKind, start: usize) {
        self.line_has_token = true;
        self.push(kind, start, self.pos);
    }

    fn dollar(&mut self) {
        let start = self.pos;
        self.pos += 1;
        match self.text[self.pos..].chars().next() {
            Some(c) if c == '_' || unicode_ident::is_xid_start(c) => {
                self.word_any(start);
            }
            _ => self.token(TokenKind::Dollar, start),
        }
    }

    /// Like [`Self::word`], but the first character may be non-ASCII.
    fn word_any(&mut self, start: usize) {
        let rest = &self.text[self.pos..];
        let len = rest.find(|c| !unicode_ident::is_xid_continue(c)).unwrap_or(rest.len());
        let word = &rest[..len];
        self.pos += len;
        let dollar = self.bytes.get(start) == Some(&b'$');
        let kind = if dollar { TokenKind::Ident } else { TokenKind::of_word(word) };
        self.token(kind, start);
    }

    fn unknown(&mut self, start: usize) {
        self.error(start, self.pos, Mistake::UnknownCharacter);
    }

    fn non_ascii(&mut self) {
        let start = self.pos;
        let Some(c) = self.text[start..].chars().next() else {
            self.pos = self.bytes.len();
            return;
        };
        if is_wide_blank(c) {
            self.pos += c.len_utf8();
        } else if unicode_ident::is_xid_start(c) {
            self.word_any(start);
        } else {
            self.pos += c.len_utf8();
            self.unknown(start);
        }
    }

    fn number(&mut self) {
        let start = self.pos;
        let scanned = numbers::scan(&self.text[start..]);
        self.pos += scanned.len;
        match scanned.error {
            Some(ScanError::Whole(mistake)) => self.error(start, self.pos, mistake),
            Some(ScanError::Digit { base, at }) => {
                let (from, to) = (start + at, start + at + 1);
                self.error(from, to, Mistake::InvalidDigit { base, from, to });
            }
            None => {}
        }
        self.token(if scanned.float { TokenKind::Float } else { TokenKind::Int }, start);
    }

    /// Takes a string whose first quote is at the cursor; `start` may be an `r` before it.
    fn string(&mut self, start: usize) {
        let (first, quote) = (self.pos, self.at(0));
        let long = self.at(1) == quote && self.at(2) == quote;
        self.pos += if long { 3 } else { 1 };
        // Quirk: a newline directly after the quote does not end the string, but spoils it.
        let spoiled = !long && self.at(0) == b'\n';
        self.pos += usize::from(spoiled || (!long && self.at(0) == b'\r'));
        let closed = self.string_end(quote, long);
        if !closed {
            self.error(first, self.pos, Mistake::UnterminatedString);
        }
        if spoiled {
            self.error(first + 1, first + 2, Mistake::InvalidEscape);
        }
        self.check_escapes(start);
        self.token(TokenKind::Str, start);
    }

    /// Reports a broken escape, at the start of the content.
    fn check_escapes(&mut self, start: usize) {
        let token = &self.text[start..self.pos];
        if !token.contains('\\') {
            return;
        }
        let lit = strings::literal(token);
        if !lit.raw && strings::broken_escape(lit.content).is_some() {
            let from = start + lit.lead;
            self.error(from, from + 1, Mistake::InvalidEscape);
        }
    }

    fn string_end(&mut self, quote: u8, long: bool) -> bool {
        if long {
            let (behind, is_end) = strings::long_end(&self.text[self.pos..], quote);
            self.pos += behind;
            if is_end {
                return true;
            }
        }
        while let Some(&byte) = self.bytes.get(self.pos) {
            match byte {
                b'\\' if self.at(1) == b'\\' || self.at(1) == quote => self.pos += 2,
                b'\n' | b'\r' if !long => return false,
                b if b == quote && !long => {
                    self.pos += 1;
                    return true;
                }
                b if b == quote && self.at(1) == quote && self.at(2) == quote => {
                    self.pos += 3;
                    return true;
                }
                _ => self.pos += 1,
            }
        }
        false
    }

    fn symbol(&mut self, byte: u8) {
        let start = self.pos;
        let (kind, len) = symbol(byte, self.at(1), self.at(2));
        self.pos += len;
        match byte {
            b'(' | b'[' | b'{' => self.brackets.push(byte),
            b')' | b']' | b'}' => {
                let kind = self.close(byte, start);
                return self.token(kind, start);
            }
            b';' => {
                return self.error(start, self.pos, Mistake::Semicolon);
            }
            _ => {}
        }
        if kind == TokenKind::Bang {
            self.error(start, self.pos, Mistake::UseNot);
        }
        if kind == TokenKind::Unknown {
            return self.unknown(start);
        }
        self.token(kind, start);
    }

    /// Checks a closing bracket; a wrong one is taken as the one that fits.
    fn close(&mut self, byte: u8, start: usize) -> TokenKind {
        let open = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        let top = self.brackets.pop();
        if top != Some(open) {
            self.error(start, self.pos, Mistake::UnmatchedBracket { bracket: byte });
        }
        match top.unwrap_or(open) {
            b'(' => TokenKind::RParen,
            b'[' => TokenKind::RBracket,
            _ => TokenKind::RBrace,
        }
    }
}

/// Blanks beyond ASCII.
fn is_wide_blank(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
}

/// Finds the longest symbol.
fn symbol(a: u8, b: u8, c: u8) -> (TokenKind, usize) {
    use TokenKind as T;
    match (a, b, c) {
        (b'.', b'.', b'.') => (T::Ellipsis, 3),
        (b'*', b'*', b'=') => (T::StarStarEq, 3),
        (b'/', b'/', b'=') => (T::SlashSlashEq, 3),
        (b'<', b'<', b'=') => (T::ShlEq, 3),
        (b'>', b'>', b'=') => (T::ShrEq, 3),
        (b'*', b'*', _) => (T::StarStar, 2),
        (b'/', b'/', _) => (T::SlashSlash, 2),
        (b'<', b'<', _) => (T::Shl, 2),
        (b'>', b'>', _) => (T::Shr, 2),
        (b'-', b'>', c) if c != b'=' => (T::Arrow, 2),
        (b'=', b'=', _) => (T::Eq, 2),
        (b'!', b'=', _) => (T::Ne, 2),
        (b'<', b'=', _) => (T::Le, 2),
        (b'>', b'=', _) => (T::Ge, 2),
        (b'+', b'=', _) => (T::PlusEq, 2),
        (b'-', b'=', _) => (T::MinusEq, 2),
        (b'*', b'=', _) => (T::StarEq, 2),
        (b'/', b'=', _) => (T::SlashEq, 2),
        (b'%', b'=', _) => (T::PercentEq, 2),
        (b'&', b'=', _) => (T::AmpEq, 2),
        (b'|', b'=', _) => (T::PipeEq, 2),
        (b'^', b'=', _) => (T::CaretEq, 2),
        _ => (single(a), 1),
    }
}

fn single(byte: u8) -> TokenKind {
    use TokenKind as T;
    match byte {
        b'(' => T::LParen,
        b')' => T::RParen,
        b'[' => T::LBracket,
        b']' => T::RBracket,
        b'{' => T::LBrace,
        b'}' => T::RBrace,
        b'.' => T::Dot,
        b',' => T::Comma,
        b':' => T::Colon,
        b'@' => T::At,
        b'?' => T::Question,
        b'!' => T::Bang,
        b'=' => T::Assign,
        b'+' => T::Plus,
        b'-' => T::Minus,
        b'*' => T::Star,
        b'/' => T::Slash,
        b'%' => T::Percent,
        b'&' => T::Amp,
        b'|' => T::Pipe,
        b'^' => T::Caret,
        b'~' => T::Tilde,
        b'<' => T::Lt,
        b'>' => T::Gt,
        _ => T::Unknown,
    }
}
