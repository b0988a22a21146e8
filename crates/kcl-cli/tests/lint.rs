//! `kcl lint` as a user meets it: folders, programs, bad files, fixes, every form of output.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{err, kcl, out, write};

/// `PATH:LINE:COLUMN ID` of every finding.
fn found(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut all = vec!["lint", "--format", "json"];
    all.extend(words);
    let output = kcl(folder, &all);
    let report: Value = serde_json::from_str(out(&output)).unwrap_or_else(|_| panic!("{}", err(&output)));
    let shown = |f: &Value| {
        format!("{}:{}:{} {}", f["file"].as_str().unwrap(), f["line"], f["column"], f["id"].as_str().unwrap())
    };
    report["findings"].as_array().unwrap().iter().map(shown).collect()
}

#[test]
fn a_folder_is_a_package_dots_are_deep_and_a_file_is_alone() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("kcl.mod", ""),
            ("a.k", "_a = 1\n"),
            ("b.k", "b = _a\n"),
            ("in/c.k", "import math\n"),
            ("x_test.k", "_t = 1\n"),
        ],
    );
    assert_eq!(found(dir.path(), &[]), ["x_test.k:1:1 unused-variable"]);
    assert_eq!(found(dir.path(), &["./..."]), ["in/c.k:1:1 import-unused", "x_test.k:1:1 unused-variable"]);
    assert_eq!(found(dir.path(), &["a.k"]), ["a.k:1:1 unused-variable"]);
}

#[test]
fn a_test_file_sees_its_package_and_reads_its_private_names() {
    let dir = tempfile::tempdir().unwrap();
    let test = "test_a = lambda {\n    assert a == _helper\n    snapshot(\"a\", a)\n}\n";
    write(dir.path(), &[("kcl.mod", ""), ("m.k", "a = 1\n_helper = 1\n_left = 2\n"), ("m_test.k", test)]);
    assert_eq!(found(dir.path(), &[]), ["m.k:3:1 unused-variable"]);
    assert!(found(dir.path(), &["m_test.k"]).is_empty());
}

#[test]
fn nobody_is_shown_the_helper_of_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", ""), ("m_test.k", "test_a = lambda {\n    snapshot(1, 2)\n}\n")]);
    let told = kcl(dir.path(), &["lint"]);
    assert!(out(&told).contains("m_test.k:2:14") && !out(&told).contains("<kcl test>"), "{}", out(&told));
}

#[test]
fn a_private_name_that_another_package_reads_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("kcl.mod", ""),
        ("sub/s.k", "_hidden = 3\n_left = 4\n"),
        ("main.k", "import sub\n\nb = sub._hidden\n"),
    ];
    write(dir.path(), &files);
    assert_eq!(found(dir.path(), &["./..."]), ["sub/s.k:2:1 unused-variable"]);
}

#[test]
fn arguments_that_a_base_takes_by_position_are_used() {
    let dir = tempfile::tempdir().unwrap();
    let text = "schema Base[n: int]:\n    \"\"\"B.\"\"\"\n    v: int = n\n\nschema C[m: int, k: int](Base):\n    \
                \"\"\"C.\"\"\"\n    w: int = 1\n\nc = C(5, 6) {}\n";
    write(dir.path(), &[("kcl.mod", ""), ("a.k", text)]);
    assert_eq!(found(dir.path(), &[]), ["a.k:5:18 unused-argument"]);
}

#[test]
fn a_secret_is_shown_in_no_form() {
    let dir = tempfile::tempdir().unwrap();
    let secret = "w7Yd3KnB9sQm5HrVt2Zf";
    write(dir.path(), &[("a.k", &format!("a = 1\npassword = \"{secret}\"\n"))]);
    for form in ["full", "short", "json", "sarif", "github"] {
        let output = kcl(dir.path(), &["lint", "--format", form]);
        assert!(!out(&output).contains(secret) && !err(&output).contains(secret), "{}", out(&output));
        assert!(out(&output).contains("the value of `password` looks like a secret"), "{}", out(&output));
    }
}

#[test]
fn one_fix_that_cannot_be_made_does_not_hold_up_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let text = "import math\n_env = option(\"env\")\nif _env == \"prod\":\n    _only = 1\na = 1\n";
    write(dir.path(), &[("a.k", text)]);
    let diff = kcl(dir.path(), &["lint", "--diff", "--format", "json"]);
    let report: Value = serde_json::from_str(out(&diff)).unwrap();
    assert!(report["diffs"][0].as_str().unwrap().contains("-import math"), "{report}");
    kcl(dir.path(), &["lint", "--unsafe-fixes"]);
    let left = fs::read_to_string(dir.path().join("a.k")).unwrap();
    assert_eq!(left, text.strip_prefix("import math\n").unwrap());
}

#[test]
fn a_settings_file_makes_a_program_and_nothing_is_told_twice() {
    let dir = tempfile::tempdir().unwrap();
    let settings =
        "kcl_cli_configs:\n  file:\n  - ../base/base.k\n  - main.k\n  package_maps:\n    lib: ../elsewhere\n";
    let files = [
        ("kcl.mod", ""),
        ("elsewhere/kcl.mod", ""),
        ("elsewhere/lib.k", "x = 1\n"),
        ("base/base.k", "import lib\nb = lib.x\n_unused = 1\n"),
        ("dev/kcl.yaml", settings),
        ("dev/main.k", "c = b\n"),
        ("prod/kcl.yaml", settings),
        ("prod/main.k", "c = b + 1\n"),
    ];
    write(dir.path(), &files);
    assert_eq!(found(dir.path(), &["./..."]), ["base/base.k:3:1 unused-variable"]);
}

#[test]
fn exit_codes_follow_the_levels_and_kcl_mod_sets_them() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", "[package]\nname = \"m\"\n"), ("a.k", "schema S:\n    a: int = 1\n")]);
    let remark = kcl(dir.path(), &["lint"]);
    assert_eq!(remark.status.code(), Some(0), "{}", err(&remark));
    assert!(out(&remark).starts_with("info[L0401]: `S` has no documentation"), "{}", out(&remark));
    assert_eq!(err(&remark), "1 file: 1 remark\n");
    write(dir.path(), &[("kcl.mod", "[lint.rules]\nmissing-docs = \"error\"\n")]);
    assert_eq!(kcl(dir.path(), &["lint"]).status.code(), Some(1));
    write(dir.path(), &[("kcl.mod", "[lint.rules]\nmissing-docs = \"off\"\n")]);
    assert_eq!(out(&kcl(dir.path(), &["lint"])), "");
    write(dir.path(), &[("kcl.mod", "[lint]\nexclude = [\"a.k\"]\n")]);
    assert_eq!(out(&kcl(dir.path(), &["lint"])), "");
    write(dir.path(), &[("kcl.mod", "[lint.rules]\nmissing-doc = \"off\"\n")]);
    let wrong = kcl(dir.path(), &["lint"]);
    assert_eq!(wrong.status.code(), Some(1));
    let says = "error: kcl.mod is not understood: [lint.rules] there is no rule `missing-doc`; did you mean `missing-docs`?";
    assert!(err(&wrong).starts_with(says), "{}", err(&wrong));
    assert_eq!(kcl(dir.path(), &["lint", "--format", "xml"]).status.code(), Some(1));
}

#[test]
fn fixes_are_shown_written_and_kept_apart() {
    let dir = tempfile::tempdir().unwrap();
    let text = "import math\nimport math\nimport regex\n\n_left = 1\na = str(\"x\")\nb = math.pow(2, 3)\n";
    write(dir.path(), &[("kcl.mod", ""), ("a.k", text)]);
    let diff = kcl(dir.path(), &["lint", "--diff", "a.k"]);
    assert!(out(&diff).contains("-import regex\n") && !out(&diff).contains("+a = "), "{}", out(&diff));
    assert_eq!(fs::read_to_string(dir.path().join("a.k")).unwrap(), text, "--diff writes nothing");
    let left = kcl(dir.path(), &["lint", "--diff", "--format", "short", "a.k"]);
    assert!(out(&left).contains("\na.k:5:1 - warning[L0101]"), "in the file as it is: {}", out(&left));
    let fixed = kcl(dir.path(), &["lint", "--fix", "--format", "short", "a.k"]);
    assert_eq!(fixed.status.code(), Some(1), "the unsafe ones are left: {}", out(&fixed));
    let now = fs::read_to_string(dir.path().join("a.k")).unwrap();
    assert_eq!(now, "import math\n\n_left = 1\na = str(\"x\")\nb = math.pow(2, 3)\n");
    let all = kcl(dir.path(), &["lint", "--unsafe-fixes", "a.k"]);
    assert_eq!(all.status.code(), Some(0), "{}", out(&all));
    assert_eq!(
        fs::read_to_string(dir.path().join("a.k")).unwrap(),
        "import math\n\na = \"x\"\nb = math.pow(2, 3)\n"
    );
}

#[test]
fn what_does_not_compile_is_told_and_not_mended() {
    let dir = tempfile::tempdir().unwrap();
    let text = "import math\na: int = \"x\"\n";
    write(dir.path(), &[("kcl.mod", ""), ("a.k", text), ("in/b.k", "a = [\n")]);
    let fixed = kcl(dir.path(), &["lint", "--fix", "a.k"]);
    assert_eq!(fixed.status.code(), Some(1));
    assert!(out(&fixed).contains("error[E2G22]"), "{}", out(&fixed));
    assert_eq!(fs::read_to_string(dir.path().join("a.k")).unwrap(), text);
    assert!(out(&kcl(dir.path(), &["lint", "in"])).contains("error[E1001]"));
}

#[test]
fn bad_files_are_told_and_the_others_are_judged() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", ""), ("x/a.k", "_a = 1\n")]);
    fs::create_dir_all(dir.path().join("y")).unwrap();
    fs::write(dir.path().join("y/bad.k"), b"a = \"\xff\"\n").unwrap();
    let output = kcl(dir.path(), &["lint", "./...", "nope"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("L0101"), "{}", out(&output));
    assert!(
        err(&output).contains("y/bad.k is not UTF-8 text") && err(&output).contains("nope"),
        "{}",
        err(&output)
    );
}

#[test]
fn github_annotations_are_escaped() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", ""), ("a.k", "_a = 1\n")]);
    let output = kcl(dir.path(), &["lint", "--format", "github"]);
    let wanted = "::warning file=a.k,line=1,endLine=1,col=1,endColumn=3,title=L0101 unused-variable::the private variable `_a` is \
                  never read%0Aremove it, or use it\n";
    assert_eq!(out(&output), wanted);
}

#[test]
fn every_rule_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["W0411", "unused-variable", "L0601"] {
        let page = kcl(dir.path(), &["explain", name]);
        assert_eq!(page.status.code(), Some(0));
        assert!(out(&page).contains("Found:") && out(&page).contains("Mended:"), "{}", out(&page));
    }
}

#[test]
fn a_folder_that_is_only_read_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", ""), ("a.k", "import math\n_a = 1\n")]);
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = (names(dir.path()), fs::read(dir.path().join("a.k")).unwrap());
    for format in ["full", "short", "json", "sarif", "github"] {
        kcl(dir.path(), &["lint", "--format", format, "./..."]);
    }
    kcl(dir.path(), &["lint", "--diff", "./..."]);
    assert_eq!((names(dir.path()), fs::read(dir.path().join("a.k")).unwrap()), before);
}

// --- SARIF: the part of the 2.1.0 schema that we write, strictly: unknown properties are refused. --------------------

/// What may stand somewhere.
enum Shape {
    Text,
    Truth,
    Uri,
    Whole(i64),
    OneOf(&'static [&'static str]),
    Any,
    List(&'static Shape),
    /// Property, required, shape.
    Object(&'static [(&'static str, bool, Shape)]),
}

use Shape::{Any, List, Object, OneOf, Text, Truth, Uri, Whole};

const LEVELS: Shape = OneOf(&["none", "note", "warning", "error"]);
const MESSAGE: Shape = Object(&[("text", true, Text)]);
const ARTIFACT: Shape = Object(&[("uri", true, Uri)]);
const REGION: Shape = Object(&[
    ("startLine", true, Whole(1)),
    ("startColumn", false, Whole(1)),
    ("endLine", false, Whole(1)),
    ("endColumn", false, Whole(1)),
]);
const RULE: Shape = Object(&[
    ("id", true, Text),
    ("name", false, Text),
    ("shortDescription", false, MESSAGE),
    ("fullDescription", false, MESSAGE),
    ("help", false, MESSAGE),
    ("defaultConfiguration", false, Object(&[("level", false, LEVELS)])),
    ("properties", false, Any),
]);
const DRIVER: Shape =
    Object(&[("name", true, Text), ("version", false, Text), ("rules", false, List(&RULE))]);
const REPLACEMENT: Shape = Object(&[("deletedRegion", true, REGION), ("insertedContent", false, MESSAGE)]);
const CHANGE: Shape =
    Object(&[("artifactLocation", true, ARTIFACT), ("replacements", true, List(&REPLACEMENT))]);
const FIX: Shape = Object(&[("description", false, MESSAGE), ("artifactChanges", true, List(&CHANGE))]);
const LOCATION: Shape = Object(&[(
    "physicalLocation",
    false,
    Object(&[("artifactLocation", true, ARTIFACT), ("region", false, REGION)]),
)]);
const RESULT: Shape = Object(&[
    ("ruleId", false, Text),
    ("ruleIndex", false, Whole(0)),
    ("level", false, LEVELS),
    ("message", true, MESSAGE),
    ("locations", false, List(&LOCATION)),
    ("fixes", false, List(&FIX)),
]);
const NOTIFICATION: Shape =
    Object(&[("level", false, LEVELS), ("message", true, MESSAGE), ("locations", false, List(&LOCATION))]);
const INVOCATION: Shape = Object(&[
    ("executionSuccessful", true, Truth),
    ("toolExecutionNotifications", false, List(&NOTIFICATION)),
]);
const RUN: Shape = Object(&[
    ("tool", true, Object(&[("driver", true, DRIVER)])),
    ("invocations", false, List(&INVOCATION)),
    ("columnKind", false, OneOf(&["utf16CodeUnits", "unicodeCodePoints"])),
    ("results", false, List(&RESULT)),
]);
const LOG: Shape =
    Object(&[("$schema", false, Uri), ("version", true, OneOf(&["2.1.0"])), ("runs", true, List(&RUN))]);

fn validate(value: &Value, shape: &Shape, path: &str) {
    match shape {
        Any => {}
        Text => assert!(value.is_string(), "{path}: {value}"),
        Truth => assert!(value.is_boolean(), "{path}: {value}"),
        Uri => {
            let text = value.as_str().unwrap_or_else(|| panic!("{path}: {value}"));
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
            assert!(!text.is_empty() && text.chars().all(plain), "{path}: {text}");
        }
        Whole(least) => assert!(value.as_i64().is_some_and(|n| n >= *least), "{path}: {value}"),
        OneOf(words) => assert!(value.as_str().is_some_and(|text| words.contains(&text)), "{path}: {value}"),
        List(item) => {
            let items = value.as_array().unwrap_or_else(|| panic!("{path}: {value}"));
            items.iter().enumerate().for_each(|(at, one)| validate(one, item, &format!("{path}[{at}]")));
        }
        Object(rows) => {
            let object = value.as_object().unwrap_or_else(|| panic!("{path}: {value}"));
            for key in object.keys() {
                assert!(rows.iter().any(|(name, ..)| name == key), "{path} has no `{key}`");
            }
            for (name, required, shape) in *rows {
                match object.get(*name) {
                    Some(inner) => validate(inner, shape, &format!("{path}.{name}")),
                    None => assert!(!required, "{path}: `{name}` is missing"),
                }
            }
        }
    }
}

#[test]
fn sarif_is_valid_and_complete() {
    let dir = tempfile::tempdir().unwrap();
    let files = [("kcl.mod", ""), ("a b.k", "import math\n_a = 1\n"), ("in/c.k", "a: int = \"x\"\n")];
    write(dir.path(), &files);
    let output = kcl(dir.path(), &["lint", "--format", "sarif", "./..."]);
    let log: Value = serde_json::from_str(out(&output)).unwrap();
    validate(&log, &LOG, "log");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3, "{results:#?}");
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(result["locations"][0]["physicalLocation"]["region"]["startLine"].is_number());
    }
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a%20b.k");
    assert!(results.iter().any(|result| result["fixes"].is_array()));
}

/// A file that cannot be judged is no file without findings, in any form.
#[test]
fn what_cannot_be_read_is_told_to_machines() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("kcl.mod", ""), ("good/a.k", "a = 1\n")]);
    fs::create_dir(dir.path().join("bad")).unwrap();
    fs::write(dir.path().join("bad/b, c.k"), b"a = \"\xff\"\n").unwrap();
    let run = |format: &str| kcl(dir.path(), &["lint", "--format", format, "./..."]);
    let log: Value = serde_json::from_str(out(&run("sarif"))).unwrap();
    validate(&log, &LOG, "log");
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let told = &invocation["toolExecutionNotifications"][0];
    assert_eq!(told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "bad/b%2C%20c.k");
    let annotation = "::error file=bad/b%2C c.k::bad/b, c.k is not UTF-8 text";
    assert!(out(&run("github")).starts_with(annotation), "{}", out(&run("github")));
    let json: Value = serde_json::from_str(out(&run("json"))).unwrap();
    assert_eq!(json["errors"][0]["file"], "bad/b, c.k");
}

/// The report of a secret goes to the logs of CI: it says where, not what.
#[test]
fn a_secret_is_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    write(dir.path(), &[("a.k", &format!("import regex\n\ntoken = \"{secret}\"\n"))]);
    for format in ["full", "short", "json", "sarif", "github"] {
        let output = kcl(dir.path(), &["lint", "--format", format]);
        let said = format!("{}{}", out(&output), err(&output));
        assert!(said.contains("GitHub token") && !said.contains(secret), "{format}: {said}");
    }
}
