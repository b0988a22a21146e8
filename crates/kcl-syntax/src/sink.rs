//! What the parser tells about the shape of the text while it builds the arena tree.

use crate::ast::{ExprId, StmtId, TypeId};
use crate::token::Token;

/// A place in the event list where a node may begin later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(pub u32);

/// Kinds of inner nodes of the lossless tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum NodeKind {
    File,
    Doc,
    Assign,
    AugAssign,
    Unification,
    ExprStmt,
    IfStmt,
    Assert,
    Import,
    TypeAlias,
    Schema,
    Rule,
    Attr,
    IndexSignature,
    CheckBlock,
    Check,
    Decorator,
    MixinLine,
    Params,
    Param,
    Block,
    Name,
    Literal,
    Placeholder,
    Unary,
    Binary,
    Compare,
    Cast,
    IfExpr,
    Paren,
    Selector,
    Index,
    Call,
    Args,
    Keyword,
    List,
    Star,
    ListIf,
    Config,
    Entry,
    ConfigIf,
    Unpack,
    CompClause,
    Quant,
    SchemaExpr,
    Lambda,
    Type,
    Error,
}

/// What a node stands for in the arena tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// Nothing of its own: punctuation, names that only declare, blocks.
    Nothing,
    /// An expression.
    Expr(ExprId),
    /// A statement.
    Stmt(StmtId),
    /// A written type.
    Type(TypeId),
}

/// Receives the shape.
pub trait Sink {
    /// A token was taken.
    fn token(&mut self, tokens: &[Token], index: usize);
    /// Returns the current place.
    fn mark(&self) -> Mark;
    /// A node that began at the mark ends here.
    fn node(&mut self, mark: Mark, kind: NodeKind, made: Made);
    /// The last expression, this one, was removed from the arena: its node stands for nothing now.
    fn forget(&mut self, dropped: ExprId);
    /// The tokens that follow are those of a placeholder whose expression begins at an offset, in a string that
    /// begins at `string`. Returns the place before its `${`.
    fn open_placeholder(&mut self, string: u32, expression: u32) -> Mark;
    /// The placeholder ends at the `}` that stands at an offset.
    fn close_placeholder(&mut self, mark: Mark, brace: u32);
}

/// Listens to nothing: the fast road.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoSink;

impl Sink for NoSink {
    #[inline]
    fn token(&mut self, _: &[Token], _: usize) {}

    #[inline]
    fn mark(&self) -> Mark {
        Mark(0)
    }

    #[inline]
    fn node(&mut self, _: Mark, _: NodeKind, _: Made) {}

    #[inline]
    fn forget(&mut self, _: ExprId) {}

    #[inline]
    fn open_placeholder(&mut self, _: u32, _: u32) -> Mark {
        Mark(0)
    }

    #[inline]
    fn close_placeholder(&mut self, _: Mark, _: u32) {}
}
