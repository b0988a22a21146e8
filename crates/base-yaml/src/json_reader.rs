//! JSON text to nodes. Messages are those of the reference's parser; numbers go through its non-exact reading.

use crate::node::{Data, Limits, MapBuilder, MapEntry, Node, Span, YamlError};
use crate::number::lossy_parse;

/// Reads one JSON value.
pub fn parse_json(text: &str, limits: &Limits) -> Result<Node, YamlError> {
    let mut reader =
        Reader { text, bytes: text.as_bytes(), pos: 0, line: 1, line_start: 0, seen: (0, 0), left: *limits };
    let node = reader.value()?;
    reader.blanks();
    if reader.pos < reader.bytes.len() {
        return Err(reader.fail_here("trailing characters"));
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    line: u32,
    line_start: usize,
    /// A byte of the line and its column, from which later columns are counted: a text of one line stays linear.
    seen: (usize, u32),
    /// What is left of the limits.
    left: Limits,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn blanks(&mut self) {
        while let Some(b) = self.peek() {
            match b {
                b' ' | b'\t' | b'\r' => self.pos += 1,
                b'\n' => {
                    self.pos += 1;
                    self.line += 1;
                    self.line_start = self.pos;
                }
                _ => break,
            }
        }
    }

    fn fail(&self, what: &str, at: usize) -> YamlError {
        let col = (at - self.line_start) as u32;
        let message = format!("{what} at line {} column {col}", self.line);
        YamlError { line: self.line, col, message, behind_document: false }
    }

    /// An error at the byte that comes next; at the end of the text after what was read.
    fn fail_here(&self, what: &str) -> YamlError {
        if self.peek() == Some(b'\n') {
            // The reference counts the newline as read.
            let line = self.line + 1;
            let message = format!("{what} at line {line} column 0");
            return YamlError { line, col: 0, message, behind_document: false };
        }
        self.fail(what, (self.pos + 1).min(self.bytes.len()))
    }

    /// An error about what was just read.
    fn fail_read(&self, what: &str) -> YamlError {
        self.fail(what, self.pos)
    }

    /// Returns the place of what comes next; its end is not known yet.
    fn span_from_here(&mut self) -> Span {
        let (from, column) = if self.seen.0 < self.line_start { (self.line_start, 0) } else { self.seen };
        let passed = self.bytes[from..self.pos].iter().filter(|b| **b & 0xC0 != 0x80).count() as u32;
        self.seen = (self.pos, column + passed);
        Span { start: self.pos, end: self.pos, line: self.line, column: self.seen.1 + 1 }
    }

    fn value(&mut self) -> Result<Node, YamlError> {
        self.blanks();
        let span = self.span_from_here();
        if self.left.nodes == 0 {
            return Err(self.fail_here("too many values"));
        }
        self.left.nodes -= 1;
        let value = match self.peek() {
            None => return Err(self.fail_read("EOF while parsing a value")),
            Some(b'n') => self.word("null", Data::Null)?,
            Some(b't') => self.word("true", Data::Bool(true))?,
            Some(b'f') => self.word("false", Data::Bool(false))?,
            Some(b'"') => Data::Str(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'{') => self.nested(Self::map)?,
            Some(_) => return Err(self.fail_here("expected value")),
        };
        Ok(Node { value, span: Span { end: self.pos, ..span } })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Data, YamlError>) -> Result<Data, YamlError> {
        self.pos += 1;
        if self.left.depth == 0 {
            return Err(self.fail_read("recursion limit exceeded"));
        }
        self.left.depth -= 1;
        let data = read(self)?;
        self.left.depth += 1;
        Ok(data)
    }

    fn word(&mut self, word: &str, data: Data) -> Result<Data, YamlError> {
        for expected in word.bytes() {
            match self.peek() {
                None => return Err(self.fail_read("EOF while parsing a value")),
                Some(b) => {
                    self.pos += 1;
                    if b != expected {
                        return Err(self.fail_read("expected ident"));
                    }
                }
            }
        }
        Ok(data)
    }

    fn list(&mut self) -> Result<Data, YamlError> {
        let mut items = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None => return Err(self.fail_read("EOF while parsing a list")),
                Some(b']') => {
                    self.pos += 1;
                    return Ok(Data::List(items));
                }
                Some(b',') if !items.is_empty() => {
                    self.pos += 1;
                    self.blanks();
                    if self.peek() == Some(b']') {
                        return Err(self.fail_here("trailing comma"));
                    }
                }
                Some(_) if items.is_empty() => {}
                Some(_) => return Err(self.fail_here("expected `,` or `]`")),
            }
            items.push(self.value()?);
        }
    }

    fn map(&mut self) -> Result<Data, YamlError> {
        let mut map = MapBuilder::default();
        let mut first = true;
        loop {
            self.blanks();
            match self.peek() {
                None => return Err(self.fail_read("EOF while parsing an object")),
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(map.finish());
                }
                Some(b',') if !first => {
                    self.pos += 1;
                    self.blanks();
                    if self.peek() == Some(b'}') {
                        return Err(self.fail_here("trailing comma"));
                    }
                }
                Some(_) if first => {}
                Some(_) => return Err(self.fail_here("expected `,` or `}`")),
            }
            first = false;
            self.insert(&mut map)?;
        }
    }

    fn insert(&mut self, map: &mut MapBuilder) -> Result<(), YamlError> {
        let entry = self.entry()?;
        let Span { start, end, line, column } = entry.key_span;
        match map.insert(entry) {
            Some(first) if self.left.strict_keys => {
                let key = &self.text[start..end];
                let message = format!("the key {key} stands twice: first in line {}", first.line);
                Err(YamlError { line, col: column, message, behind_document: false })
            }
            _ => Ok(()),
        }
    }

    fn entry(&mut self) -> Result<MapEntry, YamlError> {
        match self.peek() {
            Some(b'"') => {}
            None => return Err(self.fail_read("EOF while parsing a value")),
            Some(_) => return Err(self.fail_here("key must be a string")),
        }
        let span = self.span_from_here();
        let key = self.string()?;
        let key_span = Span { end: self.pos, ..span };
        self.blanks();
        match self.peek() {
            Some(b':') => self.pos += 1,
            None => return Err(self.fail_read("EOF while parsing an object")),
            Some(_) => return Err(self.fail_here("expected `:`")),
        }
        Ok(MapEntry { key, key_span, value: self.value()? })
    }

    fn number(&mut self) -> Result<Data, YamlError> {
        let start = self.pos;
        let negative = self.peek() == Some(b'-');
        self.pos += usize::from(negative);
        match self.peek() {
            None => return Err(self.fail_read("EOF while parsing a value")),
            Some(b'0') => {
                self.pos += 1;
                if self.peek().is_some_and(|b| b.is_ascii_digit()) {
                    return Err(self.fail_here("invalid number"));
                }
            }
            Some(b'1'..=b'9') => self.digits(),
            Some(_) => return Err(self.fail_here("invalid number")),
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            self.pos += 1;
            whole = false;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.pos += 1;
            whole = false;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            self.some_digits()?;
        }
        let text = &self.text[start..self.pos];
        if whole
            && text != "-0"
            && let Ok(i) = text.parse()
        {
            return Ok(Data::Int(i));
        }
        lossy_parse(text).map(Data::Float).ok_or_else(|| self.fail_read("number out of range"))
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.pos += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), YamlError> {
        match self.peek() {
            Some(b'0'..=b'9') => {
                self.digits();
                Ok(())
            }
            None => Err(self.fail_read("EOF while parsing a value")),
            Some(_) => Err(self.fail_here("invalid number")),
        }
    }

    fn string(&mut self) -> Result<String, YamlError> {
        self.pos += 1;
        let mut out = String::new();
        let mut from = self.pos;
        loop {
            match self.peek() {
                None => return Err(self.fail_read("EOF while parsing a string")),
                Some(b'"') => {
                    out.push_str(&self.text[from..self.pos]);
                    self.pos += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[from..self.pos]);
                    self.pos += 1;
                    self.escape(&mut out)?;
                    from = self.pos;
                }
                Some(0..=0x1F) => {
                    return Err(
                        self.fail_here("control character (\\u0000-\\u001F) found while parsing a string")
                    );
                }
                Some(_) => self.pos += 1,
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), YamlError> {
        let Some(letter) = self.peek() else { return Err(self.fail_read("EOF while parsing a string")) };
        self.pos += 1;
        out.push(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\x08',
            b'f' => '\x0C',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(out),
            _ => return Err(self.fail_read("invalid escape")),
        });
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut String) -> Result<(), YamlError> {
        let first = self.hex4()?;
        let code = match first {
            0xD800..=0xDBFF => {
                if self.bytes.get(self.pos) != Some(&b'\\') || self.bytes.get(self.pos + 1) != Some(&b'u') {
                    let read = if self.bytes.get(self.pos) == Some(&b'\\') { 2 } else { 1 };
                    self.pos = (self.pos + read).min(self.bytes.len());
                    return Err(self.fail_read("unexpected end of hex escape"));
                }
                self.pos += 2;
                let second = self.hex4()?;
                if !(0xDC00..=0xDFFF).contains(&second) {
                    return Err(self.fail_read("lone leading surrogate in hex escape"));
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            0xDC00..=0xDFFF => return Err(self.fail_read("lone leading surrogate in hex escape")),
            other => other,
        };
        out.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, YamlError> {
        let Some(digits) = self.bytes.get(self.pos..self.pos + 4) else {
            self.pos = self.bytes.len();
            return Err(self.fail_read("EOF while parsing a string"));
        };
        let code = digits.iter().try_fold(0, |n, b| Some(n * 16 + char::from(*b).to_digit(16)?));
        self.pos += 4;
        code.ok_or_else(|| self.fail_read("invalid escape"))
    }
}
