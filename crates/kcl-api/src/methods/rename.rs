//! `Rename` and `RenameCode`: a variable, a schema or an attribute gets another name, wherever it is named.

use std::collections::BTreeMap;
use std::path::Path;

use base_diag::{FileId, Span};
use kcl::{Compiler, Disk, Entry, Files, Index, MemoryFiles, Request, sources};
use kcl_syntax::ast::{Expr, ExprId, Key, Stmt, StmtId, Tree};

use super::{folder, request};
use crate::messages::{RenameArgs, RenameCodeArgs, RenameCodeResult, RenameResult};
use crate::{Answer, Budget, Failure};

/// Renames in files; returns those that changed.
///
/// # Errors
/// A symbol that is not there, a name that is none, or a file that cannot be written. Nothing is written unless everything fits.
pub fn rename(args: &RenameArgs, budget: &Budget) -> Answer<RenameResult> {
    let root = folder(&args.package_root)?;
    let wish = Wish::new(&args.symbol_path, &args.new_name)?;
    let files: Vec<String> =
        args.file_paths.iter().map(|path| root.join(path).display().to_string()).collect();
    let changed = wish.changes(&Disk, &request(root, &[], budget), &files)?;
    for (path, text) in &changed {
        sources::replace(Path::new(path), text).map_err(|why| Failure::wrong(format!("{path} {why}")))?;
    }
    Ok(RenameResult { changed_files: changed.into_keys().collect() })
}

/// Renames in texts; returns those that changed.
///
/// # Errors
/// As for [`rename`].
pub fn rename_code(args: &RenameCodeArgs, budget: &Budget) -> Answer<RenameCodeResult> {
    let root = folder(&args.package_root)?;
    let wish = Wish::new(&args.symbol_path, &args.new_name)?;
    let (mut memory, mut names) = (MemoryFiles::default(), BTreeMap::new());
    for (path, text) in &args.source_codes {
        let place = root.join(path);
        memory.add(&place, text.as_str());
        names.insert(place.display().to_string(), path.clone());
    }
    let files: Vec<String> = names.keys().cloned().collect();
    let changed = wish.changes(&memory, &request(root, &[], budget), &files)?;
    let named = |(place, text)| (names.get(&place).cloned().unwrap_or(place), text);
    Ok(RenameCodeResult { changed_codes: changed.into_iter().map(named).collect() })
}

/// `pkg.path:Name.attr` and the new name.
struct Wish<'a> {
    shown: &'a str,
    package: &'a str,
    names: Vec<&'a str>,
    new: &'a str,
}

impl<'a> Wish<'a> {
    fn new(shown: &'a str, new: &'a str) -> Answer<Wish<'a>> {
        if !kcl_model::is_identifier(new) {
            return Err(Failure::wrong(format!(
                "`{new}` is no name: letters, digits and _, no digit first, no keyword"
            )));
        }
        let (package, path) = shown.split_once(':').unwrap_or(("", shown));
        Ok(Wish { shown, package, names: path.split('.').collect(), new })
    }

    fn unknown(&self) -> Failure {
        Failure::wrong(format!("get symbol from symbol path failed, {}", self.shown))
    }

    /// The new texts of the files that name it.
    fn changes(
        &self,
        files: &dyn Files,
        base: &Request,
        paths: &[String],
    ) -> Answer<BTreeMap<String, String>> {
        let index = self.index(files, base, paths);
        let (file, offset) = self.declared(&index).ok_or_else(|| self.unknown())?;
        let mut edits: BTreeMap<String, Vec<Span>> = BTreeMap::new();
        for reference in index.references(file, offset) {
            let Some(source) = index.program.sources.get(reference.file) else { continue };
            if paths.contains(&source.path) {
                edits.entry(source.path.clone()).or_default().push(reference.span);
            }
        }
        let mut out = BTreeMap::new();
        for (path, spans) in edits {
            let text = files.read(Path::new(&path)).map_err(Failure::wrong)?;
            let new = self.spliced(&text, &spans);
            out.insert(path, new);
        }
        Ok(out)
    }

    /// The files of the main package, and what they import.
    fn index(&self, files: &dyn Files, base: &Request, paths: &[String]) -> Index {
        // Files in the folder of the package itself are the main package; the others are reached by imports.
        let folder = base.work_dir.clone();
        let own = |path: &&String| Path::new(path).parent() == Some(&folder);
        let mut main: Vec<String> = paths.iter().filter(own).cloned().collect();
        if main.is_empty() {
            main = paths.to_vec();
        }
        let entries = main.into_iter().map(Entry::Path).collect();
        Compiler::new(files).index(&Request { entries, ..base.clone() })
    }

    fn declared(&self, index: &Index) -> Option<(FileId, u32)> {
        let packages = index.program.packages.iter();
        let package = match self.package {
            "" | "__main__" => index.program.main_package(),
            path => packages.into_iter().find(|package| package.path == path)?,
        };
        let (first, rest) = self.names.split_first()?;
        let bodies = package.tree.files.iter().flat_map(|file| &file.body);
        let span = bodies.into_iter().find_map(|stmt| declared_in(&package.tree, *stmt, first, rest))?;
        let (file, offset) = package.locate(span.start);
        Some((file, offset))
    }

    fn spliced(&self, text: &str, spans: &[Span]) -> String {
        let mut spans = spans.to_vec();
        spans.sort_by_key(|span| span.start);
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for span in spans {
            let (start, end) = (span.start as usize, span.end as usize);
            let old = text.get(start..end).unwrap_or_default();
            out.push_str(text.get(at..start).unwrap_or_default());
            // Quotes and the `$` before a keyword stay or go with the name.
            match old.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    out.extend([quote.to_string().as_str(), self.new, &quote.to_string()])
                }
                _ => out.push_str(self.new),
            }
            at = end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

/// Where a statement declares a name, or a member of it.
fn declared_in(tree: &Tree, stmt: StmtId, name: &str, rest: &[&str]) -> Option<Span> {
    match tree.stmt(stmt) {
        Stmt::Assign { targets, value, .. } => {
            let target = targets.iter().find(|target| target.name.name == name)?;
            if rest.is_empty() { Some(target.name.span) } else { key(tree, *value, rest) }
        }
        Stmt::AugAssign { target, value, .. } if target.name.name == name => {
            if rest.is_empty() {
                Some(target.name.span)
            } else {
                key(tree, *value, rest)
            }
        }
        Stmt::Unification { target, value, .. } if target.name == name => {
            if rest.is_empty() {
                Some(target.span)
            } else {
                key(tree, *value, rest)
            }
        }
        Stmt::TypeAlias { name: alias, .. } if alias.name == name && rest.is_empty() => Some(alias.span),
        Stmt::Rule(def) if def.name.name == name && rest.is_empty() => Some(def.name.span),
        Stmt::Schema(def) if def.name.name == name => match rest {
            [] => Some(def.name.span),
            [attribute] => def.body.iter().find_map(|stmt| match tree.stmt(*stmt) {
                Stmt::Attr(attr) if attr.name.name == *attribute => Some(attr.name.span),
                Stmt::Unification { target, .. } if target.name == *attribute => Some(target.span),
                _ => None,
            }),
            _ => None,
        },
        Stmt::If { body, orelse, .. } => {
            body.iter().chain(orelse.iter()).find_map(|stmt| declared_in(tree, *stmt, name, rest))
        }
        _ => None,
    }
}

/// Where literal braces have a key.
fn key(tree: &Tree, value: ExprId, path: &[&str]) -> Option<Span> {
    let entries = match tree.expr(value) {
        Expr::Config(entries) => entries,
        Expr::Schema(schema) => match tree.expr(schema.config) {
            Expr::Config(entries) => entries,
            _ => return None,
        },
        _ => return None,
    };
    let (first, rest) = path.split_first()?;
    entries.iter().find_map(|entry| match &entry.key {
        Key::Name(name) | Key::Str(name) if name == first => {
            if rest.is_empty() {
                Some(entry.key_span)
            } else {
                key(tree, entry.value, rest)
            }
        }
        _ => None,
    })
}
