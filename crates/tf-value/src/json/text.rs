//! JSON text to a tree and back. Numbers are kept as they are written.

use crate::{MAX_BYTES, MAX_DEPTH, ValueError};

/// A JSON tree. Members keep their order; of equal names the last one counts, as in most readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    /// The digits as they are written.
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn string(text: impl Into<String>) -> Self {
        Json::String(text.into())
    }

    /// Reads one JSON text.
    pub fn parse(bytes: &[u8]) -> Result<Self, ValueError> {
        if bytes.len() > MAX_BYTES {
            return Err(ValueError::new(format!("{} bytes; the limit is {MAX_BYTES}", bytes.len())));
        }
        let mut reader = Reader { bytes, at: 0 };
        let json = reader.value(0)?;
        reader.space();
        if reader.at < bytes.len() {
            return Err(reader.error("something follows the JSON text"));
        }
        Ok(json)
    }

    /// Returns a member of an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        members.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Json::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_object(&self) -> Option<&[(String, Json)]> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Without spaces.
    #[must_use]
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.push(None, &mut out);
        out
    }

    /// One member on a line, two spaces a level; no newline at the end.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.push(Some(0), &mut out);
        out
    }

    fn push(&self, level: Option<usize>, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
            Json::Number(digits) => out.push_str(digits),
            Json::String(text) => push_string(text, out),
            Json::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    separate(at, level, out);
                    item.push(level.map(|level| level + 1), out);
                }
                finish(items.is_empty(), level, out);
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    separate(at, level, out);
                    push_string(name, out);
                    out.push_str(if level.is_some() { ": " } else { ":" });
                    value.push(level.map(|level| level + 1), out);
                }
                finish(members.is_empty(), level, out);
                out.push('}');
            }
        }
    }
}

fn separate(at: usize, level: Option<usize>, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
    if let Some(level) = level {
        new_line(level + 1, out);
    }
}

fn finish(empty: bool, level: Option<usize>, out: &mut String) {
    if let Some(level) = level.filter(|_| !empty) {
        new_line(level, out);
    }
}

fn new_line(level: usize, out: &mut String) {
    out.push('\n');
    for _ in 0..level {
        out.push_str("  ");
    }
}

/// Writes a string between quotes; `<`, `>`, `&` and the two line separators are escaped, as states have them.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn error(&self, message: &str) -> ValueError {
        ValueError::new(format!("JSON, byte {}: {message}", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self, depth: usize) -> Result<Json, ValueError> {
        // A dynamic value takes two levels more than the value in it.
        if depth > 3 * MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
                .into_iter()
                .find(|(word, _)| self.word(word))
                .map(|(_, json)| json)
                .ok_or_else(|| self.error("a value is required")),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let there = self.bytes[self.at..].starts_with(word.as_bytes());
        self.at += if there { word.len() } else { 0 };
        there
    }

    fn array(&mut self, depth: usize) -> Result<Json, ValueError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.eat(b']') {
                return Ok(Json::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.error("`,` or `]` is required"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, ValueError> {
        self.at += 1;
        let mut members = Vec::new();
        self.space();
        if self.eat(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("a name is required"));
            }
            let name = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(self.error("`:` is required"));
            }
            members.push((name, self.value(depth + 1)?));
            self.space();
            if self.eat(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.eat(b',') {
                return Err(self.error("`,` or `}` is required"));
            }
        }
    }

    fn number(&mut self) -> Result<Json, ValueError> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(Json::Number(String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned()))
    }

    fn digits(&mut self) -> Result<(), ValueError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("a digit is required")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, ValueError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            let part = std::str::from_utf8(&self.bytes[start..self.at]);
            out.push_str(part.map_err(|_| self.error("a string is not UTF-8"))?);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let c = self.escape()?;
                    out.push(c);
                }
                Some(_) => return Err(self.error("a control character in a string")),
                None => return Err(self.error("a string does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ValueError> {
        let byte = self.peek().ok_or_else(|| self.error("a string does not end"))?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.error("there is no such escape")),
        })
    }

    /// Halves of pairs that stand alone become the replacement character, as in the reference.
    fn unicode(&mut self) -> Result<char, ValueError> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        if self.word("\\u") {
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, ValueError> {
        let digits =
            self.bytes.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.error("four hexadecimal digits are required"))?;
        self.at += 4;
        Ok(code)
    }
}
