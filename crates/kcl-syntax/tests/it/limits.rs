//! Hostile input is bounded: no stack overflow, no quadratic time.

use crate::{errors, parse};

fn too_deep(text: &str) {
    let found = errors(text);
    assert!(found.iter().any(|e| e.ends_with("nesting too deep")), "{:?}", found.first());
}

#[test]
fn deep_brackets_are_reported_not_overflowed() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{a = ", "}"), ("f(", ")"), ("lambda {", "}"), ("a[", "]")]
    {
        too_deep(&format!("x = {}1{}\n", open.repeat(50_000), close.repeat(50_000)));
        too_deep(&format!("x = {}", open.repeat(50_000)));
    }
}

#[test]
fn deep_types_are_reported() {
    too_deep(&format!("x: {}int = 1\n", "[".repeat(50_000)));
    too_deep(&format!("x: {}int = 1\n", "{str:".repeat(50_000)));
    too_deep(&format!("x: {}int = 1\n", "() -> ".repeat(50_000)));
}

#[test]
fn long_chains_are_reported() {
    too_deep(&format!("x = 1{}\n", " + 1".repeat(100_000)));
    too_deep(&format!("x = a(){}\n", ".b".repeat(100_000)));
    too_deep(&format!("x = a{}\n", "[0]".repeat(100_000)));
    too_deep(&format!("x = {}1\n", "1 if a else ".repeat(50_000)));
    too_deep(&format!("if a:\n    b = 1\n{}", "elif a:\n    b = 1\n".repeat(50_000)));
    too_deep(&format!("x = {{a{} = 1}}\n", ".b".repeat(50_000)));
    too_deep(&format!("x = [if a: 1{}]\n", " elif a: 1".repeat(50_000)));
    too_deep(&format!("x = {{if a: b = 1{}}}\n", " elif a: b = 1".repeat(50_000)));
}

#[test]
fn deep_blocks_are_reported() {
    let mut text = String::new();
    for depth in 0..1500 {
        text.push_str(&" ".repeat(depth));
        text.push_str("if a:\n");
    }
    too_deep(&text);
}

#[test]
fn a_long_list_a_long_name_and_a_long_comparison_are_fine() {
    assert_eq!(errors(&format!("x = [{}]\n", "1, ".repeat(100_000))), [""; 0]);
    assert_eq!(errors(&format!("x = a{}\n", ".b".repeat(100_000))), [""; 0]);
    assert_eq!(errors(&"x = 1\n".repeat(50_000)), [""; 0]);
}

#[test]
fn nesting_of_real_programs_is_accepted() {
    let text = format!("x = {}1{}\n", "{a = [".repeat(60), "]}".repeat(60));
    assert_eq!(errors(&text), [""; 0]);
    let sum = format!("x = 1{}\n", " + 1".repeat(450));
    assert_eq!(errors(&sum), [""; 0]);
}

#[test]
fn many_errors_stay_linear() {
    let (tree, diags) = parse(&"x = )\n".repeat(20_000));
    assert_eq!(tree.files[0].body.len(), 20_000);
    assert!(diags.len() >= 20_000);
}

#[test]
fn a_literal_is_as_deep_as_any_operand() {
    for depth in 90..=kcl_syntax::MAX_DEPTH as usize + 10 {
        let wrong = |value: &str| {
            let text = format!("x = {}{value}{}\n", "[".repeat(depth), "]".repeat(depth));
            !errors(&text).is_empty()
        };
        for literal in ["1", "1.5", "True", "None", "'a'", "'${a}'"] {
            let other = if literal.contains('$') { "'${a}' + b" } else { "a" };
            assert_eq!(wrong(literal), wrong(other), "{literal} at {depth}");
        }
    }
}
