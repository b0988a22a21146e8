//! What the parser tells about the shape of the text while it builds the arena tree.

/// A place in the event list where a node may begin later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(pub u32);

/// Kinds of inner nodes of the lossless tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum NodeKind {
    File,
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

/// Receives the shape.
pub trait Sink {
    /// A token was taken.
    fn token(&mut self, index: usize);
    /// Returns the current place.
    fn mark(&self) -> Mark;
    /// A node that began at the mark ends here.
    fn node(&mut self, mark: Mark, kind: NodeKind);
    /// Stops or resumes listening: tokens inside strings are not tokens of the file.
    fn pause(&mut self, paused: bool);
}

/// Listens to nothing: the fast road.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoSink;

impl Sink for NoSink {
    #[inline]
    fn token(&mut self, _: usize) {}

    #[inline]
    fn mark(&self) -> Mark {
        Mark(0)
    }

    #[inline]
    fn node(&mut self, _: Mark, _: NodeKind) {}

    #[inline]
    fn pause(&mut self, _: bool) {}
}
