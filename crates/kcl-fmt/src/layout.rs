//! Which nodes go over several lines. Found once for all nodes, children before parents.

use kcl_syntax::lossless::{Element, LeafKind, NodeId, SyntaxTree};
use kcl_syntax::sink::NodeKind;
use kcl_syntax::token::TokenKind as T;

/// A `lambda` header longer than this has its parameters one per line.
const MAX_HEADER: usize = 80;

/// Its items stand on lines of their own.
const OPEN: u8 = 1;
/// Its text will have a line end.
const BREAKS: u8 = 2;

/// For every node, how it is laid out.
pub(crate) struct Layout {
    flags: Vec<u8>,
}

impl Layout {
    /// Looks at every node once.
    pub(crate) fn of(tree: &SyntaxTree) -> Layout {
        let mut layout = Layout { flags: vec![0; tree.len()] };
        for number in (1..tree.len() as u32).rev() {
            let id = NodeId(number);
            let open = match tree.kind(id) {
                NodeKind::Config | NodeKind::List => layout.opens(tree, id),
                NodeKind::Args => has_comment(tree, id),
                NodeKind::Quant => has_line_end(tree, id),
                NodeKind::Lambda => wants_braces(tree, id),
                _ => false,
            };
            let breaks = open
                || match tree.kind(id) {
                    NodeKind::Lambda | NodeKind::ListIf | NodeKind::ConfigIf | NodeKind::Block => true,
                    NodeKind::Literal => tree.text_of(id).contains('\n'),
                    _ => layout.breaks_inside(tree, id),
                };
            layout.flags[number as usize] = if open { OPEN } else { 0 } | if breaks { BREAKS } else { 0 };
        }
        layout
    }

    /// True if the items of a bracket stand on lines of their own.
    pub(crate) fn is_open(&self, id: NodeId) -> bool {
        self.flags[id.0 as usize] & OPEN != 0
    }

    fn breaks(&self, id: NodeId) -> bool {
        self.flags[id.0 as usize] & BREAKS != 0
    }

    fn breaks_inside(&self, tree: &SyntaxTree, id: NodeId) -> bool {
        tree.children(id).any(|child| match child {
            Element::Node(node) => self.breaks(node),
            Element::Leaf(leaf) => tree.leaf(leaf).kind == LeafKind::Comment,
        })
    }

    /// A list or config stays on one line if all its items begin on the line of its bracket, before and after.
    fn opens(&self, tree: &SyntaxTree, id: NodeId) -> bool {
        let mut items = 0;
        let (mut line_end, mut comment, mut clauses, mut only) = (false, false, false, None);
        let (mut open, mut conditional) = (false, false);
        for child in tree.children(id) {
            match child {
                Element::Leaf(leaf) => match tree.leaf(leaf).kind {
                    LeafKind::Comment => comment = true,
                    kind if ends_line(kind) => line_end = true,
                    _ => {}
                },
                Element::Node(node) if tree.kind(node) == NodeKind::CompClause => {
                    clauses = true;
                    comment |= has_comment(tree, node);
                }
                Element::Node(node) => {
                    items += 1;
                    conditional |= matches!(tree.kind(node), NodeKind::ListIf | NodeKind::ConfigIf);
                    open |= line_end;
                    // The next item would begin on another line.
                    line_end |= self.breaks(node) || holds_line_end(tree, node);
                    only = Some(node);
                }
            }
        }
        if clauses {
            return comment || conditional;
        }
        let nested = items == 1
            && tree.kind(id) == NodeKind::Config
            && only.is_some_and(|entry| holds_braces(tree, entry));
        open || comment || conditional || nested
    }
}

/// True if the value of an entry is a config or a schema expression.
fn holds_braces(tree: &SyntaxTree, entry: NodeId) -> bool {
    let last = tree.children(entry).filter_map(|child| match child {
        Element::Node(node) => Some(node),
        Element::Leaf(_) => None,
    });
    let Some(value) = last.last() else { return false };
    match tree.kind(value) {
        NodeKind::SchemaExpr => true,
        NodeKind::Config => !is_comprehension(tree, value),
        _ => false,
    }
}

/// True for `[.. for ..]` and `{.. for ..}`.
pub(crate) fn is_comprehension(tree: &SyntaxTree, id: NodeId) -> bool {
    tree.children(id).any(|c| matches!(c, Element::Node(node) if tree.kind(node) == NodeKind::CompClause))
}

fn has_leaf(tree: &SyntaxTree, id: NodeId, test: impl Fn(LeafKind) -> bool) -> bool {
    tree.children(id).any(|child| matches!(child, Element::Leaf(leaf) if test(tree.leaf(leaf).kind)))
}

fn has_comment(tree: &SyntaxTree, id: NodeId) -> bool {
    has_leaf(tree, id, |kind| kind == LeafKind::Comment)
}

fn has_line_end(tree: &SyntaxTree, id: NodeId) -> bool {
    has_leaf(tree, id, |kind| kind == LeafKind::Comment || ends_line(kind))
}

/// A line that goes on after `\` is a line of the source like any other: what its author broke stays broken.
fn ends_line(kind: LeafKind) -> bool {
    matches!(kind, LeafKind::Token(T::Newline) | LeafKind::Continuation)
}

/// True if a node goes over several lines as it is written.
fn holds_line_end(tree: &SyntaxTree, id: NodeId) -> bool {
    tree.leaves(id).iter().any(|leaf| ends_line(leaf.kind))
}

/// True if the parameters of a lambda are written in braces: they have comments, or the header is long. Braces need a
/// result type after them.
fn wants_braces(tree: &SyntaxTree, id: NodeId) -> bool {
    let mut width = "lambda".len();
    let (mut comment, mut arrow) = (false, false);
    for child in tree.children(id) {
        match child {
            Element::Leaf(leaf) => match tree.leaf(leaf).kind {
                LeafKind::Comment => comment = true,
                LeafKind::Token(T::Arrow) => {
                    arrow = true;
                    width += " ->".len();
                }
                _ => {}
            },
            Element::Node(node) => match tree.kind(node) {
                NodeKind::Params => {
                    comment |= has_comment(tree, node);
                    width += 1 + flat_width(tree, node);
                }
                NodeKind::Type => width += 1 + flat_width(tree, node),
                _ => {}
            },
        }
    }
    arrow && (comment || width > MAX_HEADER)
}

/// Characters of a node when all of it stands on one line.
fn flat_width(tree: &SyntaxTree, id: NodeId) -> usize {
    let kind = tree.kind(id);
    if matches!(kind, NodeKind::Literal | NodeKind::Doc) {
        return tree.text_of(id).chars().count();
    }
    if matches!(kind, NodeKind::Params | NodeKind::Args | NodeKind::List | NodeKind::Config) {
        return list_width(tree, id);
    }
    let (mut width, mut last) = (0, None);
    for child in tree.children(id) {
        let Some(piece) = crate::spacing::piece(tree, child) else { continue };
        width += usize::from(last.is_some_and(|last| crate::spacing::blank(kind, last, piece)));
        width += match child {
            Element::Node(node) => flat_width(tree, node),
            Element::Leaf(leaf) => tree.leaf_text(tree.leaf(leaf)).chars().count(),
        };
        last = Some(piece);
    }
    width
}

/// Items with `, ` between them; two for the brackets.
fn list_width(tree: &SyntaxTree, id: NodeId) -> usize {
    let widths = tree.children(id).filter_map(|child| match child {
        Element::Node(node) => Some(flat_width(tree, node) + ", ".len()),
        Element::Leaf(_) => None,
    });
    let total: usize = widths.sum();
    let brackets = if tree.kind(id) == NodeKind::Params { 0 } else { "[]".len() };
    total.saturating_sub(", ".len()) + brackets
}
