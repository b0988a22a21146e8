//! Names that are unified and modified: a quirk of the reference that programs depend on.
//!
//! If a package declares `x: S {..}` and anywhere writes `x {..}`, the reference rewrites every plain identifier `x` of the
//! package to `S`: so `z = x {}` is a fresh `S {}`, and `y = x` is the schema itself. Paths (`x.d`), loop variables and
//! parameters of that name are left alone. A key `x` of braces is checked as written, but is `S` when the program runs.

use base_diag::Span;

use crate::ast::{Dotted, Expr, Stmt, StmtId, Str, Tree};

/// Rewrites a package's tree in place; does nothing where no unified name is modified.
pub fn resolve_modified_names(tree: &mut Tree) {
    let mut unified: Vec<(Str, Dotted)> = Vec::new();
    let bodies: Vec<StmtId> = tree.files.iter().flat_map(|f| f.body.iter().copied()).collect();
    collect_unified(tree, &bodies, &mut unified);
    unified.retain(|(name, _)| is_modified(tree, name));
    for (name, schema) in unified {
        let shadows = binding_spans(tree, &name);
        let key = key_text(tree, &schema);
        tree.renamed_keys.push((name.clone(), key));
        for node in &mut tree.exprs {
            if shadows.iter().any(|s| s.start <= node.span.start && node.span.end <= s.end) {
                continue;
            }
            if let Expr::Name(parts) = &mut node.kind
                && is_plain(parts, &name)
            {
                *parts = schema.clone();
            }
        }
    }
}

// The name of the schema; of one in another package only that package is left of it.
fn key_text(tree: &Tree, schema: &Dotted) -> Str {
    let [package, _] = &schema[..] else {
        return schema.first().map(|p| p.name.clone()).unwrap_or_default();
    };
    let path = tree.files.iter().flat_map(|f| &f.body).find_map(|stmt| match tree.stmt(*stmt) {
        Stmt::Import(import) if import.bound_name() == package.name => Some(import.raw_path()),
        _ => None,
    });
    format!("@{}", path.unwrap_or_else(|| package.name.to_string())).into()
}

/// The same across packages: with `x: S {..}` in an imported package, `pkg.x {..}` makes every `pkg.x` of this one its schema.
/// Returns the names that a package declares by unification outside schemas, with their schemas as written there.
pub fn unified_names(tree: &Tree) -> Vec<(Str, Dotted)> {
    let mut unified = Vec::new();
    let outside = |stmt: &StmtId| !matches!(tree.stmt(*stmt), Stmt::Schema(_));
    let bodies: Vec<StmtId> =
        tree.files.iter().flat_map(|f| f.body.iter().copied()).filter(outside).collect();
    collect_unified(tree, &bodies, &mut unified);
    unified
}

/// Whether the tree modifies `pkg.name`.
pub fn modifies_member(tree: &Tree, pkg: &str, name: &str) -> bool {
    tree.exprs.iter().any(|node| match &node.kind {
        Expr::Schema(expr) => {
            matches!(tree.expr(expr.name), Expr::Name(parts) if is_member(parts, pkg, name))
        }
        _ => false,
    })
}

/// Rewrites every `pkg.name` of the tree to a path.
pub fn replace_member(tree: &mut Tree, pkg: &str, name: &str, path: &[Str]) {
    let shadows = binding_spans(tree, pkg);
    for node in &mut tree.exprs {
        if shadows.iter().any(|s| s.start <= node.span.start && node.span.end <= s.end) {
            continue;
        }
        if let Expr::Name(parts) = &mut node.kind
            && is_member(parts, pkg, name)
        {
            for (part, new) in parts.iter_mut().zip(path) {
                part.name = new.clone();
            }
        }
    }
}

fn is_member(parts: &Dotted, pkg: &str, name: &str) -> bool {
    parts.len() == 2 && parts[0].name == pkg && parts[1].name == name
}

fn is_plain(parts: &Dotted, name: &str) -> bool {
    parts.len() == 1 && parts[0].name == name
}

// Top level, branches and schema bodies; a lambda's own names do not count.
fn collect_unified(tree: &Tree, body: &[StmtId], unified: &mut Vec<(Str, Dotted)>) {
    for stmt in body {
        match tree.stmt(*stmt) {
            Stmt::Unification { target, value } => {
                if let Expr::Schema(expr) = tree.expr(*value)
                    && let Expr::Name(parts) = tree.expr(expr.name)
                {
                    unified.retain(|(name, _)| *name != target.name);
                    unified.push((target.name.clone(), parts.clone()));
                }
            }
            Stmt::If { body, orelse, .. } => {
                collect_unified(tree, body, unified);
                collect_unified(tree, orelse, unified);
            }
            Stmt::Schema(def) => collect_unified(tree, &def.body, unified),
            _ => {}
        }
    }
}

fn is_modified(tree: &Tree, name: &str) -> bool {
    tree.exprs.iter().any(|node| match &node.kind {
        Expr::Schema(expr) => matches!(tree.expr(expr.name), Expr::Name(parts) if is_plain(parts, name)),
        _ => false,
    })
}

/// Returns where loops and lambdas bind the name.
fn binding_spans(tree: &Tree, name: &str) -> Vec<Span> {
    let binds = |kind: &Expr| match kind {
        Expr::Lambda(lambda) => lambda.params.iter().any(|p| p.name.name == name),
        Expr::Quant(quant) => quant.targets.iter().any(|t| t.name == name),
        Expr::ListComp { clauses, .. } | Expr::DictComp { clauses, .. } => {
            clauses.iter().flat_map(|c| c.targets.iter()).any(|t| t.name == name)
        }
        _ => false,
    };
    tree.exprs.iter().filter(|node| binds(&node.kind)).map(|node| node.span).collect()
}
