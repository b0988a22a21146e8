//! A walk over expressions, for the few questions that are answered once per tree.

use kcl_syntax::ast::{Entry, Expr, ExprId, JoinPart, Key, Stmt, StmtId, TargetStep, Tree};

/// Calls `f` for an expression and everything inside it (statements of lambdas included); `f` returns false to stay out.
pub(crate) fn walk_expr(tree: &Tree, id: ExprId, f: &mut dyn FnMut(&Expr) -> bool) {
    let expr = tree.expr(id);
    if !f(expr) {
        return;
    }
    match expr {
        Expr::Joined(parts) => {
            for part in parts {
                if let JoinPart::Value { expr, .. } = part {
                    walk_expr(tree, *expr, f);
                }
            }
        }
        Expr::Unary(_, a)
        | Expr::As(a, _)
        | Expr::Paren(a)
        | Expr::Star(a)
        | Expr::Selector { value: a, .. } => {
            walk_expr(tree, *a, f);
        }
        Expr::Binary(_, a, b) | Expr::Index { value: a, index: b, .. } => walk_all(tree, &[*a, *b], f),
        Expr::Compare(first, rest) => {
            walk_expr(tree, *first, f);
            rest.iter().for_each(|(_, e)| walk_expr(tree, *e, f));
        }
        Expr::If { cond, then, orelse } => walk_all(tree, &[*cond, *then, *orelse], f),
        Expr::Slice { value, lower, upper, step, .. } => {
            walk_expr(tree, *value, f);
            [lower, upper, step].into_iter().flatten().for_each(|e| walk_expr(tree, *e, f));
        }
        Expr::Call(call) => {
            walk_expr(tree, call.func, f);
            walk_all(tree, &call.args, f);
            call.kwargs.iter().for_each(|k| walk_expr(tree, k.value, f));
        }
        Expr::List(items) => walk_all(tree, items, f),
        Expr::ListIf { cond, then, orelse } => {
            walk_expr(tree, *cond, f);
            walk_all(tree, then, f);
            walk_all(tree, orelse, f);
        }
        Expr::ListComp { elt, clauses } => {
            walk_expr(tree, *elt, f);
            walk_clauses(tree, clauses, f);
        }
        Expr::Config(entries) => entries.iter().for_each(|e| walk_entry(tree, e, f)),
        Expr::DictComp { entry, clauses } => {
            walk_entry(tree, entry, f);
            walk_clauses(tree, clauses, f);
        }
        Expr::Quant(quant) => {
            walk_all(tree, &[quant.iter, quant.body], f);
            quant.cond.iter().for_each(|e| walk_expr(tree, *e, f));
        }
        Expr::Schema(schema) => {
            walk_expr(tree, schema.name, f);
            walk_all(tree, &schema.args, f);
            schema.kwargs.iter().for_each(|k| walk_expr(tree, k.value, f));
            walk_expr(tree, schema.config, f);
        }
        Expr::Lambda(lambda) => {
            lambda.params.iter().filter_map(|p| p.default).for_each(|e| walk_expr(tree, e, f));
            walk_stmts(tree, &lambda.body, f);
        }
        _ => {}
    }
}

fn walk_all(tree: &Tree, ids: &[ExprId], f: &mut dyn FnMut(&Expr) -> bool) {
    ids.iter().for_each(|id| walk_expr(tree, *id, f));
}

fn walk_clauses(tree: &Tree, clauses: &[kcl_syntax::ast::CompClause], f: &mut dyn FnMut(&Expr) -> bool) {
    for clause in clauses {
        walk_expr(tree, clause.iter, f);
        clause.cond.iter().for_each(|e| walk_expr(tree, *e, f));
    }
}

fn walk_entry(tree: &Tree, entry: &Entry, f: &mut dyn FnMut(&Expr) -> bool) {
    match &entry.key {
        Key::Computed(key) => walk_expr(tree, *key, f),
        Key::If { cond, orelse } => {
            walk_expr(tree, *cond, f);
            orelse.iter().for_each(|e| walk_expr(tree, *e, f));
        }
        _ => {}
    }
    walk_expr(tree, entry.value, f);
}

fn walk_stmts(tree: &Tree, body: &[StmtId], f: &mut dyn FnMut(&Expr) -> bool) {
    for stmt in body {
        match tree.stmt(*stmt) {
            Stmt::Expr(e) => walk_expr(tree, *e, f),
            Stmt::Assign { targets, value, .. } => {
                targets.iter().flat_map(|t| t.path.iter()).for_each(|s| walk_step(tree, s, f));
                walk_expr(tree, *value, f);
            }
            Stmt::AugAssign { target, value, .. } => {
                target.path.iter().for_each(|s| walk_step(tree, s, f));
                walk_expr(tree, *value, f);
            }
            Stmt::Unification { value, .. } => walk_expr(tree, *value, f),
            Stmt::If { cond, body, orelse } => {
                walk_expr(tree, *cond, f);
                walk_stmts(tree, body, f);
                walk_stmts(tree, orelse, f);
            }
            Stmt::Assert { cond, guard, msg } => {
                walk_expr(tree, *cond, f);
                [guard, msg].into_iter().flatten().for_each(|e| walk_expr(tree, *e, f));
            }
            _ => {}
        }
    }
}

fn walk_step(tree: &Tree, step: &TargetStep, f: &mut dyn FnMut(&Expr) -> bool) {
    if let TargetStep::Index(e) = step {
        walk_expr(tree, *e, f);
    }
}
