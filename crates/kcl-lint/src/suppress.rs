//! `# kcl-lint: ignore[RULE, ..]`: a finding that its author has looked at.
//!
//! At the end of a line it holds for that line; alone on a line for the next one that is no comment, so that several can stand
//! above each other; `ignore-file[RULE]` for the whole file.

use base_diag::{FileId, LineIndex, Span};
use kcl_syntax::ast::Tree;
use kcl_syntax::lossless::LeafKind;

use crate::config::{Config, no_rule};
use crate::context::Context;
use crate::finding::Finding;
use crate::rule::Rule;
use crate::rules::{self, find};

const MARK: &str = "kcl-lint:";

/// One rule that a comment ignores.
struct Ignore {
    rule: &'static Rule,
    /// The line it holds for, from 1; none for the file.
    line: Option<u32>,
    /// The word in the comment.
    span: Span,
    used: bool,
}

/// Leaves out what is ignored, and adds what is wrong with the comments.
pub(crate) fn apply(context: &Context<'_>, config: &Config, found: &mut Vec<Finding>) {
    for file in &context.package.files {
        let text = context.source(*file);
        if !text.contains(MARK) {
            continue;
        }
        let mut wrong = Vec::new();
        let lines = LineIndex::new(text);
        let mut ignores = ignores(text, *file, &lines, &mut wrong);
        found.retain(|finding| finding.file != *file || !is_ignored(finding, text, &lines, &mut ignores));
        for ignore in ignores.iter().filter(|ignore| !ignore.used && config.level(ignore.rule).is_some()) {
            let message = format!("`{}` finds nothing here", text_of(text, ignore.span));
            wrong.push((ignore.span, message));
        }
        let rule = &rules::UNUSED_IGNORE;
        let Some(level) = config.level(rule) else { continue };
        found.extend(wrong.into_iter().map(|(span, message)| Finding {
            rule,
            level,
            file: *file,
            span,
            message,
            help: Some("take it out of the comment".to_owned()),
            related: None,
            fix: None,
        }));
    }
}

fn text_of(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or_default()
}

fn is_ignored(finding: &Finding, text: &str, lines: &LineIndex, ignores: &mut [Ignore]) -> bool {
    let line = lines.position(text, finding.span.start).line;
    let mut hit = false;
    for ignore in ignores.iter_mut() {
        if ignore.rule == finding.rule && ignore.line.is_none_or(|at| at == line) {
            ignore.used = true;
            hit = true;
        }
    }
    hit
}

/// Reads the comments of a file. Only what the lexer takes for a comment is one: the mark may stand in a string, too.
fn ignores(text: &str, file: FileId, lines: &LineIndex, wrong: &mut Vec<(Span, String)>) -> Vec<Ignore> {
    let syntax = kcl_syntax::parse_both(&mut Tree::default(), text, file);
    let mut found = Vec::new();
    let leaves = syntax.leaves(syntax.root()).iter().filter(|leaf| leaf.kind == LeafKind::Comment);
    for (span, comment) in leaves.map(|leaf| (leaf.span, text_of(text, leaf.span))) {
        let Some(at) = comment.find(MARK) else { continue };
        let start = span.start as usize;
        let line = lines.position(text, span.start).line;
        let alone = text[..start].rsplit('\n').next().unwrap_or_default().trim().is_empty();
        let line = if alone { line + 1 + comment_lines(&text[span.end as usize..]) } else { line };
        let order = &comment[at + MARK.len()..];
        let offset = start + at + MARK.len();
        match orders(order) {
            Some((whole_file, names)) => {
                for (from, name) in names {
                    let from = (offset + from) as u32;
                    let span = Span::new(from, from + name.len() as u32);
                    let line = (!whole_file).then_some(line);
                    match find(name) {
                        Some(rule) => found.push(Ignore { rule, line, span, used: false }),
                        None => wrong.push((span, no_rule(name))),
                    }
                }
            }
            None => {
                let message =
                    "write `# kcl-lint: ignore[RULE]` or `# kcl-lint: ignore-file[RULE]`".to_owned();
                wrong.push((span, message));
            }
        }
    }
    found
}

/// How many lines with nothing but a comment follow the line that a text begins in.
fn comment_lines(rest: &str) -> u32 {
    rest.split('\n').skip(1).take_while(|line| line.trim_start().starts_with('#')).count() as u32
}

/// Reads ` ignore[a, b]`: whether it holds for the file, and the names with their places.
fn orders(order: &str) -> Option<(bool, Vec<(usize, &str)>)> {
    let open = order.find('[')?;
    let close = open + order[open..].find(']')?;
    let whole_file = match order[..open].trim() {
        "ignore" => false,
        "ignore-file" => true,
        _ => return None,
    };
    let mut names = Vec::new();
    let mut at = open + 1;
    for part in order[open + 1..close].split(',') {
        let name = part.trim();
        let lead = part.len() - part.trim_start().len();
        if !name.is_empty() {
            names.push((at + lead, name));
        }
        at += part.len() + 1;
    }
    (!names.is_empty()).then_some((whole_file, names))
}
