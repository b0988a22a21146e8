//! Large inputs stay linear: a quadratic pass over these would cost minutes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use kcl_check::{CheckOptions, check};

use crate::program::program;

fn cost(text: &str) -> Duration {
    let program = program(&[("__main__", text)]);
    let started = Instant::now();
    let result = check(&program, &CheckOptions::default());
    assert!(result.diagnostics.is_empty(), "{:?}", result.diagnostics.first());
    started.elapsed()
}

/// The bound is generous because the tests share a busy machine.
fn assert_cheap(name: &str, make: impl Fn(usize) -> String) {
    let spent = cost(&make(20_000));
    assert!(spent < Duration::from_secs(20), "{name}: {spent:?} for 20,000 entries");
}

#[test]
fn a_list_of_many_different_dicts_is_linear() {
    assert_cheap("list", |n| {
        let mut text = String::from("items = [\n");
        for i in 0..n {
            let _ = writeln!(text, "    {{name = \"n{i}\", ports = [{i}], labels = {{app = \"a{i}\"}}}}");
        }
        text + "]\nfirst = items[0]\n"
    });
}

#[test]
fn a_dict_of_many_keys_is_linear() {
    assert_cheap("dict", |n| {
        let mut text = String::from("conf = {\n");
        for i in 0..n {
            let _ = writeln!(text, "    key{i} = {{name = \"n{i}\", port = {i}}}");
        }
        text.push_str("}\n");
        for i in 0..n {
            let _ = writeln!(text, "_v{i} = conf.key{i}.port + 1");
        }
        text
    });
}

#[test]
fn many_typed_values_against_one_schema_are_linear() {
    assert_cheap("typed", |n| {
        let mut text = String::from("schema Item:\n    name: str\n    port: int\nitems: [Item] = [\n");
        for i in 0..n {
            let _ = writeln!(text, "    {{name = \"n{i}\", port = {i}}}");
        }
        text + "]\n"
    });
}

#[test]
fn deep_nesting_ends() {
    let text = format!("a = {}1{}\n", "[".repeat(150), "]".repeat(150));
    cost(&text);
}
