//! Text cut into words, numbers, strings, signs and blanks; joined again it is the same text.

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Word,
    Number,
    Text,
    Sign,
    Blank,
}

/// Signs of more than one character, longest first.
const SIGNS: &[&str] = &[
    "**=", "//=", "<<=", ">>=", "...", "->", "**", "//", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "|=",
    "&=", "^=", "==", "!=", "<=", ">=", "?.",
];

pub(super) fn tokens(text: &str) -> Vec<(Kind, &str)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kind, len) = piece(rest, first);
        out.push((kind, &rest[..len]));
        rest = &rest[len..];
    }
    out
}

fn piece(rest: &str, first: char) -> (Kind, usize) {
    let run = |holds: fn(char) -> bool| rest.find(|c| !holds(c)).unwrap_or(rest.len());
    if first.is_alphabetic() || matches!(first, '_' | '$') {
        let len = 1.max(
            rest[first.len_utf8()..]
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .map_or(rest.len(), |at| at + first.len_utf8()),
        );
        return (Kind::Word, len);
    }
    if first.is_ascii_digit() {
        return (Kind::Number, run(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')));
    }
    if matches!(first, '"' | '\'') {
        return (Kind::Text, text_end(rest, first));
    }
    if first == '\n' {
        let blanks = rest[1..].find(|c| !matches!(c, ' ' | '\t')).unwrap_or(rest.len() - 1);
        return (Kind::Blank, 1 + blanks);
    }
    if matches!(first, ' ' | '\t') {
        return (Kind::Blank, run(|c| matches!(c, ' ' | '\t')));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign)).map(|sign| sign.len());
    (Kind::Sign, sign.unwrap_or(first.len_utf8()))
}

/// The end of a short string, or of the three quotes of a long one; a quote that does not close is a sign of its own.
fn text_end(rest: &str, quote: char) -> usize {
    if rest.starts_with("\"\"\"") || rest.starts_with("'''") {
        return 3;
    }
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => break,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    1
}
