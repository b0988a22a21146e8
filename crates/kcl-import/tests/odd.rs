//! Odd documents: whatever they say, what is made compiles, is formatted and stays the same; what it accepts is what they accept.
#![allow(clippy::unwrap_used)]

use base_diag::FileId;
use kcl::{Compiler, Disk, MemoryFiles, NoOutside, Request};
use kcl_import::{Imported, Input, Mode, import};

fn load(path: &str) -> Result<String, String> {
    Err(format!("there is no {path}"))
}

fn read(mode: Mode, text: &str) -> Imported {
    let input = || Input { name: "odd.json".into(), text: text.into(), load: &load };
    let made = import(&input(), mode, "").unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(made, import(&input(), mode, "").unwrap(), "same input, same bytes");
    for (path, text) in made.files.iter().filter(|(path, _)| path.ends_with(".k")) {
        assert_eq!(kcl_fmt::format(text, FileId(0)).text, *text, "{path}");
    }
    made
}

/// Imports a JSON Schema with these properties and more words, checks what is made, and runs a statement with it.
fn made(rest: &str) -> String {
    let text = format!("{{\"$schema\": \"x\", \"type\": \"object\", {rest}}}");
    let made = read(Mode::JsonSchema, &text);
    let program = &made.files[0].1;
    let checked = Compiler::new(MemoryFiles::default()).checked(&Request::source("main.k", program.as_str()));
    assert!(checked.diagnostics.is_empty(), "{text}\n{program}\n{:?}", checked.diagnostics);
    program.clone()
}

fn accepts(rest: &str, value: &str) -> bool {
    let program = format!("{}\nx = Odd {value}\n", made(rest));
    Compiler::new(Disk).run(&Request::source("main.k", program), &NoOutside).is_ok()
}

#[track_caller]
fn judge(rest: &str, good: &[&str], bad: &[&str]) {
    for value in good {
        assert!(accepts(rest, value), "{rest} must accept {value}:\n{}", made(rest));
    }
    for value in bad {
        assert!(!accepts(rest, value), "{rest} must refuse {value}:\n{}", made(rest));
    }
}

#[test]
fn names_may_be_anything() {
    judge(
        r#""properties": {"if": {"type": "string"}, "$ref2": {"type": "integer"}, "a.b": {"type": "string"}, "größe": {"type": "number"},
            "": {"type": "string"}, "x y": {"minLength": 3, "type": "string"}, "schema": {"type": "boolean"}, "None": {"type": "string"},
            "1st": {"type": "string"}, "a\"b\\c": {"type": "string"}, "${x}": {"type": "string"}, "line\nbreak": {"type": "string"},
            "len": {"type": "string"}, "regex": {"type": "string", "pattern": "a"}, "str": {"type": "string"}, "key": {"type": "string"},
            "Odd": {"type": "integer", "minimum": 1}, "item": {"type": "array", "items": {"type": "integer", "minimum": 1}}}"#,
        &[
            "{$if = \"a\", \"a.b\" = \"c\", \"größe\" = 1.5, $schema = True, Odd = 1, item = [1]}",
            "{len = \"x\"}",
        ],
        &["{$if = 1}", "{\"größe\" = \"x\"}", "{Odd = 0}", "{item = [0]}", "{other = 1}"],
    );
}

#[test]
fn texts_may_hold_anything() {
    made(
        r#""description": "a \"quote\", a \"\"\" and a \\ and ${x}\\", "properties": {"a": {"description": "\"\"\"\\", "type": "string",
        "default": "\"\\${x}\n\u0007é", "pattern": "^\"\\\\${\\d"}, "b": {"enum": ["\"", "\\", "${x}", "a\nb"]}, "c": {"const": "${y}"}}"#,
    );
    judge(
        r#""properties": {"b": {"enum": ["\"", "${x}"]}}"#,
        &["{b = \"\\${x}\"}", "{b = '\"'}"],
        &["{b = \"x\"}"],
    );
}

#[test]
fn empty_and_boolean_schemas() {
    judge(
        r#""properties": {"a": {}, "b": true, "c": false, "d": {"type": "object"}, "e": {"type": "array"}, "f": {"items": {}},
            "g": {"type": "object", "additionalProperties": false}}"#,
        &["{a = 1, b = [1], d = {x = 1}, e = [1, \"a\"], f = [1], g = {}}"],
        &["{c = 1}", "{d = 1}", "{e = 1}", "{g = {x = 1}}"],
    );
}

#[test]
fn enumerations_of_every_kind() {
    let many: Vec<String> = (0..3000).map(|n| format!("\"v{n}\"")).collect();
    judge(
        &format!(r#""properties": {{"a": {{"enum": [{}]}}}}"#, many.join(",")),
        &["{a = \"v2999\"}", "{}"],
        &["{a = \"v3000\"}"],
    );
    judge(
        r#""properties": {"a": {"enum": [-1, 1.5, "x", true, null]}, "b": {"enum": [{"x": 1}, [2]]}, "c": {"const": {"y": 1}}, "d": {"enum": [-1, 2]}}"#,
        &["{a = -1}", "{a = \"x\"}", "{a = None}", "{b = {x = 1}}", "{c = {y = 1}}", "{d = -1}"],
        &["{a = 2}", "{b = {x = 2}}", "{c = {y = 2}}", "{d = 1}"],
    );
}

#[test]
fn defaults_that_break_their_rules_are_left_out() {
    judge(
        r#""properties": {"a": {"type": "integer", "minimum": 5, "default": 1}, "b": {"type": "string", "pattern": "^x", "default": "y"},
            "c": {"type": "string", "default": 3}, "d": {"enum": ["a"], "default": "b"}, "e": {"type": "array", "items": {"type": "integer",
            "minimum": 1}, "default": [0]}, "f": {"type": "object", "required": ["p"], "properties": {"p": {"type": "integer", "minimum": 1}},
            "default": {"p": 0}}, "g": {"type": "object", "properties": {"p": {"type": "integer"}}, "default": {"q": 1}}, "h": {"type":
            "object", "required": ["p"], "properties": {"p": {"type": "integer"}}, "default": {}}, "i": {"type": "string", "default": null}}"#,
        &["{}", "{a = 5}"],
        &["{a = 4}"],
    );
    assert!(made(r#""properties": {"a": {"type": "integer", "minimum": 5, "default": 7}}"#).contains("= 7"));
}

#[test]
fn null_is_no_value() {
    judge(
        r#""required": ["a", "b", "c", "d"], "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string", "nullable": true},
            "c": {"oneOf": [{"type": "null"}, {"type": "integer"}]}, "d": {"type": "string"}}"#,
        &["{d = \"x\"}", "{a = None, c = 1, d = \"x\"}"],
        &["{}", "{d = \"x\", c = \"y\"}"],
    );
}

#[test]
fn several_types_and_their_rules() {
    judge(
        r#""properties": {"a": {"type": ["integer", "string"], "minimum": 5, "pattern": "^x"}, "b": {"oneOf": [{"type": "string", "maxLength": 2},
            {"type": "integer", "minimum": 10}]}, "c": {"x-kubernetes-int-or-string": true, "pattern": "^[0-9]+%$"}}"#,
        &["{a = 5}", "{a = \"x1\"}", "{b = \"ab\"}", "{b = 10}", "{c = 3}", "{c = \"3%\"}"],
        &["{a = 4}", "{a = \"y\"}", "{b = \"abc\"}", "{b = 9}", "{c = \"x\"}", "{a = 1.5}"],
    );
}

#[test]
fn negation_and_conditions() {
    judge(
        r#""properties": {"a": {"type": "string", "not": {"pattern": "^x"}}, "b": {"type": "string"}, "c": {"type": "string"}, "kind":
            {"type": "string"}, "size": {"type": "integer"}},
            "not": {"required": ["b", "c"]}, "if": {"properties": {"kind": {"const": "big"}}, "required": ["kind"]},
            "then": {"required": ["size"], "properties": {"size": {"minimum": 10}}}, "else": {"properties": {"size": {"maximum": 9}}}"#,
        &["{a = \"y\"}", "{b = \"1\"}", "{kind = \"big\", size = 10}", "{kind = \"other\", size = 9}", "{}"],
        &[
            "{a = \"xy\"}",
            "{b = \"1\", c = \"1\"}",
            "{kind = \"big\"}",
            "{kind = \"big\", size = 9}",
            "{size = 10}",
        ],
    );
    judge(
        r#""properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
            "allOf": [{"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"if": {"required": ["b"]}, "then": {"required": ["c"]}}]"#,
        &["{}", "{c = 1}", "{a = 1, b = 1, c = 1}"],
        &["{a = 1}", "{b = 1}", "{a = 1, b = 1}"],
    );
}

#[test]
fn attributes_that_depend_on_others() {
    judge(
        r#""properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
            "dependentRequired": {"a": ["b", "c"]}, "dependentSchemas": {"b": {"properties": {"c": {"minimum": 5}}}}, "minProperties": 1"#,
        &["{a = 1, b = 1, c = 5}", "{c = 1}", "{b = 1}"],
        &["{a = 1}", "{a = 1, b = 1}", "{b = 1, c = 4}", "{}"],
    );
    judge(
        r#""properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "maxProperties": 1"#,
        &["{a = 1}", "{b = 1}"],
        &["{}", "{a = 1, b = 1}"],
    );
}

#[test]
fn what_depends_on_others_counts_in_every_place() {
    // In a map, in an instance, and as a part of a condition.
    judge(
        r#""properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}, "dependencies": {"a": ["b"]},
            "dependentRequired": {"x-y": ["a"]}}}"#,
        &["{m = {a = 1, b = 1}}", "{m = {b = 1}}", "{m = {\"x-y\" = 1, a = 1, b = 1}}"],
        &["{m = {a = 1}}", "{m = {\"x-y\" = 1}}"],
    );
    judge(
        r#""properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "boolean"}},
            "anyOf": [{"required": ["c"]}, {"dependentRequired": {"a": ["b"]}, "maxProperties": 2}]"#,
        &["{a = 1, b = 1}", "{}", "{c = True, a = 1}"],
        &["{a = 1}"],
    );
    judge(
        r##""properties": {"o": {"$ref": "#/$defs/O"}}, "$defs": {"O": {"type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}},
            "if": {"properties": {"o": {"minProperties": 2}}, "required": ["o"]}, "then": {"properties": {"o": {"properties": {"a": {"minimum": 5}}}}}"##,
        &["{}", "{o = {a = 1}}", "{o = {a = 5, b = 1}}"],
        &["{o = {a = 4, b = 1}}"],
    );
}

#[test]
fn keys_and_their_patterns() {
    judge(
        r#""properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {"pattern": "^[a-z]+$"},
            "required": ["must"], "maxProperties": 2}}"#,
        &["{a = {must = \"x\"}}"],
        &[
            "{a = {must = \"x\", A = \"x\"}}",
            "{a = {}}",
            "{a = {must = \"1\", b = \"2\", c = \"3\"}}",
            "{a = {must = 1}}",
        ],
    );
    judge(
        r#""patternProperties": {"^s": {"type": "string"}, "^i": {"type": "integer"}}, "additionalProperties": false, "properties": {"z": {"type": "boolean"}}"#,
        &["{s1 = \"x\", i1 = 1, z = True}"],
        &["{q = 1}", "{s1 = [1]}"],
    );
}

#[test]
fn lists_in_every_form() {
    judge(
        r#""properties": {"a": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer", "minimum": 3}], "items": false},
            "b": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "maximum": 9}, "minItems": 1}},
            "c": {"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}},
            "d": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "pattern": "^x"}}},
            "e": {"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "string"}}}"#,
        &["{a = [\"x\", 3]}", "{b = [[1], [2]]}", "{c = [1, 5]}", "{d = {k = [\"x1\"]}}", "{e = [1, \"a\"]}"],
        &[
            "{a = [1, 3]}",
            "{a = [\"x\", 2]}",
            "{a = [\"x\", 3, 4]}",
            "{b = [[]]}",
            "{b = [[10]]}",
            "{c = [1]}",
            "{d = {k = [\"y\"]}}",
            "{e = [1.5]}",
        ],
    );
}

#[test]
fn formats_are_checked() {
    judge(
        r#""properties": {"a": {"type": "string", "format": "ipv4"}, "b": {"type": "integer", "format": "int32"}, "c": {"type": "string", "format":
            "date-time"}, "d": {"type": "string", "format": "unknown-to-us"}}"#,
        &["{a = \"10.0.0.1\"}", "{b = 2147483647}", "{c = \"2024-01-01T00:00:00Z\"}", "{d = \"x\"}"],
        &["{a = \"10.0.0\"}", "{b = 2147483648}", "{c = \"today\"}"],
    );
}

#[test]
fn cycles_and_references() {
    judge(
        r##""properties": {"child": {"$ref": "#"}, "list": {"$ref": "#/$defs/list"}, "loop": {"$ref": "#/$defs/loop"}, "mixed": {"$ref": "#/$defs/mixed"}},
            "$defs": {"list": {"type": "array", "items": {"$ref": "#"}}, "loop": {"$ref": "#/$defs/loop"}, "mixed": {"allOf": [{"$ref":
            "#/$defs/mixed"}, {"$ref": "#/$defs/mixed"}, {"properties": {"z": {"type": "integer"}}}]}}"##,
        &["{child = {child = {}}}", "{list = [{}]}", "{loop = 1}", "{mixed = {z = 1}}"],
        &["{child = {wrong = 1}}", "{list = [{wrong = 1}]}", "{mixed = {z = \"x\"}}"],
    );
}

#[test]
fn alternatives_with_attributes() {
    judge(
        r#""properties": {"kind": {"type": "string"}}, "required": ["kind"], "oneOf": [{"properties": {"kind": {"const": "a"}, "left":
            {"type": "integer"}}, "required": ["left"]}, {"properties": {"kind": {"const": "b"}, "right": {"type": "string"}}, "required": ["right"]}]"#,
        &["{kind = \"a\", left = 1}", "{kind = \"b\", right = \"x\"}"],
        &["{kind = \"a\"}", "{kind = \"b\", left = 1}", "{kind = \"c\", left = 1}"],
    );
}

#[test]
fn rules_of_cel_become_checks_or_notes() {
    let crd = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"group": "x.org", "names": {"kind": "Odd"},
        "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "x-kubernetes-validations": [{"rule": "self.min <= self.max", "message": "min is \"at most\" max"},
          {"rule": "!has(self.name) || self.name.startsWith('a')"}, {"rule": "has(self.ports) ? self.ports.all(p, p.port > 0 && size(p.name) < 5) : true"},
          {"rule": "self.tags.exists(t, t == 'x') || self.tags.size() == 0"}, {"rule": "self.max == oldSelf.max"},
          {"rule": "self.tags.filter(t, t.contains('q')).size() < 2"}, {"rule": "quantity(self.name).isGreaterThan(quantity('1'))"},
          {"rule": "self.ports.map(p, p.port).exists_one(q, q == 80) || !has(self.ports)"}],
        "required": ["min", "max", "tags"], "properties": {"min": {"type": "integer"}, "max": {"type": "integer"},
        "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self.matches('^[a-z]+$')", "message": "small letters"}]},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "name"], "items": {"type": "object",
          "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}, "required": ["port", "name"]}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'bad'"}]}}}}}}}}]}}"#;
    let made = read(Mode::Crd, crd);
    assert_eq!(
        made.warnings,
        ["2 of 10 rules of CEL are not checked: the notes of their schemas quote them"]
    );
    let odd = made.files.iter().find(|(path, _)| path.ends_with("odd.k")).unwrap();
    assert!(
        odd.1
            .contains("Not checked here: `self.max == oldSelf.max`: it compares with what was there before."),
        "{}",
        odd.1
    );
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in &made.files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let run = |spec: &str| {
        let main =
            format!("import x_org.v1\n\nx = v1.Odd {{spec = {{min = 1, max = 2, tags = []{spec}}}}}\n");
        std::fs::write(dir.path().join("main.k"), main).unwrap();
        let request = Request {
            work_dir: dir.path().into(),
            ..Request::paths([dir.path().join("main.k").display().to_string()])
        };
        let outcome = Compiler::new(Disk).run(&request, &NoOutside);
        (outcome.is_ok(), format!("{spec}: {:?}\n{}", outcome.diagnostics, odd.1))
    };
    let good = [
        "",
        ", name = \"ab\"",
        ", ports = [{port = 80, name = \"a\"}, {port = 81, name = \"a\"}]",
        ", tags = [\"x\", \"y\"]",
    ];
    let bad = [
        ", min = 3",
        ", name = \"b\"",
        ", name = \"aB\"",
        ", ports = [{port = 0, name = \"a\"}]",
        ", ports = [{port = 80, name = \"abcdef\"}]",
        ", ports = [{port = 81, name = \"a\"}]",
        ", ports = [{port = 80, name = \"a\"}, {port = 80, name = \"a\"}]",
        ", tags = [\"y\"]",
        ", tags = [\"x\", \"x\"]",
        ", tags = [\"x\", \"bad\"]",
        ", tags = [\"x\", \"q1\", \"q2\"]",
    ];
    for spec in good {
        let (accepted, told) = run(spec);
        assert!(accepted, "{told}");
    }
    for spec in bad {
        let (accepted, told) = run(spec);
        assert!(!accepted, "{told}");
    }
}

#[test]
fn alternatives_of_alternatives_end() {
    let mut definitions = r#""D0": {"type": "string"}"#.to_owned();
    for n in 1..40 {
        let before = n - 1;
        definitions += &format!(
            r##", "D{n}": {{"oneOf": [{{"$ref": "#/$defs/D{before}"}}, {{"$ref": "#/$defs/D{before}"}}]}}"##
        );
    }
    made(&format!(r##""properties": {{"a": {{"$ref": "#/$defs/D39"}}}}, "$defs": {{{definitions}}}"##));
}

#[test]
fn parts_are_all_counted() {
    let number = |rest: &str| {
        judge(
            &format!(
                r##""properties": {{"p": {rest}}}, "$defs": {{"Num": {{"type": "integer", "minimum": 3}}}}"##
            ),
            &["{p = 5}", "{}"],
            &["{p = 2}", "{p = 10}", "{p = \"x\"}"],
        )
    };
    number(r#"{"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 9}]}"#);
    number(r#"{"type": "integer", "minimum": 3, "allOf": [{"maximum": 9}]}"#);
    number(r##"{"$ref": "#/$defs/Num", "maximum": 9}"##);
    number(r##"{"allOf": [{"$ref": "#/$defs/Num"}, {"maximum": 9}]}"##);
    judge(
        r#""allOf": [{"properties": {"d": {"type": "integer", "minimum": 3}}}, {"properties": {"d": {"maximum": 9}}}]"#,
        &["{d = 5}"],
        &["{d = 2}", "{d = 10}", "{d = \"x\"}"],
    );
    judge(
        r#""properties": {"t": {"type": "array", "prefixItems": [{"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"]}]},
            "e": {"type": "string", "enum": []}}"#,
        &["{t = [{q = 1}]}"],
        &["{t = [{q = \"x\"}]}", "{t = [{}]}", "{t = [5]}", "{e = \"a\"}"],
    );
}

#[test]
fn rules_hold_where_names_have_rules_too() {
    let rest = r#""properties": {"a": {"type": "integer", "minimum": 3}}, "patternProperties": {"^x-": {"type": "string"}}"#;
    judge(
        rest,
        &["{a = 3}", "{a = 3, \"x-b\" = \"c\"}"],
        &["{a = 1}", "{a = 1, \"x-b\" = \"c\"}", "{\"x-b\" = 1}"],
    );
    let made = read(Mode::JsonSchema, &format!("{{\"$schema\": \"x\", \"type\": \"object\", {rest}}}"));
    assert_eq!(made.warnings, ["Odd: names of other attributes are not checked"]);
}

#[test]
fn patterns_with_types_of_their_own_are_told() {
    for rest in [
        r#""patternProperties": {"^x-": {"type": "string"}, "^y-": {"type": "integer"}}, "additionalProperties": false"#,
        r#""properties": {"a": {"type": "integer"}}, "patternProperties": {"^x-": {"type": "string", "minLength": 2}}, "additionalProperties": false"#,
    ] {
        let made = read(Mode::JsonSchema, &format!("{{\"$schema\": \"x\", \"type\": \"object\", {rest}}}"));
        assert_eq!(made.warnings.len(), 1, "{rest}: {:?}", made.warnings);
    }
}

#[test]
fn what_must_be_there_need_not_be_described() {
    judge(
        r#""properties": {"a": {"type": "string"}}, "required": ["b"]"#,
        &["{b = 1}", "{a = \"x\", b = {c = 1}}"],
        &["{}", "{a = \"x\"}", "{b = 1, c = 1}"],
    );
    // It may be described as one of many, also by an object.
    judge(
        r#""properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer", "minimum": 1}, "required": ["b"]"#,
        &["{b = 1}", "{b = 1, c = 2}"],
        &["{}", "{c = 1}", "{b = \"x\"}", "{b = 0}"],
    );
    let object = r#""properties": {"a": {"type": "string"}}, "required": ["b", "c"],
        "additionalProperties": {"type": "object", "properties": {"n": {"type": "integer"}}}"#;
    judge(
        object,
        &["{b = {n = 1}, c = {}}", "{b = {}, c = {}, d = {n = 1}}"],
        &["{b = {n = 1}}", "{b = 1, c = {}}"],
    );
    let schemas = made(object).lines().filter(|line| line.starts_with("schema ")).count();
    assert_eq!(schemas, 2, "{}", made(object));
    judge(
        r#""patternProperties": {"^s": {"type": "string"}, "^i": {"type": "integer"}}, "additionalProperties": false, "required": ["s1"]"#,
        &["{s1 = \"x\"}", "{s1 = \"x\", i1 = 1}"],
        &["{}", "{s1 = 1}", "{i1 = 1}"],
    );
    // What nobody may set does not come back.
    judge(r#""properties": {"a": {"type": "string"}, "b": false}, "required": ["b"]"#, &[], &["{b = 1}"]);
}

#[test]
fn elements_are_counted() {
    judge(
        r#""properties": {"l": {"type": "array", "contains": {"type": "integer", "minimum": 5}, "minContains": 2, "maxContains": 3}}"#,
        &["{l = [5, 6]}", "{l = [5, 1, 6, 7]}", "{}"],
        &["{l = []}", "{l = [5]}", "{l = [5, 6, 7, 8]}"],
    );
    judge(
        r#""properties": {"l": {"type": "array", "contains": true, "minContains": 2}}"#,
        &["{l = [1, 2]}"],
        &["{l = [1]}"],
    );
}

#[test]
fn what_is_not_checked_is_told() {
    for (rest, told) in [
        (r#""x-y": {"type": "string", "minLength": 2}"#, "`x-y` has no name in a check"),
        (r#""n": {"type": "number", "multipleOf": 0.1}"#, "`multipleOf: 0.1` of a number is not checked"),
        (r##""d": {"$dynamicRef": "#node"}"##, "`$dynamicRef` is not followed: any"),
    ] {
        let text = format!("{{\"$schema\": \"x\", \"type\": \"object\", \"properties\": {{{rest}}}}}");
        let warnings = read(Mode::JsonSchema, &text).warnings;
        assert!(warnings.iter().any(|warning| warning.contains(told)), "{rest}: {warnings:?}");
    }
    let plain = r#"{"$schema": "x", "type": "object", "properties": {"x-y": {"type": "string"}}}"#;
    assert_eq!(read(Mode::JsonSchema, plain).warnings, [""; 0]);
}

#[test]
fn metadata_is_that_of_every_object_also_where_it_is_required() {
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.g.io}\nspec:\n  \
                group: g.io\n  names: {kind: A}\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        \
                type: object\n        required: [metadata, spec]\n        properties:\n          spec: {type: string}\n";
    let made = read(Mode::Crd, text);
    let (_, program) = made.files.iter().find(|(path, _)| path.ends_with("v1/a.k")).unwrap();
    assert_eq!(
        program.matches("\n    metadata").count(),
        2,
        "its line in the document and itself: {program}"
    );
    assert!(program.contains("\n    metadata?: ") && program.contains("\n    spec: str"), "{program}");
}
