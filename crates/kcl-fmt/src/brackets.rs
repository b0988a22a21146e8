//! Lists, configs, arguments, parameters, lambdas, quantifiers.

use kcl_syntax::lossless::{Element, LeafKind, NodeId};
use kcl_syntax::sink::NodeKind as N;
use kcl_syntax::token::TokenKind as T;

use crate::blocks::{Commas, is_token};
use crate::printer::{Blanks, Parts, Printer};

impl Printer<'_> {
    /// Writes items between brackets, on one line or on lines of their own.
    pub(crate) fn bracket(&mut self, id: NodeId) {
        if self.layout.is_open(id) {
            let commas = if self.tree.kind(id) == N::Args { Commas::Between } else { Commas::None };
            self.bracket_lines(id, commas);
        } else {
            self.bracket_line(id);
        }
    }

    fn bracket_line(&mut self, id: NodeId) {
        let tree = self.tree;
        let mut items = 0;
        for child in tree.children(id) {
            match child {
                Element::Node(node) => {
                    if tree.kind(node) == N::CompClause {
                        self.out.push(' ');
                    } else if items > 0 {
                        self.out.push_str(", ");
                    }
                    self.node(node);
                    items += 1;
                }
                Element::Leaf(leaf) => match tree.leaf(leaf).kind {
                    LeafKind::Comment => self.comment(tree.leaf(leaf), Blanks::Drop),
                    LeafKind::Token(T::Comma | T::Newline) => {}
                    LeafKind::Token(_) => self.token(tree.leaf(leaf)),
                    _ => {}
                },
            }
        }
    }

    /// Writes the opening bracket with what stands before it, the items on lines, the closing bracket.
    fn bracket_lines(&mut self, id: NodeId, commas: Commas) {
        let tree = self.tree;
        let mut parts = Parts::default();
        for child in tree.children(id) {
            self.part(id, child, &mut parts);
            if is_token(tree, child, T::LBracket)
                || is_token(tree, child, T::LBrace)
                || is_token(tree, child, T::LParen)
            {
                break;
            }
        }
        self.level += 1;
        self.opened = true;
        self.lines(id, Blanks::Comments, commas);
        self.level -= 1;
        self.closing_line();
        if let Some(close) = tree.leaves(id).last() {
            self.token(close);
        }
    }

    /// Writes `mixin [..]`: one name per line.
    pub(crate) fn mixins(&mut self, id: NodeId) {
        // An empty list may not have a line end.
        if self.tree.children(id).all(|child| matches!(child, Element::Leaf(_))) {
            return self.inline(id);
        }
        self.bracket_lines(id, Commas::Between);
    }

    /// Writes a lambda; its body always has lines of its own.
    pub(crate) fn lambda(&mut self, id: NodeId) {
        let tree = self.tree;
        let braces = self.layout.is_open(id);
        for child in tree.children(id) {
            match child {
                Element::Node(node) => match tree.kind(node) {
                    N::Params if braces => self.params_in_braces(id, node),
                    N::Block => {
                        self.out.push(' ');
                        self.lambda_body(node);
                    }
                    _ => {
                        self.out.push(' ');
                        self.node(node);
                    }
                },
                Element::Leaf(leaf) => {
                    let leaf = tree.leaf(leaf);
                    match leaf.kind {
                        LeafKind::Token(T::KwLambda) => self.token(leaf),
                        LeafKind::Token(T::Arrow) => {
                            self.out.push(' ');
                            self.token(leaf);
                        }
                        // The braces and their comments are written with the parameters.
                        _ => {}
                    }
                }
            }
        }
    }

    /// Writes `{`, one parameter per line, `}`.
    fn params_in_braces(&mut self, lambda: NodeId, params: NodeId) {
        let tree = self.tree;
        self.out.push(' ');
        self.replaced("{", self.done);
        self.level += 1;
        self.opened = true;
        let around = |before: bool| {
            let params = tree.span(params);
            tree.children(lambda)
                .filter_map(move |child| match child {
                    Element::Leaf(leaf) => Some(tree.leaf(leaf)),
                    Element::Node(_) => None,
                })
                .filter(move |leaf| {
                    leaf.kind == LeafKind::Comment && (leaf.span.start < params.start) == before
                })
        };
        for comment in around(true) {
            self.comment(comment, Blanks::Comments);
        }
        self.lines(params, Blanks::Comments, Commas::After);
        for comment in around(false) {
            self.comment(comment, Blanks::Comments);
        }
        self.level -= 1;
        self.closing_line();
        self.replaced("}", self.done);
    }

    fn lambda_body(&mut self, id: NodeId) {
        let tree = self.tree;
        let leaves = tree.leaves(id);
        if let Some(open) = leaves.first() {
            self.token(open);
        }
        self.level += 1;
        self.opened = true;
        self.lines(id, Blanks::Keep, Commas::None);
        self.level -= 1;
        self.closing_line();
        if let Some(close) = leaves.last() {
            self.token(close);
        }
    }

    /// Writes `all x in xs {..}`; the braces keep their line ends.
    pub(crate) fn quant(&mut self, id: NodeId) {
        let tree = self.tree;
        let open = self.layout.is_open(id);
        let mut parts = Parts::default();
        let mut body = false;
        for child in tree.children(id) {
            let is_piece = crate::spacing::piece(tree, child).is_some();
            if open && is_token(tree, child, T::RBrace) {
                self.level -= 1;
                self.closing_line();
                parts = Parts::default();
            } else if body && is_piece {
                self.line(self.done, Blanks::Drop);
                parts = Parts::default();
                body = false;
            }
            self.part(id, child, &mut parts);
            if open && is_token(tree, child, T::LBrace) {
                self.level += 1;
                (self.opened, body) = (true, true);
            }
        }
    }
}
