//! What a provider may plan.

use tf_schema::{Block, BlockNesting, ObjectNesting, check_plan};
use tf_value::Value;

use crate::kit::{block, blocks, nested, object, places, plain};

fn wrong(block: &Block, prior: &str, config: &str, planned: Value) -> Vec<String> {
    places(&check_plan(block, &object(block, prior), &object(block, config), &planned))
}

#[test]
fn attributes_row_by_row() {
    let schema = block(
        vec![
            ("a", plain("string", "optional")),
            ("c", plain("string", "computed")),
            ("b", plain("string", "optional computed")),
            ("w", plain("string", "optional write_only")),
        ],
        vec![],
    );
    for (prior, config, planned, result) in [
        ("null", r#"{"a":"x"}"#, r#"{"a":"x","c":"?","b":"?"}"#, vec![]),
        ("null", r#"{"a":"x"}"#, r#"{"a":"x","c":"made","b":"made"}"#, vec![]),
        ("null", r#"{"b":"x"}"#, r#"{"b":"y"}"#, vec!["b"]),
        ("null", "{}", r#"{"a":"made"}"#, vec!["a"]),
        ("null", "{}", r#"{"a":"?"}"#, vec!["a"]),
        ("null", r#"{"a":"x"}"#, r#"{"a":"y"}"#, vec!["a"]),
        ("null", r#"{"a":"x"}"#, r#"{"a":"?"}"#, vec!["a"]),
        (r#"{"a":"X"}"#, r#"{"a":"x"}"#, r#"{"a":"X"}"#, vec![]),
        (r#"{"a":"X"}"#, r#"{"a":"x"}"#, r#"{"a":"Z"}"#, vec!["a"]),
        ("null", r#"{"w":"x"}"#, r#"{"w":"x"}"#, vec!["w"]),
        ("null", r#"{"w":"x"}"#, "{}", vec![]),
        ("null", r#"{"a":"?"}"#, r#"{"a":"?"}"#, vec![]),
    ] {
        assert_eq!(wrong(&schema, prior, config, object(&schema, planned)), result, "{config} {planned}");
    }
    assert_eq!(wrong(&schema, "null", "{}", Value::Null), [""]);
    assert_eq!(places(&check_plan(&schema, &Value::Null, &Value::Null, &object(&schema, "{}"))), [""]);
}

#[test]
fn nested_attributes_row_by_row() {
    let with = |nesting| {
        let inner = vec![("n", plain("number", "optional")), ("c", plain("string", "computed"))];
        block(vec![("x", nested(nesting, "optional", inner))], vec![])
    };
    for (nesting, config, planned, result) in [
        (ObjectNesting::Single, r#"{"n":1}"#, r#"{"n":1,"c":"?"}"#, vec![]),
        (ObjectNesting::Single, r#"{"n":1}"#, "null", vec!["x"]),
        (ObjectNesting::Single, "null", r#"{"n":1}"#, vec!["x"]),
        (ObjectNesting::Single, r#"{"n":1}"#, "\"??\"", vec!["x"]),
        (ObjectNesting::Single, r#"{"n":1}"#, r#"{"n":2}"#, vec!["x.n"]),
        (ObjectNesting::List, r#"[{"n":1}]"#, r#"[{"n":1},{"n":2}]"#, vec!["x"]),
        (ObjectNesting::List, r#"[{"n":1}]"#, r#"[{"n":2}]"#, vec!["x[0].n"]),
        (ObjectNesting::Map, r#"{"k":{"n":1}}"#, r#"{"l":{"n":1}}"#, vec!["x[\"l\"]", "x[\"k\"]"]),
        (ObjectNesting::Set, r#"[{"n":1}]"#, r#"[{"n":1,"c":"y"}]"#, vec![]),
        (ObjectNesting::Set, r#"[{"n":1}]"#, r#"[{"n":1},{"n":2}]"#, vec!["x"]),
        (ObjectNesting::List, "\"??\"", "\"??\"", vec![]),
        (ObjectNesting::List, "\"??\"", r#"[{"n":1}]"#, vec!["x"]),
    ] {
        let schema = with(nesting);
        let planned = object(&schema, &format!("{{\"x\":{planned}}}"));
        assert_eq!(wrong(&schema, "null", &format!("{{\"x\":{config}}}"), planned), result, "{config}");
    }
}

#[test]
fn blocks_row_by_row() {
    let leaf = || block(vec![("n", plain("number", "optional")), ("c", plain("string", "computed"))], vec![]);
    let with = |nesting| block(vec![], vec![("x", blocks(nesting, leaf()))]);
    for (nesting, config, planned, result) in [
        (BlockNesting::Single, r#"{"n":1}"#, "null", vec!["x"]),
        (BlockNesting::Single, "null", r#"{"n":1}"#, vec!["x"]),
        (BlockNesting::Group, r#"{"n":1}"#, r#"{"n":2}"#, vec!["x.n"]),
        (BlockNesting::List, r#"[{"n":1}]"#, r#"[{"n":1,"c":"?"}]"#, vec![]),
        (BlockNesting::List, r#"[{"n":1}]"#, "[]", vec!["x"]),
        (BlockNesting::List, r#"[{"n":1}]"#, "\"??\"", vec!["x"]),
        (BlockNesting::List, "\"??\"", "[]", vec!["x"]),
        (BlockNesting::List, "\"??\"", "\"??\"", vec![]),
        (BlockNesting::Map, r#"{"k":{"n":1}}"#, "{}", vec!["x[\"k\"]"]),
        (BlockNesting::Map, r#"{"k":{"n":1}}"#, r#"{"k":{"n":2}}"#, vec!["x[\"k\"].n"]),
        (BlockNesting::Set, r#"[{"n":1}]"#, r#"[{"n":1,"c":"y"}]"#, vec![]),
    ] {
        let schema = with(nesting);
        let planned = object(&schema, &format!("{{\"x\":{planned}}}"));
        assert_eq!(
            wrong(&schema, "null", &format!("{{\"x\":{config}}}"), planned),
            result,
            "{config} {nesting:?}"
        );
    }
    for (nesting, planned) in [
        (BlockNesting::List, Value::Null),
        (BlockNesting::Map, Value::Null),
        (BlockNesting::Set, Value::Null),
        (BlockNesting::Set, Value::set([Value::unknown()], &leaf().implied_type()).unwrap()),
    ] {
        let planned = Value::map([("x", planned)]);
        assert_eq!(wrong(&with(nesting), "null", "{}", planned), ["x"], "{nesting:?}");
    }
}
