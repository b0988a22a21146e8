//! What stands at the top of a JSON Schema, and where its references lead.
#![allow(clippy::unwrap_used)]

use kcl::{Compiler, MemoryFiles, Request};
use kcl_import::{Imported, Input, Mode, import};

fn read(mode: Mode, text: &str) -> Imported {
    let load = |path: &str| Err(format!("there is no {path}"));
    let input = Input { name: "odd.json".into(), text: text.into(), load: &load };
    import(&input, mode, "").unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_root_that_is_no_object_is_a_type() {
    let shapes = r#"{"$schema": "x", "$id": "https://e.org/Shape.json", "oneOf": [
        {"type": "object", "required": ["r"], "properties": {"r": {"type": "number"}}, "title": "Round"},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}}]}"#;
    let text = &read(Mode::JsonSchema, shapes).files[0].1;
    assert!(text.ends_with("\ntype Shape = ShapeOneOf0 | ShapeOneOf1\n"), "{text}");
    let text =
        &read(Mode::JsonSchema, r#"{"$schema": "x", "type": "string", "enum": ["a", "b"]}"#).files[0].1;
    assert!(text.ends_with("\n\ntype Odd = \"a\" | \"b\"\n"), "{text}");
    // A type has no checks.
    for (rest, told) in [("", 0), (r#", "maxLength": 3"#, 1)] {
        let made = read(Mode::JsonSchema, &format!(r#"{{"$schema": "x", "type": "string"{rest}}}"#));
        assert_eq!(made.warnings.len(), told, "{:?}", made.warnings);
    }
    let list = r#"{"$schema": "x", "type": "array", "items": {"type": "string", "pattern": "^a"}}"#;
    assert!(read(Mode::JsonSchema, list).warnings[0].contains("has no checks"));
    for text in [shapes, r#"{"$schema": "x", "type": "object", "additionalProperties": {"type": "integer"}}"#]
    {
        let program = read(Mode::JsonSchema, text).files.remove(0).1;
        let checked = Compiler::new(MemoryFiles::default()).checked(&Request::source("main.k", program));
        assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    }
}

#[test]
fn addresses_lead_to_what_has_them() {
    let text = r##"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://e.org/s/main.json", "type": "object",
        "properties": {"a": {"$ref": "https://e.org/x/inner"}, "b": {"$ref": "rel#/properties/n"}, "c": {"$ref": "https://e.org/s/other.json"},
            "d": {"$ref": "sub/noending#/properties/n"}, "e": {"$ref": "#/"}},
        "$defs": {"one": {"$id": "https://e.org/x/inner", "type": "object", "properties": {"n": {"type": "integer"}}},
            "two": {"$id": "rel", "type": "object", "properties": {"n": {"enum": [7]}}}}}"##;
    let load = |path: &str| match path {
        "other.json" => Ok(r#"{"type": "object", "properties": {"m": {"type": "boolean"}}}"#.to_owned()),
        "sub/noending.json" => Ok(r#"{"properties": {"n": {"type": "boolean"}}}"#.to_owned()),
        path => Err(format!("there is no {path}")),
    };
    let input = Input { name: "main.json".into(), text: text.into(), load: &load };
    let made = import(&input, Mode::JsonSchema, "").unwrap();
    for line in ["a?: One\n", "b?: 7\n", "c?: Other\n", "d?: bool\n", "e?: Main\n"] {
        assert!(made.files[0].1.contains(&format!("    {line}")), "{line}: {}", made.files[0].1);
    }
    let elsewhere = text.replace("https://e.org/s/other.json", "https://f.org/s/other.json");
    let told =
        import(&Input { name: "main.json".into(), text: elsewhere, load: &load }, Mode::JsonSchema, "");
    assert!(told.unwrap_err().contains("is on the network"));
}

#[test]
fn what_is_met_often_is_told_once() {
    let text = r##"{"$schema": "x", "type": "object", "properties": {"a": {"$ref": "#/$defs/U"}, "b": {"$ref": "#/$defs/U"}},
        "$defs": {"U": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/U"}}]}}}"##;
    let told = read(Mode::JsonSchema, text).warnings;
    assert_eq!(told.iter().filter(|told| told.contains("made of itself")).count(), 1, "{told:?}");
}
