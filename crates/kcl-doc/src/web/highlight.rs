//! KCL in colours: the leaves of the lossless tree, each in its class.

use kcl_syntax::lossless::LeafKind;
use kcl_syntax::parse_lossless;
use kcl_syntax::token::TokenKind;

use super::html;

/// Texts longer than this stay plain.
const LONGEST: usize = 4 << 20;

/// Writes a program as HTML.
pub(crate) fn highlight(text: &str) -> String {
    if text.len() > LONGEST {
        return html::text(text);
    }
    let tree = parse_lossless(text);
    let mut out = String::with_capacity(text.len() * 2);
    for leaf in tree.leaves(tree.root()) {
        let said = html::text(tree.leaf_text(leaf));
        match class(leaf.kind, tree.leaf_text(leaf)) {
            Some(class) => lines(&mut out, class, &said),
            None => out.push_str(&said),
        }
    }
    out
}

/// A span per line: pages with numbered lines are cut at line ends.
fn lines(out: &mut String, class: &str, said: &str) {
    for (i, line) in said.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        if !line.is_empty() {
            out.push_str(&format!("<span class=\"{class}\">{line}</span>"));
        }
    }
}

fn class(kind: LeafKind, text: &str) -> Option<&'static str> {
    match kind {
        LeafKind::Comment => Some("c"),
        LeafKind::StringText => Some("s"),
        LeafKind::Token(token) => match token {
            TokenKind::Str => Some("s"),
            TokenKind::Ident if matches!(text, "int" | "str" | "float" | "bool") => Some("t"),
            TokenKind::Ident if text.starts_with(|c: char| c.is_ascii_uppercase()) => Some("t"),
            _ if token.is_literal() => Some("n"),
            TokenKind::KwTrue | TokenKind::KwFalse | TokenKind::KwNone | TokenKind::KwUndefined => Some("n"),
            _ if TokenKind::of_word(text) == token && token != TokenKind::Ident => Some("k"),
            _ => None,
        },
        _ => None,
    }
}
