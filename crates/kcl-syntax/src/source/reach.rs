//! From a value down a path, through literal braces and lists.

use super::path::Step;
use crate::ast::{Entry, Expr, ExprId, Key, Tree};

/// Where a path ends in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reached {
    /// The literal braces or list that the steps before `depth` lead to.
    pub holder: ExprId,
    /// Which step is looked for in it. If it is not the last one, the path goes on where no literal is.
    pub depth: usize,
    /// The entries or items of the holder that this step names, by number; none if it is missing there.
    pub found: Vec<usize>,
}

impl Reached {
    /// Returns true if the whole path was followed: what it names is there, or only the last step is missing.
    pub fn is_end(&self, steps: &[Step]) -> bool {
        self.depth + 1 == steps.len()
    }
}

/// Follows steps from a value. A key that stands several times is followed each time, in order; nothing is returned if the
/// value itself is no literal that the first step fits.
pub fn reach(tree: &Tree, root: ExprId, steps: &[Step]) -> Vec<Reached> {
    let mut out = Vec::new();
    if let Some(holder) = steps.first().and_then(|step| holder_for(tree, root, step)) {
        walk(tree, holder, steps, 0, &mut out);
    }
    out
}

// Depth is bounded by the path.
fn walk(tree: &Tree, holder: ExprId, steps: &[Step], depth: usize, out: &mut Vec<Reached>) {
    let Some(step) = steps.get(depth) else { return };
    let found = named_by(tree, holder, step);
    if let Some(next) = steps.get(depth + 1) {
        let values = found.iter().filter_map(|at| value_at(tree, holder, *at));
        let inner: Vec<ExprId> = values.filter_map(|value| holder_for(tree, value, next)).collect();
        if !inner.is_empty() {
            inner.into_iter().for_each(|holder| walk(tree, holder, steps, depth + 1, out));
            return;
        }
    }
    out.push(Reached { holder, depth, found });
}

/// The literal in which a step can be looked for.
fn holder_for(tree: &Tree, value: ExprId, step: &Step) -> Option<ExprId> {
    match step {
        Step::Key(_) => literal_braces(tree, value),
        Step::Index(_) | Step::Item { .. } => matches!(tree.expr(value), Expr::List(_)).then_some(value),
    }
}

/// Returns the literal braces of a value: its own, or those of a schema expression.
pub fn literal_braces(tree: &Tree, value: ExprId) -> Option<ExprId> {
    let id = match tree.expr(value) {
        Expr::Config(_) => value,
        Expr::Schema(schema) => schema.config,
        _ => return None,
    };
    matches!(tree.expr(id), Expr::Config(_)).then_some(id)
}

/// Returns the entries of braces; none if they are no literal.
pub fn entries(tree: &Tree, braces: ExprId) -> &[Entry] {
    match tree.expr(braces) {
        Expr::Config(entries) => entries,
        _ => &[],
    }
}

/// Returns the value with a number in braces or a list.
pub fn value_at(tree: &Tree, holder: ExprId, at: usize) -> Option<ExprId> {
    match tree.expr(holder) {
        Expr::Config(entries) => entries.get(at).map(|entry| entry.value),
        Expr::List(items) => items.get(at).copied(),
        _ => None,
    }
}

fn named_by(tree: &Tree, holder: ExprId, step: &Step) -> Vec<usize> {
    match (step, tree.expr(holder)) {
        (Step::Key(key), _) => entries_with(tree, holder, key),
        (Step::Index(index), Expr::List(items)) => by_number(tree, items, *index).into_iter().collect(),
        (Step::Item { key, value }, Expr::List(items)) => {
            let fits = |item: &ExprId| {
                let Some(braces) = literal_braces(tree, *item) else { return false };
                let last = entries(tree, braces).iter().rfind(|entry| has_key(entry, key));
                last.is_some_and(|entry| says(tree, entry.value, value))
            };
            items.iter().enumerate().filter(|(_, item)| fits(item)).map(|(at, _)| at).collect()
        }
        _ => Vec::new(),
    }
}

/// The numbers of the entries that have a key.
pub(crate) fn entries_with(tree: &Tree, braces: ExprId, key: &str) -> Vec<usize> {
    let entries = entries(tree, braces).iter().enumerate();
    entries.filter(|(_, entry)| has_key(entry, key)).map(|(at, _)| at).collect()
}

fn has_key(entry: &Entry, name: &str) -> bool {
    matches!(&entry.key, Key::Name(key) | Key::Str(key) if key == name)
}

/// Items that are spread or conditional make the numbers of those on their other side unknown.
fn by_number(tree: &Tree, items: &[ExprId], index: i64) -> Option<usize> {
    let count = i64::try_from(items.len()).ok()?;
    let at = usize::try_from(if index < 0 { index + count } else { index }).ok()?;
    let counted = if index < 0 { items.get(at..)? } else { items.get(..=at)? };
    let plain = |id: &ExprId| !matches!(tree.expr(*id), Expr::Star(_) | Expr::ListIf { .. });
    counted.iter().all(plain).then_some(at)
}

/// Whether a literal says what a path asks for.
fn says(tree: &Tree, value: ExprId, wanted: &str) -> bool {
    match tree.expr(value) {
        Expr::Str(text) => text == wanted,
        Expr::Int(number) => wanted.parse() == Ok(*number),
        Expr::Bool(true) => wanted == "True",
        Expr::Bool(false) => wanted == "False",
        _ => false,
    }
}
