//! Every format: what is made compiles without an error, is a fixed point of the formatter, and says the same as the input.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use base_diag::FileId;
use kcl::{Compiler, Disk, NoOutside, Request};
use kcl_import::{Imported, Input, Mode, detect, import};

fn sample(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)).unwrap()
}

fn load(path: &str) -> Result<String, String> {
    match path {
        "common.json" | "service.schema.json" | "types.proto" => Ok(sample(path)),
        _ => Err(format!("there is no {path}")),
    }
}

fn imported(name: &str) -> Imported {
    let text = sample(name);
    let mode = detect(name, &text).unwrap();
    import(&Input { name: name.into(), text, load: &load }, mode, "").unwrap()
}

/// Writes files below a folder; returns the folders with programs.
fn put(folder: &Path, files: &[(String, String)]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        if path.extension().unwrap() == "k" {
            folders.push(path.parent().unwrap().to_path_buf());
        }
    }
    folders.sort();
    folders.dedup();
    folders
}

const ALL: &[(&str, Mode)] = &[
    ("service.schema.json", Mode::JsonSchema),
    ("crds.yaml", Mode::Crd),
    ("petstore.yaml", Mode::OpenApi),
    ("provider.json", Mode::Terraform),
    ("stream.yaml", Mode::Yaml),
    ("values.yaml", Mode::Yaml),
    ("config.toml", Mode::Toml),
    ("shop.proto", Mode::Proto),
    ("types.proto", Mode::Proto),
    ("app.go", Mode::GoStruct),
];

#[test]
fn what_is_made_compiles_and_is_formatted() {
    for (name, mode) in ALL {
        assert_eq!(detect(name, &sample(name)), Some(*mode), "{name}");
        let made = imported(name);
        assert_eq!(made, imported(name), "{name}: same input, same bytes");
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in &made.files {
            if path.ends_with(".k") {
                assert_eq!(kcl_fmt::format(text, FileId(0)).text, *text, "{name}: {path}");
                assert!(text.contains("DO NOT EDIT"), "{name}: {path}");
            }
        }
        for folder in put(dir.path(), &made.files) {
            let request =
                Request { work_dir: dir.path().into(), ..Request::paths([folder.display().to_string()]) };
            let checked = Compiler::new(Disk).checked(&request);
            assert!(checked.diagnostics.is_empty(), "{name}: {:?}", checked.diagnostics);
        }
    }
}

#[test]
fn data_says_the_same_as_a_program() {
    for name in ["values.yaml", "stream.yaml", "config.toml"] {
        let made = imported(name);
        let outcome =
            Compiler::new(Disk).run(&Request::source("main.k", made.files[0].1.as_str()), &NoOutside);
        assert!(outcome.is_ok(), "{name}: {:?}", outcome.diagnostics);
        if name.ends_with(".yaml") {
            let limits = base_yaml::Limits::default();
            let strip = |text: &str| {
                let nodes = base_yaml::parse_documents(text, &limits).unwrap();
                nodes.iter().map(plain).collect::<Vec<_>>()
            };
            assert_eq!(strip(&outcome.yaml), strip(&sample(name)), "{name}");
        } else {
            assert_eq!(
                outcome.yaml,
                "title: x\nserver:\n  ports:\n  - 1\n  - 2\n  when: '2020-01-01'\na:\n- b: 1.0"
            );
        }
    }
}

/// A node without its places.
fn plain(node: &base_yaml::Node) -> String {
    match &node.value {
        base_yaml::Data::List(items) => format!("{:?}", items.iter().map(plain).collect::<Vec<_>>()),
        base_yaml::Data::Map(entries) => {
            format!("{:?}", entries.iter().map(|e| (e.key.clone(), plain(&e.value))).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

/// Runs statements after the schemas of a sample.
fn verdict(name: &str, statement: &str) -> bool {
    let program = format!("{}\n{statement}\n", imported(name).files[0].1);
    Compiler::new(Disk).run(&Request::source("main.k", program), &NoOutside).is_ok()
}

#[test]
fn what_the_schema_refuses_is_refused() {
    let service = |more: &str| {
        verdict("service.schema.json", &format!("x = Service {{port = 1, owner.email = \"e\"{more}}}"))
    };
    for good in [
        "",
        ", mode = \"b\"",
        ", labels = {a = \"b\"}",
        ", name = \"a1\"",
        ", ratio = 0.5",
        ", tags = [\"a\", \"b\"]",
        ", either = 1",
        ", either = Size {width = 1}",
        ", env = {A_B = \"1\"}",
        ", limits = {cpu = \"1\", other = 2}",
        ", $all = {email = \"e\", age = 1}",
        ", children = [Service {port = 2, owner.email = \"e\"}]",
        ", step = 10",
    ] {
        assert!(service(good), "{good}");
    }
    for bad in [
        ", port = 0",
        ", port = 65536",
        ", mode = \"c\"",
        ", labels = {a = 1}",
        ", name = \"a\"",
        ", name = \"A1\"",
        ", ratio = 0",
        ", tags = [\"a\", \"a\"]",
        ", tags = [\"a b\"]",
        ", either = 1.5",
        ", env = {a = \"1\"}",
        ", $all = {email = \"e\"}",
        ", children = []",
        ", step = 7",
        ", version = \"v2\"",
        ", unknown = 1",
    ] {
        assert!(!service(bad), "{bad}");
    }
    assert!(!verdict("service.schema.json", "x = Service {port = 1}"), "an owner is required");
    assert!(verdict("provider.json", "x = RandomPet {names = [\"a\"], $rule = [{$if = \"x\"}]}"));
    assert!(!verdict("provider.json", "x = RandomPet {names = [\"a\", \"a\"], $rule = [{$if = \"x\"}]}"));
    assert!(!verdict("provider.json", "x = RandomPet {names = [\"a\"], $rule = []}"));
}

#[test]
fn messages_say_what_their_format_says() {
    let order = |more: &str| {
        verdict(
            "shop.proto",
            &format!(
                "x = Order {{seller = \"s\", status = \"STATUS_OPEN\", token = \"t\", total = 1, $if = True{more}}}"
            ),
        )
    };
    let item = "{name = \"n\", weight = 1.0, kind = \"KIND_FOOD\"}";
    for good in [
        String::new(),
        ", count = 5, sizes = [1, 2]".to_owned(),
        format!(", items = [{item}], first = {item}"),
        ", prices = {a = {amount = 1.5}}, lost = 1, extra = [1]".to_owned(),
        ", card = \"1\", at = \"2024-02-29T10:00:00Z\"".to_owned(),
        ", address = {city = \"Delft\", line = [{text = \"x\"}]}".to_owned(),
    ] {
        assert!(order(&good), "{good}");
    }
    for bad in [
        ", count = 3000000000",
        ", sizes = [-1]",
        ", items = [{name = \"n\"}]",
        ", card = \"1\", cash = {cents = 1}",
        ", status = \"OTHER\"",
        ", at = \"tomorrow\"",
        ", total = -1",
        ", address = {}",
        ", unknown = 1",
    ] {
        assert!(!order(bad), "{bad}");
    }
    let told = imported("shop.proto");
    let warned = |word: &str| told.warnings.iter().any(|warning| warning.contains(word));
    assert!(
        warned("not/here.proto") && warned("`other.Unknown`") && told.warnings.len() == 2,
        "{:?}",
        told.warnings
    );
    let text = &told.files[0].1;
    assert!(text.contains("Everything that was bought at once.") && !text.contains("Copyright"), "{text}");
    assert!(
        text.contains("country?: str = \"NL\"") && text.contains("kind?: \"HOME\" | \"WORK\" = \"HOME\""),
        "{text}"
    );
    assert!(!text.contains("schema Unused"), "what nobody refers to stays in its own file: {text}");
    assert!(imported("types.proto").files[0].1.contains("schema Unused"));
}

#[test]
fn structs_say_what_their_format_says() {
    let app = |more: &str| {
        verdict(
            "app.go",
            &format!(
                "x = App {{owner = \"o\", image = \"web\", A = True, B = False, inner.depth = 1{more}}}"
            ),
        )
    };
    for good in [
        "",
        ", replicas = 3, pull = \"Always\", mode = \"odd\", labels = {a = \"b\"}",
        ", ports = [{number = 80}], since = \"now\", wait = 5, secret = \"c2VjcmV0\", pair = [1.0, 2.0]",
        ", limits.cpu = 0.5, written = [\"x\"], other = 1, kind = \"App\", bytes = [-1]",
    ] {
        assert!(app(good), "{good}");
    }
    for bad in [
        ", image = \"x\"",
        ", replicas = 101",
        ", pull = \"Sometimes\"",
        ", ports = [{number = 70000}]",
        ", pair = [1.0]",
        ", bytes = [200]",
        ", Hidden = 1",
        ", Call = 1",
        ", private = \"x\"",
        ", written = \"x\"",
    ] {
        assert!(!app(bad), "{bad}");
    }
    let told = imported("app.go");
    let text = &told.files[0].1;
    assert!(text.contains("Who owns it.") && text.contains("Where it listens."), "{text}");
    assert!(text.contains("replicas?: int = 2") && !text.contains("kubebuilder"), "{text}");
    assert!(!text.contains("Fake") && !text.contains("schema Unused"), "{text}");
    for (place, what) in [
        ("App.Other", "other.Thing"),
        ("App.Call", "a function"),
        ("App.Pipe", "a channel"),
        ("", "with parameters"),
    ] {
        let found = told.warnings.iter().any(|told| told.starts_with(place) && told.contains(what));
        assert!(found, "{place} {what}: {:?}", told.warnings);
    }
}

#[test]
fn references_stay_in_the_folder() {
    let refused = |reference: &str| {
        let text =
            format!("{{\"$schema\": \"x\", \"properties\": {{\"a\": {{\"$ref\": \"{reference}\"}}}}}}");
        import(&Input { name: "in/a.json".into(), text, load: &load }, Mode::JsonSchema, "").unwrap_err()
    };
    assert!(refused("../x.json").contains("leads out of the input's folder"));
    assert!(refused("/etc/passwd").contains("leads out of the input's folder"));
    assert!(refused("https://example.org/x.json").contains("on the network"));
    assert!(refused("gone.json").contains("there is no gone.json"));
    assert!(refused("#/nothing").contains("leads nowhere"));
    assert!(refused("#anchor").contains("no such anchor"));
}

#[test]
fn what_is_not_the_format_is_told() {
    let wrong = |mode: Mode, text: &str| {
        import(&Input { name: "a.json".into(), text: text.into(), load: &load }, mode, "").unwrap_err()
    };
    assert!(wrong(Mode::Json, "{").contains("a.json"));
    assert!(wrong(Mode::Json, "[1]").contains("must be a mapping"));
    assert!(wrong(Mode::JsonSchema, "{\"title\": \"x\"}").contains("no object with properties"));
    assert!(wrong(Mode::OpenApi, "{}").contains("is no OpenAPI document"));
    assert!(wrong(Mode::OpenApi, "{\"openapi\": \"3.1.0\", \"paths\": {}}").contains("names no schemas"));
    assert!(wrong(Mode::Crd, "a: 1").contains("no CustomResourceDefinition"));
    assert!(wrong(Mode::Terraform, "{}").contains("provider_schemas"));
    assert!(wrong(Mode::Toml, "a = \nb").contains("a.json:"));
    assert!(wrong(Mode::Proto, "syntax = \"proto3\";").contains("has no message"));
    assert_eq!(
        wrong(Mode::Proto, "message A {\n  string a 1;\n}"),
        "a.json:2: `=` is expected, `1` stands there"
    );
    assert!(wrong(Mode::Proto, "message A { enum B {").contains("the end stands there"));
    assert!(wrong(Mode::GoStruct, "package a\ntype a struct{}").contains("no exported struct"));
    assert_eq!(
        wrong(Mode::GoStruct, "type A struct {\n  B map[string\n"),
        "a.json:2: `]` is expected, the end stands there"
    );
}

#[test]
fn what_documents_of_kubernetes_leave_unsaid_is_known() {
    let text = r##"{"swagger": "2.0", "definitions": {
        "io.k8s.x.v1.JSONSchemaProps": {"type": "object", "properties": {
            "type": {"type": "string"},
            "items": {"$ref": "#/definitions/io.k8s.x.v1.JSONSchemaPropsOrArray"},
            "additionalProperties": {"$ref": "#/definitions/io.k8s.x.v1.JSONSchemaPropsOrBool"},
            "dependencies": {"type": "object", "additionalProperties": {"$ref": "#/definitions/io.k8s.x.v1.JSONSchemaPropsOrStringArray"}},
            "port": {"$ref": "#/definitions/io.k8s.x.intstr.IntOrString"}}},
        "io.k8s.x.v1.JSONSchemaPropsOrArray": {"description": "one or many"},
        "io.k8s.x.v1.JSONSchemaPropsOrBool": {"description": "one or a switch"},
        "io.k8s.x.v1.JSONSchemaPropsOrStringArray": {"description": "one or names"},
        "io.k8s.x.intstr.IntOrString": {"type": "string", "format": "int-or-string"}}}"##;
    let input = Input { name: "k8s.json".into(), text: text.into(), load: &load };
    let made = import(&input, Mode::OpenApi, "").unwrap();
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), &made.files);
    let accepts = |config: &str| {
        let program = format!("import k8s.x.v1\nx = v1.JSONSchemaProps {config}\n");
        let request = Request { work_dir: dir.path().into(), ..Request::source("main.k", program) };
        Compiler::new(Disk).run(&request, &NoOutside).is_ok()
    };
    for good in [
        "{items = {$type = \"string\"}, additionalProperties = False, port = \"http\"}",
        "{items = [{$type = \"string\"}, {}], additionalProperties.items.$type = \"string\", port = 80}",
        "{dependencies = {a = [\"b\"], c = {items.$type = \"string\"}}}",
    ] {
        assert!(accepts(good), "{good}");
    }
    for bad in [
        "{items = \"string\"}",
        "{items = {$type = 1}}",
        "{items = [{$type = 1}]}",
        "{items = {other = 1}}",
        "{additionalProperties = \"no\"}",
        "{additionalProperties = {items = {$type = [1]}}}",
        "{dependencies = {a = [1]}}",
        "{port = 99999999999}",
    ] {
        assert!(!accepts(bad), "{bad}");
    }
}
