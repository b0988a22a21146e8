//! How a string stands in block YAML: plain, quoted or as a literal block, and the bytes of each.

/// The form of a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// Returns true for the characters that end a line in the reference's emitter.
fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}' | '\u{10000}'..)
}

/// A text with a line break cannot be a simple key.
pub(crate) fn is_multiline(text: &str) -> bool {
    text.bytes().any(|b| b == b'\n' || b == b'\r' || b >= 0x80) && text.contains(is_break)
}

/// Returns true if YAML 1.1 readers would take the bare word for something else than a string, or if it starts like a
/// number: quoted without looking further.
fn is_ambiguous(text: &str) -> bool {
    /// By length.
    const WORDS: [&[&str]; 6] =
        [&[], &["y", "n", "~"], &["no", "on"], &["yes", "off", "nil", "nan"], &["true", "null"], &["false"]];
    match text.as_bytes().first() {
        None | Some(b'0'..=b'9' | b'+' | b'-' | b'.') => true,
        Some(b'y' | b'Y' | b'n' | b'N' | b'o' | b'O' | b't' | b'T' | b'f' | b'F' | b'~') => {
            let alike = WORDS.get(text.len()).copied().unwrap_or_default();
            alike.iter().any(|word| word.eq_ignore_ascii_case(text))
        }
        Some(_) => false,
    }
}

/// 0 for bytes that can stand anywhere in a plain scalar.
static HARM: [u8; 256] = {
    let mut table = [1; 256];
    let bytes = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-=+()";
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = 0;
        i += 1;
    }
    table
};

fn is_harmless(b: u8) -> bool {
    HARM[usize::from(b)] == 0
}

/// Whether a text consists of harmless bytes. All are looked at: nearly always all are harmless.
fn is_harmless_text(text: &str) -> bool {
    text.bytes().fold(0, |harm, b| harm | HARM[usize::from(b)]) == 0
}

/// Appends the usual text, whose bytes are all harmless: as it is, or between quotes. Returns false for any other.
pub(crate) fn push_usual(out: &mut String, text: &str) -> bool {
    if !is_harmless_text(text) {
        return false;
    }
    if is_ambiguous(text) {
        out.push('\'');
        out.push_str(text);
        out.push('\'');
    } else {
        out.push_str(text);
    }
    true
}

/// Returns true for the usual text: harmless bytes, and blanks and colons with a harmless byte after them.
fn is_simple(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(start) = bytes.iter().position(|b| !is_harmless(*b)) else { return true };
    bytes.iter().enumerate().skip(start).all(|(i, b)| {
        is_harmless(*b)
            || (*b == b':' || *b == b' ' && i > 0) && bytes.get(i + 1).is_some_and(|next| is_harmless(*next))
    })
}

/// Chooses the form of a string.
pub(crate) fn style_of(text: &str) -> Style {
    // The usual text needs no look at its structure.
    match (is_ambiguous(text), is_simple(text)) {
        (true, true) => Style::Single,
        (true, false) => analyse(text).quoted(text),
        (false, true) => Style::Plain,
        (false, false) => analyse(text).style(text),
    }
}

/// What is not possible for a text.
#[derive(Default)]
struct Analysis {
    no_plain: bool,
    no_single: bool,
    no_block: bool,
}

impl Analysis {
    fn style(&self, text: &str) -> Style {
        match self.no_plain || text.contains('\n') {
            true => self.quoted(text),
            false => Style::Plain,
        }
    }

    fn quoted(&self, text: &str) -> Style {
        if text.contains('\n') {
            return if self.no_block { Style::Double } else { Style::Literal };
        }
        if self.no_single { Style::Double } else { Style::Single }
    }
}

fn analyse(text: &str) -> Analysis {
    let mut a = Analysis::default();
    let (mut after_space, mut after_break, mut after_blank) = (false, false, true);
    let mut chars = text.chars().peekable();
    let mut first = true;
    while let Some(c) = chars.next() {
        let last = chars.peek().is_none();
        let before_blank = chars.peek().is_none_or(|&n| n == ' ' || n == '\t' || is_break(n));
        a.no_plain |= match c {
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => first,
            '#' => after_blank,
            '?' | '-' => first && before_blank,
            ':' => before_blank,
            _ => false,
        };
        if !is_printable(c) {
            (a.no_plain, a.no_single, a.no_block) = (true, true, true);
        }
        if c == ' ' {
            a.no_plain |= first || last;
            a.no_block |= last;
            if after_break {
                (a.no_plain, a.no_single) = (true, true);
            }
            (after_space, after_break) = (true, false);
        } else if is_break(c) {
            a.no_plain = true;
            // The reference writes a block that cannot be read back, or fails.
            a.no_block |= last && c != '\n';
            if after_space {
                (a.no_single, a.no_block) = (true, true);
            }
            (after_space, after_break) = (false, true);
        } else {
            (after_space, after_break) = (false, false);
        }
        after_blank = c == ' ' || c == '\t' || is_break(c);
        first = false;
    }
    a
}

fn push_spaces(out: &mut String, n: usize) {
    const SPACES: &str = "                                                                ";
    let mut left = n;
    while left > 0 {
        let step = left.min(SPACES.len());
        out.push_str(&SPACES[..step]);
        left -= step;
    }
}

/// Starts a new line with `indent` spaces.
pub(crate) fn push_line(out: &mut String, indent: usize) {
    const LINE: &str = "\n                                ";
    if out.as_bytes().last() == Some(&b'\n') {
        return push_spaces(out, indent);
    }
    match LINE.get(..=indent) {
        Some(line) => out.push_str(line),
        None => {
            out.push('\n');
            push_spaces(out, indent);
        }
    }
}

/// Appends a string; `indent` is the column of continuation lines.
pub(crate) fn push_scalar(out: &mut String, text: &str, indent: usize) {
    if push_usual(out, text) {
        return;
    }
    match style_of(text) {
        Style::Plain => out.push_str(text),
        Style::Single => push_single(out, text, indent),
        Style::Double => push_double(out, text),
        Style::Literal => push_literal(out, text, indent),
    }
}

fn push_single(out: &mut String, text: &str, indent: usize) {
    out.push('\'');
    let mut after_break = false;
    for c in text.chars() {
        let broken = is_break(c);
        if after_break && !broken {
            push_spaces(out, indent);
        }
        if c == '\'' {
            out.push('\'');
        }
        out.push(c);
        after_break = broken;
    }
    if after_break {
        push_spaces(out, indent);
    }
    out.push('\'');
}

fn push_double(out: &mut String, text: &str) {
    use std::fmt::Write;
    out.push('"');
    for c in text.chars() {
        if is_printable(c) && !is_break(c) && c != '"' && c != '\\' {
            out.push(c);
            continue;
        }
        out.push('\\');
        let short = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0B' => 'v',
            '\x0C' => 'f',
            '\r' => 'r',
            '\x1B' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => '\0',
        };
        let code = c as u32;
        // Writing to a String cannot fail.
        let _ = match (short, code) {
            ('\0', 0..=0xFF) => write!(out, "x{code:02X}"),
            ('\0', 0x100..=0xFFFF) => write!(out, "u{code:04X}"),
            ('\0', _) => write!(out, "U{code:08X}"),
            (short, _) => out.write_char(short),
        };
    }
    out.push('"');
}

fn push_literal(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    if text.starts_with(|c| c == ' ' || is_break(c)) {
        out.push('2');
    }
    let mut from_end = text.chars().rev();
    match (from_end.next().is_some_and(is_break), from_end.next().is_none_or(is_break)) {
        (false, _) => out.push('-'),
        (true, true) => out.push('+'),
        (true, false) => {}
    }
    out.push('\n');
    let mut after_break = true;
    for c in text.chars() {
        let broken = is_break(c);
        if after_break && !broken {
            push_spaces(out, indent);
        }
        out.push(c);
        after_break = broken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_agrees_with_the_analysis() {
        let letters = ['a', 'Z', '1', '-', ':', ' ', '#', '/', '(', '\'', '~'];
        for len in 0..6_u32 {
            for n in 0..letters.len().pow(len) {
                let text: String =
                    (0..len).map(|i| letters[n / letters.len().pow(i) % letters.len()]).collect();
                let long = match is_ambiguous(&text) {
                    true => analyse(&text).quoted(&text),
                    false => analyse(&text).style(&text),
                };
                assert_eq!(style_of(&text), long, "{text:?}");
                let (mut usual, mut quoted) = (String::new(), String::new());
                push_single(&mut quoted, &text, 0);
                if push_usual(&mut usual, &text) {
                    assert_eq!(usual, if long == Style::Plain { text } else { quoted });
                }
            }
        }
    }

    #[test]
    fn styles_of_strings() {
        let plain =
            ["a,b", "a#b", "http://x", ":a", "?a", "=", "<<", "inf", "none", "v1.2", "::1", "a]", "~a", "é"];
        let single =
            ["", "10.0.0.1", "-x", "100m", ".a", "nULL", "Y", "oN", " a", "a ", "a:", "a: b", "a #", "? a"];
        let double = [
            "a\tb",
            "\u{7f}",
            "\u{feff}",
            "a\u{85}",
            "x \ny",
            "a\nb ",
            "\r\n",
            "a\u{2028} b",
            "a\nb\u{2028}",
        ];
        let literal = ["a\nb", "\n", " x\ny", "x\n y", "1\n"];
        let cases = [
            (Style::Plain, &plain[..]),
            (Style::Single, &single),
            (Style::Double, &double),
            (Style::Literal, &literal),
        ];
        for (style, texts) in cases {
            for text in texts {
                assert_eq!(style_of(text), style, "{text:?}");
            }
        }
    }
}
