//! Small programs from text, and errors as one line each.

use std::sync::Arc;

use base_diag::{Diagnostic, Place, SourceMap};
use kcl_check::{CheckOptions, CheckResult, SYSTEM_MODULES, check};
use kcl_syntax::ast::{Stmt, StmtId, Str, Tree};
use kcl_syntax::parse_file;
use kcl_syntax::program::{ImportLink, ImportTarget, Package, PkgId, Program};

/// Makes a program of packages; imported ones first, main last.
pub(crate) fn program(packages: &[(&str, &str)]) -> Program {
    let mut program = Program { sources: SourceMap::default(), packages: Vec::new(), main: PkgId(0) };
    for (path, text) in packages {
        let tree = Arc::new(tree(text));
        add(&mut program, path, text, tree);
    }
    program
}

pub(crate) fn tree(text: &str) -> Tree {
    let mut tree = Tree::default();
    let errors = parse_file(&mut tree, text, base_diag::FileId(0));
    assert!(errors.is_empty(), "syntax errors in {text}: {errors:?}");
    tree
}

/// Adds a package with a tree that may be shared.
pub(crate) fn add(program: &mut Program, path: &str, text: &str, tree: Arc<Tree>) {
    let file = program.sources.add(format!("{path}.k"), text.into());
    let mut imports = Vec::new();
    for (i, stmt) in tree.stmts.iter().enumerate() {
        let Stmt::Import(import) = &stmt.kind else { continue };
        let raw = import.raw_path();
        let known = program.packages.iter().position(|p| p.path == raw.as_str());
        let target = match known {
            Some(index) => ImportTarget::Package(PkgId(index as u32)),
            None if SYSTEM_MODULES.contains(&raw.as_str()) => ImportTarget::System(raw.as_str().into()),
            None => ImportTarget::Missing,
        };
        imports.push(ImportLink { stmt: StmtId(i as u32), name: import.bound_name(), target });
    }
    program.main = PkgId(program.packages.len() as u32);
    program.packages.push(Package {
        path: Str::from(path),
        tree,
        members: Vec::new(),
        files: vec![file],
        imports,
    });
}

/// The errors of a program, `CODE LINE:COL message` each.
pub(crate) fn errors(packages: &[(&str, &str)], options: &CheckOptions) -> Vec<String> {
    let program = program(packages);
    lines(&program, &check(&program, options))
}

pub(crate) fn lines(program: &Program, result: &CheckResult) -> Vec<String> {
    result.diagnostics.iter().map(|d| line(program, d)).collect()
}

fn line(program: &Program, diagnostic: &Diagnostic) -> String {
    let place = match diagnostic.place() {
        Place::Span(file, span) => {
            let at = program.sources.position(file, span.start);
            format!("{}:{}", at.line, at.column)
        }
        other => format!("{other:?}"),
    };
    format!("{} {place} {}", diagnostic.code.code, diagnostic.message())
}
