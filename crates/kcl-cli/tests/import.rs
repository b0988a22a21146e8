//! `kcl import` as a user meets it: wrong calls, and what is written. Its page is run by `pages.rs`.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;

use support::{err, kcl, out};

#[test]
fn wrong_input_is_told_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
    write("bad.json", b"{\"a\": ");
    write("latin.yaml", b"a: \xff");
    write("out.json", b"{\"$schema\": \"x\", \"properties\": {\"a\": {\"$ref\": \"../x.json\"}}}");
    write("what.xyz", b"?");
    fs::create_dir(dir.path().join("empty")).unwrap();
    for (words, said) in [
        (&["import"][..], "name a file"),
        (&["import", "gone.json"], "there is no such file"),
        (&["import", "bad.json"], "bad.json"),
        (&["import", "latin.yaml"], "is not UTF-8 text"),
        (&["import", "out.json"], "leads out of the input's folder"),
        (&["import", "what.xyz"], "add --mode"),
        (&["import", "empty"], "has no .json"),
        (&["import", "-m", "xml", "bad.json"], "is no mode"),
        (&["import", "--forse", "bad.json"], "did you mean --force"),
    ] {
        let output = kcl(dir.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(err(&output).contains(said), "{words:?}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("in")).unwrap();
    fs::write(dir.path().join("secret.json"), "{\"properties\": {\"s\": {}}}").unwrap();
    std::os::unix::fs::symlink("../secret.json", dir.path().join("in/link.json")).unwrap();
    fs::write(
        dir.path().join("in/a.json"),
        "{\"$schema\": \"x\", \"properties\": {\"a\": {\"$ref\": \"link.json\"}}}",
    )
    .unwrap();
    let output = kcl(dir.path(), &["import", "in/a.json"]);
    assert!(err(&output).contains("leads out of the input's folder"), "{}", err(&output));
}

#[test]
fn models_of_definitions_are_a_module_that_can_be_used() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kcl-import/tests/samples");
    let dir = tempfile::tempdir().unwrap();
    let crds = samples.join("crds.yaml").display().to_string();
    let made = kcl(dir.path(), &["import", &crds]);
    assert_eq!((out(&made), made.status.code()), ("4 files in models\n", Some(0)), "{}", err(&made));
    let program = "import models.demo_example_org.v1\n\nw = v1.Widget {metadata.name = \"a\", spec = {size = 2, parts = [{name = \"x\"}]}}\n";
    fs::write(dir.path().join("main.k"), program).unwrap();
    let run = kcl(dir.path(), &["run", "main.k"]);
    let expected = "w:\n  apiVersion: demo.example.org/v1\n  kind: Widget\n  metadata:\n    name: a\n  spec:\n    size: 2\n    color: red\n    parts:\n    - name: x\n";
    assert_eq!(out(&run), expected, "{}", err(&run));
    // From another folder they are a module of their own.
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("main.k"), program).unwrap();
    let run = kcl(&other, &["run", "main.k", "-E", "models=../models"]);
    assert_eq!(out(&run), expected, "{}", err(&run));
    fs::write(dir.path().join("main.k"), program.replace("size = 2", "size = 0")).unwrap();
    assert_eq!(kcl(dir.path(), &["run", "main.k"]).status.code(), Some(1));
}
