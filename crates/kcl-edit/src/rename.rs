//! Renaming by what the text alone tells: a variable of the stack, or a key of braces that belong to no schema.
//!
//! What binds a name is decided on the safe side: where a key of the same name stands around a reference, or where the new
//! name is in use already, the change is refused. Attributes of schemas, and what other packages import, need types.

use base_diag::Span;
use kcl_syntax::ast::{Expr, ExprId, Key, Stmt, Tree, Type};
use kcl_syntax::source::{SourcePath, Step, entries, reach};

use crate::plan::declarations;
use crate::value::{is_name, key_text};
use crate::{Edit, EditPlan, Effect, File, Member, Refusal};

/// Finds the edits that give a variable or a key another name.
///
/// # Errors
/// Why the text alone does not tell what to change.
pub fn rename(members: &[Member], path: &SourcePath, new: &str) -> Result<EditPlan, Refusal> {
    let Some((name, rest)) = path.split() else {
        return Err(Refusal::new("bad-path", "a path starts with the name of a variable", "write app.image"));
    };
    if let Some(broken) = members.iter().find(|member| !member.file.errors().is_empty()) {
        let message = format!("{} does not parse", broken.file.name);
        return Err(Refusal::new("broken-file", message, "mend the file first"));
    }
    let edits = match rest.last() {
        None => rename_variable(members, name, new)?,
        Some(Step::Key(key)) => rename_key(members, name, rest, key, new)?,
        Some(_) => {
            return Err(Refusal::new("no-name", "an item of a list has no name", "name a key or a variable"));
        }
    };
    if edits.is_empty() {
        let message = format!("`{path}` is not set in a file of the stack itself");
        return Err(Refusal::new("not-found", message, "`kcl edit get` shows where a path is set"));
    }
    let file = edits.first().map(|edit| edit.file);
    Ok(EditPlan { edits, outcome: Effect::Renamed, file })
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn edit(file: usize, span: Span, text: &str) -> Edit {
    Edit { file, start: span.start as usize, end: span.end as usize, text: text.to_owned() }
}

fn rename_variable(members: &[Member], name: &str, new: &str) -> Result<Vec<Edit>, Refusal> {
    if !is_name(new) {
        let message = format!("`{new}` is no name for a variable");
        return Err(Refusal::new("bad-name", message, "letters, digits and _, no digit first"));
    }
    let mut edits = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let file = &*member.file;
        if let Some(span) = uses(file.tree(), new) {
            let message = format!("`{new}` is in use already");
            return Err(Refusal::new("name-taken", message, "choose another name").at(number, span));
        }
        let found = of_variable(number, file, name)?;
        match found.first() {
            Some(first) if !member.own => {
                let message = format!("`{name}` is also used in {}, a file that the stack shares", file.name);
                return Err(Refusal::new("not-own", message, "name that file, too").at(number, *first));
            }
            _ => edits.extend(found.into_iter().map(|span| edit(number, span, new))),
        }
    }
    Ok(edits)
}

/// A place where a name is bound or read as a plain identifier.
fn uses(tree: &Tree, name: &str) -> Option<Span> {
    let read = tree.exprs.iter().find_map(|node| match &node.kind {
        Expr::Name(parts) if parts[0].name == name => Some(node.span),
        _ => None,
    });
    read.or_else(|| tree.stmts.iter().find(|node| binds(&node.kind, name)).map(|node| node.span))
        .or_else(|| scopes(tree, name).into_iter().next())
}

fn binds(stmt: &Stmt, name: &str) -> bool {
    match stmt {
        Stmt::Assign { targets, .. } => targets.iter().any(|t| t.name.name == name),
        Stmt::AugAssign { target, .. } => target.name.name == name,
        Stmt::Unification { target, .. } => target.name == name,
        Stmt::Import(import) => import.bound_name() == name,
        Stmt::TypeAlias { name: alias, .. } => alias.name == name,
        Stmt::Schema(def) => def.name.name == name,
        Stmt::Rule(def) => def.name.name == name,
        Stmt::Attr(attr) => attr.name.name == name,
        _ => false,
    }
}

/// Where a loop, a lambda or a schema has a name of its own.
fn scopes(tree: &Tree, name: &str) -> Vec<Span> {
    let inside = |outer: Span| {
        tree.stmts
            .iter()
            .any(|node| contains(outer, node.span) && node.span != outer && binds(&node.kind, name))
    };
    let expressions = tree.exprs.iter().filter(|node| match &node.kind {
        Expr::Lambda(lambda) => lambda.params.iter().any(|p| p.name.name == name) || inside(node.span),
        Expr::Quant(quant) => quant.targets.iter().any(|t| t.name == name),
        Expr::ListComp { clauses, .. } | Expr::DictComp { clauses, .. } => {
            clauses.iter().flat_map(|clause| clause.targets.iter()).any(|t| t.name == name)
        }
        _ => false,
    });
    let bodies = tree.stmts.iter().filter(|node| match &node.kind {
        Stmt::Schema(def) => def.params.iter().any(|p| p.name.name == name) || inside(node.span),
        Stmt::Rule(def) => def.params.iter().any(|p| p.name.name == name),
        _ => false,
    });
    expressions.map(|node| node.span).chain(bodies.map(|node| node.span)).collect()
}

/// Every place of a file that means a variable of the package.
fn of_variable(number: usize, file: &File, name: &str) -> Result<Vec<Span>, Refusal> {
    let tree = file.tree();
    let own = scopes(tree, name);
    let free = |span: Span| !own.iter().any(|scope| contains(*scope, span));
    let mut found: Vec<Span> = Vec::new();
    for node in tree.stmts.iter().filter(|node| free(node.span)) {
        match &node.kind {
            Stmt::Assign { targets, .. } => {
                found.extend(targets.iter().filter(|t| t.name.name == name).map(|t| t.name.span));
            }
            Stmt::AugAssign { target, .. } if target.name.name == name => found.push(target.name.span),
            Stmt::Unification { target, .. } if target.name == name => found.push(target.span),
            _ => {}
        }
    }
    for node in tree.exprs.iter().filter(|node| free(node.span)) {
        if let Expr::Name(parts) = &node.kind
            && parts[0].name == name
        {
            found.push(parts[0].span);
        }
    }
    let as_type =
        tree.types.iter().find(|node| matches!(&node.kind, Type::Named(parts) if parts[0].name == name));
    if let Some(node) = as_type.filter(|_| !found.is_empty()) {
        let message = format!("`{name}` is written as a type here");
        return Err(Refusal::new("unclear", message, "edit the file by hand").at(number, node.span));
    }
    if let Some(other) = other_of_name(tree, name).filter(|_| !found.is_empty()) {
        let message =
            format!("another `{name}` stands here: the text alone does not tell which is read where");
        return Err(Refusal::new("unclear", message, "give this one another name first").at(number, other));
    }
    found.sort_by_key(|span| span.start);
    found.dedup();
    Ok(found)
}

/// A key, parameter, loop variable or attribute with the name of a variable. Bodies and lambdas see what is around their caller,
/// and `x {..}` gives keys `x` another meaning: only a name that nothing else has is renamed by its text.
fn other_of_name(tree: &Tree, name: &str) -> Option<Span> {
    let key = tree.exprs.iter().find_map(|node| match &node.kind {
        Expr::Config(entries) => {
            let is_key = |key: &Key| matches!(key, Key::Name(key) | Key::Str(key) if key == name);
            entries.iter().find(|entry| is_key(&entry.key)).map(|entry| entry.key_span)
        }
        _ => None,
    });
    key.or_else(|| scopes(tree, name).into_iter().next())
}

fn rename_key(
    members: &[Member],
    name: &str,
    rest: &[Step],
    key: &str,
    new: &str,
) -> Result<Vec<Edit>, Refusal> {
    let mut edits = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let (file, tree) = (&*member.file, member.file.tree());
        for (_, root) in declarations(tree, name) {
            for at in reach(tree, root, rest).into_iter().filter(|at| at.is_end(rest) && !at.found.is_empty())
            {
                can_be_renamed(number, file, at.holder, key, new)?;
                let found = at.found.iter().filter_map(|i| entries(tree, at.holder).get(*i));
                edits.extend(found.map(|entry| edit(number, entry.key_span, &key_text(new))));
            }
        }
        edits.extend(members_read(number, tree, name, rest, new)?);
        if !member.own && edits.iter().any(|edit| edit.file == number) {
            let message = format!("it is also set or read in {}, a file that the stack shares", file.name);
            return Err(Refusal::new("not-own", message, "name that file, too"));
        }
    }
    edits.sort_by_key(|edit| (edit.file, edit.start));
    edits.dedup();
    Ok(edits)
}

fn can_be_renamed(number: usize, file: &File, holder: ExprId, key: &str, new: &str) -> Result<(), Refusal> {
    let tree = file.tree();
    let span = tree.expr_span(holder);
    let of_schema = tree.exprs.iter().any(|node| matches!(&node.kind, Expr::Schema(e) if e.config == holder));
    if of_schema {
        let message = format!("`{key}` is an attribute of a schema: its name stands in the schema");
        let help = "rename the attribute in the schema and in all its instances; this needs types and is not done yet";
        return Err(Refusal::new("attribute", message, help).at(number, span));
    }
    let taken =
        entries(tree, holder).iter().any(|e| matches!(&e.key, Key::Name(k) | Key::Str(k) if k == new));
    if taken {
        let message = format!("the braces have a key `{new}` already");
        return Err(Refusal::new("name-taken", message, "choose another name").at(number, span));
    }
    let inside = tree.exprs.iter().find(|node| {
        contains(span, node.span) && matches!(&node.kind, Expr::Name(parts) if parts[0].name == key)
    });
    match inside {
        Some(node) => {
            let message = format!(
                "`{key}` is read inside the braces: the text alone does not tell whether this key is meant"
            );
            Err(Refusal::new("unclear", message, "edit the file by hand").at(number, node.span))
        }
        None => Ok(()),
    }
}

/// Where `name.a.key` reads the key.
fn members_read(
    number: usize,
    tree: &Tree,
    name: &str,
    rest: &[Step],
    new: &str,
) -> Result<Vec<Edit>, Refusal> {
    let keys: Option<Vec<&str>> = rest.iter().map(|step| step.key().map(|key| key.as_str())).collect();
    let Some(keys) = keys else { return Ok(Vec::new()) };
    let own = scopes(tree, name);
    let mut edits = Vec::new();
    for node in &tree.exprs {
        let Expr::Name(parts) = &node.kind else { continue };
        let reads = parts[0].name == name
            && parts.len() > keys.len()
            && parts[1..].iter().zip(&keys).all(|(part, key)| part.name == *key)
            && !own.iter().any(|scope| contains(*scope, node.span));
        if !reads {
            continue;
        }
        if !is_name(new) {
            let message = format!("`{new}` cannot stand after a dot, and the key is read here");
            return Err(Refusal::new("bad-name", message, "choose a plain name").at(number, node.span));
        }
        edits.push(edit(number, parts[keys.len()].span, new));
    }
    Ok(edits)
}
