//! Merging of repeated unifications and `-O` overrides.

use base_diag::FileId;
use kcl_syntax::ast::{Entry, EntryOp, Expr, ExprId, Key, Stmt, Tree};
use kcl_syntax::lower::checked_tree;
use kcl_syntax::parse_file;

fn files(texts: &[&str]) -> Tree {
    let mut tree = Tree::default();
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(parse_file(&mut tree, text, FileId(i as u32)), []);
    }
    tree
}

fn show(tree: &Tree, id: ExprId) -> String {
    match tree.expr(id) {
        Expr::Int(v) => v.to_string(),
        Expr::Str(s) => format!("'{s}'"),
        Expr::Name(parts) => parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join("."),
        Expr::List(items) => {
            format!("[{}]", items.iter().map(|i| show(tree, *i)).collect::<Vec<_>>().join(", "))
        }
        Expr::Config(entries) => {
            format!("{{{}}}", entries.iter().map(|e| entry(tree, e)).collect::<Vec<_>>().join(", "))
        }
        Expr::Schema(s) => format!("{} {}", show(tree, s.name), show(tree, s.config)),
        Expr::Paren(e) => format!("({})", show(tree, *e)),
        other => format!("{other:?}"),
    }
}

fn entry(tree: &Tree, entry: &Entry) -> String {
    let op = match entry.op {
        EntryOp::Union => ":",
        EntryOp::Override => " =",
        EntryOp::Insert => " +=",
    };
    let key = match &entry.key {
        Key::Name(n) | Key::Str(n) => n.to_string(),
        Key::Indexed(n, i) => format!("{n}[{i}]"),
        Key::Computed(e) => show(tree, *e),
        Key::Unpack => return format!("**{}", show(tree, entry.value)),
        Key::If { .. } => return "if".to_string(),
    };
    format!("{key}{op} {}", show(tree, entry.value))
}

fn dump(tree: &Tree) -> Vec<String> {
    let all = tree.files.iter().flat_map(|f| &f.body);
    all.map(|id| match tree.stmt(*id) {
        Stmt::Assign { targets, value, .. } => {
            let names: Vec<_> = targets.iter().map(|t| t.name.name.as_str()).collect();
            format!("{} = {}", names.join(" = "), show(tree, *value))
        }
        Stmt::AugAssign { target, value, .. } => format!("{} += {}", target.name.name, show(tree, *value)),
        Stmt::Unification { target, value, .. } => format!("{}: {}", target.name, show(tree, *value)),
        _ => "..".to_string(),
    })
    .collect()
}

fn merged(texts: &[&str]) -> Vec<String> {
    dump(&checked_tree(files(texts), &[]).0)
}

fn overridden(text: &str, specs: &[&str]) -> Vec<String> {
    let specs: Vec<String> = specs.iter().map(ToString::to_string).collect();
    let (tree, wrong) = checked_tree(files(&[text]), &specs);
    assert!(wrong.is_none());
    dump(&tree)
}

fn override_error(spec: &str) -> String {
    let (_, wrong) = checked_tree(files(&["a = 1\n"]), &[spec.to_string()]);
    wrong.unwrap().message().to_string()
}

#[test]
fn blocks_of_several_files_go_into_the_last_one() {
    let found = merged(&["p: P {a: 1, b: 2}\nx = 1\n", "p: Q {c: 3, a = 4}\n"]);
    assert_eq!(found, ["x = 1", "p: Q {a = 4, b: 2, c: 3}"]);
}

#[test]
fn an_assignment_counts_as_the_first_only() {
    assert_eq!(merged(&["p = P {a: 1}\np: P {b: 2}\n"]), ["p: P {a: 1, b: 2}"]);
    let kept = merged(&["p: P {a: 1}\np = P {b: 2}\n"]);
    assert_eq!(kept, ["p: P {a: 1}", "p = P {b: 2}"]);
    let private = merged(&["_p: P {a: 1}\n_p = P {b: 2}\n_p: P {c: 3}\n"]);
    assert_eq!(private, ["_p: P {a: 1}", "_p: P {b: 2, c: 3}"]);
}

#[test]
fn an_override_discards_earlier_entries_also_in_nested_configs() {
    assert_eq!(merged(&["p: P {x: 1, x: 2, x = 3}\n"]), ["p: P {x: 1, x: 2, x = 3}"]);
    assert_eq!(merged(&["p: P {b: {x: 1, x: 2, x = 3}}\np: P {}\n"]), ["p: P {b: {x = 3}}"]);
    assert_eq!(merged(&["p: P {b: Q {x: 1, x = 3}}\np: P {}\n"]), ["p: P {b: Q {x = 3}}"]);
}

#[test]
fn entries_without_simple_key_are_one_group() {
    let found = merged(&["p: P {a: 1, **b, c: 3}\np: P {**d, a: 1, e: 5}\n"]);
    assert_eq!(found, ["p: P {a: 1, a: 1, **b, **d, c: 3, e: 5}"]);
    assert_eq!(merged(&["p: P {(k): 1, a: 1}\np: P {(k) = 3}\n"]), ["p: P {(k) = 3, a: 1}"]);
}

#[test]
fn overrides_replace_merge_extend_and_delete() {
    assert_eq!(overridden("a = 1\n", &["a=2"]), ["a = 2"]);
    assert_eq!(overridden("a = {b = 1, c: {d = 1}}\n", &["a.c.d=2"]), ["a = {b = 1, c: {d = 2}}"]);
    assert_eq!(overridden("a = {b: {c: 1}}\n", &["a.b:{d=1}"]), ["a = {b: {c: 1, d = 1}}"]);
    assert_eq!(overridden("a = {b: 1}\n", &["a.b:2"]), ["a = {b: 2}"]);
    assert_eq!(overridden("a = {b: [1]}\n", &["a.b+=[2]"]), ["a = {b: [1, 2]}"]);
    assert_eq!(overridden("a = [1]\n", &["a+=[2]"]), ["a = [1, 2]"]);
    assert_eq!(overridden("a = {b.c = 1, d = 2}\n", &["a.b.c-"]), ["a = {b: {}, d = 2}"]);
    assert_eq!(overridden("a = 1\nb = 2\n", &["a-"]), ["b = 2"]);
}

#[test]
fn overrides_append_what_is_missing() {
    assert_eq!(overridden("a = {b = 1}\n", &["a.x.y=2"]), ["a = {b = 1, x: {y = 2}}"]);
    assert_eq!(overridden("a = 1\n", &["z.y=2"]), ["a = 1", "z = {y = 2}"]);
    assert_eq!(overridden("a = 1\n", &["a+=2"]), ["a = 1", "a += 2"]);
    assert_eq!(overridden("a: P {b = 1}\n", &["a={b=5}"]), ["a: P {b = 1}", "a = {b = 5}"]);
    assert_eq!(overridden("a: P {b = 1}\n", &["a:{c=5}"]), ["a: P {b = 1, c = 5}"]);
    assert_eq!(overridden("a = b = {c=1}\n", &["a.c=2"]), ["a = {c = 2}", "b = {c = 1}"]);
}

#[test]
fn override_values_and_paths() {
    assert_eq!(overridden("a = 1\n", &["a=-1"]), ["a = '-1'"]);
    assert_eq!(overridden("a = 1\n", &["a=1 +"]), ["a = '1 +'"]);
    assert_eq!(overridden("a = {\"b.c\" = 1}\n", &["a[\"b.c\"]=2"]), ["a = {b.c = 2}"]);
    assert_eq!(override_error("a[0]=2"), "Expected opening quote after '['");
    assert!(override_error("a").starts_with("Invalid spec format 'a', expected <field_path>=<filed_value>"));
    assert!(override_error("=2").starts_with("Invalid spec format"));
    assert!(override_error("a=").starts_with("Invalid spec format"));
}

#[test]
fn entries_inside_single_entries_are_grouped() {
    let merged = |text: &str| dump(&checked_tree(files(&[text]), &[]).0);
    let text = "a: A {b = {c = {x = 1, y: 1, x = 2}}}\na: A {d: S {e: {f += [1], f: 2}}, g = {}}\n";
    assert_eq!(merged(text), ["a: A {b = {c = {x = 2, y: 1}}, d: S {e: {f += [1], f: 2}}, g = {}}"]);
}
