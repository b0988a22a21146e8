//! Lambdas.

use base_diag::Span;
use kcl_syntax::ast::{Lambda, Stmt};

use crate::checker::{Checker, Expect};
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::scope::{ScopeKind, Var};
use crate::ty::{FuncTy, Ty, TyId};

impl<R: Recorder> Checker<'_, R> {
    /// The type of a lambda that is called further up: only its parameters are known there.
    pub(crate) fn lambda_header(&mut self, lambda: &Lambda) -> TyId {
        let params = self.parameters(&lambda.params, false);
        self.types.intern(Ty::Func(FuncTy { params, ret: TyId::ANY, variadic: false }.into()))
    }

    pub(crate) fn lambda(&mut self, lambda: &Lambda) -> TyId {
        self.parameter_order(&lambda.params);
        let params = self.parameters(&lambda.params, false);
        for param in &lambda.params {
            self.guard(param.default);
        }
        // Quirk: an unknown result type is reported where the last name was met.
        let declared = lambda.ret.map(|t| (self.resolve_type_at(t, self.last_span), self.tree.type_span(t)));
        self.enter(ScopeKind::Lambda);
        for (param, written) in params.iter().zip(&lambda.params) {
            // Quirk: in a schema body a parameter has the type of the attribute that it hides, whatever it says itself.
            let hidden = written.ty.and_then(|_| self.body_type(&param.name));
            let annotated = written.ty.is_some() && hidden.is_none();
            let var = Var { ty: hidden.unwrap_or(param.ty), annotated };
            if let Some(scope) = self.scopes.last_mut() {
                scope.vars.insert(param.name.clone(), var);
            }
        }
        let body = self.lambda_body(lambda, declared);
        self.leave();
        // Like braces, a lambda makes the reference forget which names are loop variables.
        self.loop_keys.clear();
        let ret = declared.map_or(body, |(ty, _)| ty);
        self.types.intern(Ty::Func(FuncTy { params, ret, variadic: false }.into()))
    }

    fn lambda_body(&mut self, lambda: &Lambda, declared: Option<(TyId, Span)>) -> TyId {
        let tree = self.tree;
        let Some((last, first)) = lambda.body.split_last() else { return TyId::ANY };
        let yields = matches!(
            tree.stmt(*last),
            Stmt::Expr(_) | Stmt::Assign { .. } | Stmt::AugAssign { .. } | Stmt::Assert { .. }
        );
        if !yields {
            self.error(tree.stmt_span(*last), &Mistake::LambdaLastStatement);
        }
        for stmt in first {
            self.stmt(*stmt);
        }
        match (tree.stmt(*last), declared) {
            (Stmt::Expr(expr), Some((ty, at))) => {
                let span = tree.expr_span(*expr);
                self.push_exact(ty, span);
                let got = self.expr(*expr);
                self.expects.pop();
                let loc = Some(self.here(at));
                self.must_fit(got, ty, span, loc);
                got
            }
            (Stmt::Expr(expr), None) => {
                // What is expected around is not expected of a result.
                self.expects.push(Expect::default());
                let got = self.expr(*expr);
                self.expects.pop();
                self.must_fit(got, TyId::ANY, tree.expr_span(*expr), None);
                got
            }
            (Stmt::Assign { .. } | Stmt::AugAssign { .. }, declared) => {
                let got = self.stmt(*last);
                if let Some((ty, _)) = declared {
                    let at = self.stmt_span;
                    self.must_fit(got, ty, at, None);
                }
                got
            }
            (Stmt::Assert { .. }, _) => self.stmt(*last),
            _ => {
                self.stmt(*last);
                TyId::ANY
            }
        }
    }
}
