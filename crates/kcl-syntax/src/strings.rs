//! String literals: parts of a token, escapes, dedent of long strings, and the pieces around placeholders.

use std::borrow::Cow;

/// A string token taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Literal<'a> {
    /// Text between the quotes.
    pub(crate) content: &'a str,
    /// Bytes before the content (prefix and quotes).
    pub(crate) lead: usize,
    /// Triple quotes.
    pub(crate) long: bool,
    /// `r` prefix.
    pub(crate) raw: bool,
}

/// Takes a string token apart; the closing quotes may be missing.
pub(crate) fn literal(token: &str) -> Literal<'_> {
    let raw = token.starts_with(['r', 'R']);
    let quoted = &token[usize::from(raw)..];
    let quote = quoted.chars().next().unwrap_or('"');
    let long = quoted.len() >= 3 && quoted.chars().take(3).all(|c| c == quote);
    let width = if long { 3 } else { 1 };
    let body = quoted.get(width..).unwrap_or("");
    let closing = if quote == '"' { ["\"", "\"\"\""] } else { ["'", "'''"] };
    let content = if ends_closed(body, quote, width) {
        body.strip_suffix(closing[usize::from(long)]).unwrap_or(body)
    } else {
        body
    };
    Literal { content, lead: usize::from(raw) + width, long, raw }
}

/// True if the closing quotes at the end are not hidden by a backslash.
fn ends_closed(body: &str, quote: char, width: usize) -> bool {
    let bytes = body.as_bytes();
    let Some(end) = bytes.len().checked_sub(width) else { return false };
    if !bytes[end..].iter().all(|b| char::from(*b) == quote) {
        return false;
    }
    // Only a run of backslashes directly before the quotes can hide them, and every second one is hidden itself.
    let run = bytes[..end].iter().rev().take_while(|b| **b == b'\\').count();
    run % 2 == 0
}

/// Returns the byte offset of the first broken escape.
pub(crate) fn broken_escape(content: &str) -> Option<usize> {
    let mut out = String::new();
    decode_into(content, &mut out).err()
}

/// Decodes escapes; broken ones vanish (the lexer has reported them).
fn decode(content: &str) -> Cow<'_, str> {
    if !content.contains('\\') {
        return Cow::Borrowed(content);
    }
    let mut out = String::with_capacity(content.len());
    match decode_into(content, &mut out) {
        Ok(()) => Cow::Owned(out),
        Err(_) => Cow::Borrowed(""),
    }
}

fn decode_into(content: &str, out: &mut String) -> Result<(), usize> {
    let mut rest = content;
    while let Some(i) = rest.find('\\') {
        out.push_str(&rest[..i]);
        let at = content.len() - rest.len() + i;
        let tail = &rest[i + 1..];
        let used = escape(tail, out).ok_or(at)?;
        rest = &tail[used..];
    }
    out.push_str(rest);
    Ok(())
}

/// Decodes what follows a backslash; returns the bytes used.
fn escape(tail: &str, out: &mut String) -> Option<usize> {
    let Some(c) = tail.chars().next() else {
        out.push('\\');
        return Some(0);
    };
    let simple = match c {
        '\\' | '\'' | '"' => c,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\n' => return Some(1),
        '0'..='7' => return Some(octal(tail, out)),
        'x' => return hex(tail, 2, out),
        'u' => return hex(tail, 4, out),
        'U' => return hex(tail, 8, out),
        'N' => return named(tail, out),
        other => {
            out.push('\\');
            out.push(other);
            return Some(other.len_utf8());
        }
    };
    out.push(simple);
    Some(c.len_utf8())
}

fn octal(tail: &str, out: &mut String) -> usize {
    let digits = tail.bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
    let code = u32::from_str_radix(&tail[..digits], 8).unwrap_or(0);
    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
    digits
}

fn hex(tail: &str, count: usize, out: &mut String) -> Option<usize> {
    let digits = tail.get(1..=count)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(digits, 16).ok()?;
    if code > 0x10_ffff {
        return None;
    }
    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
    Some(count + 1)
}

fn named(tail: &str, out: &mut String) -> Option<usize> {
    let name = tail.strip_prefix("N{")?;
    let end = name.find('}')?;
    out.push(unicode_names2::character(&name[..end])?);
    Some(end + 3)
}

/// How a long string is dedented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dedent {
    /// Bytes dropped from the front (an empty first line).
    pub(crate) skip: usize,
    /// Blanks removed from every line.
    pub(crate) width: usize,
}

/// Finds the common indentation of a long string's content.
pub(crate) fn dedent_of(content: &str) -> Dedent {
    let mut width = usize::MAX;
    let mut lines = content.split('\n').peekable();
    while let Some(line) = lines.next() {
        let blanks = line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let last = lines.peek().is_none();
        let blank = line.trim().is_empty();
        if !blank || (last && !line.is_empty()) {
            width = width.min(blanks);
        }
    }
    let skip = usize::from(content.starts_with('\n'));
    Dedent { skip, width: if width == usize::MAX { 0 } else { width } }
}

/// Removes the common indentation from a piece; `line_start` tells whether it begins at a line start.
pub(crate) fn dedent(piece: &str, width: usize, line_start: bool) -> Cow<'_, str> {
    if width == 0 {
        return Cow::Borrowed(piece);
    }
    let mut out = String::with_capacity(piece.len());
    for (i, line) in piece.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let strip = if i > 0 || line_start {
            line.bytes().take(width).take_while(|b| matches!(b, b' ' | b'\t')).count()
        } else {
            0
        };
        out.push_str(&line[strip..]);
    }
    Cow::Owned(out)
}

/// The decoded content, not dedented: how messages name a string.
pub(crate) fn text<'a>(lit: &Literal<'a>) -> Cow<'a, str> {
    plain(lit.content, lit.raw)
}

/// Decodes a piece of a string; line ends become `\n` first.
pub(crate) fn plain(content: &str, raw: bool) -> Cow<'_, str> {
    // One byte is found faster than two.
    if content.contains('\r') && content.contains("\r\n") {
        let unix = content.replace("\r\n", "\n");
        return Cow::Owned(if raw { unix } else { decode(&unix).into_owned() });
    }
    if raw { Cow::Borrowed(content) } else { decode(content) }
}

/// Reads the text of a docstring, which is given as it is written, with its quotes.
pub fn docstring(token: &str) -> Cow<'_, str> {
    plain(literal(token).content, false)
}

/// The value of a string without placeholders.
pub(crate) fn value<'a>(lit: &Literal<'a>) -> Cow<'a, str> {
    let decoded = text(lit);
    if !lit.long {
        return decoded;
    }
    let rule = dedent_of(&decoded);
    if rule.skip == 0 && rule.width == 0 {
        return decoded;
    }
    Cow::Owned(dedent(&decoded[rule.skip..], rule.width, true).into_owned())
}

/// A piece of a string with placeholders; ranges are offsets in the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    /// Plain text.
    Text(usize, usize),
    /// `\${..}`: plain text whose last backslash before `${` disappears; the range ends before `${`.
    Escaped(usize, usize),
    /// Range between the braces.
    Value(usize, usize),
    /// `${` without `}`: text to the end.
    Unclosed(usize, usize),
}

/// True if a content has a placeholder, or half of one.
pub(crate) fn has_placeholder(content: &str) -> bool {
    // One byte is found faster than two.
    content.contains('$') && content.contains("${")
}

/// Splits a content at its placeholders: `${` up to the first `}`.
pub(crate) fn pieces(content: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(i) = content[from..].find("${") {
        let at = from + i;
        let Some(len) = content[at..].find('}') else {
            out.push(Piece::Unclosed(from, content.len()));
            return out;
        };
        if at > 0 && content.as_bytes()[at - 1] == b'\\' {
            out.push(Piece::Escaped(from, at));
            out.push(Piece::Text(at, at + len + 1));
        } else {
            if at > from {
                out.push(Piece::Text(from, at));
            }
            out.push(Piece::Value(at + 2, at + len));
        }
        from = at + len + 1;
    }
    if from < content.len() {
        out.push(Piece::Text(from, content.len()));
    }
    out
}

/// Finds the first of three bytes. Most blocks of a text have none of them, and a block is compared as a whole.
pub(crate) fn find_any(bytes: &[u8], [a, b, c]: [u8; 3]) -> Option<usize> {
    const BLOCK: usize = 16;
    let is_wanted = |byte: u8| (byte == a) | (byte == b) | (byte == c);
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (number, block) in blocks.iter().enumerate() {
        let found = u128::from_le_bytes(block.map(|byte| if is_wanted(byte) { 0xff } else { 0 }));
        if found != 0 {
            return Some(number * BLOCK + found.trailing_zeros() as usize / 8);
        }
    }
    let from = blocks.len() * BLOCK;
    rest.iter().position(|byte| is_wanted(*byte)).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_three_bytes_is_found_wherever_it_stands() {
        for len in 1..70 {
            let plain = vec![b'a'; len];
            assert_eq!(find_any(&plain, *b"x$\\"), None);
            for at in 0..len {
                for byte in *b"x$\\" {
                    let mut bytes = plain.clone();
                    bytes[len - 1] = b'x';
                    bytes[at] = byte;
                    assert_eq!(find_any(&bytes, *b"x$\\"), Some(at), "{len} {at}");
                }
            }
        }
    }

    #[test]
    fn a_docstring_is_read_from_its_quotes() {
        assert_eq!(docstring("\"\"\"a\\tb\r\nc\"\"\""), "a\tb\nc");
        assert_eq!(docstring("r'''a'''"), "a");
    }
}
