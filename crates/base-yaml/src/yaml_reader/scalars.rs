//! Scalars: plain, quoted, block.

use super::escape::escaped;
use super::scanner::Scanner;
use super::token::{Mark, failure};
use crate::node::YamlError;

/// Line breaks and blanks between two words of a scalar that may span lines.
#[derive(Default)]
struct Gap {
    blanks: String,
    first_break: String,
    more_breaks: String,
    broken: bool,
}

impl Gap {
    /// Appends what the gap stands for: blanks on one line, a space for one line break, breaks for more.
    fn fold_into(&mut self, out: &mut String) {
        if self.broken {
            match (self.first_break.as_str(), self.more_breaks.is_empty()) {
                ("\n", true) => out.push(' '),
                ("\n", false) => out.push_str(&self.more_breaks),
                (rare, _) => {
                    out.push_str(rare);
                    out.push_str(&self.more_breaks);
                }
            }
        } else {
            out.push_str(&self.blanks);
        }
        *self = Gap::default();
    }
}

impl Scanner<'_> {
    /// Takes one line break into a gap.
    fn gap_break(&mut self, gap: &mut Gap) {
        if gap.broken {
            self.take_break(&mut gap.more_breaks);
        } else {
            gap.blanks.clear();
            self.take_break(&mut gap.first_break);
            gap.broken = true;
        }
    }

    /// Scans a plain scalar; returns its text and where it ends.
    pub(super) fn plain_scalar(&mut self) -> Result<(String, Mark), YamlError> {
        let start = self.mark;
        let mut end = self.mark;
        let indent = self.indent + 1;
        let mut out = String::new();
        let mut gap = Gap::default();
        let mut broken = false;
        loop {
            if self.at_document_indicator() || self.byte(0) == b'#' {
                break;
            }
            while !self.is_blankz(0) {
                if self.plain_ends(start)? {
                    break;
                }
                gap.fold_into(&mut out);
                broken = false;
                self.take_char(&mut out);
                self.take_run(&mut out);
                end = self.mark;
            }
            if !self.is_blank(0) && self.break_width(0) == 0 {
                break;
            }
            while self.is_blank(0) || self.break_width(0) > 0 {
                if self.is_blank(0) {
                    if gap.broken && (self.mark.column as i64) < indent && self.byte(0) == b'\t' {
                        let context = Some(("while scanning a plain scalar", start));
                        return Err(failure(
                            "found a tab character that violates indentation",
                            self.mark,
                            context,
                        ));
                    }
                    if gap.broken {
                        self.skip();
                    } else {
                        self.take_char(&mut gap.blanks);
                    }
                } else {
                    self.gap_break(&mut gap);
                    broken = true;
                }
            }
            if self.flow == 0 && (self.mark.column as i64) < indent {
                break;
            }
        }
        if broken {
            self.key_allowed = true;
        }
        Ok((out, end))
    }

    /// Returns whether the plain scalar ends before the current character.
    fn plain_ends(&self, start: Mark) -> Result<bool, YamlError> {
        let is_flow = |b: u8| matches!(b, b',' | b'[' | b']' | b'{' | b'}');
        let colon = self.byte(0) == b':';
        if self.flow > 0 && colon && (is_flow(self.byte(1)) || self.byte(1) == b'?') {
            let context = Some(("while scanning a plain scalar", start));
            return Err(failure("found unexpected ':'", self.mark, context));
        }
        Ok(colon && self.is_blankz(1) || self.flow > 0 && is_flow(self.byte(0)))
    }

    /// Scans a quoted scalar.
    pub(super) fn quoted_scalar(&mut self) -> Result<String, YamlError> {
        let start = self.mark;
        let context = Some(("while scanning a quoted scalar", start));
        let single = self.byte(0) == b'\'';
        self.skip();
        let mut out = String::new();
        let mut gap = Gap::default();
        loop {
            if self.at_document_indicator() {
                return Err(failure("found unexpected document indicator", self.mark, context));
            }
            if self.at_end() {
                return Err(failure("found unexpected end of stream", self.mark, context));
            }
            gap.fold_into(&mut out);
            let mut escaped_break = false;
            while !self.is_blankz(0) {
                match (self.byte(0), single) {
                    (b'\'', true) if self.byte(1) == b'\'' => {
                        out.push('\'');
                        self.skip();
                        self.skip();
                    }
                    (b'\'', true) | (b'"', false) => break,
                    (b'\\', false) if self.break_width(1) > 0 => {
                        self.skip();
                        self.skip_break();
                        escaped_break = true;
                        break;
                    }
                    (b'\\', false) => escaped(self, &mut out, start)?,
                    _ => {
                        self.take_char(&mut out);
                        self.take_run(&mut out);
                    }
                }
            }
            if self.byte(0) == if single { b'\'' } else { b'"' } {
                break;
            }
            self.quoted_gap(&mut gap, escaped_break);
        }
        self.skip();
        Ok(out)
    }

    fn quoted_gap(&mut self, gap: &mut Gap, escaped_break: bool) {
        if escaped_break {
            // The break is gone already, and with it the indentation of the next line.
            gap.broken = true;
        }
        while self.is_blank(0) || self.break_width(0) > 0 {
            if self.break_width(0) > 0 {
                self.gap_break(gap);
            } else if gap.broken {
                self.skip();
            } else {
                self.take_char(&mut gap.blanks);
            }
        }
    }

    /// Scans a literal or folded block scalar.
    pub(super) fn block_scalar(&mut self) -> Result<String, YamlError> {
        let start = self.mark;
        let literal = self.byte(0) == b'|';
        self.skip();
        let (chomp, increment) = self.block_header(start)?;
        let base = self.indent.max(0) as usize;
        let mut indent = if increment > 0 { base + increment } else { 0 };
        let mut out = String::new();
        let (mut leading, mut trailing) = (String::new(), String::new());
        let mut after_blank = false;
        self.block_breaks(&mut indent, increment == 0, &mut trailing, start)?;
        while self.mark.column == indent && !self.at_end() {
            let blank_first = self.is_blank(0);
            if !literal && leading == "\n" && !after_blank && !blank_first {
                if trailing.is_empty() {
                    out.push(' ');
                }
            } else {
                out.push_str(&leading);
            }
            leading.clear();
            out.push_str(&trailing);
            trailing.clear();
            after_blank = blank_first;
            while !self.at_end() && self.break_width(0) == 0 {
                self.take_char(&mut out);
                self.take_run(&mut out);
            }
            if self.break_width(0) > 0 {
                self.take_break(&mut leading);
            }
            self.block_breaks(&mut indent, false, &mut trailing, start)?;
        }
        if chomp != Some(b'-') {
            out.push_str(&leading);
        }
        if chomp == Some(b'+') {
            out.push_str(&trailing);
        }
        Ok(out)
    }

    /// Reads `+`, `-`, a digit and a comment behind `|` or `>`.
    fn block_header(&mut self, start: Mark) -> Result<(Option<u8>, usize), YamlError> {
        let context = Some(("while scanning a block scalar", start));
        let (mut chomp, mut increment) = (None, 0);
        for _ in 0..2 {
            match self.byte(0) {
                b @ (b'+' | b'-') if chomp.is_none() => chomp = Some(b),
                b'0' => {
                    return Err(failure("found an indentation indicator equal to 0", self.mark, context));
                }
                b @ b'1'..=b'9' if increment == 0 => increment = usize::from(b - b'0'),
                _ => break,
            }
            self.skip();
        }
        while self.is_blank(0) {
            self.skip();
        }
        if self.byte(0) == b'#' {
            while !self.at_end() && self.break_width(0) == 0 {
                self.skip();
            }
        }
        if !self.at_end() {
            if self.break_width(0) == 0 {
                return Err(failure("did not find expected comment or line break", self.mark, context));
            }
            self.skip_break();
        }
        Ok((chomp, increment))
    }

    /// Takes empty lines and indentation; with `detect` the first text line decides how deep the block is.
    fn block_breaks(
        &mut self,
        indent: &mut usize,
        detect: bool,
        breaks: &mut String,
        start: Mark,
    ) -> Result<(), YamlError> {
        let mut deepest = 0;
        loop {
            while (detect || self.mark.column < *indent) && self.byte(0) == b' ' {
                self.skip();
            }
            deepest = deepest.max(self.mark.column);
            if (detect || self.mark.column < *indent) && self.byte(0) == b'\t' {
                let context = Some(("while scanning a block scalar", start));
                let problem = "found a tab character where an indentation space is expected";
                return Err(failure(problem, self.mark, context));
            }
            if self.break_width(0) == 0 {
                break;
            }
            self.take_break(breaks);
        }
        if detect {
            *indent = deepest.max((self.indent + 1).max(1) as usize);
        }
        Ok(())
    }
}
