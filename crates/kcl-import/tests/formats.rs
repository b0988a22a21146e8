//! Formats beside JSON Schema: names of packages, numbers, small words; whatever they say, what is made compiles.
#![allow(clippy::unwrap_used)]

use kcl::{Compiler, Disk, Request};
use kcl_import::{Imported, Input, Mode, import};

fn load(path: &str) -> Result<String, String> {
    Err(format!("there is no {path}"))
}

fn read(mode: Mode, text: &str) -> Imported {
    let input = Input { name: "odd.json".into(), text: text.into(), load: &load };
    import(&input, mode, "").unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn packages_may_be_called_anything_and_need_the_root() {
    let made = compiled(
        r##"{"openapi": "3.1.0", "components": {"schemas": {
        "Pet": {"type": "object", "properties": {"kin": {"$ref": "#/components/schemas/Kin"}}}, "Kin": {"type": "object", "properties": {"n": {"type": "string"}}},
        "a.B": {"type": "object", "properties": {"p": {"$ref": "#/components/schemas/Pet"}, "all": {"type": "array", "items": {"$ref": "#/components/schemas/Kin"}}}}}}}"##,
    );
    let paths: Vec<&str> = made.files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["kcl.mod", "a/b.k", "shared/kin.k", "shared/pet.k"]);
    for word in [
        "math", "json", "net", "regex", "str", "int", "bool", "float", "any", "a.str", "a.math", "str.str",
        "schema",
    ] {
        let made = compiled(&format!(
            r##"{{"openapi": "3.1.0", "components": {{"schemas": {{"{word}.Foo": {{"type": "object", "properties": {{"x": {{"type": "string", "pattern": "^a"}}}}}},
            "z.C": {{"type": "object", "properties": {{"f": {{"$ref": "#/components/schemas/{word}.Foo"}}, "{word}": {{"type": "string", "pattern": "^a"}}}}}}}}}}}}"##
        ));
        let known =
            |warning: &String| warning.contains("hides") || warning.contains("has no name in a check");
        assert!(made.warnings.iter().all(known), "{word}: {:?}", made.warnings);
    }
}

#[test]
fn numbers_that_are_none_are_told() {
    let told = |mode: Mode, text: &str| {
        let input = Input { name: "odd".into(), text: text.into(), load: &load };
        import(&input, mode, "").unwrap_err()
    };
    assert!(told(Mode::Yaml, "a: 1\nf: .inf\n").starts_with("odd:2:4: this is infinite"));
    assert!(told(Mode::Yaml, "a: [.nan]\n").starts_with("odd:1:5: this is not a number"));
    assert!(told(Mode::Toml, "a.b = [1.0, -inf]\n").starts_with("odd: `a.b[1]` is not finite"));
    assert!(
        told(Mode::JsonSchema, "{\"type\": \"number\", \"properties\": {\"a\": {\"default\": .inf}}}")
            .contains("infinite")
    );
}

#[test]
fn small_words_of_messages_and_structs() {
    let text = |name: &str, mode: Mode, text: &str| {
        let input = Input { name: name.into(), text: text.into(), load: &load };
        let made = import(&input, mode, "").unwrap();
        (made.files[0].1.clone(), made.warnings)
    };
    let (made, _) = text(
        "a.proto",
        Mode::Proto,
        "syntax = \"proto2\";\nmessage A { optional string b = 1 [default = \"\\x41\\102\", json_name = \"theB\"]; }\n",
    );
    assert!(made.contains("theB?: str = \"AB\""), "{made}");
    let (made, warnings) = text(
        "a.go",
        Mode::GoStruct,
        "package a\ntype A struct {\n\t// +kubebuilder:validation:Enum=x;y\n\t// +kubebuilder:default=x\n\tMode string `json:\"mode,omitempty\"`\n\
         \tAll List[int] `json:\"all\"`\n}\n",
    );
    assert!(made.contains("mode?: \"x\" | \"y\" = \"x\"") && made.contains("all: any"), "{made}");
    assert_eq!(warnings, ["A.All: `List` takes parameters: any"]);
}

#[test]
fn keys_of_lists_may_be_keywords() {
    let made = read(
        Mode::Crd,
        r#"{"kind": "CustomResourceDefinition", "spec": {"group": "a.b", "names": {"kind": "K"}, "versions": [{"name": "v1", "schema": {"openAPIV3Schema":
            {"type": "object", "properties": {"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "properties": {"port": {"type": "integer"}, "protocol": {"type": "string"}}}}}}}}]}}"#,
    );
    let all: String = made.files.iter().map(|(_, text)| text.as_str()).collect();
    assert!(all.contains("isunique([[item.port, item.$protocol] for item in ports])"), "{all}");
}

#[test]
fn names_of_packages_and_files_do_not_meet() {
    let text = r##"{"openapi": "3.0.0", "components": {"schemas": {"a.B": {"properties": {"x": {"$ref": "#/components/schemas/a.b.C"}}},
        "a.b.C": {"properties": {"y": {"type": "string"}}}, "if": {"properties": {"z": {"type": "integer"}}}, "Pet-Store/1": {"properties": {"v1":
        {"$ref": "#/components/schemas/a.v1.T"}}}, "a.v1.T": {"properties": {"T": {"type": "string"}}}, "HTTPRoute": {"properties": {"q": {}}},
        "HttpRoute": {"properties": {"q": {}}}, "x.main": {"properties": {"q": {}}}, "test": {"properties": {"q": {}}}, "unit_test": {"properties": {"q": {}}}}}}"##;
    compiled(text);
}

/// Imports definitions of OpenAPI and compiles all their packages.
fn compiled(text: &str) -> Imported {
    let made = read(Mode::OpenApi, text);
    let dir = tempfile::tempdir().unwrap();
    let mut folders = std::collections::BTreeSet::new();
    for (path, text) in &made.files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        if path.extension().unwrap() == "k" {
            folders.insert(path.parent().unwrap().to_path_buf());
        }
    }
    for folder in folders {
        let request =
            Request { work_dir: dir.path().into(), ..Request::paths([folder.display().to_string()]) };
        let checked = Compiler::new(Disk).checked(&request);
        assert!(checked.diagnostics.is_empty(), "{}: {:?}", folder.display(), checked.diagnostics);
    }
    made
}

#[test]
fn rules_of_what_has_no_name_are_told_in_every_format() {
    let proto = "syntax = \"proto3\";\nmessage M {\n  int32 a = 1 [json_name = \"@value\"];\n  int32 len = 2;\n\
                 oneof x { string b = 3 [json_name = \"b-b\"]; string c = 4; }\n}\n";
    let go = "package p\ntype M struct {\n  // +kubebuilder:validation:Minimum=1\n  A int `json:\"a-a\"`\n  Len string `json:\"len\"`\n\
              // +kubebuilder:validation:MinLength=2\n  B string `json:\"b\"`\n}\n";
    let terraform = r#"{"provider_schemas": {"p": {"resource_schemas": {"m": {"block": {"attributes":
        {"a-a": {"type": ["set", "string"], "optional": true}}}}}}}}"#;
    for (mode, text, told) in [
        (Mode::Proto, proto, &["`@value`", "`b-b`"][..]),
        (Mode::GoStruct, go, &["`a-a`", "hides a function"]),
        (Mode::Terraform, terraform, &["`a-a`"]),
    ] {
        let made = read(mode, text);
        let checked = kcl::Compiler::new(kcl::MemoryFiles::default())
            .checked(&kcl::Request::source("main.k", made.files[0].1.as_str()));
        assert!(checked.diagnostics.is_empty(), "{}\n{:?}", made.files[0].1, checked.diagnostics);
        for word in told {
            assert!(
                made.warnings.iter().any(|warning| warning.contains(word)),
                "{word}: {:?}",
                made.warnings
            );
        }
    }
}
