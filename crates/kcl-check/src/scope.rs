//! Scopes: what a name means at a place.
//!
//! Inner scopes win: loop variables, lambda parameters and locals, keys already written in the enclosing braces; then the
//! schema whose body is walked; then the package's globals; then the built-ins.

use base_diag::Span;
use kcl_syntax::ast::Str;
use rustc_hash::FxHashMap;

use crate::checker::Checker;
use crate::globals::GlobalKind;
use crate::index::Recorder;
use crate::package::{AttrInfo, Kind};
use crate::signatures::{self, Table};
use crate::suggest;
use crate::ty::{Loc, SchemaId, Ty, TyId};

/// What opened a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScopeKind {
    Config,
    Loop,
    Lambda,
    Schema(SchemaId),
}

/// A scope with its names.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) kind: ScopeKind,
    pub(crate) vars: Vars,
}

/// Names of a scope: a few are compared, many are hashed.
#[derive(Debug, Default)]
pub(crate) struct Vars {
    list: Vec<(Str, Var)>,
    /// Positions, once there are many.
    index: FxHashMap<Str, usize>,
}

/// Names up to this number are compared.
const SCAN: usize = 12;

impl Vars {
    fn position(&self, name: &str) -> Option<usize> {
        match self.list.len() <= SCAN {
            true => self.list.iter().position(|(n, _)| n == name),
            false => self.index.get(name).copied(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Var> {
        self.position(name).map(|at| &self.list[at].1)
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    pub(crate) fn insert(&mut self, name: Str, var: Var) {
        if let Some(at) = self.position(&name) {
            self.list[at].1 = var;
            return;
        }
        self.list.push((name, var));
        if self.list.len() > SCAN {
            let from = self.index.len();
            let rows = self.list.iter().enumerate().skip(from);
            self.index.extend(rows.map(|(i, (name, _))| (name.clone(), i)));
        }
    }

    fn names(&self) -> impl Iterator<Item = &Str> {
        self.list.iter().map(|(name, _)| name)
    }
}

/// A local name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Var {
    pub(crate) ty: TyId,
    pub(crate) annotated: bool,
}

impl<R: Recorder> Checker<'_, R> {
    pub(crate) fn enter(&mut self, kind: ScopeKind) {
        self.scopes.push(Scope { kind, vars: Vars::default() });
    }

    pub(crate) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Enters a name into the innermost scope.
    pub(crate) fn declare(&mut self, name: &Str, ty: TyId) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.vars.insert(name.clone(), Var { ty, annotated: false });
        }
    }

    /// Enters a config key, unless the schema under construction knows the type of the name (its attributes win).
    pub(crate) fn declare_key(&mut self, name: &Str, ty: TyId) {
        if let Some(schema) = self.current_schema()
            && (self.schema_attr(schema, name).is_some_and(|attr| attr.ty != TyId::ANY)
                || self.body_decided(schema, name))
        {
            return;
        }
        let ty = match self.scopes.last().and_then(|s| s.vars.get(name)) {
            // A key that is written again has all its types.
            Some(var) => {
                let old = var.ty;
                let old = self.types.widen(old);
                self.types.sup(&[old, ty])
            }
            None => ty,
        };
        self.declare(name, ty);
    }

    // Whether a statement of the body decided the type of a name; parameters give way to keys.
    fn body_decided(&mut self, schema: SchemaId, name: &str) -> bool {
        let scope = self.scopes.iter().rev().find(|s| matches!(s.kind, ScopeKind::Schema(_)));
        scope.and_then(|s| s.vars.get(name)).is_some_and(|var| var.ty != TyId::ANY)
            && !self.schema_params(schema).iter().any(|param| param.name == name)
    }

    /// Returns the schema whose body is walked.
    pub(crate) fn current_schema(&self) -> Option<SchemaId> {
        self.scopes.iter().rev().find_map(|s| match s.kind {
            ScopeKind::Schema(id) => Some(id),
            _ => None,
        })
    }

    /// Tells whether a key is a loop variable. Upstream forgets the variables once braces inside the loop end.
    pub(crate) fn is_loop_variable(&self, name: &str) -> bool {
        self.loop_keys.iter().any(|k| k == name)
    }

    /// Returns the type of a name, if it means something.
    pub(crate) fn lookup(&mut self, name: &str) -> Option<TyId> {
        for i in (0..self.scopes.len()).rev() {
            let attr = match self.scopes[i].kind {
                ScopeKind::Schema(id) => self.attr_in_body(id, name),
                _ => None,
            };
            let inherited =
                attr.as_ref().is_some_and(|a| a.loc.pkg != self.home || !self.is_inside(a.loc.span));
            let attr = attr.map(|a| a.ty);
            let var = self.scopes[i].vars.get(name).copied();
            if self.scopes[i].kind == ScopeKind::Lambda
                && var.is_some_and(|v| v.ty == TyId::ANY || v.annotated)
                && let Some(ty) = self.body_type(name)
            {
                return Some(ty);
            }
            let var = var.map(|v| v.ty);
            match (attr, var) {
                // An inherited attribute of type any says less than a global or a built-in function of its name.
                (Some(TyId::ANY), None) if inherited => {
                    return Some(self.global_or_builtin(name).unwrap_or(TyId::ANY));
                }
                // An attribute of type any takes the type of the first body assignment.
                (Some(TyId::ANY), Some(var)) => return Some(var),
                (Some(found), _) | (None, Some(found)) => return Some(found),
                (None, None) => {}
            }
        }
        self.global_or_builtin(name).or_else(|| self.accepts_unknown(name).then_some(TyId::ANY))
    }

    /// Whether a scope around binds the name, or the schema whose body is walked has it.
    pub(crate) fn is_local(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| match scope.kind {
            ScopeKind::Schema(id) => {
                scope.vars.contains_key(name) || self.schema_info(id).attrs.contains_key(name)
            }
            _ => scope.vars.contains_key(name),
        })
    }

    /// Quirk: a parameter or local of type any of a lambda in a schema body has the type of the attribute, or of the name that the
    /// body assigned before, that it hides.
    pub(crate) fn body_type(&mut self, name: &str) -> Option<TyId> {
        let (scope, id) = self.scopes.iter().rev().find_map(|s| match s.kind {
            ScopeKind::Schema(id) => Some((s, id)),
            _ => None,
        })?;
        let is_assigned = self.schema_info(id).assigned.contains(name);
        let var = scope.vars.get(name).filter(|_| is_assigned).map(|v| v.ty);
        let attr = self.attr_in_body(id, name).map(|attr| attr.ty);
        [attr, var].into_iter().flatten().find(|ty| *ty != TyId::ANY)
    }

    /// Returns the type of a name of the package, or of a built-in function.
    pub(crate) fn global_or_builtin(&mut self, name: &str) -> Option<TyId> {
        if let Some(ty) = self.lookup_global(name) {
            return Some(ty);
        }
        if signatures::contains(Table::Builtins, name) { self.builtin(Table::Builtins, name) } else { None }
    }

    /// An attribute as the body of `id` sees it: own, inherited, of mixins, of the host protocol, and of the protocols that its
    /// own mixins are for.
    fn attr_in_body(&mut self, id: SchemaId, name: &str) -> Option<AttrInfo> {
        if let Some(attr) = self.schema_attr(id, name) {
            return Some(attr);
        }
        let info = self.schema_info(id);
        let hosts: Vec<SchemaId> = info.host.iter().chain(&info.hosts).copied().collect();
        hosts.into_iter().find_map(|host| self.schema_attr(host, name))
    }

    /// Whether a place lies inside the top-level statement that is walked.
    fn is_inside(&self, span: Span) -> bool {
        self.stmt_span.start <= span.start && span.end <= self.stmt_span.end
    }

    /// Whether the body that is walked has an attribute of the name.
    pub(crate) fn is_attribute(&mut self, name: &str) -> bool {
        self.current_schema().is_some_and(|id| self.attr_in_body(id, name).is_some())
    }

    pub(crate) fn lookup_global(&mut self, name: &str) -> Option<TyId> {
        let global = self.globals.get(name)?;
        match &global.kind {
            GlobalKind::Var { .. } | GlobalKind::Module => Some(global.ty),
            GlobalKind::Schema(id) => {
                let id = *id;
                Some(self.types.schema(id, false))
            }
            GlobalKind::Alias => {
                let ty = global.ty;
                match self.types.kind(ty) {
                    // In an expression the alias of a schema is the schema.
                    Ty::Schema(id, _) => {
                        let id = *id;
                        Some(self.types.schema(id, false))
                    }
                    _ => Some(ty),
                }
            }
        }
    }

    /// Mixins and rules may use names that only their host has.
    fn accepts_unknown(&self, name: &str) -> bool {
        let Some(schema) = self.current_schema() else { return false };
        match self.schema_info(schema).kind {
            Kind::Mixin => !name.starts_with(|c: char| c.is_uppercase()),
            Kind::Rule => true,
            _ => false,
        }
    }

    /// Returns names that look like an unknown one, the most similar last.
    pub(crate) fn similar_names(&mut self, name: &str) -> Vec<Str> {
        // Each hint looks at every name; a file full of mistakes must not become quadratic.
        if self.hints_left == 0 {
            return Vec::new();
        }
        self.hints_left -= 1;
        let mut candidates: Vec<&Str> = Vec::new();
        for scope in self.scopes.iter().rev() {
            if let ScopeKind::Schema(id) = scope.kind {
                candidates.extend(self.schema_info(id).attrs.keys());
            }
            let mut keys: Vec<&Str> = scope.vars.names().collect();
            keys.sort();
            candidates.extend(keys);
        }
        candidates.extend(self.globals.keys());
        candidates.extend(signatures::names(Table::Builtins));
        suggest::similar(name, candidates.into_iter())
    }

    /// Makes a place of this package.
    pub(crate) fn here(&self, span: Span) -> Loc {
        Loc { pkg: self.home, span }
    }
}
