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
        "common.json" | "service.schema.json" => Ok(sample(path)),
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
    assert!(wrong(Mode::JsonSchema, "{\"type\": \"string\"}").contains("no object with properties"));
    assert!(wrong(Mode::OpenApi, "{}").contains("is no OpenAPI document"));
    assert!(wrong(Mode::Crd, "a: 1").contains("no CustomResourceDefinition"));
    assert!(wrong(Mode::Terraform, "{}").contains("provider_schemas"));
    assert!(wrong(Mode::Toml, "a = \nb").contains("a.json:"));
}
