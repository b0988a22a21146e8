//! Byte vectors: type, value as JSON-like text, MessagePack, JSON.

use tf_value::{Number, Refinement, Type, Value, json, msgpack};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn ty(text: &str) -> Type {
    text.parse().unwrap()
}

fn number(text: &str) -> Value {
    Value::Number(text.parse().unwrap())
}

fn float(float: f64) -> Value {
    Value::Number(Number::from_f64(float).unwrap())
}

fn strings(items: &[&str]) -> Vec<Value> {
    items.iter().map(|item| Value::string(item)).collect()
}

fn text_hex(text: &str) -> String {
    format!("{:02x}{}", 0xa0 + text.len(), text.bytes().map(|b| format!("{b:02x}")).collect::<String>())
}

/// Type, value, MessagePack, JSON where it has one.
fn table() -> Vec<(&'static str, Value, String, Option<&'static str>)> {
    let n = |text: &str, bytes: &str| ("\"number\"", number(text), bytes.to_owned(), None);
    let pair = r#"["object",{"a":"string","n":"number"}]"#;
    let record = |a: &str, n: i64| Value::map([("a", Value::string(a)), ("n", n.into())]);
    let refined = |bounds: Refinement| bounds.unknown();
    let not_null = || Refinement { not_null: true, ..Refinement::default() };
    let row = |ty, value, bytes: &str, json| (ty, value, bytes.to_owned(), json);
    vec![
        row("\"string\"", Value::Null, "c0", Some("null")),
        row("\"string\"", Value::string(""), "a0", Some("\"\"")),
        row("\"string\"", Value::string("ab"), "a26162", Some("\"ab\"")),
        row("\"string\"", Value::string("e\u{301}"), "a2c3a9", Some("\"é\"")),
        n("127", "7f"),
        n("128", "cc80"),
        n("256", "cd0100"),
        n("65536", "ce00010000"),
        n("4294967296", "cf0000000100000000"),
        n("9223372036854775807", "cf7fffffffffffffff"),
        n("-1", "ff"),
        n("-32", "e0"),
        n("-33", "d0df"),
        n("-129", "d1ff7f"),
        n("-32769", "d2ffff7fff"),
        n("-9223372036854775808", "d38000000000000000"),
        n("9223372036854775808", &text_hex("9223372036854775808")),
        n("1e20", &text_hex("100000000000000000000")),
        n("0.5", "cb3fe0000000000000"),
        n("1.5", "cb3ff8000000000000"),
        row("\"number\"", number("0.1"), "a3302e31", Some("0.1")),
        row("\"number\"", float(0.1), "cb3fb999999999999a", Some("0.1")),
        row("\"number\"", number("1e-5"), "a7302e3030303031", Some("0.00001")),
        row("\"number\"", Value::Number(Number::POSITIVE_INFINITY), "cb7ff0000000000000", None),
        row("\"number\"", Value::Number(Number::NEGATIVE_INFINITY), "cbfff0000000000000", None),
        row("\"number\"", float(-0.0), "00", Some("-0")),
        row(r#"["list","string"]"#, Value::List(strings(&["a", "b"])), "92a161a162", Some(r#"["a","b"]"#)),
        row(
            r#"["set","string"]"#,
            Value::set(strings(&["b", "a", "b"]), &Type::String).unwrap(),
            "92a161a162",
            Some(r#"["a","b"]"#),
        ),
        row(
            r#"["set","number"]"#,
            Value::set([10.into(), 9.into(), Value::Null], &Type::Number).unwrap(),
            "93090ac0",
            Some("[9,10,null]"),
        ),
        row(
            r#"["set",["object",{"a":"string","n":"number"}]]"#,
            Value::set([record("z", 1), record("b", 9), record("b", 10)], &ty(pair)).unwrap(),
            "9382a161a162a16e0a82a161a162a16e0982a161a17aa16e01",
            None,
        ),
        row(
            r#"["set","string"]"#,
            Value::set([Value::unknown(), Value::string("a"), Value::unknown()], &Type::String).unwrap(),
            "93a161d40000d40000",
            None,
        ),
        row(
            r#"["map","number"]"#,
            Value::map([("b", Value::from(2)), ("a", Value::from(1))]),
            "82a16101a16202",
            Some(r#"{"a":1,"b":2}"#),
        ),
        row(
            r#"["object",{"b":"bool","a":"string"}]"#,
            Value::map([("b", Value::Bool(true)), ("a", Value::Null)]),
            "82a161c0a162c3",
            Some(r#"{"a":null,"b":true}"#),
        ),
        row(
            r#"["tuple",["string","number"]]"#,
            Value::list([Value::string("x"), 3.into()]),
            "92a17803",
            Some(r#"["x",3]"#),
        ),
        row(
            "\"dynamic\"",
            Value::string("x").dynamic(Type::String),
            "92c40822737472696e6722a178",
            Some(r#"{"value":"x","type":"string"}"#),
        ),
        row("\"dynamic\"", Value::Null.dynamic(Type::String), "92c40822737472696e6722c0", None),
        row("\"dynamic\"", Value::Null, "c0", Some("null")),
        row("\"dynamic\"", Value::unknown(), "d40000", None),
        row("\"dynamic\"", Value::unknown().dynamic(Type::String), "92c40822737472696e6722d40000", None),
        row(
            "\"dynamic\"",
            Value::map([("k", Value::list([1.into()]))]).dynamic(ty(r#"["object",{"k":["list","number"]}]"#)),
            "92c4225b226f626a656374222c7b226b223a5b226c697374222c226e756d626572225d7d5d81a16b9101",
            Some(r#"{"value":{"k":[1]},"type":["object",{"k":["list","number"]}]}"#),
        ),
        row(
            r#"["map","dynamic"]"#,
            Value::map([("k", Value::string("v").dynamic(Type::String))]),
            "81a16b92c40822737472696e6722a176",
            Some(r#"{"k":{"value":"v","type":"string"}}"#),
        ),
        row("\"string\"", Value::unknown(), "d40000", None),
        row("\"string\"", refined(not_null()), "c7030c8101c2", None),
        row(
            "\"string\"",
            refined(Refinement { prefix: Some("a".into()), ..Refinement::default() }),
            "d60c8102a161",
            None,
        ),
        row(
            "\"string\"",
            refined(Refinement { prefix: Some("ami-".into()), ..not_null() }),
            "c7090c8201c202a4616d692d",
            None,
        ),
        row(
            "\"number\"",
            refined(Refinement { lower: Some((0.into(), true)), ..not_null() }),
            "c7070c8201c2039200c3",
            None,
        ),
        row(
            "\"number\"",
            refined(Refinement {
                lower: Some((0.into(), false)),
                upper: Some((10.into(), true)),
                ..Refinement::default()
            }),
            "c7090c82039200c204920ac3",
            None,
        ),
        row(
            r#"["list","string"]"#,
            refined(Refinement { min_length: Some(2), max_length: Some(4), ..not_null() }),
            "c7070c8301c205020604",
            None,
        ),
        row(
            r#"["object",{"id":"string","n":"number"}]"#,
            Value::map([("id", refined(not_null())), ("n", 3.into())]),
            "82a26964c7030c8101c2a16e03",
            None,
        ),
        // What providers saw of a real plan.
        row(
            r#"["set","string"]"#,
            Value::set([Value::unknown(), Value::string("k"), refined(not_null())], &Type::String).unwrap(),
            "93a16bd40000c7030c8101c2",
            None,
        ),
        row(
            "\"string\"",
            refined(Refinement { prefix: Some("p-".into()), ..not_null() }),
            "c7070c8201c202a2702d",
            None,
        ),
        row(
            r#"["list","string"]"#,
            refined(Refinement { min_length: Some(2), max_length: Some(2), ..Refinement::default() }),
            "c7050c8205020602",
            None,
        ),
    ]
}

#[test]
fn every_vector_is_written_and_read() {
    for (kind, value, bytes, text) in table() {
        let kind = ty(kind);
        assert_eq!(msgpack::encode(&value, &kind).unwrap(), hex(&bytes), "{value:?}");
        assert_eq!(msgpack::decode(&hex(&bytes), &kind).unwrap(), value, "{bytes}");
        if let Some(text) = text {
            assert_eq!(json::encode(&value, &kind).unwrap(), text, "{value:?}");
        }
        if let Some(text) = text.filter(|_| bytes != "cb3fb999999999999a") {
            assert_eq!(json::decode(text.as_bytes(), &kind).unwrap(), value, "{text}");
        }
    }
}

#[test]
fn what_others_write_is_read() {
    let unknown = Value::unknown();
    let two = r#"["object",{"a":"string","b":"string"}]"#;
    for (kind, bytes, value) in [
        ("\"string\"", "c70000", Some(unknown.clone())),
        ("\"string\"", "d40500", Some(unknown.clone())),
        ("\"string\"", "d5058000", None),
        ("\"string\"", "c7030c8101c3", Some(Value::Null)),
        ("\"string\"", "c7030c8109c3", Some(unknown.clone())),
        ("\"number\"", "c7040c8102a161", None),
        ("\"number\"", "a137", Some(7.into())),
        ("\"number\"", "a430783130", None),
        ("\"number\"", "ca3fc00000", Some(number("1.5"))),
        ("\"string\"", "c40178", Some(Value::string("x"))),
        (r#"["set","string"]"#, "92a178a178", Some(Value::set(strings(&["x"]), &Type::String).unwrap())),
        (r#"["map","number"]"#, "82a17801a17802", Some(Value::map([("x", Value::from(2))]))),
        (two, "81a161a171", None),
        (two, "80", None),
        (two, "82a161a171a161a171", None),
        (r#"["list","dynamic"]"#, "9292c40822737472696e6722a17892c40622626f6f6c22c3", None),
        ("\"string\"", "a1ff", None),
        ("\"dynamic\"", "92a822737472696e6722a178", Some(Value::string("x").dynamic(Type::String))),
        ("\"dynamic\"", "c7030c8101c2", Some(unknown)),
        ("\"string\"", "", Some(Value::Null)),
        ("\"bool\"", "01", None),
        ("\"bool\"", "c3c3", None),
    ] {
        assert_eq!(msgpack::decode(&hex(bytes), &ty(kind)).ok(), value, "{kind} {bytes}");
    }
}

#[test]
fn what_states_write_is_read() {
    for (kind, text, value) in [
        ("\"number\"", "\"7\"", Some(7.into())),
        ("\"string\"", "7.50", Some(Value::string("7.50"))),
        ("\"string\"", "true", Some(Value::string("true"))),
        ("\"bool\"", "\"false\"", Some(Value::Bool(false))),
        ("\"bool\"", "\"yes\"", None),
        ("\"bool\"", "1", None),
        (
            r#"["object",{"a":"string","b":"bool"}]"#,
            "{\"b\":true}",
            Some(Value::map([("a", Value::Null), ("b", Value::Bool(true))])),
        ),
        (r#"["object",{"a":"string"}]"#, "{\"c\":1}", None),
        (r#"["tuple",["string"]]"#, "[]", None),
        ("\"dynamic\"", "\"x\"", None),
        ("\"dynamic\"", r#"{"type":"string","value":"x"}"#, Some(Value::string("x").dynamic(Type::String))),
    ] {
        assert_eq!(json::decode(text.as_bytes(), &ty(kind)).ok(), value, "{kind} {text}");
    }
}

#[test]
fn an_error_says_where() {
    let kind = ty(r#"["object",{"rules":["list",["map","number"]]}]"#);
    let bytes = hex("81a572756c65739281a16101c3");
    assert_eq!(
        msgpack::decode(&bytes, &kind).unwrap_err().to_string(),
        "rules[1]: a map of values is required"
    );
    let value = Value::map([("rules", Value::list([Value::map([("a", Value::Bool(true))])]))]);
    assert_eq!(
        msgpack::encode(&value, &kind).unwrap_err().to_string(),
        "rules[0][\"a\"]: number is required"
    );
}

#[test]
fn types_are_written_with_sorted_keys() {
    let text = r#"["object",{"b":["tuple",["dynamic","bool"]],"a":["set","string"]},["b"]]"#;
    let written = r#"["object",{"a":["set","string"],"b":["tuple",["dynamic","bool"]]},["b"]]"#;
    assert_eq!(ty(text).to_json(), written);
    assert_eq!(ty(written), ty(text));
    for wrong in
        ["\"text\"", "[\"list\"]", "[\"object\",{\"a\":\"string\"},[\"b\"]]", "{}", "[\"tuple\",{}]", "1"]
    {
        assert!(wrong.parse::<Type>().is_err(), "{wrong}");
    }
}
