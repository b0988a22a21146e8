//! The lossless tree for tools: every byte of the text is in exactly one leaf.
//!
//! Built from the same parser run as the arena tree: the sink notes which leaves each node covers and what it stands
//! for in the arena, so both trees know each other's ids. Nodes are stored in pre-order with the range of their leaves,
//! so a tree is two flat vectors. Invariant: the texts of all leaves, one after the other, are the source.

mod build;

use std::sync::Arc;

use base_diag::{Diagnostic, Span};

use crate::ast::{ExprId, StmtId, TypeId};
use crate::sink::{Made, NodeKind};
use crate::token::TokenKind;

pub(crate) use build::NodeSink;

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
    /// Part of a string with placeholders: its quotes and the text around them.
    StringText,
    /// `${`, or the `}` that ends a placeholder.
    Placeholder,
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
    made: Made,
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
    exprs: NodesById,
    stmts: NodesById,
    types: NodesById,
    /// Syntax errors, first the lexer's.
    pub errors: Vec<Diagnostic>,
}

/// For every id that one file added to an arena, the node that stands for it.
#[derive(Clone, Default, Debug)]
struct NodesById {
    /// The first id of the file.
    first: u32,
    /// Node numbers; 0, the root, for none.
    nodes: Vec<u32>,
}

impl NodesById {
    fn get(&self, id: u32) -> Option<NodeId> {
        let node = *self.nodes.get(id.checked_sub(self.first)? as usize)?;
        (node != 0).then_some(NodeId(node))
    }
}

impl LeafKind {
    /// True for what the grammar does not see: blanks, comments, continuations, skipped characters.
    pub fn is_trivia(self) -> bool {
        matches!(self, Self::Blank | Self::Comment | Self::Continuation | Self::Skipped)
    }
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

    /// Returns what a node stands for in the arena tree.
    pub fn made(&self, id: NodeId) -> Made {
        self.nodes[id.0 as usize].made
    }

    /// Returns the node of an expression. What the parser only derives has none: the braces between the parts of a
    /// dotted key, the default of an attribute with a literal type, holes.
    pub fn node_of_expr(&self, id: ExprId) -> Option<NodeId> {
        self.exprs.get(id.0)
    }

    /// Returns the node of a statement.
    pub fn node_of_stmt(&self, id: StmtId) -> Option<NodeId> {
        self.stmts.get(id.0)
    }

    /// Returns the node of a written type; the right side of `as` is an expression.
    pub fn node_of_type(&self, id: TypeId) -> Option<NodeId> {
        self.types.get(id.0)
    }

    /// Returns the number of nodes; their ids are in pre-order.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A tree has at least its root.
    pub fn is_empty(&self) -> bool {
        false
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

    /// Returns the text of a node.
    pub fn text_of(&self, id: NodeId) -> &str {
        let span = self.span(id);
        &self.source[span.start as usize..span.end as usize]
    }

    /// Returns the next node with the same parent.
    pub fn next_sibling(&self, id: NodeId) -> Option<NodeId> {
        let node = &self.nodes[id.0 as usize];
        let parent = &self.nodes[node.parent as usize];
        (id.0 != 0 && node.next < parent.next).then_some(NodeId(node.next))
    }

    /// Returns the first token of a node.
    pub fn first_token(&self, id: NodeId) -> Option<TokenKind> {
        match self.leaves(id).first()?.kind {
            LeafKind::Token(kind) => Some(kind),
            _ => None,
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
