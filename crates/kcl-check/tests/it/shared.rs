//! Packages: members across packages, types shared between programs, the explicit edition.

use std::sync::Arc;

use kcl_check::{CheckOptions, Edition, check, check_with};

use crate::program::{add, errors, lines, program, tree};

const LIB: &str = "\
schema S:
    x?: int
    s?: S
schema T(S):
    z: str
f = lambda a: int -> S { S {} }
_p = 1
type Al = \"a\" | \"b\"
";

fn first(packages: &[(&str, &str)], edition: Edition) -> String {
    errors(packages, &CheckOptions { edition }).into_iter().next().unwrap_or_else(|| "accepted".to_owned())
}

fn main_with_lib(main: &str) -> String {
    first(&[("lib", LIB), ("__main__", main)], Edition::Reference)
}

#[test]
fn members_of_a_package_are_typed() {
    assert_eq!(main_with_lib("import lib\na: lib.S = {x = \"s\"}\n"), "E2G22 2:13 expected int, got str(s)");
    assert_eq!(
        main_with_lib("import lib\na = lib.T {y = 1}\n"),
        "E2L23 2:12 Cannot add member 'y' to schema 'T'"
    );
    assert_eq!(main_with_lib("import lib\na = lib.f(\"s\")\n"), "E2G22 2:11 expected int, got str(s)");
    assert_eq!(
        main_with_lib("import lib\na = lib.f(1).s.x + \"s\"\n"),
        "E2G22 2:5 unsupported operand type(s) for +: 'int' and 'str(s)'"
    );
    assert_eq!(
        main_with_lib("import lib\na: lib.Al = \"c\"\n"),
        "E2G22 2:1 expected str(a) | str(b), got str(c)"
    );
    assert_eq!(
        main_with_lib("import lib\na = lib.nope\n"),
        "E2G22 2:5 attribute 'nope' not found in 'module 'lib''"
    );
    assert_eq!(main_with_lib("import lib\na: lib.S = lib.T {z = \"q\"}\nb = lib._p\n"), "accepted");
}

#[test]
fn a_schema_of_two_roads_is_one_type() {
    let user = "import lib\nmk = lambda { lib.T {z = \"q\"} }\n";
    let main = "import lib\nimport user\na: lib.S = user.mk()\n";
    assert_eq!(first(&[("lib", LIB), ("user", user), ("__main__", main)], Edition::Reference), "accepted");
}

#[test]
fn imports_are_not_re_exported() {
    let user = "import math\nx = 1\n";
    let main = "import user\na = user.math\n";
    assert_eq!(
        first(&[("user", user), ("__main__", main)], Edition::Reference),
        "E2L23 2:5 can not import the attribute 'math' from the module 'user'"
    );
}

#[test]
fn errors_of_an_imported_package_come_first() {
    let main = "import lib\nb: int = \"s\"\n";
    let found = errors(&[("lib", "a = zz\n"), ("__main__", main)], &CheckOptions::default());
    assert_eq!(found, ["E2L23 1:5 name 'zz' is not defined", "E2G22 2:1 expected int, got str(s)"]);
}

#[test]
fn a_checked_package_serves_another_program() {
    let options = CheckOptions::default();
    let shared = Arc::new(tree(LIB));
    let first = program(&[("lib", LIB), ("__main__", "import lib\n")]);
    let types = check(&first, &options).packages[0].clone();

    let mut second = program(&[("other", "y = 2\n")]);
    add(&mut second, "lib", LIB, Arc::clone(&shared));
    let main = "import lib\na = lib.S {x = \"s\"}\n";
    add(&mut second, "__main__", main, Arc::new(tree(main)));
    let result = check_with(&second, &options, 100, |id| (id.0 == 1).then(|| Arc::clone(&types)));

    assert_eq!(lines(&second, &result), ["E2G22 2:12 expected int, got str(s)"]);
    assert!(Arc::ptr_eq(&result.packages[1], &types));
    // The second label lies in the shared package's file, which has another id in this program.
    let file = match result.diagnostics[0].labels[1].place {
        base_diag::Place::Span(file, _) => file,
        other => panic!("{other:?}"),
    };
    assert_eq!(second.sources.get(file).unwrap().path, "lib.k");
}

#[test]
fn the_explicit_edition_judges_private_members_and_required_attributes() {
    let private = "import lib\nb = lib._p\n";
    assert_eq!(
        first(&[("lib", LIB), ("__main__", private)], Edition::V0_13),
        "E2L23 2:5 cannot reference private member '_p' from module 'lib'"
    );
    let missing = "schema P:\n    a: int\n    b: int = 1\np = P {b = 2}\n";
    assert_eq!(first(&[("__main__", missing)], Edition::Reference), "accepted");
    assert_eq!(
        first(&[("__main__", missing)], Edition::V0_13),
        "E2L23 4:7 attribute 'a' of P is required and can't be None or Undefined"
    );
    let unknown = "schema P:\n    a: int\nd = {a = 1}\np = P {**d}\nq = P {(\"a\") = 1}\n";
    assert_eq!(first(&[("__main__", unknown)], Edition::V0_13), "accepted");
}

#[test]
fn the_files_of_a_package_share_their_names() {
    use base_diag::{FileId, Place, SourceMap};
    use kcl_syntax::ast::Tree;
    use kcl_syntax::program::{Package, PkgId, Program};
    let texts = ["x = 1\n_y = 1\n", "x = 2\n_y = \"s\"\nz = x + \"s\"\n"];
    let mut sources = SourceMap::default();
    let mut tree = Tree::default();
    let files: Vec<FileId> = texts.iter().map(|t| sources.add("f.k", (*t).into())).collect();
    for (text, file) in texts.iter().zip(&files) {
        assert!(kcl_syntax::parse_file(&mut tree, text, *file).is_empty());
    }
    let package = Package {
        path: "__main__".into(),
        tree: Arc::new(tree),
        members: Vec::new(),
        files,
        imports: Vec::new(),
    };
    let program = Program { sources, packages: vec![package], main: PkgId(0) };
    let result = check(&program, &CheckOptions::default());
    let found = lines(&program, &result);
    assert_eq!(
        found,
        [
            "E1001 1:1 Can not change the value of 'x', because it was declared immutable",
            "E2G22 2:1 expected int, got str(s)",
            "E2G22 3:5 unsupported operand type(s) for +: 'int' and 'str(s)'",
        ]
    );
    let file = |place| match place {
        Place::Span(file, _) => file,
        other => panic!("{other:?}"),
    };
    assert_eq!(file(result.diagnostics[0].labels[0].place), FileId(1));
    assert_eq!(file(result.diagnostics[0].labels[1].place), FileId(0));
}
