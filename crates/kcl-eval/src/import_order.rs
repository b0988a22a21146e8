//! Which packages extend a schema of a package that is not loaded yet.
//!
//! In: the program. Out: the packages that cannot be defined. The reference loads a package at the first import of it that it meets,
//! and looks bases and mixins up when it defines a schema; so an import that stands further down, and that nobody made before, is
//! too late for them (for everything else it is not).

use base_diag::Span;
use kcl_syntax::ast::{Stmt, Str};
use kcl_syntax::program::{ImportTarget, Program};

/// For each package the first package that it needs too early, and where.
pub(crate) fn early_bases(program: &Program) -> Vec<Option<(Str, Span)>> {
    let count = program.packages.len();
    let mut found = vec![None; count];
    let mut loaded = vec![false; count];
    let main = program.main.0 as usize;
    loaded[main] = true;
    // Packages that are being loaded, each with the position of its next statement.
    let mut open = vec![(main, 0)];
    while let Some((package, next)) = open.pop() {
        let (links, tree) = (&program.packages[package].imports, &program.packages[package].tree);
        let body = tree.files.iter().flat_map(|f| f.body.iter().copied());
        for (at, stmt) in body.enumerate().skip(next) {
            let target = |link: &kcl_syntax::program::ImportLink| match link.target {
                ImportTarget::Package(id) => Some(id.0 as usize),
                _ => None,
            };
            match tree.stmt(stmt) {
                Stmt::Import(_) => {
                    let meant = links.iter().filter(|l| l.stmt == stmt).find_map(target);
                    if let Some(meant) = meant.filter(|m| !loaded[*m]) {
                        loaded[meant] = true;
                        open.push((package, at + 1));
                        open.push((meant, 0));
                        break;
                    }
                }
                Stmt::Schema(def) if found[package].is_none() => {
                    let parts = def.base.iter().chain(&def.mixins).filter(|name| name.parts.len() > 1);
                    let mut early = parts.filter_map(|base| {
                        let name = &base.parts[0].name;
                        let meant = links.iter().filter(|l| l.name == *name).find_map(target)?;
                        (!loaded[meant]).then(|| (name.clone(), base.span))
                    });
                    found[package] = early.next();
                }
                _ => {}
            }
        }
    }
    found
}
