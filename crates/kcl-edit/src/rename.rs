//! Which name a path means: that of a variable, a schema, an attribute of a schema, a key of braces. What it is renamed to, and where
//! else it stands, is for the semantic index to say (`kcl::rename`).

use base_diag::Span;
use kcl_syntax::ast::{Key, SchemaDef, Stmt, Tree};
use kcl_syntax::source::{SourcePath, Step, entries, reach};

use crate::plan::declarations;
use crate::{Member, Refusal};

/// Finds a place where the name that a path means is written: number of the member, and range.
///
/// # Errors
/// The path leads to nothing that has a name.
pub fn named(members: &[Member], path: &SourcePath) -> Result<(usize, Span), Refusal> {
    let Some((name, rest)) = path.split() else {
        return Err(Refusal::new("bad-path", "a path starts with the name of a variable", "write app.image"));
    };
    if let Some(broken) = members.iter().find(|member| !member.file.errors().is_empty()) {
        let message = format!("{} does not parse", broken.file.name);
        return Err(Refusal::new("broken-file", message, "correct the file first"));
    }
    if let Some(Step::Item { .. } | Step::Index(_)) = rest.last() {
        return Err(Refusal::new("no-name", "an item of a list has no name", "name a key or a variable"));
    }
    let found = members.iter().enumerate().find_map(|(number, member)| {
        let tree = member.file.tree();
        let span = match rest {
            [] => of_variable(tree, name).or_else(|| of_definition(tree, name)),
            [Step::Key(key)] if let Some(def) = schema(tree, name) => attribute(tree, def, key),
            _ => of_key(tree, name, rest),
        };
        Some((number, span?))
    });
    found.ok_or_else(|| {
        let message = format!("`{path}` is not set in these files");
        let help = "a path is VARIABLE, VARIABLE.key, SCHEMA or SCHEMA.attribute; `kcl edit get` shows where it is set";
        Refusal::new("not-found", message, help)
    })
}

fn top(tree: &Tree) -> impl Iterator<Item = &Stmt> {
    tree.files.iter().flat_map(|file| &file.body).map(|id| tree.stmt(*id))
}

/// Where a statement of the file sets a variable, in blocks of `if`, too.
fn of_variable(tree: &Tree, name: &str) -> Option<Span> {
    let mut blocks: Vec<&Stmt> = top(tree).collect();
    let mut at = 0;
    while let Some(stmt) = blocks.get(at).copied() {
        at += 1;
        match stmt {
            Stmt::Assign { targets, .. } => {
                if let Some(target) = targets.iter().find(|target| target.name.name == name) {
                    return Some(target.name.span);
                }
            }
            Stmt::AugAssign { target, .. } if target.name.name == name => return Some(target.name.span),
            Stmt::Unification { target, .. } if target.name == name => return Some(target.span),
            Stmt::If { body, orelse, .. } => {
                blocks.extend(body.iter().chain(orelse.iter()).map(|id| tree.stmt(*id)));
            }
            _ => {}
        }
    }
    None
}

fn of_definition(tree: &Tree, name: &str) -> Option<Span> {
    top(tree).find_map(|stmt| match stmt {
        Stmt::Schema(def) if def.name.name == name => Some(def.name.span),
        Stmt::Rule(def) if def.name.name == name => Some(def.name.span),
        Stmt::TypeAlias { name: alias, .. } if alias.name == name => Some(alias.span),
        _ => None,
    })
}

fn schema<'t>(tree: &'t Tree, name: &str) -> Option<&'t SchemaDef> {
    top(tree).find_map(|stmt| match stmt {
        Stmt::Schema(def) if def.name.name == name => Some(&**def),
        _ => None,
    })
}

fn attribute(tree: &Tree, def: &SchemaDef, key: &str) -> Option<Span> {
    def.body.iter().find_map(|id| match tree.stmt(*id) {
        Stmt::Attr(attr) if attr.name.name == key => Some(attr.name.span),
        _ => None,
    })
}

fn of_key(tree: &Tree, name: &str, rest: &[Step]) -> Option<Span> {
    declarations(tree, name).into_iter().find_map(|(_, root)| {
        let reached =
            reach(tree, root, rest).into_iter().find(|at| at.is_end(rest) && !at.found.is_empty())?;
        let entry = entries(tree, reached.holder).get(*reached.found.first()?)?;
        let end = match &entry.key {
            Key::Indexed(key, _) => entry.key_span.start + key.len() as u32,
            _ => entry.key_span.end,
        };
        Some(Span::new(entry.key_span.start, end))
    })
}
