//! Cases, reports and coverage, without a disk.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use kcl::{Compiler, Entry, MemoryFiles, NoOutside, Request};
use kcl_test::coverage::{self, Branch, Ratio};
use kcl_test::report::{Row, json, junit, text};
use kcl_test::{Kind, Suite};

fn request(files: &[(&str, &str)]) -> Request {
    let entries = files
        .iter()
        .map(|(path, text)| Entry::Source { path: (*path).to_owned(), text: (*text).to_owned() })
        .collect();
    Request { entries, work_dir: "/w".into(), cover: true, ..Request::default() }
}

fn suite(files: &[(&str, &str)]) -> Suite {
    let compiler = Compiler::new(MemoryFiles::default());
    match Suite::new(&compiler, &request(files)) {
        Ok(suite) => suite,
        Err(wrong) => panic!("{:?}", wrong.diagnostics),
    }
}

#[test]
fn cases_are_lambdas_of_test_files() {
    let lib = "test_not = lambda {\n    1\n}\n";
    let test = "test_a = lambda {\n    assert True\n}\ntest_no = 3\n_test_x = lambda {\n    1\n}\nproperty_p = lambda x: int {\n    assert True\n}\n";
    let suite = suite(&[("lib.k", lib), ("a_test.k", test)]);
    let found: Vec<_> = suite.cases.iter().map(|c| (c.name.as_str(), c.kind, c.line)).collect();
    assert_eq!(found, [("test_a", Kind::Test, 1), ("property_p", Kind::Property, 8)]);
}

#[test]
fn a_test_with_parameters_is_an_error_of_the_package() {
    let compiler = Compiler::new(MemoryFiles::default());
    let code = request(&[("a_test.k", "test_a = lambda x {\n    1\n}\n")]);
    let Err(wrong) = Suite::new(&compiler, &code) else { panic!("it has no arguments") };
    assert_eq!(wrong.diagnostics[0].id, "wrong-test-case");
}

#[test]
fn no_case_sees_another() {
    let test = "_n = {a = 1}\ntest_a = lambda {\n    print(\"a\")\n    assert _n.a == 1\n}\ntest_b = lambda {\n    assert _n.a == 2\n}\n";
    let suite = suite(&[("a_test.k", test)]);
    let ran: Vec<_> = suite.cases.iter().map(|case| suite.run(case, &NoOutside)).collect();
    assert_eq!((ran[0].is_ok(), ran[0].log.as_str()), (true, "a\n"));
    assert_eq!((ran[1].is_ok(), ran[1].log.as_str()), (false, ""));
    let failure = ran[1].failure.as_ref().unwrap();
    assert_eq!(failure.diff, "--- left\n+++ right\n@@ -1,1 +1,1 @@\n-1\n+2\n");
    assert_eq!(failure.diagnostic.title(), "the assertion does not hold");
}

#[test]
fn sides_of_a_comparison_are_computed_without_a_second_log() {
    let test = "f = lambda {\n    print(\"f\")\n    {a = 1, b = [1]}\n}\ntest_a = lambda {\n    assert (f() == {a = 1, b = [2]})\n}\n";
    let suite = suite(&[("a_test.k", test)]);
    let ran = suite.run(&suite.cases[0], &NoOutside);
    assert_eq!(ran.log, "f\n");
    let diff = &ran.failure.unwrap().diff;
    assert!(diff.contains(" a: 1\n") && diff.contains("-- 1\n") && diff.contains("+- 2\n"), "{diff}");
}

/// Counted by hand: each line with a statement or rule is marked.
const COUNTED: &str = "import math
schema Base:
    a: int
    b: int = 1                      # runs
    check:
        a > 0, \"a\"                  # runs
        b < 9 if a > 5              # runs, one side
schema Top(Base):
    c: str = \"x\" if a > 1 else \"y\"  # runs
    d: int
    if a > 5:                       # runs, one side
        d = 2                       # runs
    else:
        d = 3                       # never
unused = lambda x {                 # runs
    x + 1                           # never
}
l = [1, if math.e > 2: 2]           # runs, one side
m = {a = 1, if not l: b = 2}        # runs, one side
odd = [x for x in [1, 2] if x > 1]  # runs, both sides
big = {k: v for k, v in {p = 1} if v > 5}  # runs, one side
two = [x + y for x in [1, 2] if x > 1 for y in [3] if y > 0]  # runs, both sides and one
some = any x in [1, 2] {x > 1 if x > 9}  # runs, one side
kept = filter x in [1, 2] {x > 1 if x > 1}  # runs, both sides
long = [                            # runs
    x
    for x in [1]
    if x > 1                        # runs, one side
]
schema Rare:
    e?: int
    check:
        e > 0 if e                  # runs, one side; the rule never
rare = Rare {}                      # runs
pick = lambda n: int -> str {       # runs
    assert n > 0 if n != 0, \"n\"    # runs, one side
    if n == 1:                      # runs, one side
        _a = 1                      # never
    elif n == 2:                    # runs, one side
        _a = 2                      # runs
    else:
        _a = 3                      # never
    [lambda y {                     # runs
        y if n > 5 else \"few\"      # runs, one side
    }][0](n)
}
_two = pick(2)                      # runs
";

#[test]
fn coverage_agrees_with_a_count_by_hand() {
    let test = "test_a = lambda {\n    assert Top {a = 7}.d == 2\n}\ntest_b = lambda {\n    assert Top {a = 7, c = \"k\"}.c == \"k\"\n}\n";
    let lib = COUNTED.replace("if math.e > 2", "if math.floor(2.5) == 2");
    let suite = suite(&[("/w/lib.k", &lib), ("/w/a_test.k", test)]);
    let mut all = kcl::Coverage::default();
    for case in &suite.cases {
        let ran = suite.run(case, &NoOutside);
        assert!(ran.is_ok(), "{:?}", ran.failure);
        all.add(&ran.coverage.unwrap());
    }
    let files = coverage::of(&suite.prepared, &all, "/w");
    assert_eq!(files.len(), 1);
    let file = &files[0];
    let ran = |line: u32| file.lines.get(&line).map(|hits| *hits > 0);
    let lines: Vec<(u32, bool)> = (1..=99).filter_map(|line| Some((line, ran(line)?))).collect();
    let executable = (4..=4).chain(6..=7).chain([9, 11, 12, 14, 15, 16]).chain(18..=25);
    let executable = executable.chain([28]).chain(33..=40).chain([42, 43, 44, 47]);
    let never = [14, 16, 38, 42];
    let expected: Vec<(u32, bool)> = executable.map(|line| (line, !never.contains(&line))).collect();
    assert_eq!(lines, expected);
    assert_eq!(file.line_ratio(), Ratio { covered: 26, all: 30 });
    let sides: Vec<(u32, bool, bool)> = file.branches.iter().map(|b| (b.line, b.yes > 0, b.no > 0)).collect();
    let (yes, no, both) = ((true, false), (false, true), (true, true));
    let expected =
        [(7, yes), (9, yes), (11, yes), (18, yes), (19, no), (20, both), (21, no), (22, both), (22, yes)];
    let more = [(23, no), (24, both), (28, no), (33, no), (36, yes), (37, no), (39, yes), (44, no)];
    let expected: Vec<_> = expected.iter().chain(&more).map(|(line, (yes, no))| (*line, *yes, *no)).collect();
    assert_eq!(sides, expected);
    assert_eq!(file.branch_ratio(), Ratio { covered: 20, all: 34 });
    let rule = |line, yes| Branch { line, yes, no: 0 };
    assert_eq!(file.rules, [rule(6, 2), rule(7, 2), rule(33, 0)]);
    assert_eq!(file.rule_ratio(), Ratio { covered: 2, all: 3 });
    let mut united = std::collections::BTreeMap::new();
    coverage::unite(&mut united, files);
    let lcov = coverage::lcov(&united);
    assert!(
        lcov.starts_with("TN:\nSF:/w/lib.k\nBRDA:7,0,0,") && lcov.contains("LF:30\nLH:26\nend_of_record\n")
    );
    assert!(coverage::summary(&united).starts_with("Coverage: 86.7% (26/30) lines\n"));
}

/// The first line of what is said, with its place, about each case of a test file; `lib.k` is not shown.
fn told(test: &str) -> Vec<String> {
    let mut files = MemoryFiles::default();
    files.add("/w/a_test.k", test);
    let compiler = Compiler::new(&files);
    let base = Request { work_dir: "/w".into(), ..Request::default() };
    let request = kcl_test::request(&base, "/w", &[("/w/a_test.k".to_owned(), test.to_owned())]);
    let shown = |diagnostic: &base_diag::Diagnostic, sources: &base_diag::SourceMap| {
        let all = base_diag::render_short(diagnostic, sources);
        assert!(!all.contains("<kcl test>"), "{all}");
        all.trim_end().replace("/w/", "")
    };
    let suite = match Suite::new(&compiler, &request) {
        Ok(suite) => suite,
        Err(wrong) => return wrong.diagnostics.iter().map(|d| shown(d, &wrong.sources)).collect(),
    };
    let mut all = Vec::new();
    for case in &suite.cases {
        let mut ran = suite.judge(case, kcl_test::Trial::default(), &NoOutside);
        kcl_test::snapshots::compare(case, &mut ran, |_| None);
        all.extend(ran.failure.iter().map(|f| shown(&f.diagnostic, suite.prepared.sources())));
    }
    all
}

#[test]
fn a_wrong_snapshot_is_told_at_its_call() {
    let case = |body: &str| {
        format!(
            "_any: any = 3\n_f = lambda n {{\n    snapshot(n, 1)\n}}\ntest_a = lambda {{\n    {body}\n}}\n"
        )
    };
    let place = |body: &str| {
        let told = told(&case(body));
        assert_eq!(told.len(), 1, "{told:?}");
        let (place, rest) = told[0].split_once(" - ").unwrap();
        (place.to_owned(), rest.rsplit(" - ").next().unwrap().to_owned())
    };
    for (body, at) in [
        ("snapshot(\"a\")", "a_test.k:6:5"),
        ("snapshot(1, 2)", "a_test.k:6:14"),
        ("snapshot(\"a\", 1, 2)", "a_test.k:6:22"),
        ("snapshot(_any, 2)", "a_test.k:6:1"),
        ("snapshot(\"a/b\", 2)", "a_test.k:6:1"),
        ("snapshot(\"a\", 2)\n    snapshot(\"a\", 3)", "a_test.k:7:1"),
        ("_f(3)", "a_test.k:3:1"),
        ("_f(\"a/b\")", "a_test.k:3:1"),
        // What differs is told at the call, too, or at the case if the name is computed.
        ("snapshot(\"a\", value=2)", "a_test.k:6:5"),
        ("snapshot(value=2, name=\"a\")", "a_test.k:6:5"),
        ("_f(\"a\")", "a_test.k:5:1"),
    ] {
        assert_eq!(place(body).0, at, "{body}");
    }
    let property = told("property_p = lambda n: int {\n    snapshot(\"a\", n)\n}\n");
    assert!(property[0].contains("a property takes no snapshots"), "{property:?}");
}

fn row(name: &str, log: &str, error: &str) -> Row {
    Row {
        name: name.to_owned(),
        package: "p".to_owned(),
        file: "p/a_test.k".to_owned(),
        line: 1,
        duration: Duration::from_millis(7),
        log: log.to_owned(),
        error: error.to_owned(),
        is_broken: false,
    }
}

#[test]
fn the_report_is_the_reference_s() {
    assert_eq!(text(&[]), "no test files\n");
    let rule = "-".repeat(80);
    let rows = [row("test_add", "a\n", ""), row("test_sub", "", "wrong"), row("test_mul", "", "")];
    let expected = format!(
        "test_add: PASS (7ms)\na\n\ntest_sub: FAIL (7ms)\nwrong\n\ntest_mul: PASS (7ms)\n{rule}\nPASS: 2/3\nFAIL: 1/3\n"
    );
    assert_eq!(text(&rows), expected);
    assert!(!text(&rows[2..]).contains("FAIL"));
    assert_eq!(json(&rows)["cases"][1]["status"], "failed");
}

/// What each element must stand in, and its attributes: the rules that the schemas of Ant and Jenkins share. `cargo xtask
/// documents` asks the schemas themselves.
const ELEMENTS: &[(&str, Option<&str>, &[&str])] = &[
    ("testsuites", None, &[]),
    (
        "testsuite",
        Some("testsuites"),
        &["id", "name", "package", "timestamp", "hostname", "tests", "failures", "errors", "time"],
    ),
    ("properties", Some("testsuite"), &[]),
    ("property", Some("properties"), &["name", "value"]),
    ("testcase", Some("testsuite"), &["name", "classname", "time"]),
    ("failure", Some("testcase"), &["message", "type"]),
    ("error", Some("testcase"), &["message", "type"]),
    ("system-out", Some("testsuite"), &[]),
    ("system-err", Some("testsuite"), &[]),
];

fn obeys_the_schema(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    for tag in rest.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap();
        let (_, parent, attributes) = ELEMENTS.iter().find(|(known, ..)| *known == name).unwrap();
        assert_eq!(open.last(), parent.as_ref(), "{name}");
        for attribute in *attributes {
            let value = tag.split(&format!(" {attribute}=\"")).nth(1).unwrap().split('"').next().unwrap();
            match *attribute {
                "id" | "tests" | "failures" | "errors" => assert!(value.parse::<u32>().is_ok()),
                "time" => assert!(value.parse::<f64>().unwrap() >= 0.0 && !value.contains('e')),
                _ => {}
            }
        }
        assert_eq!(tag.matches("=\"").count(), attributes.len(), "{tag}");
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty());
    assert!(!xml.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
}

#[test]
fn junit_obeys_its_schema() {
    let rows = [
        row("test_add", "a < b & \"c\"\x1b[1m\n", ""),
        row("test_sub", "", "wrong ]]> \u{0}\nline"),
        row("test_mul", "", ""),
    ];
    let started = chrono::DateTime::UNIX_EPOCH;
    obeys_the_schema(&junit(&rows, started));
    obeys_the_schema(&junit(&[], started));
    assert!(junit(&rows, started).contains("timestamp=\"1970-01-01T00:00:00\""));
    assert!(junit(&rows, started).contains("tests=\"3\" failures=\"1\" errors=\"0\""));
    let coloured = [row("test_a", "\x1b[1mbold\x1b[0m \x1b[2J\n", "\x1b[1;31merror\x1b[0m: no")];
    let xml = junit(&coloured, started);
    assert!(xml.contains("message=\"error: no\"") && xml.contains("bold \u{FFFD}[2J\n"), "{xml}");
    assert_eq!(json(&coloured)["cases"][0]["error"], "error: no");
    let broken =
        [row("test_add", "", ""), Row { is_broken: true, ..row("compile", "", "it does not <compile>") }];
    obeys_the_schema(&junit(&broken, started));
    assert!(junit(&broken, started).contains("tests=\"2\" failures=\"0\" errors=\"1\""));
}

const BOUNDED: &str = "schema Item:
    id: int
    label?: str
    check:
        id > 1000
schema User(Item):
    name: str
    age: int = 5
    kind: \"a\" | \"b\"
    items: [Item]
    [...str]: any
    check:
        0 < age < 120
        len(name) > 2
";

fn tried(property: &str) -> kcl_test::Ran {
    let suite = suite(&[("lib.k", BOUNDED), ("a_test.k", property)]);
    suite.judge(&suite.cases[0], kcl_test::Trial::default(), &NoOutside)
}

#[test]
fn properties_get_values_that_satisfy_types_and_checks() {
    let ran = tried(
        "property_user = lambda user: User {\n    assert user.id > 1000 and 0 < user.age < 120 and len(user.name) > 2 and user.kind in [\"a\", \"b\"]\n    assert all item in user.items {item.id > 1000}\n}\n",
    );
    assert!(ran.is_ok(), "{:?}", ran.failure);
}

#[test]
fn lengths_and_parts_that_checks_ask_for_are_found() {
    for check in
        ["len(n) == 17", "\"@\" in n\n        n.endswith(\".org\")", "n.startswith(\"arn:\") and len(n) > 6"]
    {
        let program = format!(
            "schema Name:\n    n: str\n    check:\n        {check}\nproperty_n = lambda x: Name {{\n    assert True\n}}\n"
        );
        assert!(tried(&program).is_ok(), "{check}");
    }
}

#[test]
fn patterns_that_checks_ask_for_are_met() {
    let program = "import regex
schema Object:
    name: str
    ip: str
    version: str
    tags: [str]
    other?: str
    check:
        regex.match(name, \"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$\"), \"a name\"
        regex.match(ip, r\"^(\\d{1,3}\\.){3}\\d{1,3}$\")
        regex.match(version, \"^v[0-9]+(alpha|beta)?[1-9]$\")
        all tag in tags {regex.match(tag, \"^[^:]+:[A-F]{2}$\")}
        regex.match(other, \"^#[0-9a-fA-F]{6}$\") if other
property_o = lambda o: Object {
    assert len(o.name) < 64 and o.ip.count(\".\") == 3 and o.version.startswith(\"v\")
}
";
    let ran = tried(program);
    assert!(ran.is_ok(), "{:?}", ran.failure);
    // A pattern of another dialect is no pattern, and no panic.
    let odd = "import regex\nschema N:\n    n: str\n    check:\n        regex.match(n, r\"^(?!x).*$\")\nproperty_n = lambda n: N {\n    assert True\n}\n";
    assert!(tried(odd).is_ok());
}

#[test]
fn values_that_a_check_refuses_cover_nothing() {
    let never = "schema Never:\n    a: int\n    check:\n        a > 5 and a < 5\nproperty_n = lambda n: Never {\n    assert False\n}\n";
    assert!(tried(never).coverage.is_none());
}

#[test]
fn what_fails_is_made_simple() {
    let ran = tried("property_small = lambda n: int, l: [int] {\n    assert n < 50, \"large\"\n}\n");
    let notes = ran.failure.unwrap().diagnostic.notes;
    assert_eq!(&notes[..2], ["for n = 50", "for l = []"]);
    let ran = tried("property_old = lambda user: User {\n    assert user.age != 119, \"old\"\n}\n");
    let notes = ran.failure.unwrap().diagnostic.notes;
    assert!(notes[0].contains("\"age\":119") && notes[0].contains("\"items\":[]"), "{notes:?}");
}

#[test]
fn the_same_seed_finds_the_same() {
    let property = "property_p = lambda s: str {\n    assert len(s) < 5\n}\n";
    let notes = || tried(property).failure.unwrap().diagnostic.notes;
    assert_eq!(notes(), notes());
}

#[test]
fn a_property_without_values_says_so() {
    let never = "schema Never:\n    a: int\n    check:\n        a > 5 and a < 5\nproperty_n = lambda n: Never {\n    assert False\n}\n";
    assert_eq!(tried(never).failure.unwrap().diagnostic.id, "property-without-values");
}
