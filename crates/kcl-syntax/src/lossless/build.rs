//! From the events of a parser run to the lossless tree.

use base_diag::{Diagnostic, Span};

use super::{Leaf, LeafKind, Node, NodesById, SyntaxTree};
use crate::ast::{ExprId, Tree};
use crate::sink::{Made, Mark, NodeKind, Sink};
use crate::token::Token;

/// A node as it ends: its leaves, its kind, what it stands for.
#[derive(Clone, Copy)]
struct Ended {
    first: u32,
    end: u32,
    kind: NodeKind,
    made: Made,
}

/// Notes leaves in order, and nodes in the order in which they end: children before their parents.
pub(crate) struct NodeSink<'a> {
    text: &'a str,
    leaves: Vec<Leaf>,
    nodes: Vec<Ended>,
    /// Offset up to which the text is in leaves.
    done: u32,
    /// Sizes of the arena before this file.
    before: [u32; 3],
}

impl<'a> NodeSink<'a> {
    /// Starts at the beginning of a text that will be added to a tree.
    pub(crate) fn new(text: &'a str, tree: &Tree) -> Self {
        let before = [tree.exprs.len() as u32, tree.stmts.len() as u32, tree.types.len() as u32];
        let leaves = Vec::with_capacity(text.len() / 3);
        NodeSink { text, leaves, nodes: Vec::with_capacity(text.len() / 8), done: 0, before }
    }

    fn leaf(&mut self, kind: LeafKind, start: u32, end: u32) {
        if start >= end {
            return;
        }
        trivia(self.text, self.done as usize, start as usize, &mut self.leaves);
        self.leaves.push(Leaf { kind, span: Span::new(start, end) });
        self.done = end;
    }

    /// Makes the tree; the arena tells how many ids the file has.
    pub(crate) fn finish(mut self, tree: &Tree, errors: Vec<Diagnostic>) -> SyntaxTree {
        trivia(self.text, self.done as usize, self.text.len(), &mut self.leaves);
        let nodes = in_pre_order(&self.nodes, self.leaves.len() as u32);
        let after = [tree.exprs.len(), tree.stmts.len(), tree.types.len()];
        let [mut exprs, mut stmts, mut types] = [0, 1, 2].map(|i| NodesById {
            first: self.before[i],
            nodes: vec![0; after[i].saturating_sub(self.before[i] as usize)],
        });
        for (number, node) in nodes.iter().enumerate() {
            let (table, id) = match node.made {
                Made::Nothing => continue,
                Made::Expr(id) => (&mut exprs, id.0),
                Made::Stmt(id) => (&mut stmts, id.0),
                Made::Type(id) => (&mut types, id.0),
            };
            let at = (id - table.first) as usize;
            table.nodes[at] = number as u32;
        }
        SyntaxTree { source: self.text.into(), nodes, leaves: self.leaves, exprs, stmts, types, errors }
    }
}

impl Sink for NodeSink<'_> {
    fn token(&mut self, tokens: &[Token], index: usize) {
        let token = tokens[index];
        // The rest of a string after its last placeholder.
        let begun = token.start < self.done && self.done < token.end;
        let kind = if begun { LeafKind::StringText } else { LeafKind::Token(token.kind) };
        self.leaf(kind, token.start.max(self.done), token.end);
    }

    fn mark(&self) -> Mark {
        Mark(self.leaves.len() as u32)
    }

    fn node(&mut self, mark: Mark, kind: NodeKind, made: Made) {
        let end = self.leaves.len() as u32;
        let mut first = mark.0;
        // Trivia before the first token belong to the node outside.
        while first < end && self.leaves[first as usize].kind.is_trivia() {
            first += 1;
        }
        if first < end {
            self.nodes.push(Ended { first, end, kind, made });
        }
    }

    fn forget(&mut self, dropped: ExprId) {
        let last = self.nodes.iter_mut().rev().find(|node| matches!(node.made, Made::Expr(_)));
        if let Some(node) = last.filter(|node| node.made == Made::Expr(dropped)) {
            node.made = Made::Nothing;
        }
    }

    fn open_placeholder(&mut self, string: u32, expression: u32) -> Mark {
        let dollar = expression.saturating_sub(2);
        self.leaf(LeafKind::StringText, string.max(self.done), dollar);
        let mark = self.mark();
        self.leaf(LeafKind::Placeholder, dollar, expression);
        mark
    }

    fn close_placeholder(&mut self, mark: Mark, brace: u32) {
        self.leaf(LeafKind::Placeholder, brace, brace + 1);
        self.node(mark, NodeKind::Placeholder, Made::Nothing);
    }
}

/// Cuts the gap between two tokens into trivia.
fn trivia(text: &str, start: usize, end: usize, leaves: &mut Vec<Leaf>) {
    let mut at = start;
    while at < end {
        let rest = &text[at..end];
        let (kind, len) = match rest.as_bytes()[0] {
            b'#' => (LeafKind::Comment, rest.find('\n').unwrap_or(rest.len())),
            b'\\' if rest.len() == 1 || rest[1..].starts_with('\n') => {
                (LeafKind::Continuation, rest.len().min(2))
            }
            b'\\' if rest[1..].starts_with("\r\n") => (LeafKind::Continuation, 3),
            _ => match rest.find(|c| !is_blank(c)) {
                Some(0) => (LeafKind::Skipped, rest.chars().next().map_or(1, char::len_utf8)),
                found => (LeafKind::Blank, found.unwrap_or(rest.len())),
            },
        };
        leaves.push(Leaf { kind, span: Span::new(at as u32, (at + len) as u32) });
        at += len;
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Turns children-first order into parents-first order, below a root that covers everything. Linear: a first pass counts
/// what is below each node, a second one, from the end, gives each node its number.
fn in_pre_order(ended: &[Ended], leaf_count: u32) -> Vec<Node> {
    let sizes = subtree_sizes(ended);
    let count = ended.len() as u32 + 1;
    let root =
        Node { kind: NodeKind::File, made: Made::Nothing, parent: 0, first: 0, end: leaf_count, next: count };
    let mut nodes = vec![root; count as usize];
    // Open nodes: number, first leaf, one past the numbers that are still free below it.
    let mut open: Vec<(u32, u32, u32)> = vec![(0, 0, count)];
    for (node, size) in ended.iter().zip(&sizes).rev() {
        while open.len() > 1 && open.last().is_some_and(|(_, first, _)| node.first < *first) {
            open.pop();
        }
        let Some((parent, _, free)) = open.last_mut() else { break };
        *free -= size;
        let (number, parent) = (*free, *parent);
        nodes[number as usize] = Node {
            kind: node.kind,
            made: node.made,
            parent,
            first: node.first,
            end: node.end,
            next: number + size,
        };
        open.push((number, node.first, number + size));
    }
    nodes
}

/// How many nodes each node has below it, itself included.
fn subtree_sizes(ended: &[Ended]) -> Vec<u32> {
    let mut sizes: Vec<u32> = Vec::with_capacity(ended.len());
    let mut outer: Vec<usize> = Vec::new();
    for (i, node) in ended.iter().enumerate() {
        let mut size = 1;
        while let Some(last) = outer.last().filter(|last| ended[**last].first >= node.first) {
            size += sizes[*last];
            outer.pop();
        }
        outer.push(i);
        sizes.push(size);
    }
    sizes
}
