//! Names and strings as KCL writes them.

use kcl_syntax::token::TokenKind;

/// Whether a text can stand as a name without quotes or `$`.
pub fn is_identifier(text: &str) -> bool {
    is_word(text) && TokenKind::of_word(text) == TokenKind::Ident
}

fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Writes the name of an attribute: a keyword gets a `$`, what is no name gets quotes.
pub fn quote_name(name: &str) -> String {
    match (is_identifier(name), is_word(name)) {
        (true, _) => name.to_owned(),
        (false, true) => format!("${name}"),
        (false, false) => quote(name),
    }
}

/// Writes a string literal on one line; nothing in it is a placeholder.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // `\\$` would do for a placeholder that ends; this does for one that does not, too.
            '$' if chars.peek() == Some(&'{') => out.push_str("\\x24"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_invisible(c) && (c as u32) <= 0xffff => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters that hide in a text, or end a line for some tools.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
