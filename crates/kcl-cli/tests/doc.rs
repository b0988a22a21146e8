//! `kcl doc` as a user meets it: the commands of its page, the site of konfig with all its links, bad input.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{err, kcl, out, write};

fn konfig() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../konfig")
}

/// Every file below a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_commands_of_the_page_print_what_it_says() {
    let page = include_str!("../../../docs/doc.md");
    let dir = tempfile::tempdir().unwrap();
    let program = page.split("```kcl\n").nth(1).unwrap().split("\n```").next().unwrap();
    write(dir.path(), &[("box.k", &format!("{program}\n"))]);
    // The output of the first command has a fence itself: the block ends at the fence before a blank line.
    let block = page.split("```console\n").nth(1).unwrap().split("\n```\n\n| format").next().unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_kcl")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut commands = 0;
    for block in format!("\n{block}").split("\n$ ").skip(1) {
        let (command, expected) = block.split_once('\n').unwrap();
        let output = Command::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(dir.path())
            .envs([("PATH", path.as_str()), ("NO_COLOR", "1")])
            .output()
            .unwrap();
        assert_eq!(out(&output).trim_end(), expected.trim_end(), "{command}");
        commands += 1;
    }
    assert_eq!(commands, 7);
}

/// Values of an attribute in a page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let open = format!(" {attribute}=\"");
    page.split(open.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn every_link_of_the_site_of_konfig_leads_somewhere() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("site");
    let before = contents(&konfig());
    let done = kcl(&konfig(), &["doc", "--format", "html", "--target", target.to_str().unwrap()]);
    assert_eq!((err(&done), done.status.code()), ("", Some(0)));
    assert_eq!(contents(&konfig()), before, "a module that is documented is only read");
    let files = contents(&target);
    let text = |path: &Path| String::from_utf8(files[path].clone()).unwrap();
    let pages: Vec<&PathBuf> =
        files.keys().filter(|path| path.extension().is_some_and(|e| e == "html")).collect();
    let ids: BTreeMap<&PathBuf, BTreeSet<String>> = pages
        .iter()
        .map(|path| (*path, values(&text(path), "id").into_iter().map(str::to_owned).collect()))
        .collect();
    let mut links = 0;
    for path in &pages {
        let page = text(path);
        for href in values(&page, "href").into_iter().chain(values(&page, "src")) {
            let (file, fragment) = href.split_once('#').unwrap_or((href, ""));
            let target = match file {
                "" => (*path).clone(),
                file => kcl_path(&path.parent().unwrap().join(file)),
            };
            assert!(files.contains_key(&target), "{}: {href} leads nowhere", path.display());
            if !fragment.is_empty() {
                assert!(ids[&target].contains(fragment), "{}: {href} has no such place", path.display());
            }
            links += 1;
        }
        assert!(
            !page.contains("http://") && !page.contains("https://"),
            "{} needs a network",
            path.display()
        );
    }
    assert!(links > 1000, "{links}");
    // The search leads to places, too.
    let index = text(Path::new("assets/index.js"));
    let rows: serde_json::Value = serde_json::from_str(
        index.split_once('=').unwrap().1.split("];").next().map(|rows| format!("{rows}]")).unwrap().as_str(),
    )
    .unwrap();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 200);
    for row in rows {
        let link = row[3].as_str().unwrap();
        let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
        let file = PathBuf::from(file);
        assert!(ids[&file].contains(fragment) || fragment.is_empty(), "{link}");
    }
}

/// A path without `..`.
fn kcl_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

#[test]
fn the_examples_of_konfig_run() {
    let done = kcl(&konfig(), &["doc", "--test"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    assert!(out(&done).ends_with("5 passed, 0 failed\n"), "{}", out(&done));
}

#[test]
fn an_example_that_fails_is_told_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let good = "schema A:\n    \"\"\"One.\n\n    Examples\n    --------\n    ```kcl\n    a = A {x = 1}\n    ```\n    Not this:\n    ```yaml\n    x: [\n    ```\n    \"\"\"\n    x: int\n";
    let bad = "schema B:\n    \"\"\"Two.\n\n    Examples\n    --------\n\n    b = B {x = \"1\"}\n    \"\"\"\n    x: int\n";
    write(dir.path(), &[("a/a.k", good), ("b/b.k", bad)]);
    let done = kcl(dir.path(), &["doc", "--test"]);
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(out(&done), "ok     a.A (a/a.k:7)\nFAILED b.B (b/b.k:7)\n1 passed, 1 failed\n");
    assert!(err(&done).contains("b/b.k#7:7:12"), "{}", err(&done));
    let json: serde_json::Value =
        serde_json::from_str(out(&kcl(dir.path(), &["doc", "--test", "--json"]))).unwrap();
    assert_eq!((json["passed"].as_u64(), json["failed"].as_u64()), (Some(1), Some(1)));
    assert_eq!(json["examples"][1]["ok"], false);
}

#[test]
fn bad_input_is_told_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let cases: &[(&str, &str, &[u8], &str)] = &[
        ("unparsable", "a.k", b"schema A:\n  x: = 1\n", "a.k:2:"),
        ("unchecked", "a.k", b"schema A:\n    x: Missing\n", "Missing"),
        ("latin", "a.k", b"schema A:\n    x: int # \xff\n", "is not UTF-8 text"),
        ("empty", "a.k", b"x = 1\n", "has no schemas"),
        ("manifest", "kcl.mod", b"[package\n", "kcl.mod:1"),
    ];
    for (folder, file, bytes, said) in cases {
        let folder = dir.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("ok.k"),
            if *said == "has no schemas" { "" } else { "schema Z:\n    z: int\n" },
        )
        .unwrap();
        fs::write(folder.join(file), bytes).unwrap();
        let done = kcl(&folder, &["doc", "--format", "html", "--target", "site"]);
        assert_eq!(done.status.code(), Some(1), "{said}: {}", err(&done));
        assert!(err(&done).contains(said), "{said}: {}", err(&done));
        assert!(!folder.join("site").exists(), "{said}");
    }
    let large = dir.path().join("large");
    fs::create_dir_all(&large).unwrap();
    fs::File::create(large.join("a.k")).unwrap().set_len(100 << 20).unwrap();
    assert!(err(&kcl(&large, &["doc"])).contains("larger than 64 MiB"));
    // A target that is in the way: nothing of the document is there.
    let good = dir.path().join("good");
    write(&good, &[("a.k", "schema A:\n    x: int\n"), ("out/assets", "a file")]);
    let before = contents(&good);
    let done = kcl(&good, &["doc", "--format", "html", "--target", "out"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(err(&done).contains("cannot be written"), "{}", err(&done));
    assert_eq!(contents(&good), before);
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_are_not_followed() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[("secret/s.k", "schema Secret:\n    x: int\n"), ("m/a.k", "schema A:\n    x: int\n")],
    );
    symlink("../secret", dir.path().join("m/out")).unwrap();
    symlink("../secret/s.k", dir.path().join("m/s.k")).unwrap();
    let done = kcl(&dir.path().join("m"), &["doc"]);
    assert_eq!(done.status.code(), Some(0));
    assert!(!out(&done).contains("Secret"), "{}", out(&done));
    assert_eq!(err(&done).matches("leads out of the folder").count(), 2, "{}", err(&done));
}

#[test]
fn pages_that_are_no_longer_made_go_and_nothing_else_does() {
    let dir = tempfile::tempdir().unwrap();
    let schema = "schema A:\n    x: int\n";
    write(dir.path(), &[("kcl.mod", "[package]\nname = \"m\"\n"), ("a/a.k", schema), ("b/c/b.k", schema)]);
    let made = |format: &str| {
        let done = kcl(dir.path(), &["doc", "--format", format, "--target", "site"]);
        assert_eq!((err(&done), done.status.code()), ("", Some(0)));
        contents(&dir.path().join("site")).into_keys().collect::<BTreeSet<PathBuf>>()
    };
    let markdown = made("md");
    let all = made("html");
    write(dir.path(), &[("site/own.html", "mine"), ("site/.kcl-doc-x", ""), ("outside.html", "not yours")]);
    let list = dir.path().join("site/.kcl-doc-html");
    fs::write(&list, fs::read_to_string(&list).unwrap() + "../outside.html\n/etc/hostname\n").unwrap();
    fs::remove_dir_all(dir.path().join("b")).unwrap();
    let left = made("html");
    assert!(dir.path().join("outside.html").exists() && left.contains(Path::new("own.html")), "{left:?}");
    assert!(markdown.is_subset(&left), "another format's files stay");
    let gone: Vec<&PathBuf> = all.difference(&left).collect();
    assert!(gone.iter().any(|path| path.ends_with("m.b.c.html")), "{gone:?}");
    assert!(gone.iter().all(|path| path.to_string_lossy().contains('b')), "{gone:?}");
    assert!(left.iter().all(|path| !path.to_string_lossy().contains("b/c")), "{left:?}");
}

#[test]
fn an_index_signature_is_not_inherited() {
    let dir = tempfile::tempdir().unwrap();
    let code = "schema B:\n    [...str]: int\n\nschema D(B):\n    a: int\n";
    write(dir.path(), &[("a.k", code), ("ok.json", "{\"a\": 1}"), ("more.json", "{\"a\": 1, \"b\": 2}")]);
    assert_eq!(kcl(dir.path(), &["vet", "ok.json", "a.k", "-s", "D"]).status.code(), Some(0));
    assert_eq!(kcl(dir.path(), &["vet", "more.json", "a.k", "-s", "D"]).status.code(), Some(1));
    for format in ["json-schema", "openapi"] {
        let done = kcl(dir.path(), &["doc", "--format", format]);
        let document: serde_json::Value = serde_json::from_str(out(&done)).unwrap();
        let schemas = document.get("$defs").unwrap_or(&document["components"]["schemas"]);
        assert_eq!(schemas["D"]["additionalProperties"], false, "{document}");
        assert_eq!(schemas["B"]["additionalProperties"]["type"], "integer", "{document}");
    }
}

#[test]
fn whatever_a_docstring_says_is_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let nasty = "<script>alert('x')</script> & \\\"q\\\" </pre> ${1} | [a](javascript:alert(1))";
    let program = format!(
        "\"\"\"{nasty}\"\"\"\nschema A:\n    \"\"\"{nasty}\n\n    Attributes\n    ----------\n    x : {nasty}\n        {nasty}\n\n    Examples\n    --------\n    # {nasty}\n    \"\"\"\n    # {nasty}\n    x: \"<b>\" | \"</code>\" = \"<b>\"\n\n    check:\n        len(x) < 9, \"<i>{{}}\"\n"
    );
    write(
        dir.path(),
        &[
            ("a.k", program.as_str()),
            ("kcl.mod", "[package]\nname = \"m\"\ndescription = \"<img src=x onerror=y>\"\n"),
        ],
    );
    let done = kcl(dir.path(), &["doc", "--format", "html", "--target", "site"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    for (path, bytes) in contents(&dir.path().join("site")) {
        let text = String::from_utf8(bytes).unwrap();
        if path.extension().is_none_or(|e| e != "css") && !path.ends_with("site.js") {
            for bad in ["<script>alert", "<img", "<b>", "<i>", "href=\"javascript:"] {
                assert!(!text.contains(bad), "{}: {bad}", path.display());
            }
        }
    }
    let printed = kcl(dir.path(), &["doc", "--escape-html"]);
    // What stands in a fence is no HTML.
    let outside: String = out(&printed).split("```").step_by(2).collect();
    assert!(!outside.contains("<script>"), "{}", out(&printed));
}

#[test]
fn deprecated_things_can_be_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let text = "@deprecated(version=\"1.2\", reason=\"use B\")\nschema A:\n    x: int\n\nschema B:\n    @deprecated(strict=False)\n    old?: int\n    new: int\n    _private: int = 1\n    sum = new + 1\n";
    write(dir.path(), &[("a.k", text)]);
    let all = kcl(dir.path(), &["doc"]);
    assert!(
        out(&all).contains("**deprecated since 1.2: use B**") && out(&all).contains("`old`"),
        "{}",
        out(&all)
    );
    assert!(out(&all).contains("`sum` computed") && !out(&all).contains("_private"), "{}", out(&all));
    let some = kcl(dir.path(), &["doc", "--ignore-deprecated"]);
    assert!(!out(&some).contains("`old`") && !out(&some).contains("## A"), "{}", out(&some));
}

#[test]
fn a_readme_that_somebody_wrote_is_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("a.k", "schema A:\n    x: int\n"), ("README.md", "# My project\n")]);
    let output = kcl(dir.path(), &["doc", "--target", "."]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("README.md is there, and `kcl doc` has not written it"),
        "{}",
        err(&output)
    );
    assert_eq!(contents(dir.path()).len(), 2);
    // Our own is written anew.
    for _ in 0..2 {
        assert_eq!(kcl(dir.path(), &["doc", "--target", "docs"]).status.code(), Some(0));
    }
}

#[test]
fn a_union_of_schemas_has_blanks_around_its_bars() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("a.k", "schema A:\n    x: [A | B | int]\nschema B:\n    y?: A | B\n")]);
    let page = kcl(dir.path(), &["doc"]);
    for cell in ["| `[`[A](#A) `\\|` [B](#B) `\\| int]` |", "| [A](#A) `\\|` [B](#B) |"] {
        assert!(out(&page).contains(cell), "{cell}\n{}", out(&page));
    }
}

#[test]
fn wrong_calls_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("a.k", "schema A:\n    x: int\nmixin AMixin:\n    y: int\n"),
            ("b/a.k", "schema A:\n    x: int\n"),
        ],
    );
    for (words, said) in [
        (&["doc", "--fromat", "md"][..], "did you mean --format"),
        (&["doc", "--format", "pdf"], "is no format"),
        (&["doc", "--format", "html"], "name a folder with --target"),
        (&["doc", "a", "b"], "one PATH at a time"),
        (&["doc", "--schema", "A"], "add --format json-schema"),
        (&["doc", "--format", "json-schema", "--schema", "Q"], "there is no schema `Q`"),
        (&["doc", "--format", "json-schema", "--schema", "AMixin"], "no schema that has instances"),
        (&["doc", "--json"], "name a folder with --target"),
        (&["doc", "--target", "a.k"], "a.k is a file: name a folder with --target"),
        (&["doc", "--format", "html", "--target", "a.k/site"], "a.k is a file: name a folder with --target"),
        (&["doc", "--format", "openapi", "--target", "a.k"], "a.k is a file: name a folder with --target"),
    ] {
        let output = kcl(dir.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(err(&output).contains(said), "{words:?}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
    let shells = ["bash", "zsh", "fish"].map(|shell| kcl(dir.path(), &["completion", shell]));
    assert!(shells.iter().all(|output| out(output).contains("ignore-deprecated")));
}
