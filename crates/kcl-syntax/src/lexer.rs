//! Text to tokens.
//!
//! Emits layout tokens (newline, indent, dedent) everywhere, also inside brackets; the parser drops them where the
//! language allows it. Trivia (blanks, comments, line continuations) are the gaps between tokens, so every byte is
//! recoverable. One pass, no allocation per token.

use smallvec::{SmallVec, smallvec};

use crate::mistake::Mistake;
use crate::numbers::{self, ScanError};
use crate::strings;
use crate::token::{LexError, Lexed, Token, TokenKind, symbol};

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
    lex_into(Vec::new(), text, (start, end), mode)
}

/// The same; the tokens go into a list that was used before, if they may have room in it.
pub(crate) fn lex_into(
    mut tokens: Vec<Token>,
    text: &str,
    (start, end): (usize, usize),
    mode: LexMode,
) -> Lexed {
    let text = text.get(..end).unwrap_or(text);
    tokens.clear();
    if mode == LexMode::File && tokens.capacity() < text.len() / 4 {
        tokens = tokens_for(text.len());
    }
    let out = Lexed { tokens, ..Lexed::default() };
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        pos: start,
        mode,
        out,
        levels: smallvec![Level::default()],
        brackets: SmallVec::new(),
        line_has_token: false,
    };
    lexer.run();
    lexer.out
}

/// An empty list for the tokens of a file of so many bytes.
pub(crate) fn tokens_for(bytes: usize) -> Vec<Token> {
    Vec::with_capacity(bytes / 4)
}

/// ASCII that goes on in a word.
const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

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
    levels: SmallVec<[Level; 8]>,
    brackets: SmallVec<[u8; 32]>,
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
                Some(b' ') => {
                    let blanks = self.bytes[self.pos..].iter().take_while(|byte| **byte == b' ').count();
                    level.spaces += blanks as u32;
                    self.pos += blanks;
                    continue;
                }
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
        let rest = self.bytes.get(from..).unwrap_or_default();
        self.pos += rest.iter().take_while(|byte| IN_WORD[usize::from(**byte)]).count();
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
        let (closed, escapes) = if long { self.long_end(quote) } else { self.short_end(quote) };
        if !closed {
            self.error(first, self.pos, Mistake::UnterminatedString);
        }
        if spoiled {
            self.error(first + 1, first + 2, Mistake::InvalidEscape);
        }
        if escapes {
            self.check_escapes(start);
        }
        self.token(TokenKind::Str, start);
    }

    /// Reports a broken escape, at the start of the content.
    fn check_escapes(&mut self, start: usize) {
        let lit = strings::literal(&self.text[start..self.pos]);
        if !lit.raw && strings::broken_escape(lit.content).is_some() {
            let from = start + lit.lead;
            self.error(from, from + 1, Mistake::InvalidEscape);
        }
    }

    /// Goes to the end of a string on one line; returns whether it is closed and whether it has a backslash.
    fn short_end(&mut self, quote: u8) -> (bool, bool) {
        let mut escapes = false;
        while let Some(&byte) = self.bytes.get(self.pos) {
            match byte {
                b'\\' => {
                    escapes = true;
                    self.skip_escape(quote);
                }
                b'\n' | b'\r' => return (false, escapes),
                b if b == quote => {
                    self.pos += 1;
                    return (true, escapes);
                }
                _ => self.pos += 1,
            }
        }
        (false, escapes)
    }

    /// The same for a string between triple quotes, which may be pages long.
    fn long_end(&mut self, quote: u8) -> (bool, bool) {
        let mut escapes = false;
        while let Some(found) = strings::find_any(&self.bytes[self.pos..], [quote, b'\\', b'$']) {
            self.pos += found;
            if self.at(0) == b'\\' {
                escapes = true;
                self.skip_escape(quote);
            } else if self.at(0) == b'$' {
                self.out.long_dollar = true;
                self.pos += 1;
            } else if self.at(1) == quote && self.at(2) == quote {
                self.pos += 3;
                return (true, escapes);
            } else {
                self.pos += 1;
            }
        }
        self.pos = self.bytes.len();
        (false, escapes)
    }

    /// Takes a backslash, and what it hides from the search for the end.
    fn skip_escape(&mut self, quote: u8) {
        let hides = self.at(1) == b'\\' || self.at(1) == quote;
        self.pos += 1 + usize::from(hides);
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
