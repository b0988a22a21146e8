//! Plain data as a configuration object.

use tf_schema::{Block, BlockNesting, ObjectNesting, configure, deprecated};
use tf_value::{Value, json};

use crate::kit::{block, blocks, loose, nested, object, places, plain};

fn leaf() -> Block {
    block(vec![("n", plain("number", "optional")), ("c", plain("string", "computed"))], vec![])
}

fn all() -> Block {
    block(
        vec![("a", plain("string", "optional")), ("id", plain("string", "computed"))],
        vec![
            ("single", blocks(BlockNesting::Single, leaf())),
            ("group", blocks(BlockNesting::Group, leaf())),
            ("list", blocks(BlockNesting::List, leaf())),
            ("set", blocks(BlockNesting::Set, leaf())),
            ("map", blocks(BlockNesting::Map, leaf())),
        ],
    )
}

fn shown(block: &Block, text: &str) -> String {
    json::encode(&object(block, text), &block.implied_type()).unwrap()
}

#[test]
fn everything_is_there_and_absent_blocks_are_empty() {
    let group = r#"{"c":null,"n":null}"#;
    assert_eq!(
        shown(&all(), "{}"),
        format!(r#"{{"a":null,"group":{group},"id":null,"list":[],"map":{{}},"set":[],"single":null}}"#)
    );
}

#[test]
fn blocks_are_objects_or_lists_of_objects() {
    let one = r#"{"c":null,"n":1}"#;
    for (given, name, is) in [
        (r#"{"single":{"n":1}}"#, "single", one.to_owned()),
        (r#"{"list":{"n":1}}"#, "list", format!("[{one}]")),
        (r#"{"list":[{"n":"1"}]}"#, "list", format!("[{one}]")),
        (r#"{"set":[{"n":1},{"n":1}]}"#, "set", format!("[{one}]")),
        (r#"{"map":{"k":{"n":1}}}"#, "map", format!("{{\"k\":{one}}}")),
        (r#"{"group":{"n":1}}"#, "group", one.to_owned()),
    ] {
        assert!(shown(&all(), given).contains(&format!("\"{name}\":{is}")), "{given}");
    }
}

#[test]
fn nested_attributes_are_strict() {
    let with = |nesting| {
        let inner = vec![("n", plain("number", "required")), ("o", plain("string", "optional"))];
        block(vec![("x", nested(nesting, "optional", inner))], vec![])
    };
    let one = r#"{"n":1,"o":null}"#;
    assert_eq!(shown(&with(ObjectNesting::Single), r#"{"x":{"n":1}}"#), format!(r#"{{"x":{one}}}"#));
    assert_eq!(shown(&with(ObjectNesting::List), r#"{"x":[{"n":1}]}"#), format!(r#"{{"x":[{one}]}}"#));
    assert_eq!(shown(&with(ObjectNesting::Set), r#"{"x":[{"n":1}]}"#), format!(r#"{{"x":[{one}]}}"#));
    assert_eq!(
        shown(&with(ObjectNesting::Map), r#"{"x":{"k":{"n":1}}}"#),
        format!(r#"{{"x":{{"k":{one}}}}}"#)
    );
    assert_eq!(shown(&with(ObjectNesting::List), "{}"), r#"{"x":null}"#);
    let wrong = |nesting, text| places(&configure(&with(nesting), &loose(text)).unwrap_err());
    assert_eq!(wrong(ObjectNesting::List, r#"{"x":{"n":1}}"#), ["x"]);
    assert_eq!(wrong(ObjectNesting::Single, r#"{"x":{}}"#), ["x.n"]);
    assert_eq!(wrong(ObjectNesting::Map, r#"{"x":{"k":{"n":"q"}}}"#), ["x[\"k\"].n"]);
}

#[test]
fn every_problem_is_told_with_its_place() {
    let mut limited = blocks(BlockNesting::List, leaf());
    (limited.min_items, limited.max_items) = (1, 2);
    let schema = block(
        vec![
            ("r", plain("string", "required")),
            ("o", plain(r#"["object",{"a":"string","b":"string"}]"#, "optional")),
        ],
        vec![("b", limited)],
    );
    for (text, wrong) in [
        (r#"{"b":{"n":1}}"#, vec!["r"]),
        (r#"{"r":"x"}"#, vec!["b"]),
        (r#"{"r":"x","b":[{},{},{}]}"#, vec!["b"]),
        (r#"{"r":"x","b":{"n":"q"},"zz":1}"#, vec!["zz", "b[0].n"]),
        (r#"{"r":"x","b":{},"o":{"a":"1"}}"#, vec!["o"]),
        (r#"{"r":"x","b":"text"}"#, vec!["b[0]"]),
        ("[]", vec![""]),
    ] {
        assert_eq!(places(&configure(&schema, &loose(text)).unwrap_err()), wrong, "{text}");
    }
    // A computed attribute that is set is left to the provider.
    assert!(configure(&leaf(), &loose(r#"{"c":"x"}"#)).is_ok());
}

#[test]
fn what_is_unknown_stays_unknown() {
    let value = object(&all(), r#"{"a":"?","list":"??","set":[{"n":"??"}]}"#);
    assert!(value.get("a").unwrap().is_unknown() && value.get("list").unwrap().is_unknown());
    assert!(value.get("set").unwrap().elements().unwrap()[0].get("n").unwrap().is_unknown());
    let required = block(vec![("r", plain("string", "required"))], vec![]);
    assert!(configure(&required, &loose(r#"{"r":"??"}"#)).is_ok());
}

#[test]
fn attributes_that_look_like_blocks_are_filled() {
    let ty = r#"["set",["object",{"port":"number","cidr":["list","string"]}]]"#;
    let schema = block(vec![("ingress", plain(ty, "optional computed"))], vec![]);
    let filled = r#"{"ingress":[{"cidr":null,"port":80}]}"#;
    assert_eq!(shown(&schema, r#"{"ingress":[{"port":80}]}"#), filled);
    assert_eq!(shown(&schema, r#"{"ingress":{"port":80}}"#), filled);
    let strict = block(vec![("ingress", plain(ty, "optional"))], vec![]);
    assert!(configure(&strict, &loose(r#"{"ingress":[{"port":80}]}"#)).is_err());
}

#[test]
fn dynamic_places_bring_their_type() {
    let schema = block(vec![("d", plain("dynamic", "optional"))], vec![]);
    for (given, written) in [
        (r#"{"d":"x"}"#, r#"{"d":{"value":"x","type":"string"}}"#),
        (r#"{"d":[1,null]}"#, r#"{"d":{"value":[1,null],"type":["tuple",["number","dynamic"]]}}"#),
        (
            r#"{"d":{"a":1,"b":["x",true]}}"#,
            r#"{"d":{"value":{"a":1,"b":["x",true]},"type":["object",{"a":"number","b":["tuple",["string","bool"]]}]}}"#,
        ),
        (r#"{"d":null}"#, r#"{"d":null}"#),
    ] {
        assert_eq!(shown(&schema, given), written);
    }
    // Blocks with such attributes are a tuple with a type of its own.
    let outer = block(vec![], vec![("b", blocks(BlockNesting::List, schema))]);
    let written = r#"{"b":{"value":[{"d":1},{"d":"x"}],"type":["tuple",[["object",{"d":"number"}],["object",{"d":"string"}]]]}}"#;
    assert_eq!(shown(&outer, r#"{"b":[{"d":1},{"d":"x"}]}"#), written);
}

#[test]
fn deprecated_arguments_are_told_when_they_are_set() {
    let schema = block(vec![("old", plain("string", "optional deprecated"))], vec![]);
    assert_eq!(places(&deprecated(&schema, &object(&schema, r#"{"old":"x"}"#))), ["old"]);
    assert!(deprecated(&schema, &Value::map([("old", Value::Null)])).is_empty());
}
