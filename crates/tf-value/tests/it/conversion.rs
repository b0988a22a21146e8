//! Values of one type as values of another.

use tf_value::{Refinement, Type, Value, convert, json};

#[test]
fn what_has_a_counterpart_is_converted() {
    for (from, value, to, result) in [
        ("\"string\"", "\"8\"", "\"number\"", Some("8")),
        ("\"string\"", "\"false\"", "\"bool\"", Some("false")),
        ("\"string\"", "\"no\"", "\"bool\"", None),
        ("\"number\"", "1", "\"string\"", Some("\"1\"")),
        ("\"number\"", "1.50", "\"string\"", Some("\"1.5\"")),
        ("\"bool\"", "true", "\"string\"", Some("\"true\"")),
        ("\"bool\"", "true", "\"number\"", None),
        ("\"number\"", "1", "\"bool\"", None),
        (r#"["tuple",["string","number"]]"#, "[\"a\",1]", r#"["list","string"]"#, Some("[\"a\",\"1\"]")),
        (r#"["tuple",["string","string"]]"#, "[\"b\",\"a\"]", r#"["set","string"]"#, Some("[\"a\",\"b\"]")),
        (r#"["list","string"]"#, "[\"b\",\"b\"]", r#"["set","string"]"#, Some("[\"b\"]")),
        (r#"["set","number"]"#, "[2,1]", r#"["list","string"]"#, Some("[\"1\",\"2\"]")),
        (
            r#"["object",{"a":"number","b":"bool"}]"#,
            "{\"a\":1,\"b\":true}",
            r#"["map","string"]"#,
            Some("{\"a\":\"1\",\"b\":\"true\"}"),
        ),
        (r#"["map","string"]"#, "{\"a\":\"1\"}", r#"["object",{"a":"number"}]"#, Some("{\"a\":1}")),
        (r#"["object",{"a":"number"}]"#, "{\"a\":1}", r#"["object",{"a":"number","b":"string"}]"#, None),
        (
            r#"["object",{"a":"number"}]"#,
            "{\"a\":1}",
            r#"["object",{"a":"number","b":"string"},["b"]]"#,
            Some("{\"a\":1,\"b\":null}"),
        ),
        (
            r#"["object",{"a":"number","z":"bool"}]"#,
            "{\"a\":1,\"z\":true}",
            r#"["object",{"a":"number"}]"#,
            Some("{\"a\":1}"),
        ),
        ("\"string\"", "\"x\"", "\"dynamic\"", Some(r#"{"value":"x","type":"string"}"#)),
        ("\"string\"", "\"x\"", r#"["list","string"]"#, None),
        (
            r#"["tuple",["string","number"]]"#,
            "[\"a\",1]",
            r#"["list","dynamic"]"#,
            Some(r#"[{"value":"a","type":"string"},{"value":"1","type":"string"}]"#),
        ),
        (r#"["tuple",["bool","number"]]"#, "[true,1]", r#"["list","dynamic"]"#, None),
        (r#"["tuple",["string"]]"#, "[\"a\"]", r#"["tuple",["string","string"]]"#, None),
    ] {
        let (from, to): (Type, Type) = (from.parse().unwrap(), to.parse().unwrap());
        let value = json::decode(value.as_bytes(), &from).unwrap();
        let converted = convert(&value, &from, &to).ok().map(|value| json::encode(&value, &to).unwrap());
        assert_eq!(converted.as_deref(), result, "{value:?} to {to:?}");
    }
}

#[test]
fn an_unknown_value_keeps_what_stays_true() {
    let bounds = Refinement { not_null: true, prefix: Some("7".into()), ..Refinement::default() };
    let converted = convert(&bounds.clone().unknown(), &Type::String, &Type::Number).unwrap();
    assert_eq!(converted, Refinement { not_null: true, ..Refinement::default() }.unknown());
    assert_eq!(convert(&bounds.clone().unknown(), &Type::String, &Type::String).unwrap(), bounds.unknown());
    assert_eq!(convert(&Value::unknown(), &Type::Dynamic, &Type::Number).unwrap(), Value::unknown());
}

#[test]
fn bounds_judge_values() {
    let prefix = Refinement { prefix: Some("ami-".into()), not_null: true, ..Refinement::default() };
    assert!(prefix.broken_by(&Value::string("ami-7")).is_none());
    assert!(prefix.broken_by(&Value::string("vpc-7")).is_some());
    assert!(prefix.broken_by(&Value::Null).is_some());
    let range = Refinement {
        lower: Some((0.into(), false)),
        upper: Some((10.into(), true)),
        ..Refinement::default()
    };
    let broken = |n: i64| range.broken_by(&n.into()).is_some();
    assert_eq!([broken(0), broken(1), broken(10), broken(11)], [true, false, false, true]);
    let length = Refinement { min_length: Some(1), max_length: Some(2), ..Refinement::default() };
    let list = |n: usize| length.broken_by(&Value::List(vec![Value::Null; n])).is_some();
    assert_eq!([list(0), list(1), list(2), list(3)], [true, false, false, true]);
}
