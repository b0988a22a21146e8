//! Writes lines: indentation, empty lines, comments, tokens.

use kcl_syntax::lossless::{Element, Leaf, LeafKind, NodeId, SyntaxTree};
use kcl_syntax::sink::NodeKind as N;
use kcl_syntax::token::TokenKind as T;

use crate::layout::Layout;
use crate::spacing::{self, Piece};

/// Blanks of one level.
pub(crate) const INDENT: usize = 4;

/// Which empty lines of the source stay.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blanks {
    /// Between statements: one.
    Keep,
    /// Between items and between checks: only one between two comments.
    Comments,
    /// None.
    Drop,
}

/// A block that has just ended. A comment that follows may still belong to it: its column tells.
pub(crate) struct Ended {
    /// Where its lines begin in the source: the column of an offset, and so many more.
    pub(crate) at: u32,
    pub(crate) deeper: u32,
    /// Level of its lines in the output.
    pub(crate) level: usize,
    /// An empty line follows the block.
    pub(crate) empty_line: bool,
}

/// State of one run.
pub(crate) struct Printer<'a> {
    pub(crate) tree: &'a SyntaxTree,
    pub(crate) layout: Layout,
    pub(crate) out: String,
    /// Level of the next line.
    pub(crate) level: usize,
    /// Offset in the source up to which everything is written.
    pub(crate) done: u32,
    /// The line ends in a comment: nothing can follow on it.
    commented: bool,
    /// Nothing but its indentation is on the line.
    fresh: bool,
    /// The last line is a comment of its own.
    comment_line: bool,
    /// The last line opened a block.
    pub(crate) opened: bool,
    /// An empty line comes before the next line.
    pub(crate) empty_line: bool,
    /// Blocks that ended since the last token, innermost first.
    pub(crate) ended: Vec<Ended>,
}

/// Writes a tree without errors.
pub(crate) fn print(tree: &SyntaxTree) -> String {
    let mut printer = Printer {
        tree,
        layout: Layout::of(tree),
        out: String::with_capacity(tree.source().len() + tree.source().len() / 8),
        level: 0,
        done: 0,
        commented: false,
        fresh: true,
        comment_line: false,
        opened: true,
        empty_line: false,
        ended: Vec::new(),
    };
    printer.file();
    printer.end_of_file();
    printer.out
}

impl Printer<'_> {
    fn end_of_file(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Line ends of the source between what is written and an offset: 0, 1, or 2 for more.
    fn line_ends(&self, until: u32) -> usize {
        let gap = self.tree.source().as_bytes().get(self.done as usize..until as usize).unwrap_or(&[]);
        gap.iter().filter(|byte| **byte == b'\n').take(2).count()
    }

    /// Begins a line for a token at an offset.
    pub(crate) fn line(&mut self, at: u32, blanks: Blanks) {
        let forced = self.ended.drain(..).fold(self.empty_line, |any, block| any | block.empty_line);
        let kept = blanks == Blanks::Keep && self.line_ends(at) > 1;
        self.begin_line(self.level, kept || forced);
        self.comment_line = false;
    }

    /// Begins a line that closes a bracket or goes on with a conditional: no empty line before it.
    pub(crate) fn closing_line(&mut self) {
        self.ended.clear();
        self.begin_line(self.level, false);
        self.comment_line = false;
    }

    fn begin_line(&mut self, level: usize, empty_line: bool) {
        if !self.out.is_empty() {
            self.out.push('\n');
            if empty_line && !self.opened {
                self.out.push('\n');
            }
        }
        self.indent(level);
        (self.commented, self.opened, self.empty_line, self.fresh) = (false, false, false, true);
    }

    fn indent(&mut self, level: usize) {
        const BLANKS: &str = "                                                                ";
        let mut left = level * INDENT;
        while left > 0 {
            let part = left.min(BLANKS.len());
            self.out.push_str(&BLANKS[..part]);
            left -= part;
        }
    }

    /// Writes a comment where it stands: after what is on its line, or on a line of its own.
    pub(crate) fn comment(&mut self, leaf: &Leaf, blanks: Blanks) {
        let text = crate::comments::text_of(self.tree.leaf_text(leaf));
        let ends = self.line_ends(leaf.span.start);
        if ends == 0 && !self.out.is_empty() {
            self.out.push_str("  ");
        } else {
            let kept = match blanks {
                Blanks::Keep => ends > 1,
                Blanks::Comments => ends > 1 && self.comment_line,
                Blanks::Drop => false,
            };
            let column = self.column(leaf.span.start);
            let mut forced = self.empty_line;
            while let Some(block) = self.ended.first() {
                if self.column(block.at) + block.deeper <= column {
                    break;
                }
                forced |= self.ended.remove(0).empty_line;
            }
            let level = self.ended.first().map_or(self.level, |block| block.level);
            self.begin_line(level, kept || forced);
            self.comment_line = true;
        }
        self.out.push_str(text);
        self.commented = true;
        self.done = leaf.span.end;
    }

    /// Bytes before an offset on its line.
    pub(crate) fn column(&self, offset: u32) -> u32 {
        let before = &self.tree.source().as_bytes()[..offset as usize];
        before.iter().rev().take_while(|byte| **byte != b'\n').count() as u32
    }

    /// Writes a piece of the source as it is, but for the line ends of Windows.
    pub(crate) fn verbatim(&mut self, start: u32, end: u32) {
        self.break_after_comment();
        let text = &self.tree.source()[start as usize..end as usize];
        if text.contains('\r') {
            self.out.push_str(&unix_lines(text));
        } else {
            self.out.push_str(text);
        }
        self.wrote(end);
    }

    /// Writes text in place of the source up to an offset.
    pub(crate) fn replaced(&mut self, text: &str, end: u32) {
        self.break_after_comment();
        self.out.push_str(text);
        self.wrote(end);
    }

    fn wrote(&mut self, end: u32) {
        self.done = end;
        (self.opened, self.fresh) = (false, false);
        self.ended.clear();
    }

    /// The source had a line end here, for its comment: it stays.
    pub(crate) fn break_after_comment(&mut self) {
        if self.commented {
            self.begin_line(self.level, false);
        }
    }

    /// After what was written verbatim up to an offset, and whether it ended in a comment.
    pub(crate) fn resume(&mut self, end: u32, commented: bool) {
        self.wrote(end);
        (self.commented, self.comment_line, self.empty_line) = (commented, commented, false);
    }

    /// Writes a token.
    pub(crate) fn token(&mut self, leaf: &Leaf) {
        self.verbatim(leaf.span.start, leaf.span.end);
    }

    /// Writes a node.
    pub(crate) fn node(&mut self, id: NodeId) {
        match self.tree.kind(id) {
            N::Literal | N::Doc => {
                let span = self.tree.span(id);
                self.verbatim(span.start, span.end);
            }
            N::Config | N::List | N::Args | N::Params => self.bracket(id),
            N::MixinLine => self.mixins(id),
            N::Lambda => self.lambda(id),
            N::Quant => self.quant(id),
            N::IfStmt | N::ListIf | N::ConfigIf => self.conditional(id),
            N::Schema | N::Rule | N::CheckBlock | N::Attr => self.definition(id),
            _ => self.inline(id),
        }
    }

    /// Writes the parts of a node on one line.
    pub(crate) fn inline(&mut self, id: NodeId) {
        let mut parts = Parts::default();
        for child in self.tree.children(id) {
            self.part(id, child, &mut parts);
        }
    }

    /// Writes one part of a node that stands on one line.
    pub(crate) fn part(&mut self, id: NodeId, child: Element, parts: &mut Parts) {
        if let Element::Leaf(leaf) = child
            && self.tree.leaf(leaf).kind == LeafKind::Comment
        {
            return self.comment(self.tree.leaf(leaf), Blanks::Drop);
        }
        let Some(piece) = spacing::piece(self.tree, child) else { return };
        self.break_after_comment();
        if parts.last.is_some_and(|last| spacing::blank(self.tree.kind(id), last, piece)) && !self.fresh {
            self.out.push(' ');
        }
        parts.last = Some(piece);
        match child {
            Element::Node(node) => self.node(node),
            Element::Leaf(leaf) => {
                let leaf = self.tree.leaf(leaf);
                match spacing::double_quoted(self.tree.leaf_text(leaf)) {
                    Some(text) if piece == Piece::Token(T::Str) && spacing::requotes(self.tree, id) => {
                        self.replaced(&text, leaf.span.end);
                    }
                    _ => self.token(leaf),
                }
            }
        }
    }
}

/// What was written last of a node.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) last: Option<Piece>,
}

/// A text with the line ends of Unix. In a long string `\r\r\n` is a carriage return and a line end: without the second `\r` the
/// first one would be lost with it.
pub(crate) fn unix_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\r\n") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        out.push_str(if before.ends_with('\r') { "\r\n" } else { "\n" });
        rest = &after[2..];
    }
    out.push_str(rest);
    out
}
