//! Calls and schema expressions: arguments against parameters.

use base_diag::Span;
use kcl_syntax::ast::{Call, Expr, ExprId, Keyword, SchemaExpr};

use crate::checker::{Checker, Expect};
use crate::globals::GlobalKind;
use crate::index::Recorder;
use crate::infer::ops;
use crate::mistake::Mistake;
use crate::package::Kind;
use crate::ty::{ParamTy, Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    pub(crate) fn call(&mut self, call: &Call) -> TyId {
        let at = self.tree.expr_span(call.func);
        let mut func = self.expr(call.func);
        if func == TyId::ANY {
            func = self.forward_lambda(call.func).unwrap_or(func);
        }
        match self.types.kind(func).clone() {
            Ty::Any => {
                self.loose_arguments(&call.args);
                let callee = self.callee(call.func);
                (0..call.kwargs.len()).for_each(|i| self.repeated_keyword(&callee, &call.kwargs, i));
                TyId::ANY
            }
            Ty::Func(ty) => {
                let callee = self.callee(call.func);
                self.arguments(&callee, &ty.params, ty.variadic, &call.args, &call.kwargs, at);
                ty.ret
            }
            Ty::Schema(id, false) => {
                let callee = self.callee(call.func);
                let params = self.schema_params(id);
                self.arguments(&callee, &params, false, &call.args, &call.kwargs, at);
                self.types.schema(id, true)
            }
            // What an annotation declares may be called like its schema.
            Ty::Schema(id, true) if self.is_declared(call.func) => {
                let callee = self.callee(call.func);
                let params = self.schema_params(id);
                self.arguments(&callee, &params, false, &call.args, &call.kwargs, at);
                func
            }
            _ => {
                self.not_callable(func, at);
                TyId::ANY
            }
        }
    }

    /// Whether an expression reads an attribute of the body that is walked, or a global with an annotation.
    fn is_declared(&mut self, expr: ExprId) -> bool {
        let tree = self.tree;
        match tree.expr(expr) {
            Expr::Name(parts) => {
                let Some(first) = parts.first() else { return false };
                let local = self.scopes.iter().any(|s| s.vars.contains_key(&first.name));
                let annotated = self
                    .globals
                    .get(&first.name)
                    .is_some_and(|global| matches!(global.kind, GlobalKind::Var { annotated: true, .. }));
                !local && (self.is_attribute(&first.name) || annotated)
            }
            Expr::Index { value, .. } | Expr::Selector { value, .. } => self.is_declared(*value),
            _ => false,
        }
    }

    /// The type of a lambda that a later statement assigns to a global.
    fn forward_lambda(&mut self, func: ExprId) -> Option<TyId> {
        let tree = self.tree;
        let Expr::Name(parts) = tree.expr(func) else { return None };
        let [name] = &**parts else { return None };
        if self.scopes.iter().any(|s| s.vars.contains_key(&name.name)) || self.is_attribute(&name.name) {
            return None;
        }
        let GlobalKind::Var { lambda: Some(lambda), .. } = &self.globals.get(&name.name)?.kind else {
            return None;
        };
        let Expr::Lambda(lambda) = tree.expr(*lambda) else { return None };
        // The lambda's own mistakes are reported where it stands.
        self.muted = true;
        let ty = self.lambda_header(lambda);
        self.muted = false;
        Some(ty)
    }

    fn callee(&self, func: ExprId) -> String {
        match self.tree.expr(func) {
            Expr::Name(parts) => {
                let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
                format!("\"{}\"", names.join("."))
            }
            Expr::Selector { name, .. } => format!("\"{}\"", name.name),
            _ => "anonymous function".to_owned(),
        }
    }

    /// Arguments of a callee of unknown type: what is expected around stays in force.
    /// Keyword values are not looked at.
    fn loose_arguments(&mut self, args: &[ExprId]) {
        for arg in args {
            self.expr(*arg);
        }
    }

    /// Checks arguments against parameters; `at` is the callee.
    pub(crate) fn arguments(
        &mut self,
        callee: &str,
        params: &[ParamTy],
        variadic: bool,
        args: &[ExprId],
        kwargs: &[Keyword],
        at: Span,
    ) {
        for (i, arg) in args.iter().enumerate() {
            self.argument(params.get(i), *arg);
            if i == params.len() && !variadic {
                let span = self.tree.expr_span(*arg);
                self.too_many(callee, params, args.len(), span);
                break;
            }
        }
        let (mut named, mut unknown) = (0, false);
        for (i, keyword) in kwargs.iter().enumerate() {
            let name = &keyword.name.name;
            self.repeated_keyword(callee, kwargs, i);
            let param = params.iter().find(|p| p.name == *name);
            named += usize::from(param.is_some_and(|p| !p.optional));
            match param {
                Some(param) => self.argument(Some(param), keyword.value),
                None if variadic => {}
                None => {
                    unknown = true;
                    self.no_parameter(callee, params, &keyword.name.name, keyword.name.span);
                }
            }
        }
        let required = params.iter().filter(|p| !p.optional).count();
        let given = args.len() + named;
        // A misspelt keyword was told already.
        if given < required && !variadic && !unknown {
            self.too_few(callee, params, given, at);
        }
    }

    /// Reports a keyword that was given before; the place is just behind the keyword before it.
    fn repeated_keyword(&mut self, callee: &str, kwargs: &[Keyword], at: usize) {
        let (before, name) = (&kwargs[..at], &kwargs[at].name.name);
        if let Some(last) = before.last()
            && before.iter().any(|keyword| keyword.name.name == *name)
        {
            let end = self.tree.expr_span(last.value).end;
            let mistake = Mistake::DuplicateArgument { callee: callee.to_owned(), name: name.clone() };
            self.error(Span::new(end, end), &mistake);
        }
    }

    /// Infers an argument and compares it with its parameter.
    fn argument(&mut self, param: Option<&ParamTy>, arg: ExprId) {
        let span = self.tree.expr_span(arg);
        let Some(param) = param else {
            self.expr(arg);
            return;
        };
        self.push_exact(param.ty, span);
        let got = self.expr(arg);
        self.expects.pop();
        self.must_fit(got, param.ty, span, param.loc);
    }

    /// Pushes a parameter or result type, or "nothing expected".
    pub(crate) fn push_exact(&mut self, ty: TyId, at: Span) {
        let expect = if self.is_structured(ty) {
            Expect { ty: Some(ty), loc: Some(self.here(at)) }
        } else {
            Expect::default()
        };
        self.expects.push(expect);
    }

    pub(crate) fn schema_expr(&mut self, schema: &SchemaExpr) -> TyId {
        let at = self.tree.expr_span(schema.name);
        // The name of a schema expression does not count as the last name met (guards).
        let last = self.last_span;
        let ty = self.expr(schema.name);
        self.last_span = last;
        match self.types.kind(ty).clone() {
            Ty::Schema(id, false) => {
                let instance = self.types.schema(id, true);
                let callee = self.callee(schema.name);
                let params = self.schema_params(id);
                self.braces(instance, schema.config);
                if schema.has_args || self.schema_info(id).kind != Kind::Rule {
                    self.arguments(&callee, &params, false, &schema.args, &schema.kwargs, at);
                }
                if self.options.is_0_13() {
                    self.required_attributes(id, schema.config);
                }
                instance
            }
            // Arguments of a dict that is modified are not even looked at.
            Ty::Dict(_) => {
                let got = self.braces(ty, schema.config);
                ops::union(&mut self.types, ty, got).unwrap_or(got)
            }
            Ty::Schema(_, true) if schema.args.is_empty() && schema.kwargs.is_empty() => {
                self.braces(ty, schema.config);
                ty
            }
            Ty::Schema(_, true) => {
                self.braces(ty, schema.config);
                self.error(at, &Mistake::ModificationArguments);
                TyId::ANY
            }
            // Nothing is known, so nothing in the braces is looked at.
            Ty::Any => {
                if matches!(self.tree.expr(schema.config), Expr::DictComp { .. }) {
                    self.braces(ty, schema.config);
                }
                TyId::ANY
            }
            _ => {
                let ty = self.text(ty);
                self.error(at, &Mistake::NotASchema { ty });
                TyId::ANY
            }
        }
    }

    fn braces(&mut self, ty: TyId, config: ExprId) -> TyId {
        if matches!(self.tree.expr(config), Expr::DictComp { .. }) {
            self.error(self.tree.expr_span(config), &Mistake::SchemaConfig);
            return TyId::ANY;
        }
        self.expects.push(Expect { ty: Some(ty), loc: None });
        let got = self.expr(config);
        self.expects.pop();
        got
    }

    /// Edition 0.13: a required attribute that nothing can provide is found here.
    fn required_attributes(&mut self, id: crate::ty::SchemaId, config: ExprId) {
        let Expr::Config(entries) = self.tree.expr(config) else { return };
        let Some(keys) = crate::infer::config::literal_keys(entries) else { return };
        if self.in_default {
            return;
        }
        for link in self.chain(id) {
            let info = self.schema_info(link).clone();
            for (name, attr) in &info.attrs {
                let provided = attr.optional
                    || attr.has_default
                    || keys.contains(name)
                    || self.chain(id).iter().any(|s| {
                        let info = self.schema_info(*s);
                        info.assigned.contains(name)
                            || info.mixed.contains(name)
                            || info.attrs.get(name).is_some_and(|a| a.has_default || a.optional)
                    });
                if !provided {
                    let (schema, name) = (self.schema_name(id), name.clone());
                    let span = self.tree.expr_span(config);
                    self.error(span, &Mistake::RequiredAttribute { schema, name });
                }
            }
        }
    }
}
