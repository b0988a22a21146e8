//! The arena tree: what checking and running work on. No trivia, no parents, ids instead of boxes.
//!
//! One [`Tree`] holds **all files of one package**, because KCL merges statements across the files of a package
//! (`p: P {..}` in two files is one declaration). Every file gets a base offset, so a [`Span`] is unique in the
//! package; [`Tree::locate`] turns an offset back into (file, offset in file).
//!
//! What the parser has already done when a tree exists: `$` is stripped from names; dotted config keys
//! (`a.b.c = v`) are expanded to nested braces (`a: {b: {c = v}}`), each part keeping its own span; `elif` is an
//! `If` in the else branch; a single-literal attribute type is the attribute's default.

mod units;

use base_diag::Span;
use ecow::EcoString;

pub use units::UnitSuffix;

/// Interned-like cheap string used for names and literals.
pub type Str = EcoString;

/// An expression of a [`Tree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub u32);

/// A statement of a [`Tree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StmtId(pub u32);

/// A written type of a [`Tree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TypeId(pub u32);

/// All files of a package in one arena.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Expressions.
    pub exprs: Vec<ExprNode>,
    /// Statements.
    pub stmts: Vec<StmtNode>,
    /// Types.
    pub types: Vec<TypeNode>,
    /// Files in order.
    pub files: Vec<FileTree>,
    /// Keys of braces that mean another text when the program runs: see [`crate::lower::run_tree`].
    pub renamed_keys: Vec<(Str, Str)>,
}

/// One file of a package.
#[derive(Clone, Debug, Default)]
pub struct FileTree {
    /// Offset that was added to every span of this file.
    pub base: u32,
    /// Length of its text in bytes.
    pub len: u32,
    /// Top-level statements in order.
    pub body: Vec<StmtId>,
    /// Where the leading long string stands, which [`crate::docstring`] reads: few programs look at what they import.
    pub doc: Option<Span>,
}

/// An expression with its range.
#[derive(Clone, Debug)]
pub struct ExprNode {
    /// What it is.
    pub kind: Expr,
    /// Where it stands (package offsets).
    pub span: Span,
}

/// A statement with its range. A decorated schema attribute starts at its first decorator.
#[derive(Clone, Debug)]
pub struct StmtNode {
    /// What it is.
    pub kind: Stmt,
    /// Where it stands.
    pub span: Span,
}

/// A written type with its range.
#[derive(Clone, Debug)]
pub struct TypeNode {
    /// What it is.
    pub kind: Type,
    /// Where it stands.
    pub span: Span,
}

/// A name with its range, `$` stripped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Str,
    /// Where it stands.
    pub span: Span,
}

/// `a.b.c`: at least one part.
pub type Dotted = Box<[Ident]>;

/// Expressions.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A hole left by a syntax error; of type any, evaluates to Undefined.
    Missing,
    /// `a`, `a.b.c`: plain names joined by `.` are ONE node (errors about any part point at its start).
    Name(Dotted),
    /// `12`, `0x1f`.
    Int(i64),
    /// `1Ki`: the raw int and the suffix.
    Unit(i64, UnitSuffix),
    /// `1.5`.
    Float(f64),
    /// A string without placeholders, escapes decoded, long strings dedented.
    Str(Str),
    /// A string with `${..}`.
    Joined(Box<[JoinPart]>),
    /// `True`, `False`.
    Bool(bool),
    /// `None`.
    None,
    /// `Undefined`.
    Undefined,
    /// `-x`, `not x`.
    Unary(UnaryOp, ExprId),
    /// Arithmetic, `|`, `and`, `or`.
    Binary(BinaryOp, ExprId, ExprId),
    /// `a < b == c`: a chain, evaluated left to right.
    Compare(ExprId, Box<[(CompareOp, ExprId)]>),
    /// `x as T`. The right side is a dotted name; anything else is a syntax error already reported.
    As(ExprId, TypeId),
    /// `then if cond else orelse`.
    If {
        /// Condition.
        cond: ExprId,
        /// Value when true.
        then: ExprId,
        /// Value when false.
        orelse: ExprId,
    },
    /// `(x)`; kept because errors and chains see it.
    Paren(ExprId),
    /// `f().x`, `a?.b`: one step after something that is not a plain dotted name.
    Selector {
        /// What is selected from.
        value: ExprId,
        /// The member.
        name: Ident,
        /// `?.`
        optional: bool,
    },
    /// `a[i]`, `a?[i]`.
    Index {
        /// What is subscripted.
        value: ExprId,
        /// The index.
        index: ExprId,
        /// `?[`
        optional: bool,
    },
    /// `a[lower:upper:step]`.
    Slice {
        /// What is sliced.
        value: ExprId,
        /// First bound.
        lower: Option<ExprId>,
        /// Second bound.
        upper: Option<ExprId>,
        /// Step.
        step: Option<ExprId>,
        /// `?[`
        optional: bool,
    },
    /// `f(a, k=b)`.
    Call(Box<Call>),
    /// `[a, *b, if c: d]`: items are expressions, `Star` and `ListIf`.
    List(Box<[ExprId]>),
    /// `*x` in a list.
    Star(ExprId),
    /// `if c: items` in a list.
    ListIf {
        /// Condition.
        cond: ExprId,
        /// Items when true.
        then: Box<[ExprId]>,
        /// Items when false; `elif` is one nested `ListIf`.
        orelse: Box<[ExprId]>,
    },
    /// `[elt for ..]`.
    ListComp {
        /// Element (a `Star` here is an error of the checker).
        elt: ExprId,
        /// Clauses, outermost first.
        clauses: Box<[CompClause]>,
    },
    /// `{..}` with its entries.
    Config(Box<[Entry]>),
    /// `{k: v for ..}`.
    DictComp {
        /// The entry.
        entry: Box<Entry>,
        /// Clauses, outermost first.
        clauses: Box<[CompClause]>,
    },
    /// `all x in xs {..}`, `any`, `map`, `filter`.
    Quant(Box<Quant>),
    /// `S {..}`, `pkg.S(args) {..}`, `v {..}`.
    Schema(Box<SchemaExpr>),
    /// `lambda x: int -> int {..}`.
    Lambda(Box<Lambda>),
}

/// Arguments of a call.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub func: ExprId,
    /// Positional arguments.
    pub args: Box<[ExprId]>,
    /// Keyword arguments.
    pub kwargs: Box<[Keyword]>,
}

/// `name=value` in a call.
#[derive(Clone, Debug)]
pub struct Keyword {
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: ExprId,
}

/// `S(args) {config}`.
#[derive(Clone, Debug)]
pub struct SchemaExpr {
    /// The name in front: always an `Expr::Name`.
    pub name: ExprId,
    /// True if parentheses were written.
    pub has_args: bool,
    /// Positional arguments.
    pub args: Box<[ExprId]>,
    /// Keyword arguments.
    pub kwargs: Box<[Keyword]>,
    /// The braces: an `Expr::Config` (or `DictComp`, which the checker judges).
    pub config: ExprId,
}

/// A lambda.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Parameters.
    pub params: Box<[Param]>,
    /// Declared result.
    pub ret: Option<TypeId>,
    /// Statements.
    pub body: Box<[StmtId]>,
}

/// A parameter of a lambda, schema or rule.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Declared type.
    pub ty: Option<TypeId>,
    /// Default value.
    pub default: Option<ExprId>,
}

/// A quantifier.
#[derive(Clone, Debug)]
pub struct Quant {
    /// Which one.
    pub op: QuantOp,
    /// One or two variables (more is an error of the checker). Expressions that are not plain names are errors, too.
    pub targets: Box<[Ident]>,
    /// What is walked.
    pub iter: ExprId,
    /// The body.
    pub body: ExprId,
    /// The guard.
    pub cond: Option<ExprId>,
}

/// `for a, b in iter if cond`.
#[derive(Clone, Debug)]
pub struct CompClause {
    /// One or two variables (more is an error of the checker).
    pub targets: Box<[Ident]>,
    /// What is walked.
    pub iter: ExprId,
    /// The guard.
    pub cond: Option<ExprId>,
    /// From `for` to the end of the clause.
    pub span: Span,
}

/// An entry of braces.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The left side.
    pub key: Key,
    /// Range of the key (of the part, for a dotted key); of `**` or `if` for entries without key.
    pub key_span: Span,
    /// `:`, `=` or `+=`; `:` for entries without key.
    pub op: EntryOp,
    /// The right side; for `Key::If` the `Expr::Config` of the then branch.
    pub value: ExprId,
}

/// The left side of an entry.
#[derive(Clone, Debug)]
pub enum Key {
    /// A bare name. If it is a loop variable of an enclosing comprehension or quantifier it is computed.
    Name(Str),
    /// A string literal.
    Str(Str),
    /// `name[index]` with a literal int (may be negative).
    Indexed(Str, i64),
    /// Any other expression: `(k)`, `"${x}"`, `f()`, `a[b]`.
    Computed(ExprId),
    /// `**value`.
    Unpack,
    /// `if cond: entries else: ..`; the entry's `value` is the `Expr::Config` of the taken branch.
    If {
        /// Condition.
        cond: ExprId,
        /// The else part: one `Expr::Config`, whose only entry is a nested `Key::If` for `elif`.
        orelse: Option<ExprId>,
    },
}

/// Part of an interpolated string.
#[derive(Clone, Debug)]
pub enum JoinPart {
    /// Plain text.
    Text(Str),
    /// `${expr}`, `${expr: #json}`; the span covers the expression text.
    Value {
        /// The expression.
        expr: ExprId,
        /// Format spec as written, with `#`, e.g. `#json`; the checker judges it.
        spec: Option<Str>,
    },
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Minus,
    BitNot,
    Not,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
}

impl BinaryOp {
    /// Returns the operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::FloorDiv => "//",
            Self::Mod => "%",
            Self::Pow => "**",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::And => "and",
            Self::Or => "or",
        }
    }
}

/// Comparison operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
    Is,
    IsNot,
}

/// Operators of config entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum EntryOp {
    Union,
    Override,
    Insert,
}

/// Quantifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum QuantOp {
    All,
    Any,
    Map,
    Filter,
}

/// Statements.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// An expression.
    Expr(ExprId),
    /// `a = b: T = v`.
    Assign {
        /// At least one target.
        targets: Box<[Target]>,
        /// Annotation (only with one target).
        ty: Option<TypeId>,
        /// The value.
        value: ExprId,
    },
    /// `a += v`.
    AugAssign {
        /// The target; rare, and larger than what other statements hold.
        target: Box<Target>,
        /// Its operator without `=`.
        op: BinaryOp,
        /// The value.
        value: ExprId,
    },
    /// `a: S {..}`.
    Unification {
        /// The name.
        target: Ident,
        /// An `Expr::Schema`.
        value: ExprId,
        /// Written with a path, which is an error.
        selected: bool,
    },
    /// `if`, with `elif` nested in `orelse`.
    If {
        /// Condition.
        cond: ExprId,
        /// Statements when true.
        body: Box<[StmtId]>,
        /// Statements when false.
        orelse: Box<[StmtId]>,
    },
    /// `assert cond if guard, msg`.
    Assert {
        /// Condition.
        cond: ExprId,
        /// Guard.
        guard: Option<ExprId>,
        /// Message.
        msg: Option<ExprId>,
    },
    /// `import a.b as c`.
    Import(Box<Import>),
    /// `type X = T`.
    TypeAlias {
        /// The name.
        name: Ident,
        /// The type.
        ty: TypeId,
    },
    /// `schema`, `mixin`, `protocol`.
    Schema(Box<SchemaDef>),
    /// `rule`.
    Rule(Box<RuleDef>),
    /// `a?: T = v` in a schema body.
    Attr(Attr),
}

/// `name.b[0]` on the left of an assignment.
#[derive(Clone, Debug)]
pub struct Target {
    /// The first name.
    pub name: Ident,
    /// The steps after it.
    pub path: Box<[TargetStep]>,
    /// From the name to the last step.
    pub span: Span,
}

/// A step of a target.
#[derive(Clone, Debug)]
pub enum TargetStep {
    /// `.name`
    Member(Ident),
    /// `[expr]`
    Index(ExprId),
}

/// An import statement.
#[derive(Clone, Debug)]
pub struct Import {
    /// Number of leading dots.
    pub dots: u32,
    /// The names after the dots.
    pub path: Box<[Ident]>,
    /// `as name`.
    pub alias: Option<Ident>,
}

impl Import {
    /// Returns the name that the import binds: the alias, or the last part.
    pub fn bound_name(&self) -> Str {
        match (&self.alias, self.path.last()) {
            (Some(alias), _) => alias.name.clone(),
            (None, Some(last)) => last.name.clone(),
            (None, None) => Str::new(),
        }
    }

    /// Returns the path as written, with dots (`..a.b`).
    pub fn raw_path(&self) -> String {
        let mut text = ".".repeat(self.dots as usize);
        for (i, part) in self.path.iter().enumerate() {
            if i > 0 {
                text.push('.');
            }
            text.push_str(&part.name);
        }
        text
    }
}

/// `schema`, `mixin` or `protocol`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum SchemaKind {
    Schema,
    Mixin,
    Protocol,
}

/// A schema statement.
#[derive(Clone, Debug)]
pub struct SchemaDef {
    /// Its name.
    pub name: Ident,
    /// The keyword, overruled by the endings `Mixin` and `Protocol` of the name.
    pub kind: SchemaKind,
    /// The keyword as written.
    pub keyword: SchemaKind,
    /// Decorators: names or calls.
    pub decorators: Box<[ExprId]>,
    /// Parameters.
    pub params: Box<[Param]>,
    /// `(Base)`.
    pub base: Option<DottedRef>,
    /// `for Protocol`.
    pub host: Option<DottedRef>,
    /// Where its documentation stands; [`crate::docstring`] reads it.
    pub doc: Option<Span>,
    /// `mixin [..]`.
    pub mixins: Box<[DottedRef]>,
    /// Attributes and statements in order (`Stmt::Attr`, assignments, …).
    pub body: Box<[StmtId]>,
    /// `[k: str]: T`.
    pub index_signature: Option<Box<IndexSignature>>,
    /// `check:`.
    pub checks: Box<[Check]>,
}

/// A dotted name with its range.
#[derive(Clone, Debug)]
pub struct DottedRef {
    /// The parts.
    pub parts: Dotted,
    /// The whole range.
    pub span: Span,
}

/// A rule statement.
#[derive(Clone, Debug)]
pub struct RuleDef {
    /// Its name.
    pub name: Ident,
    /// Decorators.
    pub decorators: Box<[ExprId]>,
    /// Parameters.
    pub params: Box<[Param]>,
    /// `(Parent, ..)`.
    pub parents: Box<[DottedRef]>,
    /// `for Protocol`.
    pub host: Option<DottedRef>,
    /// Where its documentation stands; [`crate::docstring`] reads it.
    pub doc: Option<Span>,
    /// Its lines.
    pub checks: Box<[Check]>,
}

/// A line of a check block.
#[derive(Clone, Debug)]
pub struct Check {
    /// Condition.
    pub cond: ExprId,
    /// `if guard`.
    pub guard: Option<ExprId>,
    /// `, msg`.
    pub msg: Option<ExprId>,
    /// The whole line.
    pub span: Span,
}

/// A schema attribute.
#[derive(Clone, Debug)]
pub struct Attr {
    /// Its name; a string attribute has the text of the string.
    pub name: Ident,
    /// Documentation-free decorators.
    pub decorators: Box<[ExprId]>,
    /// `?`.
    pub optional: bool,
    /// Its type.
    pub ty: TypeId,
    /// Written as `a.b`, where that is a mistake.
    pub selected: bool,
    /// `=` or an augmented operator; `|=` is the only one that means something else than `=`.
    pub op: Option<AttrOp>,
    /// The default (also a single literal type's literal).
    pub default: Option<ExprId>,
}

/// The operator before an attribute's default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AttrOp {
    Assign,
    Union,
    OtherAug,
}

/// `[name: ...K]: V = default`.
#[derive(Clone, Debug)]
pub struct IndexSignature {
    /// Key name.
    pub name: Option<Ident>,
    /// `...`.
    pub any_other: bool,
    /// Key type.
    pub key: TypeId,
    /// Value type.
    pub value: TypeId,
    /// Default.
    pub default: Option<ExprId>,
    /// From `[` to the end.
    pub span: Span,
}

/// Written types.
#[derive(Clone, Debug)]
pub enum Type {
    /// A hole left by a syntax error; any.
    Missing,
    /// The right side of `as` where it is no name: wrong, but its parts are looked at first.
    NotAType(ExprId),
    /// `any`.
    Any,
    /// `bool`, `int`, `float`, `str`.
    Basic(BasicType),
    /// `True`, `1`, `1.5`, `"x"`, `1Ki`.
    Literal(LiteralType),
    /// A schema, alias, `units.NumberMultiplier`.
    Named(Dotted),
    /// `[T]`; `[]` has none.
    List(Option<TypeId>),
    /// `{K:V}`; either may be absent.
    Dict(Option<TypeId>, Option<TypeId>),
    /// `A | B`.
    Union(Box<[TypeId]>),
    /// `(A, B) -> R`.
    Function(Box<[TypeId]>, Option<TypeId>),
}

/// Basic types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BasicType {
    Bool,
    Int,
    Float,
    Str,
}

/// Literal types.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum LiteralType {
    Bool(bool),
    Int(i64),
    Unit(i64, UnitSuffix),
    Float(f64),
    Str(Str),
}

impl Tree {
    /// Returns an expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize].kind
    }

    /// Returns an expression's range.
    pub fn expr_span(&self, id: ExprId) -> Span {
        self.exprs[id.0 as usize].span
    }

    /// Returns a statement.
    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0 as usize].kind
    }

    /// Returns a statement's range.
    pub fn stmt_span(&self, id: StmtId) -> Span {
        self.stmts[id.0 as usize].span
    }

    /// Returns a type.
    pub fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize].kind
    }

    /// Returns a type's range.
    pub fn type_span(&self, id: TypeId) -> Span {
        self.types[id.0 as usize].span
    }

    /// Adds an expression.
    pub fn add_expr(&mut self, kind: Expr, span: Span) -> ExprId {
        self.exprs.push(ExprNode { kind, span });
        ExprId(self.exprs.len() as u32 - 1)
    }

    /// Adds a statement.
    pub fn add_stmt(&mut self, kind: Stmt, span: Span) -> StmtId {
        self.stmts.push(StmtNode { kind, span });
        StmtId(self.stmts.len() as u32 - 1)
    }

    /// Adds a type.
    pub fn add_type(&mut self, kind: Type, span: Span) -> TypeId {
        self.types.push(TypeNode { kind, span });
        TypeId(self.types.len() as u32 - 1)
    }

    /// Turns a package offset into (index of the file, offset in its text).
    pub fn locate(&self, offset: u32) -> (usize, u32) {
        let idx = self.files.partition_point(|f| f.base <= offset).saturating_sub(1);
        (idx, offset - self.files.get(idx).map_or(0, |f| f.base))
    }

    /// Returns the base offset for the next file: one past the end of the last, so that ends never collide.
    pub fn next_base(&self) -> u32 {
        self.files.last().map_or(0, |f| f.base + f.len + 1)
    }
}
