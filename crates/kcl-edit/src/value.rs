//! Values and keys as source text.

use base_diag::FileId;
use kcl_syntax::ast::{Expr, Tree};
use kcl_syntax::parse_expr;
use kcl_syntax::token::is_name;

use crate::Refusal;

/// A value that was parsed: its text without blanks around it, and its tree.
pub(crate) struct Value<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_schema: bool,
}

/// Checks that a text is one whole expression, without a comment after it.
pub(crate) fn checked(text: &str) -> Result<Value<'_>, Refusal> {
    let text = text.trim();
    let mut tree = Tree::default();
    let (id, errors) = parse_expr(&mut tree, text, FileId(0), 0);
    let span = tree.expr_span(id);
    let whole = span.start == 0 && span.end as usize == text.len();
    let wrong = |why: &str| {
        let help = "a value is a KCL expression: 3, [1, 2], \"text\" with its quotes";
        Refusal::new("bad-value", format!("`{text}` is no value: {why}"), help)
    };
    match errors.first() {
        _ if text.is_empty() => Err(wrong("it is empty")),
        Some(error) => Err(wrong(error.message())),
        None if !whole || matches!(tree.expr(id), Expr::Missing) => {
            Err(wrong("more than an expression stands there"))
        }
        None => Ok(Value { text, is_schema: matches!(tree.expr(id), Expr::Schema(_)) }),
    }
}

/// Writes a text as a KCL string that means exactly it.
pub fn text_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // A placeholder is looked for before escapes are read.
            '$' if chars.peek() == Some(&'{') => out.push_str("\\x24"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key as it is written in braces.
pub(crate) fn key_text(key: &str) -> String {
    if is_name(key) { key.to_owned() } else { text_literal(key) }
}

/// `a.b OP value`, or with braces where a key needs quotes.
pub(crate) fn entry_text(keys: &[&str], op: &str, value: &str) -> String {
    if keys.iter().all(|key| is_name(key)) {
        return format!("{} {op} {value}", keys.join("."));
    }
    let mut out = String::new();
    for (i, key) in keys.iter().enumerate().rev() {
        let key = key_text(key);
        out = match i + 1 == keys.len() {
            true => format!("{key} {op} {value}"),
            false => format!("{key}: {{{out}}}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_literal_means_its_text() {
        for text in ["", "a", "\"", "\\", "a\\${b}", "${x", "${x}", "\n\t\r\u{1}é", "'", "$ {"] {
            let mut tree = Tree::default();
            let literal = text_literal(text);
            let (id, errors) = parse_expr(&mut tree, &literal, FileId(0), 0);
            assert!(errors.is_empty(), "{literal}");
            assert!(matches!(tree.expr(id), Expr::Str(got) if got == text), "{literal}");
        }
    }

    #[test]
    fn only_whole_expressions_are_values() {
        for good in ["1", " \"a\" ", "{a = 1}", "S {a = 1}", "-5", "x if y else z", "[\n1\n2\n]"] {
            assert!(checked(good).is_ok(), "{good}");
        }
        for bad in ["", "1 2", "1 # one", "a = 1", "pay:v42", "{", "\"", "nginx latest"] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn entries_are_dotted_where_they_can_be() {
        assert_eq!(entry_text(&["a", "b"], "=", "1"), "a.b = 1");
        assert_eq!(entry_text(&["a", "p.q"], "=", "1"), "a: {\"p.q\" = 1}");
        assert_eq!(entry_text(&["if"], "+=", "[1]"), "\"if\" += [1]");
    }
}
