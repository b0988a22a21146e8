//! Changes from the command line (`-O path=value`), made to the tree of the main package before checking.
//!
//! In: specs as written. Out: the changed tree, or what is wrong with a spec. Every file is changed by itself, as in the
//! reference: the first declaration of the variable in it, and only through literal configs; a path that does not exist is
//! appended to the variable's config, a variable that does not exist becomes a statement of the file.

use base_diag::{FileId, Span};

use crate::ast::{
    BinaryOp, Entry, EntryOp, Expr, ExprId, ExprNode, FileTree, Ident, Key, Stmt, StmtId, Str, Target, Tree,
};
use crate::mistake::Mistake;
use crate::parse::parse_expr;
use crate::source::{
    PathError, Reached, Site, SourcePath, Step, entries, entries_with, first_declaration, literal_braces,
    reach, setters, sites, value_at,
};

/// What an override does at the end of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverrideKind {
    /// `=`, `:` or `+=`.
    Set(EntryOp),
    /// `-`
    Delete,
}

/// An override taken apart.
#[derive(Debug)]
pub struct Override<'a> {
    /// Where.
    pub path: SourcePath,
    /// What.
    pub kind: OverrideKind,
    /// The text of the value; empty for a deletion.
    pub value: &'a str,
}

/// Applies specs in order. This comes before the merge of unifications: only the first declaration is changed.
pub(super) fn apply_overrides(tree: &mut Tree, specs: &[String]) -> Result<(), Mistake> {
    for text in specs {
        let spec = parse_override(text)?;
        if tree.files.is_empty() {
            tree.files.push(FileTree::default());
        }
        for file in 0..tree.files.len() {
            apply(tree, file, &spec, text)?;
        }
    }
    Ok(())
}

fn wrong_format(text: &str) -> Mistake {
    Mistake::OverrideFormat { text: text.to_owned() }
}

/// Takes an override apart.
///
/// # Errors
/// [`Mistake::OverrideFormat`] or [`Mistake::OverridePath`].
pub fn parse_override(text: &str) -> Result<Override<'_>, Mistake> {
    let (path, kind, value) = match operator(text) {
        Some((at, len, op)) => (&text[..at], OverrideKind::Set(op), text[at + len..].trim()),
        None => match text.trim_end().strip_suffix('-') {
            Some(path) => (path, OverrideKind::Delete, ""),
            None => return Err(wrong_format(text)),
        },
    };
    if path.trim().is_empty() || (value.is_empty() && kind != OverrideKind::Delete) {
        return Err(wrong_format(text));
    }
    let path = SourcePath::of_override(path.trim()).map_err(|error| match error {
        PathError::NoQuote => Mistake::OverridePath { error },
        _ => wrong_format(text),
    })?;
    Ok(Override { path, kind, value })
}

/// Finds the first operator outside quotes: offset, length, meaning.
fn operator(text: &str) -> Option<(usize, usize, EntryOp)> {
    let bytes = text.as_bytes();
    let mut quote = None;
    for (i, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(q), b) if *b == q => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'+') if bytes.get(i + 1) == Some(&b'=') => return Some((i, 2, EntryOp::Insert)),
            (None, b'=') => return Some((i, 1, EntryOp::Override)),
            (None, b':') => return Some((i, 1, EntryOp::Union)),
            _ => {}
        }
    }
    None
}

fn apply(tree: &mut Tree, file: usize, spec: &Override<'_>, text: &str) -> Result<(), Mistake> {
    let Some((name, rest)) = spec.path.split() else { return Err(wrong_format(text)) };
    let found = match rest {
        [] => setters(tree, file, name)
            .into_iter()
            .map(|(stmt, value)| Site::Declaration(stmt, value))
            .collect(),
        _ => sites(tree, file, name).collect::<Vec<_>>(),
    };
    let OverrideKind::Set(op) = spec.kind else {
        delete(tree, name, rest, &found);
        return Ok(());
    };
    let place = match found.first() {
        Some(Site::Declaration(_, value) | Site::Braces(value)) => tree.expr_span(*value),
        None => first_declaration(tree, name).unwrap_or_else(|| end_of_file(&tree.files[file])),
    };
    // Empty: nothing stands there, and whoever tells of a mistake knows that it was made elsewhere.
    let place = Span::new(place.start, place.start);
    let first_expr = tree.exprs.len();
    let value = parse_value(tree, spec.value, place).ok_or_else(|| wrong_format(text))?;
    let replaced = match (found.first(), rest) {
        (Some(Site::Declaration(_, root) | Site::Braces(root)), [_, ..]) => entry_at(tree, *root, rest),
        _ => None,
    };
    let mut done = false;
    for site in found {
        done |= match (site, rest) {
            (Site::Declaration(stmt, old), []) => set_variable(tree, stmt, name, old, op, value),
            (Site::Declaration(stmt, old), _) => {
                let old = own_value(tree, stmt, name, old);
                set_entry(tree, old, rest, op, value)
            }
            (Site::Braces(config), _) => set_entry(tree, config, rest, op, value),
        };
        if !rest.is_empty() {
            break;
        }
    }
    if let Some(old) = replaced {
        put(&mut tree.exprs[first_expr..], Span::new(old.start, old.start));
    }
    if !done {
        // What is added to a variable of a later file comes before its declaration.
        let end = end_of_file(&tree.files[file]);
        let declared = first_declaration(tree, name);
        let place = match declared.filter(|at| op != EntryOp::Insert || at.start < end.start) {
            Some(at) => Span::new(at.start, at.start),
            None if declared.is_some() => end,
            None => place,
        };
        let statement = new_statement(tree, name, rest, op, value, place);
        tree.files[file].body.push(statement);
    }
    Ok(())
}

/// Where an appended statement stands.
fn end_of_file(file: &FileTree) -> Span {
    let end = file.base + file.len;
    Span::new(end, end)
}

fn delete(tree: &mut Tree, name: &str, rest: &[Step], found: &[Site]) {
    for site in found {
        match (*site, rest) {
            (Site::Declaration(stmt, _), []) => delete_target(tree, stmt, name),
            (Site::Declaration(stmt, old), _) => {
                let old = own_value(tree, stmt, name, old);
                delete_entry(tree, old, rest);
                return;
            }
            (Site::Braces(config), _) => {
                let before = entries(tree, config).len();
                delete_entry(tree, config, rest);
                if entries(tree, config).len() < before {
                    return;
                }
            }
        }
    }
}

/// Parses the value; all its nodes get one range. A unary or binary expression is meant as text.
fn parse_value(tree: &mut Tree, text: &str, place: Span) -> Option<ExprId> {
    let first = tree.exprs.len();
    let (first_stmt, first_type) = (tree.stmts.len(), tree.types.len());
    let (id, _) = parse_expr(tree, text, FileId::default(), 0);
    match tree.expr(id) {
        Expr::Missing => return None,
        Expr::Unary(..) | Expr::Binary(..) | Expr::As(..) => {
            tree.exprs.truncate(first);
            return Some(tree.add_expr(Expr::Str(Str::from(text)), place));
        }
        _ => {}
    }
    tree.stmts[first_stmt..].iter_mut().for_each(|s| s.span = place);
    tree.types[first_type..].iter_mut().for_each(|t| t.span = place);
    put(&mut tree.exprs[first..], place);
    Some(id)
}

/// Gives expressions that stand in no file a place, their names and keys as well.
fn put(exprs: &mut [ExprNode], place: Span) {
    for node in exprs {
        node.span = place;
        match &mut node.kind {
            Expr::Name(parts) => parts.iter_mut().for_each(|part| part.span = place),
            Expr::Config(entries) => entries.iter_mut().for_each(|entry| entry.key_span = place),
            _ => {}
        }
    }
}

/// Takes a target, and with the last one its statement, out of a file.
fn delete_target(tree: &mut Tree, stmt: StmtId, name: &str) {
    if let Stmt::Assign { targets, .. } = &mut tree.stmts[stmt.0 as usize].kind {
        let is_other = |t: &Target| t.name.name != name || !t.path.is_empty();
        let others: Box<[Target]> = std::mem::take(targets).into_iter().filter(is_other).collect();
        *targets = others;
        if !targets.is_empty() {
            return;
        }
    }
    for file in &mut tree.files {
        file.body.retain(|id| *id != stmt);
    }
    if let Stmt::Assign { value, .. } | Stmt::AugAssign { value, .. } | Stmt::Unification { value, .. } =
        tree.stmt(stmt)
    {
        forget(tree, *value);
    }
}

/// Gives a variable that shares its value with others (`a = b = {..}`) a statement and a copy of its own.
fn own_value(tree: &mut Tree, stmt: StmtId, name: &str, value: ExprId) -> ExprId {
    let shared = match tree.stmt(stmt) {
        Stmt::Assign { targets, .. } => targets.len() > 1,
        _ => false,
    };
    if !shared {
        return value;
    }
    let copy = copy_config(tree, value);
    split_target(tree, stmt, name, copy);
    copy
}

/// Copies literal configs so that a change of the copy does not show in the original.
fn copy_config(tree: &mut Tree, value: ExprId) -> ExprId {
    let span = tree.expr_span(value);
    let mut kind = tree.expr(value).clone();
    match &mut kind {
        Expr::Config(entries) => {
            for entry in entries.iter_mut() {
                entry.value = copy_config(tree, entry.value);
            }
        }
        Expr::Schema(schema) => schema.config = copy_config(tree, schema.config),
        _ => return value,
    }
    tree.add_expr(kind, span)
}

/// Takes one target out of `a = b = v` and gives it a statement of its own; the others keep their order around it.
fn split_target(tree: &mut Tree, stmt: StmtId, name: &str, value: ExprId) {
    let span = tree.stmt_span(stmt);
    let Stmt::Assign { targets, ty, value: shared } = &mut tree.stmts[stmt.0 as usize].kind else { return };
    let (ty, shared) = (*ty, *shared);
    let is_mine = |t: &Target| t.name.name == name && t.path.is_empty();
    let all = std::mem::take(targets).into_vec();
    let at = all.iter().position(is_mine).unwrap_or(0);
    let (mine, others): (Vec<Target>, Vec<Target>) = all.into_iter().partition(is_mine);
    let mut before = others;
    let after = before.split_off(at.min(before.len()));
    let mut statements = Vec::new();
    for (targets, value) in [(before, shared), (mine, value), (after, shared)] {
        if !targets.is_empty() {
            let targets = targets.into_boxed_slice();
            statements.push(tree.add_stmt(Stmt::Assign { targets, ty, value }, span));
        }
    }
    for file in &mut tree.files {
        if let Some(at) = file.body.iter().position(|id| *id == stmt) {
            file.body.splice(at..=at, statements.iter().copied());
        }
    }
}

/// Sets a whole variable; false if a statement must be appended instead.
fn set_variable(tree: &mut Tree, stmt: StmtId, name: &str, old: ExprId, op: EntryOp, value: ExprId) -> bool {
    if op == EntryOp::Insert {
        return extend_list(tree, old, value);
    }
    let schema = matches!(tree.expr(value), Expr::Schema(_));
    if op == EntryOp::Union
        && let Some(from) = literal_braces(tree, value)
        && (!schema || matches!(tree.expr(old), Expr::Schema(_)))
    {
        // What has nothing to merge, or nothing to merge into, is a statement of its own.
        let merges = literal_braces(tree, old).is_some() && (schema || !entries(tree, from).is_empty());
        let old = if merges { own_value(tree, stmt, name, old) } else { old };
        if merges && let Some(into) = literal_braces(tree, old) {
            merge_config(tree, into, from);
        }
        return merges;
    }
    match &mut tree.stmts[stmt.0 as usize].kind {
        Stmt::Assign { targets, .. } if targets.len() > 1 => split_target(tree, stmt, name, value),
        Stmt::Assign { value: slot, .. } | Stmt::AugAssign { value: slot, .. } => *slot = value,
        Stmt::Unification { value: slot, .. } if schema => *slot = value,
        _ => return false,
    }
    forget(tree, old);
    true
}

/// What was taken out of the tree and is nowhere else in it is no program any more: whoever looks at all expressions must not
/// find it.
fn forget(tree: &mut Tree, old: ExprId) {
    let set_by = |stmt: &Stmt| match stmt {
        Stmt::Assign { value, .. } | Stmt::AugAssign { value, .. } | Stmt::Unification { value, .. } => {
            *value == old
        }
        _ => false,
    };
    let holds =
        |expr: &Expr| matches!(expr, Expr::Config(entries) if entries.iter().any(|entry| entry.value == old));
    let body = || tree.files.iter().flat_map(|file| &file.body);
    if body().any(|id| set_by(tree.stmt(*id))) || tree.exprs.iter().any(|node| holds(&node.kind)) {
        return;
    }
    let gone = tree.expr_span(old);
    // What is new stands at empty places.
    let inside = |span: Span| span.start < span.end && gone.start <= span.start && span.end <= gone.end;
    tree.exprs.iter_mut().filter(|node| inside(node.span)).for_each(|node| node.kind = Expr::Missing);
}

fn extend_list(tree: &mut Tree, old: ExprId, value: ExprId) -> bool {
    let (Expr::List(items), Expr::List(more)) = (tree.expr(old), tree.expr(value)) else { return false };
    let all = items.iter().chain(more.iter()).copied().collect();
    tree.exprs[old.0 as usize].kind = Expr::List(all);
    true
}

fn push_entries(tree: &mut Tree, config: ExprId, more: Vec<Entry>) {
    if let Expr::Config(entries) = &mut tree.exprs[config.0 as usize].kind {
        let mut all = std::mem::take(entries).into_vec();
        all.extend(more);
        *entries = all.into_boxed_slice();
    }
}

/// Sets an entry below a variable, in all literal braces that the path leads to, and adds it to those that lack it; false
/// if the variable has no literal braces.
fn set_entry(tree: &mut Tree, root: ExprId, path: &[Step], op: EntryOp, value: ExprId) -> bool {
    let reached = reach(tree, root, path);
    for at in &reached {
        if at.is_end(path) && change(tree, at.holder, &at.found, op, value) {
            continue;
        }
        let span = tree.expr_span(value);
        if let Some(entry) = nested(tree, &path[at.depth..], op, value, span) {
            push_entries(tree, at.holder, vec![entry]);
        }
    }
    !reached.is_empty()
}

/// The place of the first value that stands at a path.
fn entry_at(tree: &Tree, root: ExprId, path: &[Step]) -> Option<Span> {
    let first = |at: Reached| {
        let value = value_at(tree, at.holder, *at.found.first()?)?;
        at.is_end(path).then(|| tree.expr_span(value))
    };
    reach(tree, root, path).into_iter().find_map(first)
}

/// Merges a literal config into another: what is there already is changed by the operator of the new entry.
fn merge_config(tree: &mut Tree, into: ExprId, from: ExprId) {
    for entry in entries(tree, from).to_vec() {
        let key = match &entry.key {
            Key::Name(key) | Key::Str(key) => Some(key.clone()),
            _ => None,
        };
        let changed = key.is_some_and(|key| {
            let found = entries_with(tree, into, &key);
            change(tree, into, &found, entry.op, entry.value)
        });
        if !changed {
            push_entries(tree, into, vec![entry]);
        }
    }
}

/// Changes entries of a literal config, keeping their operators; false if none could be.
fn change(tree: &mut Tree, config: ExprId, found: &[usize], op: EntryOp, value: ExprId) -> bool {
    let mut done = false;
    for &i in found {
        let Some(old) = value_at(tree, config, i) else { continue };
        if op == EntryOp::Insert {
            done |= extend_list(tree, old, value);
        } else if op == EntryOp::Union
            && let Some(from) = literal_braces(tree, value)
        {
            if let Some(into) = literal_braces(tree, old) {
                merge_config(tree, into, from);
                done = true;
            }
        } else if let Expr::Config(entries) = &mut tree.exprs[config.0 as usize].kind {
            entries[i].value = value;
            forget(tree, old);
            done = true;
        }
    }
    done
}

fn delete_entry(tree: &mut Tree, root: ExprId, path: &[Step]) {
    for at in reach(tree, root, path).iter().filter(|at| at.is_end(path)) {
        if let Expr::Config(entries) = &mut tree.exprs[at.holder.0 as usize].kind {
            let all = std::mem::take(entries).into_vec().into_iter().enumerate();
            let (gone, kept): (Vec<_>, Vec<_>) = all.partition(|(i, _)| at.found.contains(i));
            *entries = kept.into_iter().map(|(_, entry)| entry).collect();
            gone.into_iter().for_each(|(_, entry)| forget(tree, entry.value));
        }
    }
}

/// `first: {rest.. OP value}`; nothing if the path has no steps.
fn nested(tree: &mut Tree, path: &[Step], op: EntryOp, value: ExprId, span: Span) -> Option<Entry> {
    let (mut value, mut op) = (value, op);
    let mut keys = path.iter().rev().filter_map(Step::key).peekable();
    while let Some(key) = keys.next() {
        let entry = Entry { key: Key::Str(key.clone()), key_span: span, op, value };
        if keys.peek().is_none() {
            return Some(entry);
        }
        value = tree.add_expr(Expr::Config(Box::new([entry])), span);
        op = EntryOp::Union;
    }
    None
}

fn new_statement(
    tree: &mut Tree,
    name: &str,
    rest: &[Step],
    op: EntryOp,
    value: ExprId,
    span: Span,
) -> StmtId {
    let value = match nested(tree, rest, op, value, span) {
        None => value,
        Some(entry) => tree.add_expr(Expr::Config(Box::new([entry])), span),
    };
    let name = Ident { name: Str::from(name), span };
    let target = Target { name, path: Box::default(), span };
    let kind = if op == EntryOp::Insert {
        Stmt::AugAssign { target: target.into(), op: BinaryOp::Add, value }
    } else {
        Stmt::Assign { targets: Box::new([target]), ty: None, value }
    };
    tree.add_stmt(kind, span)
}
