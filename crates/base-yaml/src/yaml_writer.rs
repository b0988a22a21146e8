//! Block YAML, byte for byte as the reference writes it.
//!
//! Two-space maps, sequences not indented under their key, compact nesting (`- - 1`, `- a: 1`), empty collections
//! inline. A collection is not begun before its first entry is known, so that empty ones can be inline.

use crate::Sink;
use crate::number::{lossy_float, push_float, push_int};
use crate::scalar::{is_multiline, push_line, push_scalar, push_usual};

/// Longer keys stand behind `? `, as do keys with line breaks.
const SIMPLE_KEY_BYTES: usize = 128;

/// What was written last, which decides how the next node begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lead {
    /// Nothing: start of the document.
    Start,
    /// `key:`
    Key,
    /// `-`, or the `:` of a complex key: what follows stands on the same line.
    Mark,
}

#[derive(Debug)]
struct Frame {
    list: bool,
    empty: bool,
    /// Column of the entries.
    indent: usize,
    /// How the collection itself begins.
    lead: Lead,
}

/// Writes one YAML document.
#[derive(Debug)]
pub struct YamlWriter {
    out: String,
    frames: Vec<Frame>,
    lead: Lead,
}

impl Default for YamlWriter {
    fn default() -> Self {
        YamlWriter::new()
    }
}

impl YamlWriter {
    /// Makes a writer.
    pub fn new() -> Self {
        YamlWriter { out: String::new(), frames: Vec::new(), lead: Lead::Start }
    }

    /// Returns the document with its final newline (`yaml.encode`).
    pub fn into_document(mut self) -> String {
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out
    }

    /// Returns the document without its final newline; a closing `|+` block keeps the newlines that belong to its text.
    pub fn into_string(self) -> String {
        let mut out = self.into_document();
        out.pop();
        out
    }

    /// Column of continuation lines of a scalar in the current place.
    fn scalar_indent(&self) -> usize {
        self.frames.last().map_or(2, |f| f.indent + 2)
    }

    /// Begins a value: in a list this writes the dash, and whoever is waiting for its first entry is begun.
    fn begin_node(&mut self) {
        if let Some(top) = self.frames.last_mut()
            && top.list
        {
            Self::begin_entry(&mut self.out, top);
            self.out.push('-');
            self.lead = Lead::Mark;
        }
    }

    /// Moves to where the next entry of a collection stands.
    fn begin_entry(out: &mut String, frame: &mut Frame) {
        match (frame.empty, frame.lead) {
            (true, Lead::Start) => {}
            (true, Lead::Mark) => out.push(' '),
            _ => push_line(out, frame.indent),
        }
        frame.empty = false;
    }

    fn begin_scalar(&mut self) {
        self.begin_node();
        if self.lead != Lead::Start {
            self.out.push(' ');
        }
    }

    fn open(&mut self, list: bool) {
        self.begin_node();
        let indent = match (self.frames.last(), self.lead) {
            (None, _) => 0,
            (Some(parent), Lead::Key) if list => parent.indent,
            (Some(parent), _) => parent.indent + 2,
        };
        self.frames.push(Frame { list, empty: true, indent, lead: self.lead });
    }

    fn close(&mut self, empty: &str) {
        if let Some(frame) = self.frames.pop()
            && frame.empty
        {
            if frame.lead != Lead::Start {
                self.out.push(' ');
            }
            self.out.push_str(empty);
        }
    }
}

impl Sink for YamlWriter {
    fn null(&mut self) {
        self.begin_scalar();
        self.out.push_str("null");
    }

    fn bool(&mut self, b: bool) {
        self.begin_scalar();
        self.out.push_str(if b { "true" } else { "false" });
    }

    fn int(&mut self, i: i64) {
        self.begin_scalar();
        push_int(&mut self.out, i);
    }

    fn float(&mut self, f: f64) {
        self.begin_scalar();
        push_float(&mut self.out, lossy_float(f), false);
    }

    fn str(&mut self, text: &str) {
        self.begin_scalar();
        let indent = self.scalar_indent();
        push_scalar(&mut self.out, text, indent);
    }

    fn begin_list(&mut self) {
        self.open(true);
    }

    fn end_list(&mut self) {
        self.close("[]");
    }

    fn begin_map(&mut self) {
        self.open(false);
    }

    fn key(&mut self, key: &str) {
        let Some(frame) = self.frames.last_mut() else { return };
        Self::begin_entry(&mut self.out, frame);
        let indent = frame.indent;
        if key.len() <= SIMPLE_KEY_BYTES && push_usual(&mut self.out, key) {
            self.lead = Lead::Key;
        } else if key.len() > SIMPLE_KEY_BYTES || is_multiline(key) {
            self.out.push_str("? ");
            push_scalar(&mut self.out, key, indent + 2);
            push_line(&mut self.out, indent);
            self.lead = Lead::Mark;
        } else {
            push_scalar(&mut self.out, key, indent + 2);
            self.lead = Lead::Key;
        }
        self.out.push(':');
    }

    fn end_map(&mut self) {
        self.close("{}");
    }
}

/// Joins documents (without their final newlines) to a stream.
pub fn join_documents<T: AsRef<str>>(documents: &[T]) -> String {
    let size = documents.iter().map(|d| d.as_ref().len() + 5).sum();
    let mut out = String::with_capacity(size);
    for (i, document) in documents.iter().enumerate() {
        if i > 0 {
            out.push_str("\n---\n");
        }
        out.push_str(document.as_ref());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(body: impl FnOnce(&mut YamlWriter)) -> String {
        let mut w = YamlWriter::new();
        body(&mut w);
        w.into_string()
    }

    #[test]
    fn lists_in_lists_are_compact_and_empty_ones_inline() {
        let text = write(|w| {
            w.begin_map();
            w.key("r");
            w.begin_list();
            w.begin_list();
            w.int(1);
            w.begin_list();
            w.end_list();
            w.begin_map();
            w.end_map();
            w.end_list();
            w.begin_map();
            w.key("a");
            w.begin_list();
            w.null();
            w.end_list();
            w.key("b");
            w.begin_map();
            w.key("c");
            w.bool(true);
            w.end_map();
            w.end_map();
            w.end_list();
            w.end_map();
        });
        assert_eq!(text, "r:\n- - 1\n  - []\n  - {}\n- a:\n  - null\n  b:\n    c: true");
    }

    #[test]
    fn long_and_multiline_keys_are_complex() {
        let text = write(|w| {
            w.begin_map();
            w.key("a\nb\n");
            w.begin_list();
            w.int(1);
            w.int(2);
            w.end_list();
            w.key(&"k".repeat(129));
            w.begin_map();
            w.key("x");
            w.str("p\nq");
            w.end_map();
            w.end_map();
        });
        let long = "k".repeat(129);
        assert_eq!(text, format!("? |\n  a\n  b\n: - 1\n  - 2\n? {long}\n: x: |-\n    p\n    q"));
    }

    #[test]
    fn one_final_newline_is_taken_away() {
        assert_eq!(write(|w| w.str("x\ny")), "|-\n  x\n  y");
        assert_eq!(write(|w| w.str("x\ny\n")), "|\n  x\n  y");
        assert_eq!(write(|w| w.str("x\ny\n\n")), "|+\n  x\n  y\n");
        assert_eq!(join_documents(&["a: 1", "b: 2"]), "a: 1\n---\nb: 2");
    }
}
