//! HTML as text, escaped.

/// Escapes a text for elements and for attributes in double quotes.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // HTML has no place for other control characters.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `<a href>` with an escaped text.
pub(crate) fn link(href: &str, label: &str) -> String {
    format!("<a href=\"{}\">{}</a>", text(href), text(label))
}

/// `<code>` with an escaped text.
pub(crate) fn code(label: &str) -> String {
    format!("<code>{}</code>", text(label))
}
