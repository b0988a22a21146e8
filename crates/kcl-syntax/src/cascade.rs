//! A first mistake never causes a second: which syntax errors are told.
//!
//! After a mistake the parser goes on as well as it can, and what it says about the rest of the same statement is mostly an echo. A statement
//! here is a *logical line*: everything up to a line end outside brackets. A mistake in one silences what comes later in it, in the block under it
//! and in its `elif` and `else`; statements that stand beside it are heard again. The first error of a file is always told.

use base_diag::{Diagnostic, Place};

use crate::token::{Token, TokenKind};

/// A logical line.
struct Line {
    start: u32,
    indent: u32,
    /// `elif` and `else` belong to the line above.
    joins: bool,
}

/// Drops the echoes of earlier mistakes; the order stays.
pub(crate) fn without_echoes(diags: Vec<Diagnostic>, text: &str, tokens: &[Token]) -> Vec<Diagnostic> {
    if diags.len() < 2 {
        return diags;
    }
    let lines = logical_lines(text, tokens);
    let mut silenced: Vec<std::ops::Range<u32>> = Vec::new();
    let mut told = Vec::new();
    for diag in diags {
        let Place::Span(_, span) = diag.place() else {
            told.push(diag);
            continue;
        };
        if silenced.iter().any(|range| range.contains(&span.start)) {
            continue;
        }
        silenced.push(span.start..end_of_statement(&lines, span.start));
        told.push(diag);
    }
    told
}

/// One past the statement at an offset, with its block.
fn end_of_statement(lines: &[Line], offset: u32) -> u32 {
    let after = lines.partition_point(|line| line.start <= offset);
    let indent = after.checked_sub(1).map_or(0, |at| lines[at].indent);
    let outside = lines[after..].iter().find(|line| line.indent <= indent && !line.joins);
    outside.map_or(u32::MAX, |line| line.start)
}

fn logical_lines(text: &str, tokens: &[Token]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut open: Vec<TokenKind> = Vec::new();
    let mut first_of_line = true;
    for token in tokens {
        let kind = token.kind;
        if kind.is_layout() {
            first_of_line |= kind == TokenKind::Newline;
            continue;
        }
        if std::mem::take(&mut first_of_line) {
            let indent = indent_at(text, token.start);
            // A definition at the margin stands in no bracket: one above it was never closed.
            if indent == 0 && starts_definition(kind) {
                open.clear();
            }
            if open.is_empty() && opener_of(kind).is_none() {
                let joins = matches!(kind, TokenKind::KwElif | TokenKind::KwElse);
                lines.push(Line { start: token.start, indent, joins });
            }
        }
        match kind {
            TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => open.push(kind),
            _ if opener_of(kind).is_some() && open.last().copied() == opener_of(kind) => drop(open.pop()),
            _ => {}
        }
    }
    lines
}

fn opener_of(kind: TokenKind) -> Option<TokenKind> {
    match kind {
        TokenKind::RParen => Some(TokenKind::LParen),
        TokenKind::RBracket => Some(TokenKind::LBracket),
        TokenKind::RBrace => Some(TokenKind::LBrace),
        _ => None,
    }
}

fn starts_definition(kind: TokenKind) -> bool {
    use TokenKind::{KwAssert, KwImport, KwMixin, KwProtocol, KwRule, KwSchema, KwType};
    matches!(kind, KwAssert | KwImport | KwMixin | KwProtocol | KwRule | KwSchema | KwType)
}

/// How far in the line of an offset begins.
fn indent_at(text: &str, offset: u32) -> u32 {
    let before = text.get(..offset as usize).unwrap_or("");
    offset - before.rfind('\n').map_or(0, |at| at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use crate::ast::Tree;
    use base_diag::{FileId, Place};

    /// Lines of the errors of a text.
    fn error_lines(text: &str) -> Vec<usize> {
        let diags = crate::parse_file(&mut Tree::default(), text, FileId::default());
        let line = |d: &base_diag::Diagnostic| match d.place() {
            Place::Span(_, span) => text[..span.start as usize].matches('\n').count() + 1,
            _ => 0,
        };
        diags.iter().map(line).collect()
    }

    #[test]
    fn one_mistake_in_braces_is_one_error() {
        assert_eq!(error_lines("s = Server {image = \"x\"\n    replicas = 1\n}\n"), [2]);
        assert_eq!(error_lines("a = {b = [1, 2)}\nc = 1\n"), [1]);
    }

    #[test]
    fn statements_beside_each_other_are_judged_each() {
        assert_eq!(error_lines("a = = 1\nb = 2\nc = = 3\n"), [1, 3]);
        assert_eq!(error_lines("schema A:\n    a: int = = 1\n    b: str\n    c: str = = 2\n"), [2, 4]);
    }

    #[test]
    fn a_wrong_head_silences_its_block() {
        assert_eq!(
            error_lines("schema A(:\n    a: int\n    check:\n        a > 0\nschema B:\n    b: int = = 1\n"),
            [1, 6]
        );
        assert_eq!(error_lines("if a b:\n    x = 1\nelse:\n    x = 2\ny = = 1\n"), [1, 5]);
    }
}
