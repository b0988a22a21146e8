//! Assignments: what type a target has, and whether a value fits it.
//!
//! In: targets, annotations and values of one statement. Out: the type of the value, and mistakes. The first assignment decides the
//! type of a name, later ones must fit; what an annotation decides depends on where it stands.

use base_diag::Span;
use kcl_syntax::ast::{BinaryOp, Expr, ExprId, Ident, Stmt, StmtId, Target, TargetStep};

use crate::checker::{Checker, Expect};
use crate::diag::RawDiag;
use crate::globals::{GlobalKind, is_private};
use crate::index::Recorder;
use crate::infer::ops;
use crate::mistake::Mistake;
use crate::scope::{ScopeKind, Var};
use crate::ty::{Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    pub(crate) fn assign(&mut self, targets: &[Target], annotation: Option<TyId>, value: ExprId) -> TyId {
        let mut result = TyId::ANY;
        for (i, target) in targets.iter().enumerate() {
            // A local's own annotation says nothing about a config yet; what was known before does.
            let undecided = self.is_undecided(target);
            let known = self.local_type(&target.name.name).filter(|_| !self.is_open(&target.name.name));
            if known.is_none() && target.path.is_empty() && self.in_lambda() {
                // A local is known, as any, in its own first value.
                self.settle(&target.name, TyId::ANY);
            }
            let first_error = self.errors.len();
            let mut declared = self.target_type(target, annotation);
            let annotation_errors = match target.path.is_empty() {
                true => self.errors.split_off(first_error),
                false => Vec::new(),
            };
            if declared.is_none() && known == Some(TyId::ANY) && target.path.is_empty() && self.in_lambda() {
                declared = self.body_type(&target.name.name);
            }
            let expected = match () {
                () if !target.path.is_empty() || undecided => None,
                () if annotation.is_some() && (self.in_lambda() || self.in_body_only(&target.name.name)) => {
                    known
                }
                () => declared,
            };
            self.push_expected(expected, target.name.span);
            // The value is one expression; with several targets it is inferred against each expectation.
            let got = if self.may_be_anything(value) {
                self.types.dict(TyId::STR, TyId::ANY)
            } else if i == 0 || self.expects.last().is_some_and(|e| e.ty.is_some()) {
                self.expr(value)
            } else {
                result
            };
            self.expects.pop();
            // Mistakes of the value come before those of the annotation.
            self.errors.extend(annotation_errors);
            result = got;
            self.store(target, declared, annotation.is_some(), got, value);
        }
        result
    }

    /// Stores a value: first assignments decide the type, later ones must fit.
    fn store(&mut self, target: &Target, declared: Option<TyId>, annotated: bool, got: TyId, value: ExprId) {
        let span = target.name.span;
        match declared {
            Some(ty) => self.value_must_fit(got, ty, span, None, Some(value)),
            None => {
                if self.types.holds_module(got) {
                    self.must_fit(got, TyId::ANY, span, None);
                    return;
                }
                if target.path.is_empty() && !annotated {
                    let wide = self.types.widen(got);
                    self.settle(&target.name, wide);
                }
            }
        }
    }

    /// Returns the known type of a target; none if the assignment decides it.
    fn target_type(&mut self, target: &Target, annotation: Option<TyId>) -> Option<TyId> {
        let name = &target.name;
        if target.path.is_empty() {
            return self.variable_type(name, annotation);
        }
        if self.in_lambda() && self.local_type(&name.name).is_none() {
            if self.lookup(&name.name).is_none() {
                self.name(std::slice::from_ref(name), name.span);
                self.settle(name, TyId::ANY);
            }
            // A global that is changed from a lambda is left to the run.
            return None;
        }
        let mut ty = self.variable_type(name, annotation).unwrap_or(TyId::ANY);
        self.recorder.part(name.span, ty);
        for step in &target.path {
            ty = match step {
                TargetStep::Member(member) => {
                    self.check_new_member(ty, &member.name, name.span);
                    self.check_new_in_union(ty, &member.name, name.span);
                    let ty = self.member(ty, &member.name, name.span);
                    self.recorder.part(member.span, ty);
                    ty
                }
                TargetStep::Index(index) => {
                    if let Expr::Str(key) = self.tree.expr(*index) {
                        self.check_new_member(ty, key, name.span);
                    }
                    self.index_type(ty, *index, name.span)
                }
            };
        }
        (ty != TyId::ANY).then_some(ty)
    }

    fn check_new_member(&mut self, ty: TyId, member: &str, at: Span) {
        let Ty::Schema(id, _) = self.types.kind(ty) else { return };
        let id = *id;
        if self.schema_attr(id, member).is_none() && !self.takes_unknown_members(id) {
            let diag = self.no_attribute(id, member, at);
            self.report(diag);
        }
    }

    /// Some member of a union must be able to have the attribute, if one of them is a schema.
    fn check_new_in_union(&mut self, ty: TyId, member: &str, at: Span) {
        let Ty::Union(members) = self.types.kind(ty).clone() else { return };
        let mut without = None;
        for ty in members.iter() {
            let id = match self.types.kind(*ty) {
                Ty::Schema(id, _) => *id,
                Ty::Dict(_) => return,
                _ => continue,
            };
            if self.schema_attr(id, member).is_some() || self.schema_index(id).is_some() {
                return;
            }
            without = without.or(Some(*ty));
        }
        if let Some(schema) = without {
            let (schemas, similar) = (vec![self.text(schema).into()], Vec::new());
            self.error(at, &Mistake::UnknownToAll { schemas, name: member.into(), similar });
        }
    }

    /// The type of the variable itself; none if it is not decided yet.
    fn variable_type(&mut self, name: &Ident, annotation: Option<TyId>) -> Option<TyId> {
        match self.assignment_scope() {
            None => {
                let at = self.global_of(&name.name)?;
                let global = &mut self.globals[at];
                if let Some(ty) = annotation
                    && matches!(global.kind, GlobalKind::Var { annotated: true, .. })
                    && global.ty != TyId::ANY
                    && !self.types.sub(global.ty, ty)
                {
                    let (decl, old) = (global.decl, self.types.text(global.ty));
                    let (name, at) = (name.name.clone(), name.span);
                    let mistake = Mistake::ConflictingAnnotation { name, ty: self.types.text(ty) };
                    let diag = RawDiag::of(&mistake, self.home, at);
                    let diag = diag.label(self.here(decl), format!("expected {old}"));
                    self.report(diag);
                }
                let global = &mut self.globals[at];
                // An annotation that names a variable means something only now that the variable has a type.
                if matches!(global.kind, GlobalKind::Var { annotated: true, .. })
                    && global.ty == TyId::ANY
                    && let Some(ty) = annotation
                {
                    global.ty = ty;
                }
                let (ty, decided) = match &global.kind {
                    GlobalKind::Var { .. } => (global.ty, global.ty != TyId::ANY),
                    GlobalKind::Module => (global.ty, true),
                    GlobalKind::Schema(_) | GlobalKind::Alias => {
                        (self.lookup_global(&name.name).unwrap_or(TyId::ANY), true)
                    }
                };
                decided.then_some(ty)
            }
            Some(scope) => {
                if let ScopeKind::Schema(id) = self.scopes[scope].kind
                    && let Some(attr) = self.schema_attr(id, &name.name)
                    && attr.ty != TyId::ANY
                {
                    return Some(attr.ty);
                }
                if let Some(ty) = annotation {
                    let old = self.scopes[scope].vars.get(&name.name).map(|v| v.ty);
                    if old.is_some_and(|old| old != TyId::ANY && !self.types.sub(old, ty)) {
                        let (name, at) = (name.name.clone(), name.span);
                        self.error(at, &Mistake::ConflictingAnnotation { name, ty: self.text(ty) });
                    }
                    // In a schema body the first assignment without an annotation goes on to decide.
                    let decided = old.is_some_and(|old| old != TyId::ANY) && !self.is_open(&name.name);
                    if !decided || self.current_schema().is_none() {
                        let var = Var { ty, annotated: true };
                        self.scopes[scope].vars.insert(name.name.clone(), var);
                    }
                    return Some(ty);
                }
                if self.is_open(&name.name) {
                    return None;
                }
                let var = self.scopes[scope].vars.get(&name.name)?;
                (var.annotated || var.ty != TyId::ANY).then_some(var.ty)
            }
        }
    }

    /// Whether nothing is known yet of the global that a target names.
    fn is_undecided(&self, target: &Target) -> bool {
        self.assignment_scope().is_none()
            && self
                .globals
                .get(&target.name.name)
                .is_some_and(|global| matches!(global.kind, GlobalKind::Var { .. }) && global.ty == TyId::ANY)
    }

    /// Quirk: an annotation inside a schema body (not an attribute: in a block or a lambda) binds its own value only; the type of
    /// the name is still decided by the first assignment without one.
    pub(crate) fn is_open(&self, name: &str) -> bool {
        let Some(scope) = self.assignment_scope() else { return false };
        self.current_schema().is_some() && self.scopes[scope].vars.get(name).is_some_and(|v| v.annotated)
    }

    /// Whether a name is assigned in the body that is walked, but no attribute with a type.
    fn in_body_only(&mut self, name: &str) -> bool {
        let Some(id) = self.current_schema() else { return false };
        self.schema_attr(id, name).is_none_or(|attr| attr.ty == TyId::ANY)
    }

    pub(crate) fn in_lambda(&self) -> bool {
        self.assignment_scope().is_some_and(|s| self.scopes[s].kind == ScopeKind::Lambda)
    }

    pub(crate) fn local_type(&self, name: &str) -> Option<TyId> {
        let scope = self.assignment_scope()?;
        self.scopes[scope].vars.get(name).map(|v| v.ty)
    }

    /// Gives an undecided variable its type.
    fn settle(&mut self, name: &Ident, ty: TyId) {
        match self.assignment_scope() {
            None => {
                if let Some(global) = self.globals.get_mut(&name.name)
                    && matches!(global.kind, GlobalKind::Var { .. })
                    && global.ty == TyId::ANY
                {
                    global.ty = ty;
                }
            }
            Some(scope) => {
                let var = Var { ty, annotated: false };
                self.scopes[scope].vars.insert(name.name.clone(), var);
            }
        }
    }

    /// The scope that owns assigned names: the innermost lambda or schema body; none for globals.
    pub(crate) fn assignment_scope(&self) -> Option<usize> {
        self.scopes.iter().rposition(|s| matches!(s.kind, ScopeKind::Lambda | ScopeKind::Schema(_)))
    }

    /// Pushes what an assignment expects of its value.
    pub(crate) fn push_expected(&mut self, ty: Option<TyId>, at: Span) {
        let ty = ty.filter(|t| self.is_structured(*t));
        match ty {
            Some(ty) => {
                let loc = Some(self.here(at));
                self.expects.push(Expect { ty: Some(ty), loc });
            }
            // Other types push nothing: what is expected around stays in force.
            None => self.expects.push(self.expects.last().cloned().unwrap_or_default()),
        }
    }

    /// Types that say something about a config inside.
    pub(crate) fn is_structured(&self, ty: TyId) -> bool {
        matches!(self.types.kind(ty), Ty::Schema(..) | Ty::List(_) | Ty::Dict(_) | Ty::Union(_))
    }

    /// A global that is declared by `name: S {..}` may be changed by `|=`, and any by an operator with a schema expression.
    fn may_unite(&self, name: &str, value: ExprId) -> bool {
        if matches!(self.tree.expr(value), Expr::Schema(_)) {
            return true;
        }
        let mut left: Vec<StmtId> = self.tree.files.iter().flat_map(|f| f.body.iter().copied()).collect();
        while let Some(stmt) = left.pop() {
            match self.tree.stmt(stmt) {
                Stmt::Unification { target, .. } if target.name == name => return true,
                Stmt::If { body, orelse, .. } => left.extend(body.iter().chain(orelse.iter())),
                _ => {}
            }
        }
        false
    }

    pub(crate) fn aug_assign(&mut self, target: &Target, op: BinaryOp, value: ExprId) -> TyId {
        let name = &target.name;
        // Quirk: a global that stands further up is meant even in a body that has the name itself.
        let known = self.globals.get(&name.name);
        let is_module = known.is_some_and(|g| matches!(g.kind, GlobalKind::Module));
        let is_var = known.is_some_and(|g| matches!(g.kind, GlobalKind::Var { .. }));
        // (The statement of an override stands where the variable is declared.)
        let above = !is_module && known.is_some_and(|g| g.decl.start <= name.span.start);
        // A variable that is only declared further down is not meant.
        let global = self.assignment_scope().is_none() && known.is_some() && !is_var && !is_module;
        // The first change of a variable that is declared further down is let through, and counts as its declaration.
        let changed =
            self.changed_early.get(&name.name).copied().filter(|_| self.assignment_scope().is_none());
        if !is_private(&name.name)
            && (above || global || changed.is_some())
            && !self.may_unite(&name.name, value)
        {
            let decl = changed.or_else(|| self.globals.get(&name.name).map(|g| g.decl));
            let mistake = Mistake::Modified { name: name.name.clone() };
            let mut diag = RawDiag::of(&mistake, self.home, name.span);
            if let Some(decl) = decl {
                let text = format!("The variable '{}' is declared here firstly", name.name);
                diag = diag.label(self.here(decl), text);
            }
            self.report(diag.said_here("a second value").related("the first value"));
            return TyId::ANY;
        }
        let Some(found) = self.lookup(&name.name) else {
            self.undefined(&name.name, name.span);
            self.expr(value);
            return TyId::ANY;
        };
        if is_var && self.assignment_scope().is_none() {
            self.changed_early.entry(name.name.clone()).or_insert(name.span);
        }
        let declared = self.target_type(target, None);
        // A module or a built-in function is judged like a value.
        let foreign = target.path.is_empty() && (is_module || !is_var && self.assignment_scope().is_none());
        let left = match declared {
            _ if foreign => found,
            None if target.path.is_empty() && self.is_open(&name.name) => found,
            None if target.path.is_empty() && self.in_lambda() => {
                self.body_type(&name.name).unwrap_or(TyId::ANY)
            }
            _ => declared.unwrap_or(TyId::ANY),
        };
        let right = self.expr(value);
        let got = ops::binary(self, op, left, right, name.span, Some(value));
        if let Some(declared) = declared {
            self.must_fit(got, declared, name.span, None);
        }
        got
    }

    pub(crate) fn unification(&mut self, target: &Ident, value: ExprId) -> TyId {
        let declared = self.unification_type_quiet(value);
        let local = self.assignment_scope().filter(|s| self.scopes[*s].kind == ScopeKind::Lambda);
        let before = self.local_type(&target.name).filter(|_| local.is_some());
        if local.is_some() && before.is_none() {
            // A local is known, as any, in its own first value.
            self.settle(target, TyId::ANY);
        }
        let got = self.expr(value);
        if let Some(before) = before {
            self.must_fit(got, before, target.span, None);
        }
        if let Some(scope) = local {
            let var = Var { ty: declared, annotated: true };
            self.scopes[scope].vars.insert(target.name.clone(), var);
        }
        self.value_must_fit(got, declared, target.span, None, Some(value));
        got
    }

    /// The declared type without repeating the mistakes of the name.
    fn unification_type_quiet(&mut self, value: ExprId) -> TyId {
        self.muted = true;
        let ty = self.unification_type(value);
        self.muted = false;
        ty
    }
}
