//! The textual merge of repeated unification statements (main package, top level of files).
//!
//! `p: P {..}` written several times is one declaration: the entries of all blocks go, in file and statement order,
//! into the last one; the others are deleted. An assignment `p = P {..}` counts only as the first of them; for private
//! names it starts anew. Entries are grouped by key at the first occurrence, `=` discards the earlier ones of its
//! group, and the same is done inside nested literal configs.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{Entry, EntryOp, Expr, ExprId, Key, Stmt, StmtId, Str, Tree};

/// One declaration of a name.
#[derive(Clone, Copy)]
struct Declaration {
    stmt: StmtId,
    value: ExprId,
}

/// Merges repeated declarations of the same name. This is done once, for the main package, after the
/// overrides and before checking.
pub(super) fn merge_unifications(tree: &mut Tree) {
    let (order, found) = declarations(tree);
    let mut removed = FxHashSet::default();
    for name in order {
        if let Some(list) = found.get(&name)
            && let [others @ .., last] = list.as_slice()
            && !others.is_empty()
        {
            merge(tree, list, last);
            removed.extend(others.iter().map(|d| d.stmt));
        }
    }
    if removed.is_empty() {
        return;
    }
    for file in &mut tree.files {
        file.body.retain(|stmt| !removed.contains(stmt));
    }
}

/// The declarations of each name, in the order of names, as far as they belong together.
fn declarations(tree: &Tree) -> (Vec<Str>, FxHashMap<Str, Vec<Declaration>>) {
    let mut order: Vec<Str> = Vec::new();
    let mut found: FxHashMap<Str, Vec<Declaration>> = FxHashMap::default();
    for file in &tree.files {
        for &stmt in &file.body {
            let Some((name, value, assign)) = declaration(tree, stmt) else { continue };
            let list = found.entry(name.clone()).or_insert_with(|| {
                order.push(name.clone());
                Vec::new()
            });
            if assign && !list.is_empty() {
                if !name.starts_with('_') {
                    continue;
                }
                list.clear();
            }
            list.push(Declaration { stmt, value });
        }
    }
    (order, found)
}

/// The declarations that will be merged into a later one.
pub(crate) fn superseded(tree: &Tree, name: &str) -> Vec<StmtId> {
    match declarations(tree).1.get(name).map(Vec::as_slice) {
        Some([others @ .., _]) => others.iter().map(|d| d.stmt).collect(),
        _ => Vec::new(),
    }
}

/// Returns name, schema expression and whether it is an assignment, if the statement declares a name by one.
fn declaration(tree: &Tree, stmt: StmtId) -> Option<(Str, ExprId, bool)> {
    match tree.stmt(stmt) {
        Stmt::Unification { target, value, .. } => Some((target.name.clone(), *value, false)),
        Stmt::Assign { targets, value, .. } => match (targets.as_ref(), tree.expr(*value)) {
            ([target], Expr::Schema(_)) if target.path.is_empty() => {
                Some((target.name.name.clone(), *value, true))
            }
            _ => None,
        },
        _ => None,
    }
}

fn merge(tree: &mut Tree, list: &[Declaration], last: &Declaration) {
    let Expr::Schema(schema) = tree.expr(last.value) else { return };
    let config = schema.config;
    let mut entries = Vec::new();
    for decl in list {
        let Expr::Schema(schema) = tree.expr(decl.value) else { continue };
        let config = schema.config;
        // A comprehension in braces has no entries: it is lost (as in the reference).
        if let Expr::Config(more) = &mut tree.exprs[config.0 as usize].kind {
            entries.extend(std::mem::take(more));
        }
    }
    let entries = group(tree, entries);
    tree.exprs[config.0 as usize].kind = Expr::Config(entries.into_boxed_slice());
}

/// Groups entries by key; everything without a simple key is one group.
fn group(tree: &mut Tree, entries: Vec<Entry>) -> Vec<Entry> {
    let mut groups: Vec<Vec<Entry>> = Vec::new();
    let mut index: FxHashMap<Option<Str>, usize> = FxHashMap::default();
    for entry in entries {
        group_value(tree, entry.value);
        let name = match &entry.key {
            Key::Name(name) | Key::Str(name) => Some(name.clone()),
            _ => None,
        };
        let at = *index.entry(name).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        if entry.op == EntryOp::Override {
            groups[at].clear();
        }
        groups[at].push(entry);
    }
    groups.into_iter().flatten().collect()
}

/// Groups the entries of a nested literal config in place. Depth is bounded by the height of the tree.
fn group_value(tree: &mut Tree, value: ExprId) {
    let config = match tree.expr(value) {
        Expr::Config(_) => value,
        Expr::Schema(schema) => schema.config,
        _ => return,
    };
    let Expr::Config(entries) = &mut tree.exprs[config.0 as usize].kind else { return };
    // Most have one entry, which is a group as it is.
    if let [only] = entries.as_ref() {
        let value = only.value;
        return group_value(tree, value);
    }
    let entries = std::mem::take(entries).into_vec();
    let entries = group(tree, entries);
    tree.exprs[config.0 as usize].kind = Expr::Config(entries.into_boxed_slice());
}
