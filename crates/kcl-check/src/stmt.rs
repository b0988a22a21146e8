//! Statements in source order: assignments, schema bodies, checks.

use kcl_syntax::ast::{Attr, Check, Expr, ExprId, Ident, SchemaDef, Stmt, StmtId};

use crate::checker::{Checker, Expect};
use crate::diag::RawDiag;
use crate::globals::{Declared, GlobalKind};
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::scope::ScopeKind;
use crate::signatures::Table;
use crate::ty::{SchemaId, Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    /// Walks all statements of all files.
    pub(crate) fn walk_package(&mut self, declared: &[Declared]) {
        let tree = self.tree;
        let mut schemas = declared.iter();
        for stmt in tree.files.iter().flat_map(|f| f.body.iter()) {
            self.stmt_span = tree.stmt_span(*stmt);
            match tree.stmt(*stmt) {
                Stmt::Schema(def) => {
                    if let Some(declared) = schemas.next() {
                        self.duplicate_name(declared.id, &def.name);
                        self.schema_body(declared.id, def);
                    }
                }
                Stmt::Rule(def) => {
                    if let Some(declared) = schemas.next() {
                        self.duplicate_name(declared.id, &def.name);
                        self.parameter_order(&def.params);
                        self.enter(ScopeKind::Schema(declared.id));
                        self.declare_params(declared.id);
                        self.checks(&def.checks);
                        self.leave();
                    }
                }
                _ => {
                    self.stmt(*stmt);
                }
            }
        }
    }

    fn duplicate_name(&mut self, id: SchemaId, name: &Ident) {
        let Some(global) = self.globals.get(&name.name) else { return };
        let first = match &global.kind {
            // The scan of the names told it.
            GlobalKind::Schema(first) if *first != id => return,
            _ => match self.assigned_first.get(&name.name) {
                Some(span) if span.start < name.span.start => *span,
                _ => return,
            },
        };
        let mistake = Mistake::DefinedTwice { name: name.name.clone(), help: None };
        let diag = RawDiag::of(&mistake, self.home, name.span)
            .label(self.here(first), format!("The variable '{}' is declared here", name.name))
            .said_here("the second")
            .related("the first");
        self.report(diag);
    }

    /// Walks one statement; returns the type of its value.
    pub(crate) fn stmt(&mut self, id: StmtId) -> TyId {
        let tree = self.tree;
        self.last_span = tree.stmt_span(id);
        match tree.stmt(id) {
            Stmt::Expr(expr) => self.expr(*expr),
            Stmt::Assign { targets, ty, value } => {
                let first_error = self.errors.len();
                let annotation = ty.map(|t| self.resolve_type(t));
                // In a lambda or body mistakes of the value come before those of the annotation.
                let at = if self.assignment_scope().is_some() { first_error } else { self.errors.len() };
                let held = self.errors.split_off(at);
                let result = self.assign(targets, annotation, *value);
                self.errors.extend(held);
                result
            }
            Stmt::AugAssign { target, op, value } => self.aug_assign(target, *op, *value),
            Stmt::Unification { target, value, selected } => {
                if *selected {
                    self.error(target.span, &Mistake::SelectedUnification);
                }
                self.unification(target, *value)
            }
            Stmt::If { cond, body, orelse } => {
                self.expr(*cond);
                for stmt in body.iter().chain(orelse.iter()) {
                    self.stmt(*stmt);
                }
                TyId::ANY
            }
            Stmt::Assert { cond, guard, msg } => {
                self.expr(*cond);
                self.guard(*guard);
                self.message(*msg);
                TyId::ANY
            }
            Stmt::Attr(attr) => {
                self.last_span = attr.name.span;
                self.attribute(attr)
            }
            Stmt::Schema(def) => self.nested_definition(&def.name),
            Stmt::Rule(def) => self.nested_definition(&def.name),
            Stmt::TypeAlias { name, ty } if self.stmt_span != tree.stmt_span(id) => {
                match self.scopes.is_empty() {
                    true => self.declare_alias(name, *ty),
                    false => self.resolve_type_at(*ty, name.span),
                }
            }
            Stmt::Import(_) | Stmt::TypeAlias { .. } => TyId::ANY,
        }
    }

    /// A schema inside a block or a lambda defines nothing.
    fn nested_definition(&mut self, name: &Ident) -> TyId {
        let is_below = self.globals.get(&name.name).is_some_and(|g| g.decl.start > name.span.start);
        if is_below && !self.in_lambda() {
            // The one below is the second of its name.
            self.assigned_first.entry(name.name.clone()).or_insert(name.span);
        } else if self.in_lambda() || self.globals.contains_key(&name.name) {
            self.error(name.span, &Mistake::NestedSchema { name: name.name.clone() });
        } else {
            self.undefined(&name.name, name.span);
        }
        TyId::ANY
    }

    /// A guard or a default: the reference reports a bare unknown name where it met the last name.
    pub(crate) fn guard(&mut self, guard: Option<ExprId>) {
        let Some(guard) = guard else { return };
        match self.tree.expr(guard) {
            Expr::Name(parts) => {
                let at = self.last_span;
                self.name(parts, at);
            }
            _ => {
                self.expr(guard);
            }
        }
    }

    fn message(&mut self, msg: Option<ExprId>) {
        let Some(msg) = msg else { return };
        let ty = self.expr(msg);
        let span = self.tree.expr_span(msg);
        self.must_fit(ty, TyId::STR, span, None);
    }

    fn checks(&mut self, checks: &[Check]) {
        for check in checks {
            self.message(check.msg);
            self.guard(check.guard);
            self.expr(check.cond);
        }
    }

    // --- schema bodies -----------------------------------------------------------------------------------------

    fn schema_body(&mut self, id: SchemaId, def: &SchemaDef) {
        self.parameter_order(&def.params);
        self.enter(ScopeKind::Schema(id));
        self.declare_params(id);
        self.index_default(id, def);
        for name in self.body_names(id) {
            // Names of the body are known everywhere in it, their types from the first assignment on.
            self.declare(&name, TyId::ANY);
        }
        for stmt in &def.body {
            match self.tree.stmt(*stmt) {
                // Its type is built: there is nothing to look at but the place.
                Stmt::Attr(attr) if attr.default.is_none() && !attr.selected => {
                    self.last_span = attr.name.span;
                }
                _ => {
                    self.stmt(*stmt);
                }
            }
        }
        self.checks(&def.checks);
        self.leave();
    }

    fn body_names(&self, id: SchemaId) -> Vec<kcl_syntax::ast::Str> {
        let mut names: Vec<_> = self.schema_info(id).assigned.iter().cloned().collect();
        names.sort();
        names
    }

    fn declare_params(&mut self, id: SchemaId) {
        for param in self.schema_params(id) {
            self.declare(&param.name, param.ty);
        }
    }

    fn index_default(&mut self, id: SchemaId, def: &SchemaDef) {
        let (Some(signature), Some(index)) = (&def.index_signature, self.schema_index(id)) else { return };
        if let Some(name) = &signature.name {
            self.declare(&name.name, TyId::STR);
        }
        let Some(default) = signature.default else { return };
        let got = self.expr(default);
        self.must_fit(got, index.val, signature.span, None);
    }

    fn attribute(&mut self, attr: &Attr) -> TyId {
        let Some(id) = self.current_schema() else { return TyId::ANY };
        if attr.selected {
            self.error(attr.name.span, &Mistake::SelectedAttribute);
        }
        let ty = self.schema_attr(id, &attr.name.name).map_or(TyId::ANY, |a| a.ty);
        let Some(default) = attr.default else { return ty };
        if matches!(self.types.kind(ty), Ty::Schema(..)) {
            self.push_expected(Some(ty), self.tree.expr_span(default));
        } else {
            self.expects.push(Expect::default());
        }
        self.in_default = true;
        let got = self.expr(default);
        self.in_default = false;
        self.expects.pop();
        // An attribute of type any takes the type of the assignments that stand above it.
        let name = &attr.name.name;
        let above = self.local_type(name).filter(|_| ty == TyId::ANY && !self.is_open(name));
        self.value_must_fit(got, above.unwrap_or(ty), attr.name.span, None, Some(default));
        ty
    }

    /// Checks decorators: known ones with fitting arguments.
    pub(crate) fn decorators(&mut self, decorators: &[ExprId]) {
        let tree = self.tree;
        for decorator in decorators {
            let (func, call) = match tree.expr(*decorator) {
                Expr::Call(call) => (call.func, Some(call)),
                _ => (*decorator, None),
            };
            let span = tree.expr_span(func);
            let name = match tree.expr(func) {
                Expr::Name(parts) if parts.len() == 1 => parts[0].name.clone(),
                _ => {
                    self.error(span, &Mistake::DecoratorName);
                    continue;
                }
            };
            let Some(ty) = self.builtin(Table::Decorators, &name) else {
                self.error(span, &Mistake::UnknownDecorator { name });
                continue;
            };
            if let (Some(call), Ty::Func(func)) = (call, self.types.kind(ty).clone()) {
                let callee = format!("\"{name}\"");
                self.arguments(&callee, &func.params, func.variadic, &call.args, &call.kwargs, span);
            }
        }
    }
}
