//! The examples of every rule run: the bad one is found, the good one is clean, a fix mends it and keeps the value.
#![allow(clippy::unwrap_used)]

use kcl::{Compiler, MemoryFiles, NoOutside, Request};
use kcl_lint::{Config, Finding, FixKind, Input, RULES, apply, lint};

fn findings(text: &str) -> Vec<Finding> {
    let files = MemoryFiles::default();
    let compiler = Compiler::new(&files);
    let analysis = compiler.analyse(&Request::source("main.k", text));
    assert!(analysis.diagnostics.is_empty(), "{text}\n{:?}", analysis.diagnostics);
    let index = analysis.index.as_ref().unwrap();
    let package = analysis.program.main;
    let (program, homes) = (&analysis.program, &analysis.homes);
    let input = Input { program, package, index, homes, is_program: true, errors: &[] };
    lint(&input, &Config::default())
}

fn value(text: &str) -> String {
    let files = MemoryFiles::default();
    let outcome = Compiler::new(&files).run(&Request::source("main.k", text), &NoOutside);
    assert!(outcome.is_ok(), "{text}\n{:?}", outcome.diagnostics);
    outcome.yaml
}

#[test]
fn the_bad_example_of_every_rule_is_found_and_the_good_one_is_clean() {
    for rule in RULES {
        let bad = findings(rule.bad);
        assert!(bad.iter().any(|found| found.rule == *rule), "{rule:?}: {bad:?}");
        assert!(bad.iter().all(|found| found.rule == *rule), "{rule:?} is not alone: {bad:?}");
        let good = findings(rule.good);
        assert!(good.is_empty(), "{rule:?}: {good:?}");
    }
}

#[test]
fn fixes_mend_what_they_say_and_safe_ones_keep_the_value() {
    for rule in RULES {
        let bad = findings(rule.bad);
        let fixable = bad.iter().any(|found| found.fix.is_some());
        assert_eq!(fixable, rule.fix != FixKind::None, "{rule:?}");
        if !fixable {
            continue;
        }
        let all = apply(rule.bad, &bad, true);
        assert!(all.mended > 0 && findings(&all.text).is_empty(), "{rule:?}:\n{}", all.text);
        let safe = apply(rule.bad, &bad, false);
        assert_eq!(value(&safe.text), value(rule.bad), "{rule:?}");
        assert_eq!(safe.mended > 0, matches!(rule.fix, FixKind::Safe | FixKind::Mixed), "{rule:?}");
    }
}

#[test]
fn codes_and_ids_are_unique_and_in_order() {
    let mut names: Vec<&str> = RULES.iter().flat_map(|rule| [rule.code, rule.id, rule.kind]).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for rule in RULES {
        assert!(rule.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{rule:?}");
        assert!(!rule.summary.ends_with('.') && rule.why.ends_with('.'), "{rule:?}");
    }
}

/// `shown(line:column rule)` of a program.
fn shown(text: &str) -> Vec<String> {
    findings(text)
        .iter()
        .map(|found| {
            let before = &text[..found.span.start as usize];
            let line = before.matches('\n').count() + 1;
            format!("{line}:{} {}", before.rsplit('\n').next().unwrap().len() + 1, found.rule.id)
        })
        .collect()
}

#[test]
fn a_comment_ignores_its_line_the_next_one_or_the_file() {
    assert!(shown("_a = 1  # kcl-lint: ignore[unused-variable]\n").is_empty());
    assert!(shown("# kcl-lint: ignore[L0101]\n_a = 1\n").is_empty());
    assert!(shown("# kcl-lint: ignore-file[unused-variable]\nb = 2\n_a = 1\n").is_empty());
    assert_eq!(shown("# kcl-lint: ignore[L0101]\n\n_a = 1\n"), ["1:20 unused-ignore", "3:1 unused-variable"]);
    assert_eq!(
        shown("a = 1  # kcl-lint: ignore[L0101, nope]\n"),
        ["1:27 unused-ignore", "1:34 unused-ignore"]
    );
    assert_eq!(shown("a = 1  # kcl-lint: ignore\n"), ["1:8 unused-ignore"]);
    // Comments alone on their lines hold for the next line that is none.
    let stacked = "# kcl-lint: ignore[L0101]\n# why it is so\n# kcl-lint: ignore[names]\n_Name = 1\n";
    assert_eq!(shown(stacked), Vec::<String>::new());
    assert_eq!(shown("# kcl-lint: ignore[L0101]\n# why\n\n_a = 1\n").len(), 2);
    // In a text it is no comment.
    assert!(shown("a = \"# kcl-lint: ignore[L0101]\"\n").is_empty());
}

#[test]
fn what_looks_unused_but_is_not() {
    // The result of a lambda, a name in a text, a name that a mixin's host provides, a key that is a loop variable.
    assert!(shown("f = lambda x {\n    y = x\n}\na = f(1)\n").is_empty());
    assert!(shown("_a = 1\nb = \"${_a}\"\n").is_empty());
    assert!(shown("_k = \"a\"\nd = {\"${_k}\" = 1}\n").is_empty());
    let host = "mixin PortMixin:\n    \"\"\"A port.\"\"\"\n    url: str = \"${_host}\"\n\nschema App:\n    \"\"\"An \
                application.\"\"\"\n    mixin [PortMixin]\n    _host = \"x\"\n\na = App {}\n";
    assert!(shown(host).is_empty());
    assert!(shown("_xs = [1]\na = [1 for _ in _xs]\n").is_empty());
}

#[test]
fn merged_declarations_are_no_duplicates() {
    let text =
        "schema S:\n    \"\"\"S.\"\"\"\n    a?: int\n    b?: int\n\ns: S {a = 1}\ns: S {a = 2, b = 1}\n";
    assert!(shown(text).is_empty());
    assert_eq!(shown("a = {x: {y = 1}, x: {z = 2}}\n"), Vec::<String>::new());
    assert_eq!(shown("a = {x.y = 1, x.z = 2}\n"), Vec::<String>::new());
}

#[test]
fn the_rules_of_the_reference_speak_its_words() {
    let text = "import math\nimport json\nimport json\na = 1\nimport regex\nb = regex.match(\"a\", \"b\")\n";
    let shown: Vec<String> =
        findings(text).iter().map(|f| format!("{} {}", f.rule.code, f.message)).collect();
    assert_eq!(
        shown,
        [
            "W0411 Module 'math' imported but unused",
            "W0411 Module 'json' imported but unused",
            "W0404 Module 'json' is reimported multiple times",
            "W0411 Module 'json' imported but unused",
            "W0413 The import stmt should be placed at the top of the module",
        ]
    );
}
