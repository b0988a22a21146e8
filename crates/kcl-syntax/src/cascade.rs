//! A first mistake never causes a second: which syntax errors are told.
//!
//! After a mistake the parser goes on as well as it can, and what it says about the rest of the same statement is mostly an echo. A statement
//! here is a *logical line*: everything up to a line end outside brackets. A mistake in one silences what comes later in it, in the block under it
//! and in its `elif` and `else`; statements that stand beside it are heard again. The first error of a file is always told.

use base_diag::Span;

use crate::found::{Found, Hint};
use crate::mistake::{Got, Mistake};
use crate::token::{Token, TokenKind};
use crate::words;

/// So many errors are told with the bracket that was left open: looking for it reads the file up to there.
const EXPLAINED: usize = 20;

/// A logical line.
struct Line {
    start: u32,
    indent: u32,
    /// `elif` and `else` belong to the line above.
    joins: bool,
}

/// Drops the echoes of earlier mistakes; the order stays. Statements of other languages get their own help.
pub(crate) fn without_echoes(found: Vec<Found>, text: &str, tokens: &[Token]) -> Vec<Found> {
    if found.is_empty() {
        return found;
    }
    let lines = logical_lines(text, tokens);
    let mut silenced: Vec<std::ops::Range<u32>> = Vec::new();
    let mut told = Vec::new();
    for mut one in found {
        let start = one.span.start;
        // A block that ends where none is open was opened by a line that could not be read.
        let ends_block =
            !told.is_empty() && matches!(&one.mistake, Mistake::Unexpected { got } if is_end_of_block(got));
        // What is missed where a block ends belongs to the block.
        let at = if misses_at_end_of_block(&one.mistake) { start.saturating_sub(1) } else { start };
        if ends_block || silenced.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let statement = statement_at(&lines, start);
        let word = first_word(text, statement.start);
        one.hint = operator_of_elsewhere(&one, tokens)
            .or_else(|| compares(&one, text, &lines, word).then_some(Hint::Foreign(COMPARES)))
            .or_else(|| words::foreign(word).map(Hint::Foreign))
            .or_else(|| words::misspelt_keyword(word).map(Hint::Misspelt))
            .or(one.hint);
        if told.len() < EXPLAINED {
            one.opener = left_open(text, tokens, start);
        }
        // The parser gives up there: whatever it misses afterwards is missed because of that.
        let gives_up = one.mistake == Mistake::NestingTooDeep;
        silenced.push(statement);
        told.push(one);
        if gives_up {
            break;
        }
    }
    told
}

fn is_end_of_block(got: &Got) -> bool {
    got.is(TokenKind::Dedent) || got.is(TokenKind::OddDedent)
}

fn misses_at_end_of_block(mistake: &Mistake) -> bool {
    match mistake {
        Mistake::Expected { got, .. }
        | Mistake::ExpectedExpression { got, .. }
        | Mistake::ExpectedType { got, .. }
        | Mistake::ExpectedBlock { got }
        | Mistake::ExpectedEndOfBlock { got }
        | Mistake::EmptyIndex { got }
        | Mistake::NoExpression { got }
        | Mistake::ExpectedIndexSignature { got } => is_end_of_block(got),
        _ => false,
    }
}

const COMPARES: &str = "`==` compares; `=` gives a name its value";

/// `a && b`, `a || b`: the second half of the operator is no operand.
fn operator_of_elsewhere(one: &Found, tokens: &[Token]) -> Option<Hint> {
    let Mistake::ExpectedExpression { got: Got::Token(kind), .. } = &one.mistake else { return None };
    let at = tokens.partition_point(|token| token.start < one.span.start);
    let before = tokens.get(at.checked_sub(1)?)?;
    if before.kind != *kind || before.end != one.span.start {
        return None;
    }
    match kind {
        TokenKind::Amp => Some(Hint::Foreign("write `and`: `a and b`")),
        TokenKind::Pipe => Some(Hint::Foreign("write `or`: `a or b`")),
        _ => None,
    }
}

/// Whether `=` stands where two values are to be compared.
fn compares(one: &Found, text: &str, lines: &[Line], word: &str) -> bool {
    match &one.mistake {
        Mistake::Expected { wanted: [":"] | ["else"], got } if got.is(TokenKind::Assign) => true,
        Mistake::Expected { got, .. }
        | Mistake::ExpectedExpression { got, .. }
        | Mistake::Unexpected { got }
            if got.is(TokenKind::Assign) =>
        {
            matches!(word, "if" | "elif" | "assert") || stands_in_check(text, lines, one.span.start)
        }
        _ => false,
    }
}

/// Whether the line of an offset is a condition of a `check:`.
fn stands_in_check(text: &str, lines: &[Line], offset: u32) -> bool {
    let after = lines.partition_point(|line| line.start <= offset);
    let Some((own, above)) = lines[..after].split_last() else { return false };
    let around = above.iter().rev().find(|line| line.indent < own.indent);
    around.is_some_and(|line| first_word(text, line.start) == "check")
}

/// The statement at an offset, with its block.
fn statement_at(lines: &[Line], offset: u32) -> std::ops::Range<u32> {
    let after = lines.partition_point(|line| line.start <= offset);
    let (start, indent) = after.checked_sub(1).map_or((0, 0), |at| (lines[at].start, lines[at].indent));
    let outside = lines[after..].iter().find(|line| line.indent <= indent && !line.joins);
    start..outside.map_or(u32::MAX, |line| line.start)
}

fn first_word(text: &str, start: u32) -> &str {
    let rest = text.get(start as usize..).unwrap_or("");
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    &rest[..end]
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

/// The bracket that was left open, if a mistake stands on a later line that is not further in than the bracket's own: a statement
/// begins there, or the file ends.
fn left_open(text: &str, tokens: &[Token], offset: u32) -> Option<(Span, char)> {
    let mut open: Vec<&Token> = Vec::new();
    for token in tokens.iter().take_while(|token| token.start < offset) {
        match token.kind {
            TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => open.push(token),
            kind if opener_of(kind).is_some() && open.last().map(|o| o.kind) == opener_of(kind) => {
                let _ = open.pop();
            }
            _ => {}
        }
    }
    let opener = open.last()?;
    let closes = tokens.iter().find(|token| token.start == offset).and_then(|token| opener_of(token.kind));
    if closes == Some(opener.kind) {
        return None;
    }
    let start = opener.start;
    let later = text.get(start as usize..offset as usize)?.contains('\n');
    let at_end = text.get(offset as usize..)?.trim().is_empty();
    let outside = line_indent(text, offset) <= line_indent(text, start);
    let bracket = text.get(start as usize..)?.chars().next()?;
    (later && (outside || at_end)).then_some((Span::new(start, start + 1), bracket))
}

/// How far in the text of the line of an offset begins.
fn line_indent(text: &str, offset: u32) -> usize {
    let start = text.get(..offset as usize).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line = text.get(start..).unwrap_or("");
    line.len() - line.trim_start_matches([' ', '\t']).len()
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
    fn statements_of_other_languages_are_told_the_way_here() {
        let diags = crate::parse_file(&mut Tree::default(), "for i in [1]:\n    a = i\n", FileId::default());
        assert_eq!(diags.len(), 1);
        assert!(diags[0].help.as_deref().unwrap().contains("[x for x in list]"));
    }

    #[test]
    fn operators_of_other_languages_are_told_the_way_here() {
        let help = |text: &str| {
            let diags = crate::parse_file(&mut Tree::default(), text, FileId::default());
            diags[0].help.clone().unwrap_or_default()
        };
        assert_eq!(help("a = b && c\n"), "write `and`: `a and b`");
        assert_eq!(help("a = b || c\n"), "write `or`: `a or b`");
        assert_eq!(help("a = b & & c\n"), "");
        let compares = "`==` compares; `=` gives a name its value";
        assert_eq!(help("if a = 1:\n    b = 2\n"), compares);
        assert_eq!(help("a = 2 if b = 1 else 3\n"), compares);
        assert_eq!(help("schema A:\n    x: int\n    check:\n        x = 1\n"), compares);
        assert_eq!(help("a = b = = c\n"), "");
    }

    #[test]
    fn nesting_too_deep_is_the_last_word() {
        assert_eq!(error_lines(&format!("a = {}1\nb = = 2\n", "{x = ".repeat(3000))), [1]);
    }

    #[test]
    fn a_bracket_that_was_left_open_is_shown() {
        let related = |text: &str| {
            let diags = crate::parse_file(&mut Tree::default(), text, FileId::default());
            diags[0].labels.get(1).map(|label| label.message.clone())
        };
        let not_closed = Some("this `[` is not closed".to_owned());
        assert_eq!(related("a = [1, 2\nb = {x = 1}\n"), not_closed);
        assert_eq!(related("a = [\n    1\n    2\n"), not_closed);
        assert_eq!(related("a = {\n    b = 1 +\n}\n"), None);
        assert_eq!(related("a = {\n    b =\n}\n"), None);
        assert_eq!(related("a = [\n    1 = 2\n]\n"), None);
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
        assert_eq!(error_lines("if True\n    a = 1\nb = 2\n"), [1]);
        assert_eq!(error_lines("schema A:\n  x: int\n   y: str\nb = 1\n"), [3]);
        assert_eq!(error_lines("if a b:\n    x = 1\nelse:\n    x = 2\ny = = 1\n"), [1, 5]);
    }
}
