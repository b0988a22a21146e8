//! What the index cannot decide: mentions of the name that no type explains, and names that a caller may hide.

use std::collections::BTreeSet;

use base_diag::{FileId, Span};
use kcl_check::index::{DefKind, Level, Meaning, PackageIndex};
use kcl_syntax::ast::{Expr, Key, Stmt, Tree, Type};
use kcl_syntax::program::Package;

use super::{At, Obstacle, Thing, Why, path_of};
use crate::index::Index;

/// Refuses what is not clear in the programs that name a thing.
pub(super) fn check(programs: &[Index], thing: &Thing, new: &str) -> Result<(), Obstacle> {
    let mut read: BTreeSet<String> = BTreeSet::new();
    for number in &thing.programs {
        let index = &programs[*number];
        for (package, names) in index.program.packages.iter().zip(&index.packages) {
            // A file that programs share is looked at once.
            let fresh: Vec<FileId> =
                package.files.iter().copied().filter(|file| read.insert(path_of(index, *file))).collect();
            let known = if fresh.is_empty() { BTreeSet::new() } else { known(index, package, names) };
            for file in &fresh {
                unexplained(index, *file, thing, &known)?;
            }
            if !fresh.is_empty() && matches!(thing.kind, DefKind::Attribute | DefKind::Key) {
                untyped_keys(index, package, names, thing)?;
            }
        }
        if thing.kind == DefKind::Variable {
            as_type(index, thing)?;
            hidden(index, thing, new)?;
        }
    }
    Ok(())
}

/// The places of all names of a package that mean something.
fn known(index: &Index, package: &Package, names: &PackageIndex) -> BTreeSet<At> {
    let place = |start: u32| {
        let (file, start) = package.locate(start);
        (path_of(index, file), start)
    };
    names.occurrences().iter().map(|name| place(name.span.start)).collect()
}

/// The name in the text of a file, where the index does not know what it means: after something of an unknown type, in an entry
/// that another one discards, or free in a mixin.
fn unexplained(index: &Index, file: FileId, thing: &Thing, known: &BTreeSet<At>) -> Result<(), Obstacle> {
    let Some(source) = index.program.sources.get(file) else { return Ok(()) };
    let path = &source.path;
    if !source.text.contains(&thing.name) {
        return Ok(());
    }
    let mut tree = Tree::default();
    kcl_syntax::parse_file(&mut tree, &source.text, FileId(0));
    let by_member = matches!(thing.kind, DefKind::Attribute | DefKind::Key);
    for span in written(&tree, &thing.name, by_member) {
        if !known.contains(&(path.clone(), span.start)) {
            return Err(Obstacle::at(Why::Untyped(thing.name.clone()), path, span));
        }
    }
    Ok(())
}

/// Where a name is written: as the first part of a name, and as a member or key if that is asked for.
fn written(tree: &Tree, name: &str, by_member: bool) -> Vec<Span> {
    let mut found = Vec::new();
    for node in &tree.exprs {
        match &node.kind {
            Expr::Name(parts) => {
                let parts = parts.iter().take(if by_member { parts.len() } else { 1 });
                found.extend(parts.filter(|part| part.name == name).map(|part| part.span));
            }
            Expr::Selector { name: member, .. } if by_member && member.name == name => {
                found.push(member.span)
            }
            Expr::Index { index, .. } if by_member => match tree.expr(*index) {
                Expr::Str(key) if key == name => found.push(tree.expr_span(*index)),
                _ => {}
            },
            Expr::Config(entries) if by_member => {
                let is_it = |key: &Key| matches!(key, Key::Name(key) | Key::Str(key) | Key::Indexed(key, _) if key == name);
                found.extend(entries.iter().filter(|entry| is_it(&entry.key)).map(|entry| entry.key_span));
            }
            _ => {}
        }
    }
    found
}

/// Keys of the name in braces whose type nobody knows: they may become an instance, or be merged with the braces that are meant.
fn untyped_keys(
    index: &Index,
    package: &Package,
    names: &PackageIndex,
    thing: &Thing,
) -> Result<(), Obstacle> {
    for (id, node) in package.tree.exprs.iter().enumerate() {
        let Expr::Config(entries) = &node.kind else { continue };
        let expected = names.expected_type(kcl_syntax::ast::ExprId(id as u32));
        let is_typed = expected.is_some_and(|ty| names.text(ty) != "any");
        for entry in entries.iter().filter(|_| !is_typed) {
            let is_it = matches!(&entry.key, Key::Name(key) | Key::Str(key) | Key::Indexed(key, _) if *key == thing.name);
            let (file, start) = package.locate(entry.key_span.start);
            let path = path_of(index, file);
            if is_it && !thing.places.contains_key(&(path.clone(), start)) {
                let span = Span::new(start, start + (entry.key_span.end - entry.key_span.start));
                return Err(Obstacle::at(Why::Untyped(thing.name.clone()), &path, span));
            }
        }
    }
    Ok(())
}

/// A variable that is written as a type gives keys of its name another name when the program runs.
fn as_type(index: &Index, thing: &Thing) -> Result<(), Obstacle> {
    for package in &index.program.packages {
        let written = package.tree.types.iter().filter_map(|node| match &node.kind {
            Type::Named(parts) if parts[0].name == thing.name.as_str() => Some(parts[0].span),
            _ => None,
        });
        for span in written {
            let (file, start) = package.locate(span.start);
            let path = path_of(index, file);
            if thing.places.contains_key(&(path.clone(), start)) {
                let span = Span::new(start, start + (span.end - span.start));
                return Err(Obstacle::at(Why::AsType(thing.name.clone()), &path, span));
            }
        }
    }
    Ok(())
}

/// Schema bodies and lambdas see what is around their caller, an attribute without a value lets the variable of its name through,
/// and `x {..}` gives other names `x` another meaning: a variable is renamed only if nothing else has its old or new name, or no
/// body reads such a name.
fn hidden(index: &Index, thing: &Thing, new: &str) -> Result<(), Obstacle> {
    let packages = || index.program.packages.iter().zip(&index.packages);
    let is_either = |name: &str| name == thing.name || name == new;
    // A private variable may change, and whether a change is seen where it was read before depends on keys of its name.
    let may_change = thing.name.starts_with('_') || new.starts_with('_');
    if !may_change && !packages().any(|(package, names)| reads_inside(package, names, &is_either)) {
        return Ok(());
    }
    for (package, names) in packages() {
        let other = names.defs().iter().find(|def| {
            let (file, start) = package.locate(def.span.start);
            let is_other =
                (def.level != Level::Package || def.kind == DefKind::Key) && def.kind != DefKind::Import;
            is_either(&def.name) && is_other && !thing.places.contains_key(&(path_of(index, file), start))
        });
        if let Some(def) = other {
            let (file, start) = package.locate(def.span.start);
            let span = Span::new(start, start + (def.span.end - def.span.start));
            return Err(Obstacle::at(Why::Dynamic(def.name.to_string()), &path_of(index, file), span));
        }
    }
    Ok(())
}

/// Whether a body reads one of the names, and not one that it has bound itself. What a lambda takes from around it counts: it may be
/// gone when the lambda runs.
fn reads_inside(package: &Package, names: &PackageIndex, is_either: &dyn Fn(&str) -> bool) -> bool {
    let tree = &package.tree;
    let inside = |body: Span, part: Span| body.start <= part.start && part.end <= body.end;
    let is_bound = |body: Span, start: u32| {
        let Some(Meaning::Declared(spot)) = names.occurrence_at(start).map(|name| &name.meaning) else {
            return false;
        };
        let def = names.def_at(spot.span).filter(|_| spot.home == names.home() && inside(body, spot.span));
        def.is_some_and(|def| {
            matches!(def.level, Level::Lambda | Level::Loop) || def.kind == DefKind::Parameter
        })
    };
    let reads: Vec<Span> = tree
        .exprs
        .iter()
        .filter_map(|node| match &node.kind {
            Expr::Name(parts) if is_either(&parts[0].name) => Some(parts[0].span),
            _ => None,
        })
        .collect();
    let reads_in = |body: Span| reads.iter().any(|read| inside(body, *read) && !is_bound(body, read.start));
    !reads.is_empty() && bodies(tree).into_iter().any(reads_in)
}

/// What runs when somebody else says so: lambdas, schemas, rules; variables that are changed like schemas; and braces whose keys are
/// known only when they run.
fn bodies(tree: &Tree) -> Vec<Span> {
    let expressions = tree.exprs.iter().filter_map(|node| match &node.kind {
        Expr::Lambda(_) => Some(node.span),
        Expr::Schema(schema) => Some(tree.expr_span(schema.name)),
        Expr::Config(entries) => {
            let is_open = |key: &Key| matches!(key, Key::If { .. } | Key::Unpack | Key::Computed(_));
            entries.iter().any(|entry| is_open(&entry.key)).then_some(node.span)
        }
        _ => None,
    });
    let statements = tree.stmts.iter().filter(|node| matches!(node.kind, Stmt::Schema(_) | Stmt::Rule(_)));
    expressions.chain(statements.map(|node| node.span)).collect()
}
