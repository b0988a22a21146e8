//! Verdicts of the reference, and what is checked beyond it.
#![allow(clippy::unwrap_used)]

use kcl::{Compiler, MemoryFiles, NoOutside, Request};
use kcl_vet::{Format, Source, Vet, Wish};

/// The first message about each document that does not hold, with its line and column.
fn told(code: &str, data: &str, format: Format, wish: &Wish) -> Vec<String> {
    let source = match Source::new("data", data.into(), format) {
        Ok(source) => source,
        Err(bad) => return vec![bad.diagnostic.message().to_owned()],
    };
    let compiler = Compiler::new(MemoryFiles::default());
    let vet = match Vet::new(&compiler, Request::source("code.k", code), wish) {
        Ok(vet) => vet,
        Err(wrong) => return vec![wrong.diagnostics[0].message().to_owned()],
    };
    let verdicts = source.documents.iter().map(|document| vet.check(&source, document, &NoOutside));
    verdicts
        .flat_map(|verdict| {
            let shown = |d: &base_diag::Diagnostic| match d.place() {
                base_diag::Place::Span(file, span) => {
                    let at = verdict.sources.position(file, span.start);
                    format!("{}:{}: {}", at.line, at.column, d.message())
                }
                _ => d.message().to_owned(),
            };
            verdict.diagnostics.iter().map(shown).collect::<Vec<_>>()
        })
        .collect()
}

fn json(code: &str, data: &str) -> Vec<String> {
    told(code, data, Format::Json, &Wish::default())
}

fn yaml(code: &str, data: &str) -> Vec<String> {
    told(code, data, Format::Yaml, &Wish::default())
}

const X: &str = "schema S:\n    x: int\n";

#[test]
fn types_are_those_of_the_language() {
    assert!(json(X, "{\"x\": 1}").is_empty());
    assert_eq!(json(X, "{\"x\": 18.0}"), ["1:2: expected int, got float(18)"]);
    assert_eq!(json(X, "{\"x\": \"a\"}"), ["1:2: expected int, got str(a)"]);
    assert_eq!(json(X, "{\n \"y\": 1, \"x\": 1}"), ["2:2: Cannot add member 'y' to schema 'S'"]);
    assert_eq!(json(X, "{}"), ["1:1: attribute 'x' of S is required and can't be None or Undefined"]);
    assert_eq!(
        json(X, "{\"x\": null}"),
        ["1:1: attribute 'x' of S is required and can't be None or Undefined"]
    );
    assert!(json("schema S:\n    x: float\n", "{\"x\": 1}").is_empty());
}

#[test]
fn lists_are_checked_element_by_element() {
    assert!(json(X, "[]").is_empty());
    assert_eq!(json(X, "[{\"x\": 1}, {\"x\": true}]"), ["1:13: expected int, got bool(True)"]);
    assert_eq!(json(X, "[[{\"x\": \"a\"}]]"), ["1:4: expected int, got str(a)"]);
}

#[test]
fn later_documents_and_scalars_are_checked() {
    assert_eq!(yaml(X, "x: 1\n---\nx: a\n"), ["3:1: expected int, got str(a)"]);
    assert_eq!(json(X, "3"), ["1:1: expected a mapping, got an integer"]);
    assert_eq!(json(X, "[{\"x\": 1}, null]"), ["1:12: expected a mapping, got null"]);
    assert!(yaml(X, "---\n---\nx: 1\n---\n").is_empty());
}

#[test]
fn what_cannot_be_read_is_told() {
    for (data, format, message) in [
        ("{", Format::Json, "Failed to Load JSON"),
        ("{\"x\": 1} {\"x\": 1}", Format::Json, "Failed to Load JSON"),
        ("{\"x\": 1, \"x\": 1}", Format::Json, "Failed to Load JSON"),
        ("x: [", Format::Yaml, "Failed to Load YAML"),
        ("", Format::Yaml, "Failed to Load YAML"),
        ("# nothing\n", Format::Yaml, "Failed to Load YAML"),
        ("x: .inf", Format::Yaml, "Failed to Load YAML"),
        ("1: x", Format::Yaml, "Failed to Load YAML"),
        ("x: 1\nx: 2", Format::Yaml, "Failed to Load YAML"),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g]\n",
            Format::Yaml,
            "Failed to Load YAML",
        ),
        ("x = 1\nx = 2", Format::Toml, "Failed to Load TOML"),
        ("x = nan", Format::Toml, "Failed to Load TOML"),
        ("x = 99999999999999999999", Format::Toml, "Failed to Load TOML"),
    ] {
        assert_eq!(told(X, data, format, &Wish::default()), [message], "{data}");
    }
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    assert_eq!(told(X, &deep, Format::Json, &Wish::default()), ["Failed to Load JSON"]);
    assert_eq!(told(X, &format!("x = {deep}"), Format::Toml, &Wish::default()), ["Failed to Load TOML"]);
}

#[test]
fn toml_is_data_like_any_other() {
    let code = "schema S:\n    x: int\n    t: {str:[int]}\n    d?: str\n";
    let check = |data: &str| told(code, data, Format::Toml, &Wish::default());
    assert!(check("x = 0x10\nd = 2020-01-01\n[t]\na = [1, 2]\n").is_empty());
    assert_eq!(check("x = \"é\"\nt = {}\n"), ["1:1: expected int, got str(é)"]);
}

#[test]
fn all_that_does_not_hold_is_told() {
    let code = "schema T:\n    a: int\n    check:\n        a > 1, \"a\"\nschema S:\n    t: T\n    b: int\n    c: int\n    check:\n        b > 1, \"b\"\n        c > 1\n";
    let wish = Wish { schema: Some("S".into()), ..Wish::default() };
    let found = told(code, "t: {a: 0}\nb: 0\nc: 0\n", Format::Yaml, &wish);
    assert_eq!(
        found,
        ["1:5: Instance check failed", "1:1: Instance check failed", "1:1: Instance check failed"]
    );
    let found = told(code, "t: {a: 5}\n", Format::Yaml, &wish);
    assert_eq!(
        found,
        [
            "1:1: attribute 'b' of S is required and can't be None or Undefined",
            "1:1: attribute 'c' of S is required and can't be None or Undefined"
        ]
    );
}

#[test]
fn what_a_program_catches_is_not_told() {
    let code = "import runtime\nschema T:\n    a: int\n    check:\n        a > 1, \"small\"\nschema S:\n    a: int\n    check:\n        runtime.catch(lambda {T {a = 0}}) == \"small\"\n";
    let wish = Wish { schema: Some("S".into()), ..Wish::default() };
    assert_eq!(told(code, "a: 3", Format::Yaml, &wish), [""; 0]);
}

#[test]
fn a_schema_that_is_not_there_is_told_once_and_in_the_code() {
    let told = |code: &str, name: &str| {
        let wish = Wish { schema: Some(name.into()), ..Wish::default() };
        told(code, "x: 1\n---\nx: 2\n", Format::Yaml, &wish)
    };
    assert_eq!(told(X, "T"), ["there is no schema `T`, did you mean `S`?"]);
    assert_eq!(told(X, "Nothing"), ["there is no schema `Nothing`"]);
    assert_eq!(told("v = 1\n", "v"), ["`v` is no schema"]);
    assert_eq!(told(X, "nowhere.S"), ["pkgpath nowhere not found in the program"]);
    assert_eq!(told("import math\n", "math.S"), ["`math` has no schemas: it is no package of KCL files"]);
    // Other names of a schema are names of it.
    assert_eq!(told(&format!("{X}type T = S\n"), "T"), [""; 0]);
    assert_eq!(told(&format!("{X}T = S\n"), "T"), [""; 0]);
    let compiler = Compiler::new(MemoryFiles::default());
    let wish = Wish { schema: Some("Usr".into()), ..Wish::default() };
    let code = Request::source("code.k", "schema User:\n    x: int\n");
    let Err(wrong) = Vet::new(&compiler, code, &wish) else { panic!("there is none") };
    let base_diag::Place::Span(file, span) = wrong.diagnostics[0].place() else { panic!("it has a place") };
    assert_eq!((wrong.sources.get(file).unwrap().path.as_str(), span.start, span.end), ("code.k", 7, 11));
}

#[test]
fn a_package_without_files_is_none() {
    let mut files = MemoryFiles::default();
    files.add("/ext/k8s/kcl.mod", "[package]\nname = \"k8s\"\n");
    files.add("/ext/k8s/apps/a.k", "schema A:\n    apiVersion: \"v1\"\n    kind: \"A\"\n");
    let compiler = Compiler::new(&files);
    let externals = vec![("k8s".to_owned(), "/ext/k8s".into())];
    let told = |package: &str| {
        let request = Request { externals: externals.clone(), work_dir: "/w".into(), ..Request::default() };
        let wish = Wish { packages: vec![package.to_owned()], ..Wish::default() };
        Vet::new(&compiler, request, &wish).err().map(|wrong| wrong.diagnostics[0].message().to_owned())
    };
    assert_eq!(told("k8s.apps"), None);
    assert_eq!(told("k8s.app").unwrap(), "there is no package `k8s.app`: it has no KCL files");
}

#[test]
fn objects_that_say_what_they_are_may_stand_in_lists() {
    let code = "schema A:\n    apiVersion: \"v1\" = \"v1\"\n    kind: \"A\" = \"A\"\n    n: int\n";
    let compiler = Compiler::new(MemoryFiles::default());
    let wish = Wish { by_kind: true, ..Wish::default() };
    let vet =
        Vet::new(&compiler, Request::source("code.k", code), &wish).unwrap_or_else(|_| panic!("it is code"));
    let verdicts = |data: &str| {
        let source = Source::new("data", data.into(), Format::Json).unwrap();
        let documents = vet.split(source.documents.clone());
        documents.iter().map(|document| vet.check(&source, document, &NoOutside).is_ok()).collect::<Vec<_>>()
    };
    let a = |n: &str| format!("{{\"apiVersion\": \"v1\", \"kind\": \"A\", \"n\": {n}}}");
    let (good, bad) = (a("1"), a("\"x\""));
    assert_eq!(verdicts(&format!("[{good}, {bad}, 3]")), [true, false, false]);
    let list = |kind: &str, items: &str| {
        format!("{{\"apiVersion\": \"v1\", \"kind\": \"{kind}\", \"items\": [{items}]}}")
    };
    assert_eq!(verdicts(&list("List", &format!("{good}, {bad}"))), [true, false]);
    assert_eq!(verdicts(&list("AList", &list("List", &good))), [true]);
    assert_eq!(verdicts(&list("List", "")), [true; 0]);
    assert_eq!(verdicts("[]"), [false]);
    assert_eq!(verdicts(&list("Nothing", &good)), [false]);
}

#[test]
fn the_code_sees_the_data() {
    let code = "schema S:\n    d: int\nassert x.d == 3, \"outer\"\n";
    let wish = Wish { attribute: "x".into(), ..Wish::default() };
    assert_eq!(told(code, "d: 2", Format::Yaml, &wish), ["outer"]);
    assert!(told(code, "d: 3", Format::Yaml, &wish).is_empty());
}

#[test]
fn defaults_are_filled_in() {
    let compiler = Compiler::new(MemoryFiles::default());
    let code = Request::source("code.k", "schema S:\n    a: int\n    b: int = a + 1\n    c?: str\n");
    let vet = Vet::new(&compiler, code, &Wish { fill: true, ..Wish::default() }).unwrap();
    let source = Source::new("data", "- a: 1\n- a: 5\n  c: x\n".into(), Format::Yaml).unwrap();
    let filled = vet.check(&source, &source.documents[0], &NoOutside).filled.unwrap();
    let mut text = base_yaml::JsonWriter::new();
    filled.write(&mut text);
    assert_eq!(text.into_string(), "[{\"a\": 1, \"b\": 2}, {\"a\": 5, \"b\": 6, \"c\": \"x\"}]");
}

#[test]
fn errors_come_in_the_order_of_keys_in_json_and_of_lines_in_yaml() {
    let code = "schema S:\n    a: int\n    b: {str:int}\n";
    let [unknown, wrong] = ["Cannot add member 'c' to schema 'S'", "expected int, got str(x)"];
    let found = json(code, "{\"c\": 1, \"a\": \"x\", \"b\": {}}");
    assert_eq!(found, [format!("1:10: {wrong}"), format!("1:2: {unknown}")]);
    assert_eq!(yaml(code, "c: 1\na: x\nb: {}\n"), [format!("1:1: {unknown}"), format!("2:1: {wrong}")]);
    let filled = Wish { fill: true, ..Wish::default() };
    let found = told(code, "{\"c\": 1, \"a\": \"x\", \"b\": {}}", Format::Json, &filled);
    assert_eq!(found.len(), 2);
    let signature = "schema S:\n    [str]: T\nschema T:\n    n: int\n    check:\n        n > 0\n";
    let found = json(signature, "{\"z\": {\"n\": 0}, \"a\": {\"n\": 0}}");
    assert_eq!(found[0], "1:23: Instance check failed");
}

#[test]
fn an_empty_mapping_that_lacks_a_value_is_told_in_the_data() {
    let code = "schema S:\n    t: T\nschema T:\n    n: int\n    check:\n        n > 0\n";
    let source = Source::new("data", "{\"t\": {}}".into(), Format::Json).unwrap();
    let compiler = Compiler::new(MemoryFiles::default());
    let vet = Vet::new(&compiler, Request::source("code.k", code), &Wish::default()).unwrap();
    let verdict = vet.check(&source, &source.documents[0], &NoOutside);
    assert!(!verdict.is_ok());
    for diagnostic in &verdict.diagnostics {
        let shown = base_diag::to_json(diagnostic, &verdict.sources);
        assert_eq!(shown["labels"][0]["file"], "data", "{shown}");
    }
}

#[test]
fn merge_keys_and_aliases_are_what_they_stand_for() {
    let code = "schema S:\n    [...str]: {str:int}\n";
    assert!(yaml(code, "base: &b {n: 1}\nx: {<<: *b, m: 2}\n").is_empty());
    assert_eq!(yaml(code, "base: &b {n: 1}\nx: {<<: *b, m: a}\n").len(), 1);
}
