//! The global scan: which names a package has, before any statement is looked at.
//!
//! Schemas, rules, imports and aliases come first, so that annotations may use them from anywhere; then the assigned
//! names in source order. Found here: schema names used twice, second assignments of public names, conflicting
//! annotations.

use base_diag::Span;
use indexmap::map::Entry as MapEntry;
use kcl_syntax::ast::{Expr, ExprId, Ident, SchemaKind, Stmt, StmtId, Str, Target, TypeId};
use kcl_syntax::program::ImportTarget;
use rustc_hash::FxHashSet;

use crate::checker::Checker;
use crate::diag::RawDiag;
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::package::{Kind, SchemaInfo, SchemaSlot};
use crate::ty::{ModuleKind, ModuleTy, SchemaId, Ty, TyId};

/// Names that no schema and no alias may have.
pub(crate) const BUILT_IN_TYPES: [&str; 5] = ["any", "int", "float", "str", "bool"];

/// A name of the package.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) kind: GlobalKind,
    /// Type of a variable or module; what an alias stands for.
    pub(crate) ty: TyId,
    /// Where it was declared first.
    pub(crate) decl: Span,
}

/// What a global is.
#[derive(Clone, Debug)]
pub(crate) enum GlobalKind {
    Var {
        annotated: bool,
        /// The value of its first assignment, if that is a lambda.
        lambda: Option<ExprId>,
    },
    Schema(SchemaId),
    Alias,
    Module,
}

/// A schema or rule statement of the package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub(crate) id: SchemaId,
    pub(crate) stmt: StmtId,
}

impl<R: Recorder> Checker<'_, R> {
    /// Collects all names; returns the schema and rule statements in order.
    pub(crate) fn scan_globals(&mut self) -> Vec<Declared> {
        let tree = self.tree;
        let all: Vec<StmtId> = tree.files.iter().flat_map(|f| f.body.iter().copied()).collect();
        self.globals.reserve(all.len());
        let declared = self.scan_schemas(&all);
        self.scan_imports(&all);
        self.scan_aliases(&all);
        self.scan_vars(&all);
        declared
    }

    /// Scans the variables once more when the schemas are built: annotations are now compared with the last one.
    pub(crate) fn rescan_vars(&mut self) {
        let tree = self.tree;
        let all: Vec<StmtId> = tree.files.iter().flat_map(|f| f.body.iter().copied()).collect();
        self.rescanning = true;
        self.scan_vars(&all);
    }

    fn scan_schemas(&mut self, all: &[StmtId]) -> Vec<Declared> {
        let tree = self.tree;
        let imports: FxHashSet<&Str> = self.package.imports.iter().map(|link| &link.name).collect();
        let mut declared = Vec::new();
        for stmt in all {
            let (name, kind, keyword, decorated) = match tree.stmt(*stmt) {
                Stmt::Schema(def) => {
                    let keyword = match def.keyword {
                        SchemaKind::Schema => "schema",
                        SchemaKind::Mixin => "mixin",
                        SchemaKind::Protocol => "protocol",
                    };
                    (&def.name, kind_of(&def.name.name, def.kind), keyword, !def.decorators.is_empty())
                }
                Stmt::Rule(def) => (&def.name, Kind::Rule, "rule", !def.decorators.is_empty()),
                _ => continue,
            };
            // A decorated statement begins at its keyword.
            let start = match decorated {
                true => Span::new(name.span.start.saturating_sub(keyword.len() as u32 + 1), name.span.end),
                false => tree.stmt_span(*stmt),
            };
            let is_import = imports.contains(&name.name);
            if is_import || self.globals.contains_key(&name.name) {
                let help = Some("give one of them another name");
                let mistake = Mistake::DefinedTwice { name: name.name.clone(), help };
                let diag = RawDiag::of(&mistake, self.home, start);
                let first = self.globals.get(&name.name).map(|global| global.decl);
                let first = first.filter(|span| !is_import && *span != name.span);
                self.report(match first {
                    Some(first) => diag
                        .label(self.here(first), format!("The variable '{}' is declared here", name.name))
                        .said_here("the second")
                        .related("the first"),
                    None => diag,
                });
            }
            let id = self.types.add_schema(name.name.clone());
            let info = SchemaInfo { kind, span: name.span, ..Default::default() };
            self.schemas.push(SchemaSlot { info: info.into(), home: None });
            if !self.globals.contains_key(&name.name) {
                let global = Global { kind: GlobalKind::Schema(id), ty: TyId::ANY, decl: start };
                self.globals.insert(name.name.clone(), global);
            }
            declared.push(Declared { id, stmt: *stmt });
        }
        declared
    }

    fn scan_imports(&mut self, all: &[StmtId]) {
        if self.package.imports.is_empty() {
            return;
        }
        // An import inside a block or lambda binds nothing.
        let top: FxHashSet<StmtId> = all.iter().copied().collect();
        for link in self.package.imports.iter().filter(|l| top.contains(&l.stmt)) {
            let module = match &link.target {
                ImportTarget::Package(id) => match self.before.get(id.0 as usize) {
                    Some(types) => {
                        ModuleTy { path: types.path.clone(), kind: ModuleKind::Package(types.home) }
                    }
                    None => ModuleTy { path: link.name.clone(), kind: ModuleKind::Unknown },
                },
                ImportTarget::System(name) => ModuleTy { path: name.clone(), kind: ModuleKind::System },
                ImportTarget::Plugin(name) => ModuleTy { path: name.clone(), kind: ModuleKind::Unknown },
                ImportTarget::Missing => ModuleTy { path: link.name.clone(), kind: ModuleKind::Unknown },
            };
            let decl = self.tree.stmt_span(link.stmt);
            let ty = self.types.intern(Ty::Module(module));
            self.globals.entry(link.name.clone()).or_insert(Global { kind: GlobalKind::Module, ty, decl });
        }
    }

    fn scan_aliases(&mut self, all: &[StmtId]) {
        let tree = self.tree;
        for stmt in all {
            if let Stmt::TypeAlias { name, ty } = tree.stmt(*stmt) {
                self.declare_alias(name, *ty);
            }
        }
    }

    /// Makes a name an alias. One inside a block is met only when the statements are walked, and counts from then on.
    pub(crate) fn declare_alias(&mut self, name: &Ident, ty: TypeId) -> TyId {
        // Resolved at once: an alias does not see itself nor the aliases after it.
        let ty = self.resolve_type_at(ty, name.span);
        if BUILT_IN_TYPES.contains(&name.name.as_str()) {
            self.error(name.span, &Mistake::ReservedAlias { name: name.name.clone() });
        }
        self.globals.insert(name.name.clone(), Global { kind: GlobalKind::Alias, ty, decl: name.span });
        ty
    }

    fn scan_vars(&mut self, body: &[StmtId]) {
        let tree = self.tree;
        self.globals.reserve(body.len().saturating_sub(self.globals.len()));
        for stmt in body {
            match tree.stmt(*stmt) {
                Stmt::Assign { targets, ty, .. } => {
                    for (i, target) in targets.iter().enumerate() {
                        self.scan_immutable(target);
                        let earlier = targets[..i].iter().find(|t| t.name.name == target.name.name);
                        if let Some(earlier) = earlier
                            && !is_private(&target.name.name)
                            && !self.rescanning
                        {
                            self.immutable(&target.name, earlier.name.span);
                        }
                    }
                    let ty = ty.map(|t| self.resolve_type(t));
                    for target in targets {
                        self.scan_target(target, ty);
                    }
                }
                Stmt::Unification { target, value, .. } => self.scan_unification(target, *value),
                Stmt::If { body, orelse, .. } => {
                    self.scan_vars(body);
                    self.scan_vars(orelse);
                }
                _ => {}
            }
        }
    }

    /// Returns the place of a global that a statement sets: usually the next one, which needs no hashing.
    pub(crate) fn global_of(&mut self, name: &str) -> Option<usize> {
        let found = match self.globals.get_index(self.next_global) {
            Some((expected, _)) if expected == name => self.next_global,
            _ => self.globals.get_index_of(name)?,
        };
        self.next_global = found + 1;
        Some(found)
    }

    /// A public name is assigned once.
    fn scan_immutable(&mut self, target: &Target) {
        let name = &target.name;
        if is_private(&name.name) || self.rescanning {
            return;
        }
        if let Some(old) = self.globals.get(&name.name) {
            let decl = old.decl;
            self.assigned_first.entry(name.name.clone()).or_insert(name.span);
            self.immutable(name, decl);
        }
    }

    fn scan_target(&mut self, target: &Target, ty: Option<TyId>) {
        let plain = target.path.is_empty();
        let kind = GlobalKind::Var { annotated: ty.is_some(), lambda: None };
        let new = Global { kind, ty: ty.unwrap_or(TyId::ANY), decl: target.name.span };
        let at = match self.globals.entry(target.name.name.clone()) {
            MapEntry::Occupied(known) => known.index(),
            MapEntry::Vacant(free) => {
                free.insert(new);
                return;
            }
        };
        self.next_global = at + 1;
        if let Some(ty) = ty.filter(|_| plain) {
            self.annotate_again(at, &target.name, ty);
        }
        if is_private(&target.name.name) {
            self.globals[at].decl = target.name.span;
        }
    }

    /// Remembers the lambda of a first assignment: calls further up are checked against it.
    pub(crate) fn remember_lambdas(&mut self) {
        let tree = self.tree;
        // Most files of data have no lambda at all, and need no set of their names.
        if !tree.exprs.iter().any(|node| matches!(node.kind, Expr::Lambda(_))) {
            return;
        }
        let mut seen = FxHashSet::default();
        for stmt in tree.files.iter().flat_map(|f| f.body.iter()) {
            let Stmt::Assign { targets, ty, value } = tree.stmt(*stmt) else { continue };
            let is_lambda = ty.is_none() && matches!(tree.expr(*value), Expr::Lambda(_));
            for target in targets {
                let first = seen.insert(&target.name.name);
                if first
                    && is_lambda
                    && target.path.is_empty()
                    && let Some(global) = self.globals.get_mut(&target.name.name)
                    && let GlobalKind::Var { lambda, .. } = &mut global.kind
                {
                    *lambda = Some(*value);
                }
            }
        }
    }

    fn scan_unification(&mut self, target: &Ident, value: ExprId) {
        let ty = self.unification_type(value);
        match self.globals.get_mut(&target.name) {
            None => {
                let kind = GlobalKind::Var { annotated: true, lambda: None };
                self.globals.insert(target.name.clone(), Global { kind, ty, decl: target.span });
            }
            Some(Global { kind: GlobalKind::Var { annotated, .. }, ty: old, decl }) => {
                // Repeated declarations are merged; the last one counts.
                (*annotated, *old, *decl) = (true, ty, target.span);
            }
            // The name of an import means the variable from now on.
            Some(global @ Global { kind: GlobalKind::Module, .. }) => {
                let kind = GlobalKind::Var { annotated: true, lambda: None };
                *global = Global { kind, ty, decl: target.span };
            }
            // A schema of the name is left to the run.
            Some(Global { kind: GlobalKind::Schema(_), .. }) => {}
            Some(old) => {
                let decl = old.decl;
                self.immutable(target, decl);
            }
        }
    }

    /// The type that `name: S {..}` declares.
    pub(crate) fn unification_type(&mut self, value: ExprId) -> TyId {
        let Expr::Schema(schema) = self.tree.expr(value) else { return TyId::ANY };
        let Expr::Name(parts) = self.tree.expr(schema.name) else { return TyId::ANY };
        let span = self.tree.expr_span(schema.name);
        let parts: Vec<Str> = parts.iter().map(|p| p.name.clone()).collect();
        self.named_type(&parts, span)
    }

    fn annotate_again(&mut self, at: usize, name: &Ident, ty: TyId) {
        let global = &mut self.globals[at];
        let GlobalKind::Var { annotated, .. } = &mut global.kind else { return };
        let (was, old, decl) = (*annotated, global.ty, global.decl);
        *annotated = true;
        global.ty = ty;
        if was && decl != name.span && !self.types.sub(ty, old) {
            let text = self.text(old);
            let mistake = Mistake::ConflictingAnnotation { name: name.name.clone(), ty: text.clone() };
            let diag = RawDiag::of(&mistake, self.home, name.span);
            let diag = diag.label(self.here(decl), format!("expected {text}"));
            self.report(diag);
        }
    }

    fn immutable(&mut self, name: &Ident, first: Span) {
        let diag = RawDiag::of(&Mistake::Immutable { name: name.name.clone() }, self.home, name.span)
            .label(self.here(first), format!("The variable '{}' is declared here", name.name));
        self.report(diag.said_here("a second value").related("the first value"));
    }
}

/// Tells whether a name may be assigned again.
pub(crate) fn is_private(name: &str) -> bool {
    name.starts_with('_')
}

fn kind_of(name: &str, keyword: SchemaKind) -> Kind {
    match keyword {
        _ if name.ends_with("Mixin") => Kind::Mixin,
        _ if name.ends_with("Protocol") => Kind::Protocol,
        SchemaKind::Schema => Kind::Schema,
        SchemaKind::Mixin => Kind::Mixin,
        SchemaKind::Protocol => Kind::Protocol,
    }
}
