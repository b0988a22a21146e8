//! `# fmt: off` … `# fmt: on`: lines that stay as they are.
//!
//! Both comments stand on lines of their own, on one level; without the second one the region ends with its block or
//! bracket. Only the indentation of the block around the region is adjusted, so that the block stays one.

use base_diag::Span;
use kcl_syntax::lossless::{Element, LeafKind, NodeId, SyntaxTree};
use kcl_syntax::sink::NodeKind as N;
use kcl_syntax::token::TokenKind as T;

use crate::printer::{Blanks, Printer};

/// True for the comment that begins a region.
pub(crate) fn is_off(comment: &str) -> bool {
    word(comment) == Some("off")
}

fn is_on(comment: &str) -> bool {
    word(comment) == Some("on")
}

fn word(comment: &str) -> Option<&str> {
    comment.strip_prefix('#')?.trim().strip_prefix("fmt:").map(str::trim)
}

/// A region that has begun.
pub(crate) struct Region {
    off: Span,
    end: u32,
}

impl Region {
    pub(crate) fn new(off: Span) -> Region {
        Region { off, end: off.end }
    }

    /// Takes one more child; true if it ends the region.
    pub(crate) fn take(&mut self, tree: &SyntaxTree, child: Element) -> bool {
        match child {
            Element::Node(node) => {
                self.end = tree.span(node).end;
                false
            }
            Element::Leaf(leaf) => {
                let leaf = tree.leaf(leaf);
                match leaf.kind {
                    LeafKind::Comment => {
                        self.end = leaf.span.end;
                        is_on(tree.leaf_text(leaf))
                    }
                    LeafKind::Token(T::Comma) => {
                        self.end = leaf.span.end;
                        false
                    }
                    _ => false,
                }
            }
        }
    }
}

impl Printer<'_> {
    /// True if nothing but blanks stands before an offset on its line.
    pub(crate) fn on_own_line(&self, offset: u32) -> bool {
        let before = &self.tree.source()[..offset as usize];
        before[before.rfind('\n').map_or(0, |at| at + 1)..].trim().is_empty()
    }

    /// Writes a region of a node as it is.
    pub(crate) fn write_region(&mut self, id: NodeId, region: &Region) {
        let tree = self.tree;
        let from = indentation(tree, id);
        let to = " ".repeat(self.level * crate::printer::INDENT);
        let all = tree.leaves(tree.root());
        let first = all.partition_point(|leaf| leaf.span.start < region.off.start);
        let mut leaves = all[first..].iter();
        let mut last = (region.off.end, true);
        if let Some(off) = leaves.next() {
            self.comment(off, Blanks::Keep);
        }
        let mut line_start = false;
        let body = leaves.take_while(|leaf| leaf.span.end <= region.end);
        let (mut text, mut end) = (String::new(), 0);
        for leaf in body {
            let raw = tree.leaf_text(leaf);
            if leaf.kind == LeafKind::Blank {
                push_blank(&mut text, raw, line_start, from.zip(Some(to.as_str())));
            } else {
                text.push_str(raw);
            }
            line_start = text.ends_with('\n');
            if !matches!(leaf.kind, LeafKind::Blank | LeafKind::Token(T::Newline)) {
                last = (leaf.span.end, leaf.kind == LeafKind::Comment);
                end = text.len();
            }
        }
        let text = crate::printer::unix_lines(&text[..end]);
        self.out.push_str(crate::comments::text_of(&text));
        self.resume(last.0, last.1);
    }
}

/// What stands before the lines of a block in the source; nothing where they do not begin lines.
fn indentation(tree: &SyntaxTree, id: NodeId) -> Option<&str> {
    if tree.kind(id) == N::File {
        return None;
    }
    let first = tree.children(id).find_map(|child| match child {
        Element::Node(node) => Some(tree.span(node).start),
        Element::Leaf(_) => None,
    })?;
    let before = &tree.source()[..first as usize];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    line.trim().is_empty().then_some(line)
}

/// Copies blanks; in each line that begins there, one indentation is replaced by another.
fn push_blank(text: &mut String, blank: &str, line_start: bool, change: Option<(&str, &str)>) {
    for (i, line) in blank.split('\n').enumerate() {
        if i > 0 {
            text.push('\n');
        }
        match change.filter(|_| line_start || i > 0) {
            Some((from, to)) if line.starts_with(from) => {
                text.push_str(to);
                text.push_str(&line[from.len()..]);
            }
            _ => text.push_str(line),
        }
    }
}
