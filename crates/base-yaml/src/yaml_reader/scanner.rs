//! Characters to tokens: indentation, simple keys, flow brackets.
//!
//! A simple key (`a: b`) is known as a key only when its colon comes, so tokens wait in a queue until no candidate for a
//! key stands before them.

use std::collections::VecDeque;

use super::token::{Kind, Mark, Token, failure};
use crate::node::YamlError;

/// A key and its colon stand on one line and within this many bytes.
const SIMPLE_KEY_REACH: usize = 1024;

#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// It stands where only a key can stand.
    required: bool,
    number: usize,
    mark: Mark,
}

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    pub(super) mark: Mark,
    queue: VecDeque<Token>,
    taken: usize,
    pub(super) indent: i64,
    indents: Vec<i64>,
    keys: Vec<SimpleKey>,
    pub(super) key_allowed: bool,
    pub(super) flow: usize,
    max_flow: usize,
    ended: bool,
}

type Done = Result<(), YamlError>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, max_flow: usize) -> Result<Self, YamlError> {
        let scanner = Scanner {
            text,
            bytes: text.as_bytes(),
            mark: Mark::default(),
            queue: VecDeque::new(),
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            keys: vec![SimpleKey::default()],
            key_allowed: true,
            flow: 0,
            max_flow,
            ended: false,
        };
        match text.char_indices().find(|(_, c)| !is_readable(*c)) {
            None => Ok(scanner),
            Some((at, c)) => {
                let line = text[..at].matches('\n').count();
                let from = text[..at].rfind('\n').map_or(0, |i| i + 1);
                let mark = Mark { index: at, line, column: text[from..at].chars().count() };
                let what = format!("control characters are not allowed: U+{:04X}", u32::from(c));
                Err(failure(&what, mark, None))
            }
        }
    }

    /// Returns the next token without taking it.
    pub(super) fn peek(&mut self) -> Result<&Token, YamlError> {
        self.fill()?;
        Ok(self.queue.front().expect("the queue holds at least the end of the stream"))
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<Token, YamlError> {
        self.fill()?;
        // The end of the stream is never taken away.
        let front = self.queue.front().expect("the queue holds at least the end of the stream");
        if front.kind == Kind::StreamEnd {
            return Ok(front.clone());
        }
        self.taken += 1;
        Ok(self.queue.pop_front().expect("there is a front"))
    }

    fn fill(&mut self) -> Done {
        loop {
            let mut need = self.queue.is_empty();
            if !need && !self.ended {
                self.drop_stale_keys()?;
                need = self.keys.iter().any(|key| key.possible && key.number == self.taken);
            }
            if !need || self.ended && !self.queue.is_empty() {
                return Ok(());
            }
            self.fetch()?;
        }
    }

    // Characters.

    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.mark.index + ahead).copied().unwrap_or(0)
    }

    pub(super) fn at_end(&self) -> bool {
        self.mark.index >= self.bytes.len()
    }

    /// Width of the line break at a distance, 0 if there is none.
    pub(super) fn break_width(&self, ahead: usize) -> usize {
        match self.bytes.get(self.mark.index + ahead..).unwrap_or(&[]) {
            [b'\r', b'\n', ..] => 2,
            [b'\n' | b'\r', ..] => 1,
            [0xC2, 0x85, ..] => 2,
            [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
            _ => 0,
        }
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    /// A blank, a line break or the end.
    pub(super) fn is_blankz(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.mark.index + ahead >= self.bytes.len() || self.break_width(ahead) > 0
    }

    /// Moves over one byte; a column is a character.
    pub(super) fn skip(&mut self) {
        let leads = self.byte(0) & 0xC0 != 0x80;
        self.mark.index += 1;
        self.mark.column += usize::from(leads);
    }

    /// Moves over a line break.
    pub(super) fn skip_break(&mut self) {
        self.mark.index += self.break_width(0);
        self.mark.line += 1;
        self.mark.column = 0;
    }

    /// Takes a line break: the usual ones become a newline, the rare ones stay.
    pub(super) fn take_break(&mut self, out: &mut String) {
        let width = self.break_width(0);
        let text = &self.text[self.mark.index..self.mark.index + width];
        out.push_str(if width == 3 { text } else { "\n" });
        self.skip_break();
    }

    /// Takes one character.
    pub(super) fn take_char(&mut self, out: &mut String) {
        if let Some(c) = self.text[self.mark.index..].chars().next() {
            out.push(c);
            self.mark.index += c.len_utf8();
            self.mark.column += 1;
        }
    }

    /// Takes as many bytes as mean nothing special in any scalar.
    pub(super) fn take_run(&mut self, out: &mut String) {
        let harmless =
            |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b'=' | b'+' | b'$');
        let rest = &self.bytes[self.mark.index.min(self.bytes.len())..];
        let len = rest.iter().position(|b| !harmless(b)).unwrap_or(rest.len());
        out.push_str(&self.text[self.mark.index..self.mark.index + len]);
        self.mark.index += len;
        self.mark.column += len;
    }

    pub(super) fn at_document_indicator(&self) -> bool {
        self.mark.column == 0
            && (self.bytes[self.mark.index..].starts_with(b"---")
                || self.bytes[self.mark.index..].starts_with(b"..."))
            && self.is_blankz(3)
    }

    // Tokens.

    fn fetch(&mut self) -> Done {
        self.skip_to_token();
        self.drop_stale_keys()?;
        self.unroll(self.mark.column as i64);
        if self.at_end() {
            return self.fetch_stream_end();
        }
        if self.mark.column == 0 && self.byte(0) == b'%' {
            return self.fetch_directive();
        }
        if self.at_document_indicator() {
            let kind = if self.byte(0) == b'-' { Kind::DocumentStart } else { Kind::DocumentEnd };
            return self.fetch_document_indicator(kind);
        }
        match self.byte(0) {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blankz(1) => self.fetch_block_entry(),
            b'?' if self.flow > 0 || self.is_blankz(1) => self.fetch_key(),
            b':' if self.flow > 0 || self.is_blankz(1) => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(),
            b'!' => self.fetch_tag(),
            b'|' | b'>' if self.flow == 0 => self.fetch_block_scalar(),
            b'\'' | b'"' => self.fetch_quoted(),
            _ if self.starts_plain() => self.fetch_plain(),
            _ => Err(failure(
                "found character that cannot start any token",
                self.mark,
                Some(("while scanning for the next token", self.mark)),
            )),
        }
    }

    fn starts_plain(&self) -> bool {
        match self.byte(0) {
            b'-' => !self.is_blank(1),
            b'?' | b':' => self.flow == 0 && !self.is_blankz(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
            | b'%' | b'@' | b'`' => false,
            _ => !self.is_blankz(0),
        }
    }

    fn skip_to_token(&mut self) {
        loop {
            while self.byte(0) == b' ' || self.byte(0) == b'\t' && (self.flow > 0 || !self.key_allowed) {
                self.skip();
            }
            if self.byte(0) == b'#' {
                while !self.at_end() && self.break_width(0) == 0 {
                    self.skip();
                }
            }
            if self.break_width(0) == 0 {
                return;
            }
            self.skip_break();
            if self.flow == 0 {
                self.key_allowed = true;
            }
        }
    }

    pub(super) fn push(&mut self, kind: Kind, start: Mark) {
        self.queue.push_back(Token { kind, start, end: self.mark });
    }

    // Simple keys.

    fn drop_stale_keys(&mut self) -> Done {
        for i in 0..self.keys.len() {
            let key = self.keys[i];
            let stale = key.mark.line < self.mark.line || key.mark.index + SIMPLE_KEY_REACH < self.mark.index;
            if key.possible && stale {
                self.require(key)?;
                self.keys[i].possible = false;
            }
        }
        Ok(())
    }

    fn require(&self, key: SimpleKey) -> Done {
        if key.required {
            let context = Some(("while scanning a simple key", key.mark));
            return Err(failure("could not find expected ':'", self.mark, context));
        }
        Ok(())
    }

    pub(super) fn save_key(&mut self) -> Done {
        if !self.key_allowed {
            return Ok(());
        }
        let required = self.flow == 0 && self.indent == self.mark.column as i64;
        self.remove_key()?;
        let number = self.taken + self.queue.len();
        if let Some(key) = self.keys.last_mut() {
            *key = SimpleKey { possible: true, required, number, mark: self.mark };
        }
        Ok(())
    }

    pub(super) fn remove_key(&mut self) -> Done {
        let Some(key) = self.keys.last().copied() else { return Ok(()) };
        if key.possible {
            self.require(key)?;
        }
        if let Some(key) = self.keys.last_mut() {
            key.possible = false;
        }
        Ok(())
    }

    // Indentation.

    /// Opens a block collection if the column is deeper; `number` is the token before which it opens.
    fn roll(&mut self, column: i64, number: Option<usize>, kind: Kind, mark: Mark) {
        if self.flow > 0 || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let token = Token { kind, start: mark, end: mark };
        match number {
            Some(number) => self.queue.insert(number - self.taken, token),
            None => self.queue.push_back(token),
        }
    }

    pub(super) fn unroll(&mut self, column: i64) {
        while self.flow == 0 && self.indent > column {
            self.push(Kind::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    // One fetch per kind of token.

    fn fetch_stream_end(&mut self) -> Done {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
        self.unroll(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.ended = true;
        self.push(Kind::StreamEnd, self.mark);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: Kind) -> Done {
        self.unroll(-1);
        self.remove_key()?;
        self.key_allowed = false;
        let start = self.mark;
        for _ in 0..3 {
            self.skip();
        }
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Done {
        self.save_key()?;
        if self.flow >= self.max_flow {
            return Err(failure("recursion limit exceeded", self.mark, None));
        }
        self.keys.push(SimpleKey::default());
        self.flow += 1;
        self.key_allowed = true;
        let start = self.mark;
        self.skip();
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Done {
        self.remove_key()?;
        if self.flow > 0 {
            self.flow -= 1;
            self.keys.pop();
        }
        self.key_allowed = false;
        let start = self.mark;
        self.skip();
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Done {
        self.remove_key()?;
        self.key_allowed = true;
        let start = self.mark;
        self.skip();
        self.push(Kind::FlowEntry, start);
        Ok(())
    }

    fn not_here(&self, what: &str) -> Done {
        Err(failure(&format!("{what} are not allowed in this context"), self.mark, None))
    }

    fn fetch_block_entry(&mut self) -> Done {
        if self.flow == 0 {
            if !self.key_allowed {
                return self.not_here("block sequence entries");
            }
            self.roll(self.mark.column as i64, None, Kind::BlockSequenceStart, self.mark);
        }
        self.remove_key()?;
        self.key_allowed = true;
        let start = self.mark;
        self.skip();
        self.push(Kind::BlockEntry, start);
        Ok(())
    }

    fn fetch_key(&mut self) -> Done {
        if self.flow == 0 {
            if !self.key_allowed {
                return self.not_here("mapping keys");
            }
            self.roll(self.mark.column as i64, None, Kind::BlockMappingStart, self.mark);
        }
        self.remove_key()?;
        self.key_allowed = self.flow == 0;
        let start = self.mark;
        self.skip();
        self.push(Kind::Key, start);
        Ok(())
    }

    fn fetch_value(&mut self) -> Done {
        let key = self.keys.last().copied().unwrap_or_default();
        if key.possible {
            let token = Token { kind: Kind::Key, start: key.mark, end: key.mark };
            self.queue.insert(key.number - self.taken, token);
            self.roll(key.mark.column as i64, Some(key.number), Kind::BlockMappingStart, key.mark);
            if let Some(key) = self.keys.last_mut() {
                key.possible = false;
            }
            self.key_allowed = false;
        } else {
            if self.flow == 0 {
                if !self.key_allowed {
                    return self.not_here("mapping values");
                }
                self.roll(self.mark.column as i64, None, Kind::BlockMappingStart, self.mark);
            }
            self.key_allowed = self.flow == 0;
        }
        let start = self.mark;
        self.skip();
        self.push(Kind::Value, start);
        Ok(())
    }

    fn fetch_block_scalar(&mut self) -> Done {
        self.remove_key()?;
        self.key_allowed = true;
        let start = self.mark;
        let text = self.block_scalar()?;
        self.push(Kind::Scalar(text, false), start);
        Ok(())
    }

    fn fetch_quoted(&mut self) -> Done {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let text = self.quoted_scalar()?;
        self.push(Kind::Scalar(text, false), start);
        Ok(())
    }

    fn fetch_plain(&mut self) -> Done {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let (text, end) = self.plain_scalar()?;
        self.queue.push_back(Token { kind: Kind::Scalar(text, true), start, end });
        Ok(())
    }
}

fn is_readable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
}
