//! What one checked package offers to the packages that import it.
//!
//! A [`PackageTypes`] owns its arena. An importer translates the types it touches into its own arena, lazily and with
//! memory, so a program that uses three schemas of a large model package pays for three.

use std::sync::Arc;

use base_diag::{Diagnostic, Severity, Span};
use indexmap::IndexMap;
use kcl_syntax::ast::Str;
use kcl_syntax::program::Program;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::borrowed::Borrowed;
use crate::diag::{Checked, RawDiag};
use crate::ty::{Loc, ParamTy, SchemaId, TyId, Types};

/// Who a checked package is: packages that meet in one check have different numbers, whatever their paths are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Home(pub u64);

/// The checked form of one package; shared between programs.
#[derive(Debug)]
pub struct PackageTypes {
    pub(crate) home: Home,
    pub(crate) path: Str,
    pub(crate) types: Types,
    pub(crate) schemas: Vec<SchemaSlot>,
    pub(crate) members: FxHashMap<Str, TyId>,
    pub(crate) import_names: FxHashSet<Str>,
    /// The packages behind the names of its imports.
    pub(crate) imported: FxHashMap<Str, Home>,
    pub(crate) borrowed: Borrowed,
    pub(crate) errors: Vec<RawDiag>,
}

impl PackageTypes {
    /// Returns the path of the package.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the number of errors that were found in it.
    pub fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// Returns its errors, placed in the files of a program; `packages` are that program's packages, up to this one at least.
    pub fn diagnostics(&self, program: &Program, packages: &[Arc<PackageTypes>]) -> Vec<Diagnostic> {
        let checked = Checked { program, packages };
        self.errors.iter().map(|e| e.place_in(&checked, Severity::Error)).collect()
    }
}

/// A schema in a table: an own one, or one of another package.
#[derive(Clone, Debug)]
pub(crate) struct SchemaSlot {
    pub(crate) info: Arc<SchemaInfo>,
    /// The package whose arena the info's types belong to, with the id there; none for own schemas.
    pub(crate) home: Option<(Arc<PackageTypes>, SchemaId)>,
}

/// What kind of schema it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    #[default]
    Schema,
    Mixin,
    Protocol,
    Rule,
}

/// Attributes by name, in order of declaration.
pub(crate) type Attrs = IndexMap<Str, AttrInfo, FxBuildHasher>;

/// The constructed schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemaInfo {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    pub(crate) host: Option<SchemaId>,
    /// Protocols that the own mixins, or the rules that a rule extends, are for: the own body sees their attributes.
    pub(crate) hosts: Vec<SchemaId>,
    /// The base as it was when this was built: redeclared attributes are compared with that.
    pub(crate) base: BaseLink,
    /// Own attributes and those of the mixins.
    pub(crate) attrs: Attrs,
    pub(crate) index: Option<IndexInfo>,
    pub(crate) params: Vec<ParamTy>,
    /// Names set anywhere in the own body.
    pub(crate) assigned: FxHashSet<Str>,
    /// Names set in the bodies of the mixins.
    pub(crate) mixed: FxHashSet<Str>,
    /// A base or mixin does not exist: what it may have is not missed.
    pub(crate) incomplete: bool,
}

impl SchemaInfo {
    /// Whether the body declares or sets the name. Asked before the mixins join.
    pub(crate) fn has_own(&self, name: &str) -> bool {
        self.attrs.contains_key(name) || self.assigned.contains(name)
    }
}

/// A base with its own base behind it. Dropped in a loop: a chain may be longer than the stack is deep.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaseLink(pub(crate) Option<(SchemaId, Arc<SchemaInfo>)>);

impl Drop for BaseLink {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some((_, info)) = next {
            next = Arc::into_inner(info).and_then(|mut info| info.base.0.take());
        }
    }
}

/// A declared attribute.
#[derive(Clone, Debug)]
pub(crate) struct AttrInfo {
    pub(crate) ty: TyId,
    pub(crate) optional: bool,
    /// Optional in a base: a later declaration may make it so again.
    pub(crate) once_optional: bool,
    pub(crate) has_default: bool,
    pub(crate) loc: Loc,
}

/// An index signature.
#[derive(Clone, Debug)]
pub(crate) struct IndexInfo {
    pub(crate) key_name: Option<Str>,
    pub(crate) key: TyId,
    pub(crate) val: TyId,
    pub(crate) any_other: bool,
}
