//! What judges the formatter: the three promises, and texts with random comments, blanks and line ends.

use crate::generate::Rng;
use base_diag::FileId;
use kcl_syntax::ast::Tree;
use kcl_syntax::lossless::{LeafKind, SyntaxTree};
use kcl_syntax::sink::NodeKind;
use kcl_syntax::token::TokenKind as T;
use kcl_syntax::{alike, parse_both, parse_file};

/// Formats a text and checks what must hold: the same program, the same comments, a fixed point; a text with errors comes
/// back as it was. Returns whether there was something to format.
///
/// # Errors
/// The promise that was broken, with the texts.
pub fn judge(text: &str) -> Result<bool, String> {
    let once = kcl_fmt::format(text, FileId(0));
    let mut before = Tree::default();
    let errors = parse_file(&mut before, text, FileId(0));
    if !errors.is_empty() {
        let kept = once.text == text && once.errors.len() == errors.len();
        return if kept { Ok(false) } else { Err(format!("a broken text was changed:\n{text}")) };
    }
    let broken = |what: &str| Err(format!("{what}:\n{text}\n-- became --\n{}", once.text));
    let mut after = Tree::default();
    if !parse_file(&mut after, &once.text, FileId(0)).is_empty() {
        return broken("the result does not parse");
    }
    if !alike((&before, text), (&after, &once.text)) {
        return broken("the program changed");
    }
    if kcl_fmt::comments(text) != kcl_fmt::comments(&once.text) {
        return broken("the comments changed");
    }
    let again = kcl_fmt::format(&once.text, FileId(0)).text;
    if again != once.text {
        return Err(format!("no fixed point:\n{text}\n-- became --\n{}\n-- became --\n{again}", once.text));
    }
    let blank_end = |line: &str| line.ends_with([' ', '\t']) && !line.contains('#');
    let strings = once.text.contains("\"\"\"") || once.text.contains("'''") || once.text.contains("fmt:");
    if !strings && once.text.lines().any(blank_end) {
        return broken("a line ends in blanks");
    }
    Ok(true)
}

/// Returns a text that means the same, with random comments, blanks and line ends.
pub fn noisy(text: &str, rng: &mut Rng) -> String {
    let mut tree = Tree::default();
    let syntax = parse_both(&mut tree, text, FileId(0));
    if !syntax.errors.is_empty() {
        return text.to_owned();
    }
    // A line end in a bracket is not legal everywhere: what went wrong is tried with fewer.
    for percent in [30, 10, 0] {
        let noisy = scatter(&syntax, rng, percent);
        let mut after = Tree::default();
        if parse_file(&mut after, &noisy, FileId(0)).is_empty() && alike((&tree, text), (&after, &noisy)) {
            return noisy;
        }
    }
    text.to_owned()
}

const COMMENTS: &[&str] = &[
    "# c",
    "#",
    "#no blank",
    "#   wide   ",
    "# é 'quote' \"${x}\"",
    "# {[(",
    "# fmt: off",
    "# fmt: on",
    "## x \\",
];

fn scatter(syntax: &SyntaxTree, rng: &mut Rng, percent: usize) -> String {
    let mut out = String::new();
    for number in 0..syntax.leaves(syntax.root()).len() as u32 {
        let id = kcl_syntax::lossless::LeafId(number);
        let leaf = syntax.leaf(id);
        let text = syntax.leaf_text(leaf);
        match leaf.kind {
            LeafKind::Token(T::Newline) => {
                if rng.chance(15) {
                    out.push_str(*rng.pick(&[" ", "  ", "\t", ""]));
                    out.push_str(*rng.pick(COMMENTS));
                }
                out.push_str(text);
                lines(&mut out, rng);
            }
            LeafKind::Token(T::LBracket | T::LBrace | T::LParen | T::Comma) => {
                out.push_str(text);
                let place = syntax.kind(syntax.node_of(id));
                let bracket =
                    matches!(place, NodeKind::List | NodeKind::Config | NodeKind::Args | NodeKind::MixinLine);
                if bracket && rng.chance(percent) {
                    out.push_str(*rng.pick(&["\n", " # c\n", "\n\n  # d\n", "  # e\n\n# f\n\n"]));
                    out.push_str(&" ".repeat(rng.below(9)));
                }
            }
            LeafKind::Blank if !text.contains('\n') && !out.ends_with('\n') && rng.chance(20) => {
                out.push_str(*rng.pick(&["  ", " ", "\t", " \\\n   "]));
            }
            _ => out.push_str(text),
        }
    }
    out
}

/// Empty lines and comments on lines of their own.
fn lines(out: &mut String, rng: &mut Rng) {
    while rng.chance(15) {
        if rng.chance(50) {
            out.push_str(*rng.pick(&["\n", "   \n", "\r\n"]));
        } else {
            out.push_str(&" ".repeat(*rng.pick(&[0, 0, 2, 4, 8, 3])));
            out.push_str(*rng.pick(COMMENTS));
            out.push('\n');
        }
    }
}
