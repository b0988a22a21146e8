//! Warnings about imports: the whole lint rule set of the reference. Never shown by a normal run.

use base_diag::{Code, Span};
use kcl_syntax::ast::{Stmt, StmtId, Str, Tree};
use rustc_hash::FxHashSet;

use crate::diag::RawDiag;
use crate::package::Home;

const POSITION: Code = Code { code: "W0413", kind: "ImportPositionWarning" };
const REIMPORT: Code = Code { code: "W0404", kind: "ReimportWarning" };
const UNUSED: Code = Code { code: "W0411", kind: "UnusedImportWarning" };

/// Finds imports that are late, repeated or unused.
pub(crate) fn warnings(tree: &Tree, pkg: Home, used: &FxHashSet<Str>) -> Vec<RawDiag> {
    let mut found = Vec::new();
    for file in &tree.files {
        let imports: Vec<(Str, Span)> = file
            .body
            .iter()
            .filter_map(|stmt| match tree.stmt(*stmt) {
                Stmt::Import(import) => Some((import.bound_name(), tree.stmt_span(*stmt))),
                _ => None,
            })
            .collect();
        found.extend(late(tree, pkg, &file.body));
        let mut seen = FxHashSet::default();
        for (name, span) in &imports {
            if !seen.insert(name.clone()) {
                let message = format!("Module '{name}' is reimported multiple times");
                found.push(RawDiag::new(REIMPORT, "import-repeated", pkg, *span, message));
            }
        }
        for (name, span) in imports.iter().filter(|(name, _)| !used.contains(name)) {
            let message = format!("Module '{name}' imported but unused");
            found.push(RawDiag::new(UNUSED, "import-unused", pkg, *span, message));
        }
    }
    found
}

/// Imports after another statement.
fn late(tree: &Tree, pkg: Home, body: &[StmtId]) -> Vec<RawDiag> {
    let is_import = |stmt: &&StmtId| matches!(tree.stmt(**stmt), Stmt::Import(_));
    let first_other = body.iter().position(|stmt| !is_import(&stmt)).unwrap_or(body.len());
    body[first_other..]
        .iter()
        .filter(is_import)
        .map(|stmt| {
            let message = "The import stmt should be placed at the top of the module";
            RawDiag::new(POSITION, "import-position", pkg, tree.stmt_span(*stmt), message)
        })
        .collect()
}
