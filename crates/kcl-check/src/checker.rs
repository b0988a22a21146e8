//! The state of checking one package, and the small helpers that all passes share.

use std::sync::Arc;

use base_diag::Span;
use indexmap::IndexMap;
use kcl_syntax::ast::{Str, Tree};
use kcl_syntax::program::Package;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::CheckOptions;
use crate::borrowed::Borrowed;
use crate::diag::RawDiag;
use crate::globals::Global;
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::package::{AttrInfo, Home, IndexInfo, PackageTypes, SchemaInfo, SchemaSlot};
use crate::scope::Scope;
use crate::signatures::{self, Table};
use crate::ty::{DictAttr, DictTy, FuncTy, Loc, ParamTy, SchemaId, Ty, TyId, Types};

/// What a config literal is checked against.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expect {
    /// Nothing expected if none.
    pub(crate) ty: Option<TyId>,
    /// Where the expectation was declared.
    pub(crate) loc: Option<Loc>,
}

/// So many mistakes of a package are kept: a text can have a million.
const MOST_ERRORS: usize = 100_000;

/// A schema in the table of another package.
type Foreign = (Arc<PackageTypes>, SchemaId);

/// Checks one package.
pub(crate) struct Checker<'p, R> {
    /// Told what is found out; usually nobody.
    pub(crate) recorder: R,
    pub(crate) package: &'p Package,
    pub(crate) tree: &'p Tree,
    pub(crate) path: Str,
    pub(crate) home: Home,
    pub(crate) options: CheckOptions,
    /// The imported packages.
    pub(crate) deps: FxHashMap<Home, Arc<PackageTypes>>,
    /// The packages of the program that stand before this one, by id.
    pub(crate) before: &'p [Arc<PackageTypes>],
    pub(crate) types: Types,
    pub(crate) schemas: Vec<SchemaSlot>,
    pub(crate) globals: IndexMap<Str, Global, FxBuildHasher>,
    /// The global after the one that was found last: statements stand in the order of their names.
    pub(crate) next_global: usize,
    /// Assignments to names that are schemas or imports.
    pub(crate) assigned_first: FxHashMap<Str, Span>,
    /// Globals that `+=` and the like changed, and where first.
    pub(crate) changed_early: FxHashMap<Str, Span>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) expects: Vec<Expect>,
    /// Loop variables that stand for their values when used as keys.
    pub(crate) loop_keys: Vec<Str>,
    /// The name or statement that was met last: upstream places the guard of a check there.
    pub(crate) last_span: Span,
    /// Start of the global statement that is walked.
    pub(crate) stmt_span: Span,
    pub(crate) depth: u32,
    /// How many more "did you mean" are worked out.
    pub(crate) hints_left: u32,
    /// Mistakes are not recorded: they are found again where they belong.
    pub(crate) muted: bool,
    /// In the second scan of the variables.
    pub(crate) rescanning: bool,
    /// A schema used one that stands further down.
    pub(crate) forward_reference: bool,
    /// Inside the default of a schema attribute, which an outer config may still complete.
    pub(crate) in_default: bool,
    pub(crate) errors: Vec<RawDiag>,
    /// Variables that were used as types.
    pub(crate) borrowed: Borrowed,
    seen: FxHashSet<(Str, Span, String)>,
    builtins: FxHashMap<(Table, Str), Option<TyId>>,
    foreign_types: FxHashMap<(Home, TyId), TyId>,
    foreign_schemas: FxHashMap<(Home, SchemaId), SchemaId>,
}

impl<'p, R: Recorder> Checker<'p, R> {
    pub(crate) fn new(
        package: &'p Package,
        home: Home,
        deps: FxHashMap<Home, Arc<PackageTypes>>,
        before: &'p [Arc<PackageTypes>],
        options: CheckOptions,
        recorder: R,
    ) -> Self {
        Checker {
            recorder,
            package,
            tree: &package.tree,
            path: package.path.clone(),
            home,
            options,
            deps,
            before,
            types: Types::new(),
            schemas: Vec::new(),
            globals: IndexMap::default(),
            next_global: 0,
            assigned_first: FxHashMap::default(),
            changed_early: FxHashMap::default(),
            scopes: Vec::new(),
            expects: Vec::new(),
            loop_keys: Vec::new(),
            last_span: Span::default(),
            stmt_span: Span::default(),
            depth: 0,
            hints_left: 200,
            muted: false,
            rescanning: false,
            forward_reference: false,
            in_default: false,
            errors: Vec::new(),
            borrowed: Borrowed::default(),
            seen: FxHashSet::default(),
            builtins: FxHashMap::default(),
            foreign_types: FxHashMap::default(),
            foreign_schemas: FxHashMap::default(),
        }
    }

    /// Records a mistake; identical ones are merged.
    pub(crate) fn report(&mut self, diag: RawDiag) {
        let Some((loc, _)) = diag.labels.first().filter(|_| !self.muted) else { return };
        if self.errors.len() > MOST_ERRORS {
            return;
        }
        let diag = match self.errors.len() == MOST_ERRORS {
            true => RawDiag::of(&Mistake::TooMany, loc.pkg, loc.span),
            false => diag,
        };
        let Some((loc, message)) = diag.labels.first() else { return };
        let others: String = diag.labels.iter().skip(1).map(|(l, m)| format!("\n{:?}{m}", l.span)).collect();
        if self.seen.insert((Str::from(diag.code.kind), loc.span, format!("{message}{others}"))) {
            self.errors.push(diag);
        }
    }

    /// Records a mistake with one label in this package.
    pub(crate) fn error(&mut self, span: Span, mistake: &Mistake) {
        self.report(RawDiag::of(mistake, self.home, span));
    }

    pub(crate) fn text(&self, ty: TyId) -> String {
        self.types.text(ty)
    }

    /// Returns the type of a built-in row.
    pub(crate) fn builtin(&mut self, table: Table, name: &str) -> Option<TyId> {
        let key = (table, Str::from(name));
        if let Some(known) = self.builtins.get(&key) {
            return *known;
        }
        let ty = signatures::lookup(table, name, &mut self.types);
        self.builtins.insert(key, ty);
        ty
    }

    pub(crate) fn schema_info(&self, id: SchemaId) -> &Arc<SchemaInfo> {
        &self.schemas[id.0 as usize].info
    }

    pub(crate) fn schema_name(&self, id: SchemaId) -> Str {
        self.types.heads[id.0 as usize].name.clone()
    }

    /// Returns the schemas from `id` to its last base.
    pub(crate) fn chain(&self, id: SchemaId) -> Vec<SchemaId> {
        let mut chain = vec![id];
        let mut seen: FxHashSet<SchemaId> = chain.iter().copied().collect();
        let mut current = id;
        // Circular inheritance is reported elsewhere; here it must only end.
        let reach = self.types.reach(id);
        while let Some(base) = self.types.heads[current.0 as usize].base.filter(|b| seen.insert(*b)) {
            if chain.len() > reach {
                break;
            }
            chain.push(base);
            current = base;
        }
        chain
    }

    /// Returns a declared attribute: own or of a mixin, else inherited.
    pub(crate) fn schema_attr(&mut self, id: SchemaId, name: &str) -> Option<AttrInfo> {
        // Where schemas refer to later ones, each knows its base only as it was when it was built.
        if self.forward_reference && self.schemas[id.0 as usize].home.is_none() {
            let info = Arc::clone(&self.schemas[id.0 as usize].info);
            return info.attrs.get(name).cloned().or_else(|| self.base_attr(&info, name));
        }
        let mut current = Some(id);
        for _ in 0..self.schemas.len() {
            let schema = current?;
            let slot = &self.schemas[schema.0 as usize];
            if let Some(attr) = slot.info.attrs.get(name) {
                let mut attr = attr.clone();
                if let Some((home, _)) = slot.home.clone() {
                    attr.ty = self.import_type(&home, attr.ty);
                }
                return Some(attr);
            }
            current = self.types.heads[schema.0 as usize].base;
        }
        None
    }

    /// Returns the protocol that a mixin or rule is for.
    pub(crate) fn schema_host(&mut self, id: SchemaId) -> Option<SchemaId> {
        let slot = &self.schemas[id.0 as usize];
        let host = slot.info.host?;
        match slot.home.clone() {
            Some((home, _)) => Some(self.import_schema(&home, host)),
            None => Some(host),
        }
    }

    /// Returns the index signature of a schema (not inherited).
    pub(crate) fn schema_index(&mut self, id: SchemaId) -> Option<IndexInfo> {
        let slot = &self.schemas[id.0 as usize];
        let mut index = slot.info.index.clone()?;
        if let Some((home, _)) = slot.home.clone() {
            index.key = self.import_type(&home, index.key);
            index.val = self.import_type(&home, index.val);
        }
        Some(index)
    }

    /// Returns the parameters of a schema.
    pub(crate) fn schema_params(&mut self, id: SchemaId) -> Vec<ParamTy> {
        let slot = &self.schemas[id.0 as usize];
        let mut params = slot.info.params.clone();
        if let Some((home, _)) = slot.home.clone() {
            for param in &mut params {
                param.ty = self.import_type(&home, param.ty);
            }
        }
        params
    }

    /// Returns the own id of a schema of another package.
    pub(crate) fn import_schema(&mut self, home: &Arc<PackageTypes>, id: SchemaId) -> SchemaId {
        let (first, mut next) = self.import_one_schema(home, id);
        let mut local = first;
        // The bases in a loop: a chain may be longer than the stack is deep.
        while let Some((owner, base)) = next {
            let (id, rest) = self.import_one_schema(&owner, base);
            self.types.heads[local.0 as usize].base = Some(id);
            (local, next) = (id, rest);
        }
        first
    }

    /// Registers one schema; also returns its base if it was new.
    fn import_one_schema(&mut self, home: &Arc<PackageTypes>, id: SchemaId) -> (SchemaId, Option<Foreign>) {
        let slot = &home.schemas[id.0 as usize];
        let (owner, id) = slot.home.clone().unwrap_or_else(|| (Arc::clone(home), id));
        let key = (owner.home, id);
        if let Some(known) = self.foreign_schemas.get(&key) {
            return (*known, None);
        }
        let local = self.types.add_schema(owner.types.heads[id.0 as usize].name.clone());
        let info = Arc::clone(&owner.schemas[id.0 as usize].info);
        let base = owner.types.heads[id.0 as usize].base;
        self.schemas.push(SchemaSlot { info, home: Some((Arc::clone(&owner), id)) });
        self.foreign_schemas.insert(key, local);
        (local, base.map(|b| (owner, b)))
    }

    /// Translates a type of another package into this arena.
    pub(crate) fn import_type(&mut self, home: &Arc<PackageTypes>, id: TyId) -> TyId {
        if id <= TyId::STR {
            return id;
        }
        let key = (home.home, id);
        if let Some(known) = self.foreign_types.get(&key) {
            return *known;
        }
        let ty = match home.types.kind(id) {
            Ty::List(item) => Ty::List(self.import_type(home, *item)),
            Ty::Dict(d) => Ty::Dict(DictTy {
                key: self.import_type(home, d.key),
                val: self.import_type(home, d.val),
                attrs: d.attrs.as_ref().map(|attrs| self.import_attrs(home, attrs)),
            }),
            Ty::Union(members) => Ty::Union(members.iter().map(|m| self.import_type(home, *m)).collect()),
            Ty::Schema(schema, instance) => Ty::Schema(self.import_schema(home, *schema), *instance),
            Ty::Func(func) => Ty::Func(self.import_func(home, func).into()),
            other => other.clone(),
        };
        let local = self.types.intern(ty);
        self.foreign_types.insert(key, local);
        local
    }

    fn import_attrs(&mut self, home: &Arc<PackageTypes>, attrs: &[DictAttr]) -> Arc<[DictAttr]> {
        attrs.iter().map(|a| DictAttr { ty: self.import_type(home, a.ty), ..a.clone() }).collect()
    }

    fn import_func(&mut self, home: &Arc<PackageTypes>, func: &FuncTy) -> FuncTy {
        let params = func.params.iter().map(|p| ParamTy { ty: self.import_type(home, p.ty), ..p.clone() });
        let params = params.collect();
        FuncTy { params, ret: self.import_type(home, func.ret), variadic: func.variadic }
    }
}
