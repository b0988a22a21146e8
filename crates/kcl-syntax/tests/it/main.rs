//! Behaviour of the parser on whole programs: robustness, lossless trees, passes over the tree.
#![allow(clippy::unwrap_used)]

mod limits;
mod lossless;
mod passes;
mod soup;
mod trees;

use base_diag::{Diagnostic, FileId, LineIndex, Place};
use kcl_syntax::ast::Tree;

/// Programs of the language reference's gotcha list and more, separated by lines of `====`.
fn corpus() -> Vec<&'static str> {
    include_str!("../corpus/programs.txt").split("====\n").collect()
}

fn parse(text: &str) -> (Tree, Vec<Diagnostic>) {
    let mut tree = Tree::default();
    let diags = kcl_syntax::parse_file(&mut tree, text, FileId(0));
    (tree, diags)
}

/// `line:column message` of every diagnostic.
fn errors(text: &str) -> Vec<String> {
    let lines = LineIndex::new(text);
    let show = |d: &Diagnostic| match d.place() {
        Place::Span(_, span) => {
            let p = lines.position(text, span.start);
            format!("{}:{} {}", p.line, p.column, d.message())
        }
        _ => d.message().to_string(),
    };
    parse(text).1.iter().map(show).collect()
}
