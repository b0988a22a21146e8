//! KCL name resolution and static types: a pure function from a loaded program to diagnostics.
//!
//! # What it does
//!
//! Each package is checked after the packages it imports, in four passes over data that never changes:
//!
//! 1. the **global scan** (`globals`) collects names and finds what can be said without looking at values;
//! 2. **schema construction** (`schema_ty`) gives every schema its attributes, bases and mixins, in whatever order they
//!    need each other, and reports in source order;
//! 3. the **statements** (`stmt`, `infer`) are walked in source order with a stack of scopes (`scope`) and a stack of
//!    *expected types*: config literals are judged against its top (`config_check`);
//! 4. the result is frozen into a [`PackageTypes`], which any number of programs share.
//!
//! # What it promises
//!
//! The first error agrees with the reference in code and line; what the reference accepts is accepted. A mistake makes its
//! expression `any`, and `any` silences everything, so a first error does not cause a second one. Work is linear in the
//! size of the input: types are interned (`ty`), equal shapes collapse by hashing (`sup`), and a large literal is never
//! compared pair by pair.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod assign;
mod assignment;
mod borrowed;
mod checker;
mod config_check;
mod diag;
mod globals;
pub mod index;
mod infer;
mod mistake;
mod package;
mod schema_ty;
mod scope;
mod sentences;
mod signatures;
mod stmt;
mod suggest;
mod sup;
mod ty;
mod view;
mod words;
mod written;

use std::sync::Arc;

use base_diag::Diagnostic;
use kcl_syntax::ast::Str;
use kcl_syntax::program::{ImportLink, ImportTarget, PkgId, Program};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checker::Checker;
use crate::globals::GlobalKind;
pub use crate::index::PackageIndex;
use crate::index::{NoRecorder, Recorder, Records};
pub use crate::package::{Home, PackageTypes};
pub use crate::signatures::{Builtin, SYSTEM_MODULES, builtins};
use crate::ty::TyId;
pub use crate::view::{SchemaName, SchemaView, TypeView};

/// Which behaviour is followed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Edition {
    /// The reference, 0.12.4 with its recorded differences.
    #[default]
    Reference,
    /// The explicit edition 0.13: private members and required attributes are judged at compile time.
    V0_13,
}

/// Switches of a check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CheckOptions {
    /// The edition.
    pub edition: Edition,
}

impl CheckOptions {
    pub(crate) fn is_0_13(self) -> bool {
        self.edition == Edition::V0_13
    }
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckResult {
    /// Errors, in the order in which the reference prints them.
    pub diagnostics: Vec<Diagnostic>,
    /// The checked packages, by [`PkgId`]; pass them to a later check of a program that shares them.
    pub packages: Vec<Arc<PackageTypes>>,
}

/// Checks a whole program.
pub fn check(program: &Program, options: &CheckOptions) -> CheckResult {
    check_with(program, options, 0, |_| None)
}

/// Checks a program, taking packages that were checked before from `known`.
///
/// `known` must only return types of the very same tree, checked with the same options and the same imported packages. Packages
/// that are checked now are numbered from `first`; no number may be one of a known package.
pub fn check_with(
    program: &Program,
    options: &CheckOptions,
    first: u64,
    mut known: impl FnMut(PkgId) -> Option<Arc<PackageTypes>>,
) -> CheckResult {
    let mut result = CheckResult::default();
    for index in 0..program.packages.len() {
        let id = PkgId(index as u32);
        let home = Home(first + u64::from(id.0));
        let types = known(id).unwrap_or_else(|| check_package(program, id, home, &result.packages, options));
        result.packages.push(types.clone());
        result.diagnostics.extend(types.diagnostics(program, &result.packages));
    }
    result
}

/// Checks one package, which is known as `home` from now on; `deps` are the packages before it in the program.
pub fn check_package(
    program: &Program,
    id: PkgId,
    home: Home,
    deps: &[Arc<PackageTypes>],
    options: &CheckOptions,
) -> Arc<PackageTypes> {
    let (types, NoRecorder) = check_recorded(program, id, home, deps, *options, NoRecorder);
    types
}

/// As [`check_package`], and makes the index of the package on the way.
pub fn index_package(
    program: &Program,
    id: PkgId,
    home: Home,
    deps: &[Arc<PackageTypes>],
    options: &CheckOptions,
) -> PackageIndex {
    let package = program.package(id);
    let records = Records::new(package.tree.exprs.len());
    let (types, records) = check_recorded(program, id, home, deps, *options, records);
    index::walk(package, types, records)
}

fn check_recorded<R: Recorder>(
    program: &Program,
    id: PkgId,
    home: Home,
    deps: &[Arc<PackageTypes>],
    options: CheckOptions,
    recorder: R,
) -> (Arc<PackageTypes>, R) {
    let package = program.package(id);
    let mut visible: FxHashMap<Home, Arc<PackageTypes>> = FxHashMap::default();
    for link in &package.imports {
        if let ImportTarget::Package(target) = link.target
            && let Some(types) = deps.get(target.0 as usize)
        {
            visible.insert(types.home, Arc::clone(types));
        }
    }
    let mut checker = Checker::new(package, home, visible, deps, options, recorder);
    checker.types.reserve(package.tree.exprs.len());
    let declared = checker.scan_globals();
    checker.remember_lambdas();
    checker.construct_schemas(&declared);
    checker.rescan_vars();
    checker.walk_package(&declared);
    let (types, recorder) = freeze(checker, id == program.main);
    (Arc::new(types), recorder)
}

fn freeze<R: Recorder>(mut checker: Checker<'_, R>, is_main: bool) -> (PackageTypes, R) {
    // Nobody imports the main package, so nobody asks for its members.
    if is_main {
        checker.globals.clear();
    }
    let names: Vec<(Str, bool)> = checker
        .globals
        .iter()
        .map(|(name, global)| (name.clone(), matches!(global.kind, GlobalKind::Module)))
        .collect();
    let mut members: FxHashMap<Str, TyId> = FxHashMap::default();
    members.reserve(names.len());
    let mut import_names = FxHashSet::default();
    for (name, is_import) in names {
        if is_import {
            import_names.insert(name);
        } else {
            let ty = checker.lookup_global(&name).unwrap_or(TyId::ANY);
            members.insert(name, ty);
        }
    }
    let imported = imported(&checker);
    let types = PackageTypes {
        home: checker.home,
        path: checker.path,
        types: checker.types,
        schemas: checker.schemas,
        members,
        import_names,
        imported,
        borrowed: checker.borrowed,
        errors: checker.errors,
    };
    (types, checker.recorder)
}

fn imported<R>(checker: &Checker<'_, R>) -> FxHashMap<Str, Home> {
    let home = |link: &ImportLink| match link.target {
        ImportTarget::Package(id) => {
            checker.before.get(id.0 as usize).map(|types| (link.name.clone(), types.home))
        }
        _ => None,
    };
    checker.package.imports.iter().filter_map(home).collect()
}
