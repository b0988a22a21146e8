//! Statements, definitions, conditionals: what is written in lines.

use kcl_syntax::lossless::{Element, LeafKind, NodeId};
use kcl_syntax::sink::NodeKind as N;
use kcl_syntax::token::TokenKind as T;

use crate::printer::{Blanks, Ended, Parts, Printer};
use crate::region::{self, Region};

/// What stands between two items on lines of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commas {
    /// Nothing: the line end separates.
    None,
    /// Commas between.
    Between,
    /// A comma after each.
    After,
}

impl Printer<'_> {
    /// Writes a whole file.
    pub(crate) fn file(&mut self) {
        self.lines(self.tree.root(), Blanks::Keep, Commas::None);
    }

    /// Writes the inner nodes and comments of a node, each on a line of its own.
    pub(crate) fn lines(&mut self, id: NodeId, blanks: Blanks, commas: Commas) {
        let tree = self.tree;
        let mut region: Option<Region> = None;
        let (mut begun, mut last) = (false, None);
        for child in tree.children(id) {
            if let Some(open) = &mut region {
                if open.take(tree, child) {
                    self.write_region(id, open);
                    region = None;
                }
                continue;
            }
            match child {
                Element::Leaf(leaf) => {
                    let leaf = tree.leaf(leaf);
                    if leaf.kind != LeafKind::Comment {
                        continue;
                    }
                    if !std::mem::replace(&mut begun, true) {
                        self.before_first(id);
                    }
                    if region::is_off(tree.leaf_text(leaf)) && self.on_own_line(leaf.span.start) {
                        region = Some(Region::new(leaf.span));
                    } else {
                        self.comment(leaf, blanks);
                    }
                }
                Element::Node(node) => {
                    if !std::mem::replace(&mut begun, true) {
                        self.before_first(id);
                    }
                    self.item(node, last, blanks, commas);
                    last = Some(tree.kind(node));
                }
            }
        }
        if let Some(open) = region {
            self.write_region(id, &open);
        }
    }

    /// An empty line stands before `check:`, also at the start of a block.
    fn before_first(&mut self, id: NodeId) {
        let first = self.tree.children(id).find_map(|child| match child {
            Element::Node(node) => Some(self.tree.kind(node)),
            Element::Leaf(_) => None,
        });
        if self.opened && first == Some(N::CheckBlock) {
            (self.opened, self.empty_line) = (false, true);
        }
    }

    fn item(&mut self, node: NodeId, last: Option<N>, blanks: Blanks, commas: Commas) {
        let tree = self.tree;
        let blanks = match last {
            Some(N::Doc | N::MixinLine) => Blanks::Drop,
            _ => blanks,
        };
        self.line(tree.span(node).start, blanks);
        self.node(node);
        let next = tree.next_sibling(node);
        if commas == Commas::After || (commas == Commas::Between && next.is_some()) {
            self.out.push(',');
        }
        let Some(next) = next else { return };
        let kind = tree.kind(node);
        let ends_group = match kind {
            N::Import => tree.kind(next) != N::Import,
            N::Doc => tree.parent(node) == Some(tree.root()),
            _ => false,
        };
        // Empty lines after these are dropped.
        let dropped = matches!(kind, N::Doc | N::MixinLine);
        let apart = self.stands_apart(next) && (dropped || !self.has_empty_line(node, next));
        self.empty_line |= ends_group || apart;
    }

    /// True for what has an empty line before it: `check:`, a definition with decorators.
    fn stands_apart(&self, id: NodeId) -> bool {
        match self.tree.kind(id) {
            N::CheckBlock => true,
            N::Schema => self.tree.first_token(id) == Some(T::At),
            _ => false,
        }
    }

    /// True if the source has an empty line somewhere between two nodes.
    fn has_empty_line(&self, left: NodeId, right: NodeId) -> bool {
        let (from, to) = (self.tree.span(left).end, self.tree.span(right).start);
        // A block ends after its last line end.
        let from = from.saturating_sub(1).min(to);
        let gap = &self.tree.source()[from as usize..to as usize];
        let mut lines = gap.split('\n').skip(1).peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_some() && line.trim().is_empty() {
                return true;
            }
        }
        false
    }

    /// Writes decorators, a header and a body.
    pub(crate) fn definition(&mut self, id: NodeId) {
        let tree = self.tree;
        let mut parts = Parts::default();
        let (mut decorated, mut body) = (false, false);
        for child in tree.children(id) {
            match child {
                Element::Node(node) if tree.kind(node) == N::Block => {
                    let blanks = if tree.kind(id) == N::Schema { Blanks::Keep } else { Blanks::Comments };
                    self.block(node, blanks);
                    body = true;
                }
                Element::Node(node) if tree.kind(node) == N::Decorator => {
                    if decorated {
                        self.line(tree.span(node).start, Blanks::Drop);
                    }
                    self.node(node);
                    decorated = true;
                }
                child => {
                    if decorated && crate::spacing::piece(tree, child).is_some() {
                        self.line(tree.span(id).start, Blanks::Drop);
                        decorated = false;
                    }
                    self.part(id, child, &mut parts);
                }
            }
        }
        if tree.kind(id) != N::Schema {
            return;
        }
        match self.ended.last_mut().filter(|_| body) {
            Some(block) => block.empty_line = true,
            None => self.end_body(id, true),
        }
    }

    /// After a body that is no block: a comment further in than its header belongs to it.
    fn end_body(&mut self, header: NodeId, empty_line: bool) {
        let at = self.tree.span(header).start;
        self.ended.push(Ended { at, deeper: 1, level: self.level + 1, empty_line });
    }

    /// Writes the lines of an indented block.
    fn block(&mut self, id: NodeId, blanks: Blanks) {
        self.level += 1;
        self.opened = true;
        let is_first = |kind: LeafKind| !kind.is_trivia() && kind != LeafKind::Token(T::Newline);
        let first = self.tree.leaves(id).iter().find(|leaf| is_first(leaf.kind));
        let at = first.map_or(0, |leaf| leaf.span.start);
        self.lines(id, blanks, Commas::None);
        self.level -= 1;
        self.ended.push(Ended { at, deeper: 0, level: self.level + 1, empty_line: false });
    }

    /// Writes `if`, `elif`, `else` with their bodies: statements, items or entries.
    pub(crate) fn conditional(&mut self, id: NodeId) {
        let tree = self.tree;
        let statement = tree.kind(id) == N::IfStmt;
        let mut parts = Parts::default();
        let mut colon = false;
        for child in tree.children(id) {
            match child {
                Element::Node(node) if tree.kind(node) == N::Block => {
                    self.block(node, if statement { Blanks::Keep } else { Blanks::Comments });
                }
                Element::Node(node) if colon && tree.first_token(node) == Some(T::KwElif) => {
                    self.closing_line();
                    self.conditional(node);
                }
                Element::Node(node) if colon && self.must_stay(node) => {
                    self.out.push(' ');
                    self.node(node);
                    self.end_body(id, false);
                }
                Element::Node(node) if colon => {
                    self.level += 1;
                    self.opened = true;
                    self.line(tree.span(node).start, Blanks::Drop);
                    self.node(node);
                    self.level -= 1;
                    self.end_body(id, false);
                }
                child => {
                    if is_token(tree, child, T::KwElse) {
                        self.closing_line();
                        parts = Parts::default();
                    }
                    colon |= is_token(tree, child, T::Colon);
                    self.part(id, child, &mut parts);
                }
            }
        }
        let whole = statement && tree.first_token(id) == Some(T::KwIf);
        if whole
            && !self.has_else(id)
            && let Some(block) = self.ended.last_mut()
        {
            block.empty_line = true;
        }
    }

    /// True for a statement after `if c:` whose first word is a name there, but not at the start of a line.
    fn must_stay(&self, body: NodeId) -> bool {
        let words =
            [T::KwIf, T::KwAssert, T::KwImport, T::KwType, T::KwSchema, T::KwMixin, T::KwProtocol, T::KwRule];
        let statement =
            matches!(self.tree.kind(body), N::ExprStmt | N::Assign | N::AugAssign | N::Unification);
        statement && self.tree.first_token(body).is_some_and(|word| words.contains(&word))
    }

    fn has_else(&self, id: NodeId) -> bool {
        self.tree.children(id).any(|child| match child {
            Element::Node(node) => self.tree.first_token(node) == Some(T::KwElif) && self.has_else(node),
            leaf => is_token(self.tree, leaf, T::KwElse),
        })
    }
}

/// True for a token of a kind that is a direct child.
pub(crate) fn is_token(tree: &kcl_syntax::SyntaxTree, child: Element, kind: T) -> bool {
    matches!(child, Element::Leaf(leaf) if tree.leaf(leaf).kind == LeafKind::Token(kind))
}
