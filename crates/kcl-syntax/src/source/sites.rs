//! Which statements of a file the name of a variable reaches.
//!
//! A whole variable (`-O a=1`) is changed in every top-level statement that sets it. A path below one (`-O a.b=1`) is changed in the
//! first statement that declares the variable - or, a quirk of the reference, in the first literal braces of a statement that
//! declares nothing (an expression, `assert`, `+=`), if that comes first.

use base_diag::Span;

use crate::ast::{Expr, ExprId, Stmt, StmtId, Tree};
use crate::lower::superseded;

/// What a path below a variable meets first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    /// The declaration of the variable, with its value.
    Declaration(StmtId, ExprId),
    /// Braces that have nothing to do with it.
    Braces(ExprId),
}

/// Returns the statements of a file that set a variable, with their values.
pub fn setters(tree: &Tree, file: usize, name: &str) -> Vec<(StmtId, ExprId)> {
    let body = tree.files[file].body.iter();
    let is_mine = |id: StmtId| match tree.stmt(id) {
        Stmt::AugAssign { target, value, .. } => {
            (target.name.name == name && target.path.is_empty()).then_some((id, *value))
        }
        _ => declaration(tree, id, name),
    };
    body.filter_map(|id| is_mine(*id)).collect()
}

/// Returns what a path below a variable meets, in order of the statements.
pub fn sites<'t>(tree: &'t Tree, file: usize, name: &'t str) -> impl Iterator<Item = Site> + 't {
    tree.files[file].body.iter().filter_map(move |id| {
        if let Some((stmt, value)) = declaration(tree, *id, name) {
            return Some(Site::Declaration(stmt, value));
        }
        match tree.stmt(*id) {
            Stmt::Expr(_) | Stmt::Assert { .. } | Stmt::AugAssign { .. } => {
                first_braces(tree, tree.stmt_span(*id)).map(Site::Braces)
            }
            _ => None,
        }
    })
}

/// The first place of a package that declares a name, whatever it declares: what an appended statement collides with.
pub(crate) fn first_declaration(tree: &Tree, name: &str) -> Option<Span> {
    let top = tree.files.iter().flat_map(|file| &file.body).map(|id| &tree.stmts[id.0 as usize]);
    let definitions = top.clone().filter_map(|node| match &node.kind {
        Stmt::Schema(def) if def.name.name == name => Some(node.span),
        Stmt::Rule(def) if def.name.name == name => Some(node.span),
        Stmt::Import(import) if import.bound_name() == name => Some(node.span),
        Stmt::TypeAlias { name: alias, .. } if alias.name == name => Some(alias.span),
        _ => None,
    });
    let blocks: Vec<Span> =
        top.filter(|node| !matches!(node.kind, Stmt::Schema(_))).map(|node| node.span).collect();
    let superseded = superseded(tree, name);
    let standing = tree.stmts.iter().enumerate().filter(|(at, _)| !superseded.contains(&StmtId(*at as u32)));
    let assigned = standing.filter_map(|(_, node)| match &node.kind {
        Stmt::Assign { targets, .. } => targets.iter().find(|t| t.name.name == name).map(|t| t.name.span),
        Stmt::Unification { target, .. } if target.name == name => Some(target.span),
        _ => None,
    });
    let assigned = assigned.filter(|at| blocks.iter().any(|outer| contains(*outer, *at)));
    definitions.chain(assigned).min_by_key(|at| at.start)
}

fn declaration(tree: &Tree, id: StmtId, name: &str) -> Option<(StmtId, ExprId)> {
    match tree.stmt(id) {
        Stmt::Assign { targets, value, .. } => {
            let mine = targets.iter().any(|t| t.name.name == name && t.path.is_empty());
            mine.then_some((id, *value))
        }
        Stmt::Unification { target, value, .. } if target.name == name => Some((id, *value)),
        _ => None,
    }
}

/// The first literal braces of a statement, those of schema expressions and lambdas left out.
fn first_braces(tree: &Tree, stmt: Span) -> Option<ExprId> {
    let within =
        |outer: Span| tree.exprs.iter().enumerate().filter(move |(_, node)| contains(outer, node.span));
    let closed: Vec<Span> = within(stmt)
        .filter(|(_, node)| matches!(node.kind, Expr::Schema(_) | Expr::Lambda(_)))
        .map(|(_, node)| node.span)
        .collect();
    within(stmt)
        .filter(|(_, node)| matches!(node.kind, Expr::Config(_)))
        .filter(|(_, node)| !closed.iter().any(|outer| contains(*outer, node.span)))
        .min_by_key(|(_, node)| (node.span.start, std::cmp::Reverse(node.span.end)))
        .map(|(at, _)| ExprId(at as u32))
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
