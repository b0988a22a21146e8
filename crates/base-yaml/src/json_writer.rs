//! JSON text: one line with `, ` and `: `, or indented.

use crate::Sink;
use crate::number::{push_float, push_int};

/// Writes one JSON value.
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: String,
    indent: usize,
    /// One flag per open collection: nothing written into it yet.
    empty: Vec<bool>,
    after_key: bool,
}

impl JsonWriter {
    /// Makes a writer of one line.
    pub fn new() -> Self {
        JsonWriter::default()
    }

    /// Makes a writer that puts each entry on a line of its own; 0 is one line.
    pub fn indented(indent: usize) -> Self {
        JsonWriter { indent, ..JsonWriter::default() }
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.out
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.indent * self.empty.len()));
    }

    /// Writes what stands before a value or key: nothing after a key, else separator and line.
    fn begin(&mut self) {
        if std::mem::take(&mut self.after_key) {
            return;
        }
        let Some(empty) = self.empty.last_mut() else { return };
        let first = std::mem::take(empty);
        if !first {
            self.out.push_str(if self.indent > 0 { "," } else { ", " });
        }
        if self.indent > 0 {
            self.new_line();
        }
    }

    fn open(&mut self, bracket: char) {
        self.begin();
        self.out.push(bracket);
        self.empty.push(true);
    }

    fn close(&mut self, bracket: char) {
        if self.empty.pop() == Some(false) && self.indent > 0 {
            self.new_line();
        }
        self.out.push(bracket);
    }
}

/// Appends a JSON string.
pub fn push_json_string(out: &mut String, text: &str) {
    use std::fmt::Write;
    out.push('"');
    let mut from = 0;
    for (at, b) in text.bytes().enumerate() {
        let short = match b {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0C => "\\f",
            0..=0x1F => "",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        from = at + 1;
        if short.is_empty() {
            let _ = write!(out, "\\u{b:04x}");
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

impl Sink for JsonWriter {
    fn null(&mut self) {
        self.begin();
        self.out.push_str("null");
    }

    fn bool(&mut self, b: bool) {
        self.begin();
        self.out.push_str(if b { "true" } else { "false" });
    }

    fn int(&mut self, i: i64) {
        self.begin();
        push_int(&mut self.out, i);
    }

    fn float(&mut self, f: f64) {
        self.begin();
        push_float(&mut self.out, f, true);
    }

    fn str(&mut self, text: &str) {
        self.begin();
        push_json_string(&mut self.out, text);
    }

    fn begin_list(&mut self) {
        self.open('[');
    }

    fn end_list(&mut self) {
        self.close(']');
    }

    fn begin_map(&mut self) {
        self.open('{');
    }

    fn key(&mut self, key: &str) {
        self.begin();
        push_json_string(&mut self.out, key);
        self.out.push_str(": ");
        self.after_key = true;
    }

    fn end_map(&mut self) {
        self.close('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(w: &mut JsonWriter) {
        w.begin_map();
        w.key("a");
        w.begin_list();
        w.int(1);
        w.float(1e16);
        w.begin_map();
        w.end_map();
        w.end_list();
        w.key("b\n");
        w.str("\u{1}\u{7f}é\"");
        w.end_map();
    }

    #[test]
    fn one_line_and_indented() {
        let mut one = JsonWriter::new();
        sample(&mut one);
        assert_eq!(one.into_string(), "{\"a\": [1, 1e+16, {}], \"b\\n\": \"\\u0001\u{7f}é\\\"\"}");
        let mut two = JsonWriter::indented(2);
        sample(&mut two);
        assert_eq!(
            two.into_string(),
            "{\n  \"a\": [\n    1,\n    1e+16,\n    {}\n  ],\n  \"b\\n\": \"\\u0001\u{7f}é\\\"\"\n}"
        );
    }
}
