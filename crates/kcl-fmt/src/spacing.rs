//! Where a blank stands between two parts of a node on one line.

use kcl_syntax::lossless::{Element, LeafKind, NodeId, SyntaxTree};
use kcl_syntax::sink::NodeKind as N;
use kcl_syntax::token::TokenKind as T;

/// A direct part of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A token.
    Token(T),
    /// An inner node.
    Node(N),
}

/// Returns a child as a part; trivia and line ends are none.
pub(crate) fn piece(tree: &SyntaxTree, child: Element) -> Option<Piece> {
    match child {
        Element::Node(id) => Some(Piece::Node(tree.kind(id))),
        Element::Leaf(leaf) => match tree.leaf(leaf).kind {
            LeafKind::Token(T::Newline) => None,
            LeafKind::Token(kind) => Some(Piece::Token(kind)),
            _ => None,
        },
    }
}

/// True if a blank stands between two neighbours inside a node of a kind.
pub(crate) fn blank(parent: N, left: Piece, right: Piece) -> bool {
    use Piece::Token;
    let tight = |piece, kinds: &[T]| matches!(piece, Token(kind) if kinds.contains(&kind));
    if right == Token(T::Comma) {
        return false;
    }
    match parent {
        N::Name | N::Selector | N::Index | N::Paren | N::Star | N::Unpack | N::Call | N::Keyword => false,
        N::Decorator => false,
        N::Unary => left == Token(T::KwNot),
        N::Quant => left != Token(T::LBrace) && right != Token(T::RBrace),
        N::Type => tight(left, &[T::Pipe, T::Arrow, T::Comma]) || tight(right, &[T::Pipe, T::Arrow]),
        N::SchemaExpr => right != Piece::Node(N::Args),
        N::Import => left == Token(T::KwImport) || !(tight(left, DOTS) || tight(right, DOTS)),
        N::Schema | N::Rule => {
            !tight(left, &[T::LBracket, T::LParen])
                && !tight(right, &[T::LBracket, T::LParen, T::RBracket, T::RParen, T::Colon])
        }
        // Names, entries, statements with a colon, conditions: `a?: T = v`, `[k: ...str]: T`, `if c:`.
        _ => {
            !tight(left, &[T::LBracket, T::Ellipsis, T::Dot])
                && !tight(right, &[T::Colon, T::Question, T::Dot, T::RBracket])
        }
    }
}

const DOTS: &[T] = &[T::Dot, T::Ellipsis];

/// The text of a string in a type or as the name of an attribute: double quotes, where nothing else has to change.
pub(crate) fn double_quoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let simple = !inner.contains(['\'', '"', '\\', '\n', '\r']) && !inner.contains("${");
    simple.then(|| format!("\"{inner}\""))
}

/// True where a quoted name or type stands directly in a node.
pub(crate) fn requotes(tree: &SyntaxTree, id: NodeId) -> bool {
    matches!(tree.kind(id), N::Type | N::Attr)
}
