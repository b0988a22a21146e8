//! Names that are unified and modified: a quirk of the reference that programs depend on.
//!
//! If a package declares `x: S {..}` or `x: S = ..` and anywhere writes `x {..}`, the reference rewrites every plain identifier `x` of the
//! package to `S`: so `z = x {}` is a fresh `S {}`, and `y = x` is the schema itself. Paths (`x.d`), loop variables and
//! parameters of that name are left alone. A key `x` of braces is checked as written, but is `S` when the program runs.

use std::collections::BTreeSet;

use base_diag::Span;

use crate::ast::{Dotted, Entry, Expr, ExprId, Ident, Key, Stmt, StmtId, Str, Tree, Type, TypeId};

/// Returns the tree that is run instead of the one that is checked, if some declared name is modified.
pub(super) fn rewritten_tree(tree: &Tree) -> Option<Tree> {
    if modification_sites(tree).is_empty() {
        return None;
    }
    let mut copy = tree.clone();
    resolve_modified_names(&mut copy);
    (!copy.renamed_keys.is_empty()).then_some(copy)
}

/// Rewrites a package's tree in place; does nothing where no declared name is modified.
///
/// Declared are names of unification statements and names whose annotation is a schema: globals, locals, attributes. Parameters
/// and loop variables are not.
fn resolve_modified_names(tree: &mut Tree) {
    let sites = modification_sites(tree);
    if sites.is_empty() {
        return;
    }
    let wanted: BTreeSet<Str> = sites.iter().map(|(name, _)| name.clone()).collect();
    let (vars, attrs) = (declared_vars(tree), declared_attrs(tree, &wanted));
    let copies = copied_vars(tree, &vars);
    let schemas = schema_spans(tree);
    let mut done: Vec<Str> = Vec::new();
    for (name, site) in sites {
        let shadows = binding_spans(tree, &name);
        if done.contains(&name) || shadows.iter().any(|s| contains(*s, site)) {
            continue;
        }
        let body = schemas.iter().find(|span| contains(**span, site));
        let of_attrs = |own: bool| {
            let inside = |at: Span| body.is_some_and(|body| contains(*body, at)) == own;
            attrs
                .iter()
                .find(|(n, _, at)| body.is_some() && *n == name && inside(*at))
                .map(|(_, schema, _)| schema)
        };
        // A copy counts from its statement on.
        let above = copies.iter().filter(|(_, at)| *at < site.start).map(|(var, _)| var);
        let vars: Vec<(Str, Dotted)> = vars.iter().chain(above).cloned().collect();
        let of_vars = || vars.iter().rev().find(|(n, _)| *n == name).map(|(_, schema)| schema);
        let found = match key_of_braces(tree, &name, site) {
            Some(value) => declared_name(tree, value, &vars),
            None => of_attrs(true).or_else(of_vars).or_else(|| of_attrs(false)).cloned(),
        };
        let Some(schema) = found else { continue };
        let key = key_text(tree, &schema);
        tree.renamed_keys.push((name.clone(), key));
        for node in &mut tree.exprs {
            if shadows.iter().any(|s| contains(*s, node.span)) {
                continue;
            }
            if let Expr::Name(parts) = &mut node.kind
                && is_plain(parts, &name)
            {
                *parts = schema.clone();
            }
        }
        done.push(name);
    }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Where `x {..}` stands, for names that are not schemas, aliases or imports of the package.
fn modification_sites(tree: &Tree) -> Vec<(Str, Span)> {
    let mut sites: Vec<(Str, Span)> = Vec::new();
    let mut known: Option<BTreeSet<Str>> = None;
    for node in &tree.exprs {
        let Expr::Schema(expr) = &node.kind else { continue };
        let Expr::Name(parts) = tree.expr(expr.name) else { continue };
        let [name] = &parts[..] else { continue };
        if !known.get_or_insert_with(|| defined_types(tree)).contains(&name.name) {
            sites.push((name.name.clone(), node.span));
        }
    }
    sites
}

fn defined_types(tree: &Tree) -> BTreeSet<Str> {
    let name = |stmt: &StmtId| match tree.stmt(*stmt) {
        Stmt::Schema(def) => Some(def.name.name.clone()),
        Stmt::Rule(def) => Some(def.name.name.clone()),
        Stmt::TypeAlias { name, .. } => Some(name.name.clone()),
        _ => None,
    };
    tree.files.iter().flat_map(|f| &f.body).filter_map(name).collect()
}

fn schema_spans(tree: &Tree) -> Vec<Span> {
    let schema = |node: &&crate::ast::StmtNode| matches!(node.kind, Stmt::Schema(_));
    tree.stmts.iter().filter(schema).map(|node| node.span).collect()
}

/// The value of the entry above a site, in the braces around it, whose key is the name.
fn key_of_braces(tree: &Tree, name: &str, site: Span) -> Option<ExprId> {
    let around = tree.exprs.iter().filter(|node| contains(node.span, site));
    let entries = around.filter_map(|node| match &node.kind {
        Expr::Config(entries) => Some((node.span, entries)),
        _ => None,
    });
    let keyed = entries.filter_map(|(span, entries)| {
        let is_key = |key: &Key| matches!(key, Key::Name(n) | Key::Str(n) if n == name);
        let above = |entry: &&Entry| is_key(&entry.key) && entry.key_span.start < site.start;
        let entry = entries.iter().rev().find(above)?;
        (!contains(tree.expr_span(entry.value), site)).then_some((span, entry.value))
    });
    keyed.max_by_key(|(span, _)| span.start).map(|(_, value)| value)
}

/// The schema of a declared name that is the whole expression.
fn declared_name(tree: &Tree, value: ExprId, vars: &[(Str, Dotted)]) -> Option<Dotted> {
    let Expr::Name(parts) = tree.expr(value) else { return None };
    let [name] = &parts[..] else { return None };
    vars.iter().rev().find(|(known, _)| *known == name.name).map(|(_, schema)| schema.clone())
}

/// Globals and locals with the schema they are declared with.
fn declared_vars(tree: &Tree) -> Vec<(Str, Dotted)> {
    let mut vars = Vec::new();
    for node in &tree.stmts {
        if let Stmt::Assign { targets, ty: Some(ty), .. } = &node.kind
            && let [target] = &targets[..]
            && target.path.is_empty()
            && let Some(schema) = schema_of_type(tree, *ty, 0)
        {
            vars.push((target.name.name.clone(), schema));
        }
    }
    vars.extend(unified_names(tree));
    vars
}

/// Globals that are a copy `b = a` of a declared name, and where the copy is made.
fn copied_vars(tree: &Tree, vars: &[(Str, Dotted)]) -> Vec<((Str, Dotted), u32)> {
    let mut known = vars.to_vec();
    let mut copies = Vec::new();
    for stmt in tree.files.iter().flat_map(|f| &f.body) {
        if let Stmt::Assign { targets, ty: None, value } = tree.stmt(*stmt)
            && let [target] = &targets[..]
            && target.path.is_empty()
            && let Some(schema) = declared_name(tree, *value, &known)
        {
            let var = (target.name.name.clone(), schema);
            known.push(var.clone());
            copies.push((var, target.name.span.start));
        }
    }
    copies
}

/// Attributes with the schema they are declared with, and where.
fn declared_attrs(tree: &Tree, wanted: &BTreeSet<Str>) -> Vec<(Str, Dotted, Span)> {
    let mut attrs = Vec::new();
    for node in &tree.stmts {
        match &node.kind {
            Stmt::Attr(attr) if wanted.contains(&attr.name.name) => {
                if let Some(schema) = schema_of_type(tree, attr.ty, 0) {
                    attrs.push((attr.name.name.clone(), schema, node.span));
                }
            }
            Stmt::Schema(def) => {
                let mut unified = Vec::new();
                collect_unified(tree, &def.body, &mut unified);
                attrs.extend(unified.into_iter().map(|(name, schema)| (name, schema, node.span)));
            }
            _ => {}
        }
    }
    attrs
}

/// The schema that a written type names, through aliases of the package; of another package what looks like one.
fn schema_of_type(tree: &Tree, ty: TypeId, depth: u32) -> Option<Dotted> {
    const MAX_ALIASES: u32 = 64;
    let Type::Named(parts) = tree.ty(ty) else { return None };
    let [name] = &parts[..] else {
        let last = parts.last()?;
        let looks_like = parts.len() == 2 && last.name.starts_with(char::is_uppercase);
        return looks_like.then(|| parts.clone());
    };
    tree.files.iter().flat_map(|f| &f.body).find_map(|stmt| match tree.stmt(*stmt) {
        Stmt::Schema(def) if def.name.name == name.name => Some(parts.clone()),
        Stmt::TypeAlias { name: alias, ty } if alias.name == name.name && depth < MAX_ALIASES => {
            schema_of_type(tree, *ty, depth + 1)
        }
        _ => None,
    })
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
/// Returns the names that a package declares with a schema outside schemas, with their schemas as written there.
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
pub(super) fn replace_member(tree: &mut Tree, pkg: &str, name: &str, path: &[Str]) {
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

/// Rewrites every identifier of a (dotted) name to another path, and every key of braces that is the name to a text, up to its last
/// dot. Where a loop or a parameter binds the name, it stays.
pub(super) fn rename_identifier(tree: &mut Tree, name: &str, path: &[Str], text: &str) {
    let first = name.split('.').next().unwrap_or(name);
    let shadows = binding_spans(tree, first);
    let is_name = |parts: &Dotted| parts.iter().map(|p| p.name.as_str()).eq(name.split('.'));
    for node in &mut tree.exprs {
        if shadows.iter().any(|s| contains(*s, node.span)) {
            continue;
        }
        if let Expr::Name(parts) = &mut node.kind
            && is_name(parts)
        {
            let span = parts.first().map(|p| p.span).unwrap_or_default();
            *parts = path.iter().map(|name| Ident { name: name.clone(), span }).collect();
        }
    }
    if !name.contains('.') {
        let key = text.rsplit_once('.').map_or(text, |(start, _)| start);
        tree.renamed_keys.push((name.into(), key.into()));
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
            Stmt::Unification { target, value, .. } => {
                if let Expr::Schema(expr) = tree.expr(*value)
                    && let Expr::Name(parts) = tree.expr(expr.name)
                {
                    unified.retain(|(name, _)| *name != target.name);
                    unified.push((target.name.clone(), parts.clone()));
                }
            }
            Stmt::Assign { targets, ty: Some(ty), .. } => {
                if let [target] = &targets[..]
                    && target.path.is_empty()
                    && let Some(schema) = schema_of_type(tree, *ty, 0)
                {
                    unified.push((target.name.name.clone(), schema));
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
    let takes =
        |kind: &Stmt| matches!(kind, Stmt::Schema(def) if def.params.iter().any(|p| p.name.name == name));
    let expressions = tree.exprs.iter().filter(|node| binds(&node.kind)).map(|node| node.span);
    let bodies = tree.stmts.iter().filter(|node| takes(&node.kind)).map(|node| node.span);
    expressions.chain(bodies).collect()
}
