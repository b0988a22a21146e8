//! Bad input: an error, never a panic, a hang or a heap of memory.

use tf_value::{MAX_DEPTH, Type, Value, json, msgpack};

#[test]
fn a_header_that_lies_reserves_nothing() {
    for (kind, bytes) in [
        (r#"["list","string"]"#, vec![0xdd, 0xff, 0xff, 0xff, 0xff]),
        (r#"["map","string"]"#, vec![0xdf, 0xff, 0xff, 0xff, 0xff]),
        ("\"string\"", vec![0xdb, 0xff, 0xff, 0xff, 0xff]),
        ("\"string\"", vec![0xc9, 0xff, 0xff, 0xff, 0xff, 12]),
        ("\"string\"", vec![0xc7, 8, 12, 0x81, 9, 0xdf, 0xff, 0xff, 0xff, 0xff]),
    ] {
        assert!(msgpack::decode(&bytes, &kind.parse().unwrap()).is_err());
    }
}

#[test]
fn depth_is_bounded() {
    let deep = |n: usize| format!("{}\"string\"{}", "[\"list\",".repeat(n), "]".repeat(n));
    assert!(deep(MAX_DEPTH).parse::<Type>().is_ok());
    assert!(deep(MAX_DEPTH + 1).parse::<Type>().is_err());
    assert!(deep(100_000).parse::<Type>().is_err());
    let ty: Type = deep(MAX_DEPTH).parse().unwrap();
    let mut bytes = vec![0x91; MAX_DEPTH];
    bytes.push(0xc0);
    assert!(msgpack::decode(&bytes, &ty).unwrap_err().message.contains("deeper"));
    assert!(json::decode("[".repeat(100_000).as_bytes(), &Type::Dynamic).is_err());
}

#[test]
fn every_cut_is_an_error() {
    let ty: Type = r#"["object",{"a":["map","number"],"d":"dynamic","s":["set","string"]}]"#.parse().unwrap();
    let value = Value::map([
        ("a", Value::map([("x", Value::from(300)), ("y", Value::Number("0.1".parse().unwrap()))])),
        ("d", Value::string("q").dynamic(Type::String)),
        ("s", Value::set([Value::string("k"), Value::unknown()], &Type::String).unwrap()),
    ]);
    let bytes = msgpack::encode(&value, &ty).unwrap();
    assert_eq!(msgpack::decode(&bytes, &ty).unwrap(), value);
    for end in 1..bytes.len() {
        assert!(msgpack::decode(&bytes[..end], &ty).is_err(), "{end}");
    }
}
