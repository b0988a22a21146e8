//! The lossless tree for tools: every byte of the text is in exactly one leaf.
//!
//! Built from the same parser run as the arena tree: the sink notes which tokens each node covers, and the trivia are
//! cut out of the gaps between tokens. Nodes are stored in pre-order with the range of their leaves, so a tree is two
//! flat vectors. Invariant: the texts of all leaves, one after the other, are the source.

use std::sync::Arc;

use base_diag::{Diagnostic, FileId, Span};

use crate::ast::Tree;
use crate::cascade::without_echoes;
use crate::lexer::{LexMode, lex};
use crate::parser::Parser;
use crate::sink::{Mark, NodeKind, Sink};
use crate::token::{Token, TokenKind};

/// A node of a [`SyntaxTree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NodeId(pub u32);

/// A leaf of a [`SyntaxTree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LeafId(pub u32);

/// What a leaf is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafKind {
    /// A token of the grammar (newlines included; indents and dedents have no text and no leaf).
    Token(TokenKind),
    /// Blanks, blank lines, byte order mark.
    Blank,
    /// `# ..` without its newline.
    Comment,
    /// Backslash and newline.
    Continuation,
    /// Characters that the lexer reported and dropped.
    Skipped,
}

/// A piece of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// What it is.
    pub kind: LeafKind,
    /// Where it stands.
    pub span: Span,
}

/// A child of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// An inner node.
    Node(NodeId),
    /// A leaf.
    Leaf(LeafId),
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: NodeKind,
    parent: u32,
    first: u32,
    end: u32,
    /// One past the last node below this one.
    next: u32,
}

/// The lossless tree of one text.
#[derive(Clone, Debug)]
pub struct SyntaxTree {
    source: Arc<str>,
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// Syntax errors, first the lexer's.
    pub errors: Vec<Diagnostic>,
}

/// Parses a text into its lossless tree.
pub fn parse_lossless(text: &str) -> SyntaxTree {
    let mut tree = Tree::default();
    let lexed = lex(text, 0, text.len(), LexMode::File);
    let mut parser = Parser::new(&mut tree, text, lexed, FileId::default(), 0, NodeSink::default());
    parser.file();
    let (errors, sink, lexed) = parser.finish();
    let errors = without_echoes(errors, text, &lexed.tokens);
    let (leaves, first_leaf) = leaves_of(text, &lexed.tokens);
    let nodes = nodes_of(sink.nodes, &lexed.tokens, &first_leaf, leaves.len() as u32);
    SyntaxTree { source: text.into(), nodes, leaves, errors }
}

impl SyntaxTree {
    /// Returns the source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns all leaf texts, one after the other: the source again.
    pub fn text(&self) -> String {
        self.leaves.iter().map(|leaf| self.leaf_text(leaf)).collect()
    }

    /// Returns the node that covers everything.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// Returns the kind of a node.
    pub fn kind(&self, id: NodeId) -> NodeKind {
        self.nodes[id.0 as usize].kind
    }

    /// Returns the node around a node; the root has none.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        (id.0 != 0).then(|| NodeId(self.nodes[id.0 as usize].parent))
    }

    /// Returns all leaves of a node, trivia included.
    pub fn leaves(&self, id: NodeId) -> &[Leaf] {
        let node = &self.nodes[id.0 as usize];
        &self.leaves[node.first as usize..node.end as usize]
    }

    /// Returns a leaf.
    pub fn leaf(&self, id: LeafId) -> &Leaf {
        &self.leaves[id.0 as usize]
    }

    /// Returns the text of a leaf.
    pub fn leaf_text(&self, leaf: &Leaf) -> &str {
        &self.source[leaf.span.start as usize..leaf.span.end as usize]
    }

    /// Returns the range of a node.
    pub fn span(&self, id: NodeId) -> Span {
        match self.leaves(id) {
            [first, .., last] => Span::new(first.span.start, last.span.end),
            [one] => one.span,
            [] => Span::default(),
        }
    }

    /// Returns the leaf at a byte offset.
    pub fn leaf_at(&self, offset: u32) -> Option<LeafId> {
        let index = self.leaves.partition_point(|leaf| leaf.span.end <= offset);
        (index < self.leaves.len()).then_some(LeafId(index as u32))
    }

    /// Returns the innermost node around a leaf.
    pub fn node_of(&self, leaf: LeafId) -> NodeId {
        let mut at = 0usize;
        loop {
            let node = &self.nodes[at];
            let mut child = at + 1;
            let mut inner = None;
            while child < node.next as usize {
                let below = &self.nodes[child];
                if below.first <= leaf.0 && leaf.0 < below.end {
                    inner = Some(child);
                    break;
                }
                child = below.next as usize;
            }
            match inner {
                Some(child) => at = child,
                None => return NodeId(at as u32),
            }
        }
    }

    /// Returns the direct children of a node in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = Element> + '_ {
        let node = self.nodes[id.0 as usize];
        let mut leaf = node.first;
        let mut child = id.0 + 1;
        std::iter::from_fn(move || {
            if child < node.next && self.nodes[child as usize].first == leaf {
                let inner = &self.nodes[child as usize];
                let element = Element::Node(NodeId(child));
                leaf = inner.end;
                child = inner.next;
                return Some(element);
            }
            if leaf < node.end {
                leaf += 1;
                return Some(Element::Leaf(LeafId(leaf - 1)));
            }
            None
        })
    }
}

/// Notes nodes as ranges of tokens, in the order in which they end.
#[derive(Default)]
struct NodeSink {
    tokens: u32,
    paused: bool,
    nodes: Vec<(u32, u32, NodeKind)>,
}

impl Sink for NodeSink {
    fn token(&mut self, _: usize) {
        if !self.paused {
            self.tokens += 1;
        }
    }

    fn mark(&self) -> Mark {
        Mark(self.tokens)
    }

    fn node(&mut self, mark: Mark, kind: NodeKind) {
        if !self.paused && mark.0 < self.tokens {
            self.nodes.push((mark.0, self.tokens, kind));
        }
    }

    fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }
}

/// Cuts a text into leaves; also returns, for every token, the number of leaves before it.
fn leaves_of(text: &str, tokens: &[Token]) -> (Vec<Leaf>, Vec<u32>) {
    let mut leaves = Vec::with_capacity(tokens.len() * 2);
    let mut before = Vec::with_capacity(tokens.len() + 1);
    let mut at = 0;
    for token in tokens {
        let (start, end) = (token.start as usize, token.end as usize);
        if start < end {
            trivia(text, at, start, &mut leaves);
            at = end;
        }
        before.push(leaves.len() as u32);
        if start < end {
            let span = Span::new(token.start, token.end);
            leaves.push(Leaf { kind: LeafKind::Token(token.kind), span });
        }
    }
    trivia(text, at, text.len(), &mut leaves);
    before.push(leaves.len() as u32);
    (leaves, before)
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

/// Puts nodes into pre-order. Of two nodes over the same tokens, the one that ended later is the outer one.
fn nodes_of(raw: Vec<(u32, u32, NodeKind)>, tokens: &[Token], before: &[u32], leaf_count: u32) -> Vec<Node> {
    let mut order: Vec<u32> = (0..raw.len() as u32).collect();
    order.sort_unstable_by_key(|i| {
        let (start, end, _) = raw[*i as usize];
        (start, std::cmp::Reverse(end), std::cmp::Reverse(*i))
    });
    let mut nodes = Vec::with_capacity(raw.len() + 1);
    nodes.push(Node { kind: NodeKind::File, parent: 0, first: 0, end: leaf_count, next: 0 });
    let mut open: Vec<(u32, u32)> = vec![(0, u32::MAX)];
    for i in order {
        let (start, end, kind) = raw[i as usize];
        while open.len() > 1 && open.last().is_some_and(|(_, limit)| *limit <= start) {
            close_node(&mut nodes, &mut open);
        }
        let first = before[start as usize];
        // Trivia before the next token belong to the node outside.
        let last = last_leaf(tokens, before, start, end);
        let parent = open.last().map_or(0, |(index, _)| *index);
        open.push((nodes.len() as u32, end));
        nodes.push(Node { kind, parent, first, end: last, next: 0 });
    }
    while !open.is_empty() {
        close_node(&mut nodes, &mut open);
    }
    nodes
}

fn close_node(nodes: &mut [Node], open: &mut Vec<(u32, u32)>) {
    let count = nodes.len() as u32;
    if let Some((index, _)) = open.pop() {
        nodes[index as usize].next = count;
    }
}

/// One past the last leaf of the tokens `start..end`: the leaf of the last token that has text.
fn last_leaf(tokens: &[Token], before: &[u32], start: u32, end: u32) -> u32 {
    let range = start as usize..end as usize;
    let last = range.rev().find(|i| tokens.get(*i).is_some_and(|t| t.start < t.end));
    last.map_or(before[start as usize], |i| before[i] + 1)
}
