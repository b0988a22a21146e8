//! What the fuzz targets of Terraform values do with a heap of bytes.
//!
//! In: any bytes. Out: nothing; a panic is a finding, and so is a value that is not the same after it was written and read.

use tf_value::{Type, Value, json, msgpack};

/// Name and body of every target.
pub const TARGETS: &[crate::FuzzTarget] =
    &[("tf_msgpack", values), ("tf_json", values_json), ("tf_state", state), ("tf_types", types)];

/// The type that the first byte picks, and the rest.
fn picked(bytes: &[u8]) -> (Type, &[u8]) {
    const TYPES: [&str; 10] = [
        "\"dynamic\"",
        "\"string\"",
        "\"number\"",
        "\"bool\"",
        r#"["list","dynamic"]"#,
        r#"["set","number"]"#,
        r#"["map","dynamic"]"#,
        r#"["set",["object",{"a":"string","n":"number","s":["set","string"]}]]"#,
        r#"["object",{"a":"dynamic","b":["list",["tuple",["bool","number"]]],"c":["map","string"]}]"#,
        r#"["tuple",["dynamic","string"]]"#,
    ];
    let (first, rest) = bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest));
    let ty = TYPES[usize::from(first) % TYPES.len()].parse().unwrap_or(Type::Dynamic);
    (ty, rest)
}

/// Any bytes as MessagePack: an error, or a value that stays the same.
pub fn values(bytes: &[u8]) {
    let (ty, bytes) = picked(bytes);
    if let Ok(value) = msgpack::decode(bytes, &ty) {
        stays(&value, &ty);
    }
}

/// Any bytes as JSON: an error, or a value that stays the same.
pub fn values_json(bytes: &[u8]) {
    let (ty, bytes) = picked(bytes);
    if let Ok(value) = json::decode(bytes, &ty) {
        stays(&value, &ty);
        let text = json::encode(&value, &ty).expect("what was read from JSON has a JSON form");
        let again = json::decode(text.as_bytes(), &ty).expect("what was written is read");
        assert_eq!(again, value, "{text}");
    }
}

fn stays(value: &Value, ty: &Type) {
    let written = msgpack::encode(value, ty).expect("what was read can be written");
    let again = msgpack::decode(&written, ty).expect("what was written is read");
    let twice = msgpack::encode(&again, ty).expect("what was read can be written");
    assert_eq!(written, twice, "{value:?}");
}

/// Any text as a state file: an error, or a state that is written the same way twice.
pub fn state(bytes: &[u8]) {
    if let Ok(state) = tf_schema::state::State::parse(bytes) {
        let text = state.to_text();
        let again = tf_schema::state::State::parse(text.as_bytes()).expect("what was written is read");
        assert_eq!(again.to_text(), text);
    }
}

/// Any text as a type.
pub fn types(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(ty) = text.parse::<Type>() {
        assert_eq!(ty.to_json().parse::<Type>().expect("what was written is read"), ty);
    }
}
