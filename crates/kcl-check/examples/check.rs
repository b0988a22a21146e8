//! Checks KCL programs and prints the errors, for comparing with other checkers.
//!
//! Standard input holds programs separated by lines `---`; a line `=== path` inside a program starts a package of that
//! path. For each program one line per error is printed, `CODE Kind LINE:COL message`, then `---`.
#![allow(clippy::print_stdout)]

use std::io::Read as _;
use std::sync::Arc;

use base_diag::{Diagnostic, Place, SourceMap};
use kcl_check::{CheckOptions, Edition, SYSTEM_MODULES, check};
use kcl_syntax::ast::{Stmt, Str, Tree};
use kcl_syntax::parse_file;
use kcl_syntax::program::{ImportLink, ImportTarget, Package, PkgId, Program};

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("readable input");
    let edition = if std::env::args().any(|a| a == "--0.13") { Edition::V0_13 } else { Edition::Reference };
    for text in input.split("---\n") {
        for line in run(text, CheckOptions { edition }) {
            println!("{line}");
        }
        println!("---");
    }
}

fn run(text: &str, options: CheckOptions) -> Vec<String> {
    let mut program = Program { sources: SourceMap::default(), packages: Vec::new(), main: PkgId(0) };
    let mut syntax = Vec::new();
    let mut files: Vec<(String, String)> = vec![("__main__".to_owned(), String::new())];
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("=== ") {
            Some(path) => files.push((path.trim().to_owned(), String::new())),
            None => files.last_mut().expect("there is always one").1.push_str(line),
        }
    }
    // Packages are written after main, imported ones last.
    for (path, text) in files.iter().rev() {
        syntax.extend(add(&mut program, path, text));
    }
    program.main = PkgId(program.packages.len() as u32 - 1);
    let mut all = syntax;
    all.extend(check(&program, &options).diagnostics);
    all.iter().map(|d| shown(&program, d)).collect()
}

fn add(program: &mut Program, path: &str, text: &str) -> Vec<Diagnostic> {
    let text: Arc<str> = text.into();
    let file = program.sources.add(format!("{path}.k"), Arc::clone(&text));
    let mut tree = Tree::default();
    let errors = parse_file(&mut tree, &text, file);
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
        let stmt = kcl_syntax::ast::StmtId(i as u32);
        imports.push(ImportLink { stmt, name: import.bound_name(), target });
    }
    program.packages.push(Package {
        path: Str::from(path),
        tree: Arc::new(tree),
        members: Vec::new(),
        files: vec![file],
        imports,
    });
    errors
}

fn shown(program: &Program, diag: &Diagnostic) -> String {
    let mut line = format!("{} {}", diag.code.code, diag.code.kind);
    for label in &diag.labels {
        let place = match label.place {
            Place::Span(file, span) => {
                let at = program.sources.position(file, span.start);
                format!("{}:{}", at.line, at.column)
            }
            Place::Line(_, line) => format!("{line}"),
            Place::None => "-".to_owned(),
        };
        line.push_str(&format!(" {place} {}", label.message.replace('\n', "\\n")));
    }
    line
}
