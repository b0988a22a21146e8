//! The semantic index of a package: the type of every expression and the meaning of every name.
//!
//! The checker tells a `Recorder` what it infers; who does not listen pays nothing. When the package is checked, `walk` goes over
//! the tree once more with a stack of frames and gives each name its meaning: names by scope, members and keys by the types that
//! were recorded. Everything is looked at, also what the checker passes over (the braces of an unknown schema), so a name that is
//! not in the index is used nowhere.
//!
//! Places are (package, range in it). A package is known by its [`Home`], so an index is right in every program that shares it.

mod exprs;
mod frames;
mod globals;
mod members;
mod record;
mod stmts;
mod types;
mod walk;

use std::sync::Arc;

use base_diag::Span;
use kcl_syntax::ast::{ExprId, Str};
use rustc_hash::FxHashMap;

use crate::package::{Home, PackageTypes};
use crate::ty::TyId;
pub(crate) use record::{NoRecorder, Recorder, Records};
pub use types::TypeKind;
pub(crate) use walk::walk;

/// A place in a package.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Spot {
    /// The package.
    pub home: Home,
    /// The name, in offsets of the package.
    pub span: Span,
}

/// What is declared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DefKind {
    /// A name that is assigned: of the package, a schema body or a lambda.
    Variable,
    /// A schema.
    Schema,
    /// A mixin.
    Mixin,
    /// A protocol.
    Protocol,
    /// A rule.
    Rule,
    /// An attribute of a schema.
    Attribute,
    /// The key of an index signature.
    IndexKey,
    /// A parameter of a schema, rule or lambda.
    Parameter,
    /// A variable of a comprehension or quantifier.
    LoopVariable,
    /// The name that an import binds.
    Import,
    /// A type alias.
    TypeAlias,
    /// A key of braces that is no attribute.
    Key,
}

impl DefKind {
    /// Returns the word for people.
    pub fn word(self) -> &'static str {
        match self {
            DefKind::Variable => "variable",
            DefKind::Schema => "schema",
            DefKind::Mixin => "mixin",
            DefKind::Protocol => "protocol",
            DefKind::Rule => "rule",
            DefKind::Attribute => "attribute",
            DefKind::IndexKey => "index key",
            DefKind::Parameter => "parameter",
            DefKind::LoopVariable => "loop variable",
            DefKind::Import => "import",
            DefKind::TypeAlias => "type alias",
            DefKind::Key => "key",
        }
    }
}

/// What a declaration belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// The package.
    Package,
    /// A schema or rule.
    Schema,
    /// A lambda.
    Lambda,
    /// A comprehension or quantifier.
    Loop,
    /// Braces.
    Braces,
}

/// A declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Def {
    /// What it is.
    pub kind: DefKind,
    /// Its name.
    pub name: Str,
    /// Where the name stands.
    pub span: Span,
    /// What it belongs to.
    pub level: Level,
}

/// What a name means.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    /// What is declared there, in this package or another.
    Declared(Spot),
    /// A top-level name of another package.
    Member(Home, Str),
    /// A built-in function.
    Builtin(Str),
    /// A member of a system module: `math.pow`.
    System(Str),
    /// A method of text or of a schema.
    Method(Str),
}

/// What a name does where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Role {
    /// It declares.
    Declare,
    /// It sets what was declared.
    Write,
    /// It reads.
    Read,
}

/// A name that stands somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Where; a quoted key with its quotes.
    pub span: Span,
    /// What it means.
    pub meaning: Meaning,
    /// What it does.
    pub role: Role,
}

/// The index of one package.
#[derive(Debug)]
pub struct PackageIndex {
    pub(crate) home: Home,
    pub(crate) types: Arc<PackageTypes>,
    pub(crate) records: Records,
    /// By place.
    pub(crate) occurrences: Vec<Occurrence>,
    /// By place.
    pub(crate) defs: Vec<Def>,
    pub(crate) globals: FxHashMap<Str, Span>,
    /// Declarations of one thing: an attribute and the inherited one of its name.
    pub(crate) links: Vec<(Spot, Spot)>,
    /// Names that mean nothing here: mistakes, and what a mixin or rule expects of its host.
    pub(crate) unbound: Vec<(Str, Span)>,
}

/// A type of one package.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeRef(TyId);

impl PackageIndex {
    /// Returns who the package is.
    pub fn home(&self) -> Home {
        self.home
    }

    /// Returns the types of the package.
    pub fn types(&self) -> &Arc<PackageTypes> {
        &self.types
    }

    /// Returns every name, in order of place.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// Returns every declaration, in order of place.
    pub fn defs(&self) -> &[Def] {
        &self.defs
    }

    /// Returns pairs of places that declare one thing.
    pub fn links(&self) -> &[(Spot, Spot)] {
        &self.links
    }

    /// Returns the names that mean nothing: mistakes, and what a mixin or rule expects of its host.
    pub fn unbound(&self) -> &[(Str, Span)] {
        &self.unbound
    }

    /// Returns the place of a top-level name.
    pub fn global(&self, name: &str) -> Option<Spot> {
        self.globals.get(name).map(|span| Spot { home: self.home, span: *span })
    }

    /// Returns what is declared at a place of this package.
    pub fn def_at(&self, span: Span) -> Option<&Def> {
        let at = self.defs.binary_search_by_key(&span.start, |def| def.span.start).ok()?;
        self.defs.get(at)
    }

    /// Returns the name that covers an offset (or ends there).
    pub fn occurrence_at(&self, offset: u32) -> Option<&Occurrence> {
        let after = self.occurrences.partition_point(|o| o.span.start <= offset);
        self.occurrences[..after].iter().rev().take(2).find(|o| offset <= o.span.end)
    }

    /// Returns the type of an expression, if the checker looked at it.
    pub fn expr_type(&self, id: ExprId) -> Option<TypeRef> {
        self.records.expr_type(id).map(TypeRef)
    }

    /// Returns the type of a name as far as the part that begins at an offset.
    pub fn part_type(&self, start: u32) -> Option<TypeRef> {
        self.records.part_type(start).map(TypeRef)
    }

    /// Returns the type that braces are judged against.
    pub fn expected_type(&self, id: ExprId) -> Option<TypeRef> {
        self.records.expected_type(id).map(TypeRef)
    }

    /// Returns the text of a type.
    pub fn text(&self, ty: TypeRef) -> String {
        self.types.types.text(ty.0)
    }
}

/// Whether a name is a built-in function.
pub fn is_builtin(name: &str) -> bool {
    crate::signatures::contains(crate::signatures::Table::Builtins, name)
}
