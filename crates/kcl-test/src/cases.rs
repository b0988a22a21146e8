//! Cases: top-level names of test files.

use base_diag::{Code, Diagnostic, Place};
use kcl_syntax::ast::{Expr, ExprId, Ident, Lambda, Stmt, Target};
use kcl_syntax::program::{Package, Program};

/// What a case is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `test_*`: a lambda without parameters that must run without an error.
    Test,
    /// `property_*`: a lambda with parameters that must run without an error for all values of their types.
    Property,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of its lambda.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The file it stands in.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
}

/// Returns true if a file holds cases.
pub fn is_test_file(path: &str) -> bool {
    path.ends_with("_test.k")
}

/// Finds the cases of a program, in the order of its files.
///
/// # Errors
/// A test that has parameters, as in the reference, or a property that has none.
pub(crate) fn find(program: &Program) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let package = program.main_package();
    let tree = &package.tree;
    let (mut cases, mut wrong) = (Vec::new(), Vec::new());
    for (file, id) in tree.files.iter().zip(&package.files) {
        let Some(source) = program.sources.get(*id).filter(|source| is_test_file(&source.path)) else {
            continue;
        };
        for stmt in &file.body {
            let Stmt::Assign { targets, value, .. } = tree.stmt(*stmt) else { continue };
            let ([Target { name, path, .. }], Expr::Lambda(lambda)) = (&**targets, tree.expr(*value)) else {
                continue;
            };
            let Some(kind) = kind(&name.name).filter(|_| path.is_empty()) else { continue };
            let place = package.place(name.span);
            wrong.extend(misfit(kind, &name.name, lambda, place));
            let (_, offset) = tree.locate(name.span.start);
            let line = source.lines().line(offset);
            cases.push(Case { name: name.name.to_string(), kind, file: source.path.clone(), line });
        }
    }
    if wrong.is_empty() { Ok(cases) } else { Err(wrong) }
}

/// The lambda of a case: its name and its expression.
pub(crate) fn lambda<'p>(package: &'p Package, case: &str) -> Option<(&'p Ident, ExprId)> {
    let tree = &package.tree;
    let body = tree.files.iter().flat_map(|file| &file.body);
    body.filter_map(|stmt| match tree.stmt(*stmt) {
        Stmt::Assign { targets, value, .. } => {
            let target = targets.iter().find(|target| target.name.name == case)?;
            matches!(tree.expr(*value), Expr::Lambda(_)).then_some((&target.name, *value))
        }
        _ => None,
    })
    .next()
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        _ if name.starts_with("test_") => Some(Kind::Test),
        _ if name.starts_with("property_") => Some(Kind::Property),
        _ => None,
    }
}

fn misfit(kind: Kind, name: &str, lambda: &Lambda, place: Place) -> Option<Diagnostic> {
    let (message, help) = match kind {
        Kind::Test if !lambda.params.is_empty() => (
            format!("the test case `{name}` has parameters, and nobody gives it arguments"),
            "remove them, or make it a property: property_NAME = lambda x: Type {..}",
        ),
        Kind::Property if lambda.params.is_empty() => (
            format!("the property `{name}` has no parameters: there is nothing to choose"),
            "make it a test: test_NAME = lambda {..}",
        ),
        _ => return None,
    };
    Some(Diagnostic::error(Code::COMPILE, "wrong-test-case", place, message).with_help(help))
}
