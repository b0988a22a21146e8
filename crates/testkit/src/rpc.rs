//! Questions to the automation API with the answers of the released wheels, and how ours are compared with them.
//!
//! `crates/kcl-api/tests/oracle.json` holds questions with the answers of the wheels 0.12.4 and, for what only it has, 0.13.2
//! (`cargo xtask oracle rpc --update` asks them again). Trees and symbol tables are not compared. Texts of errors are compared without
//! colours and repetitions, values of `ListVariables` without their layout. A case that differs on purpose is named in [`MEANT`] with
//! the key of docs/divergences.md, and must differ in just the fields that stand there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A question and its answer.
#[derive(Clone, Deserialize, Serialize)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The version of the wheel that answered.
    pub wheel: String,
    /// `Service.Method`.
    pub method: String,
    /// The message; `$DIR` stands for the folder of the files.
    pub args: Value,
    /// Files that are there, with their texts.
    pub files: BTreeMap<String, String>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Files that have another text afterwards.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, String>,
}

/// Cases that differ on purpose: the key of their reason in docs/divergences.md, and the fields that differ, each of them.
pub const MEANT: &[(&str, &str, &[&str])] = &[
    ("builtin-ping", "rpc-builtin", &["result.value"]),
    ("list-method", "rpc-builtin", &["result.method_name_list"]),
    ("exec-noyaml", "rpc-no-yaml", &["result.yaml_result"]),
    ("exec-missing", "rpc-paths", &["error"]),
    ("parse-program-sources", "rpc-paths", &["result.paths[0]"]),
    ("list-variables", "rpc-variables", &["result.variables.b2"]),
    ("list-variables-specs", "rpc-variables", &["result.variables.d[\"p.q\"]"]),
    ("override-many", "rpc-override", &["main.k"]),
    ("override-import", "rpc-override", &["main.k"]),
    ("override-broken", "rpc-override", &["result.result", "main.k"]),
    ("exec-errors-json", "rpc-error-format", &["error"]),
    (
        "test-coverage",
        "rpc-tests",
        &[
            "result.coverage.files.$DIR/_kcl_test_0.k",
            "result.coverage.files.$DIR/f_test.k",
            "result.coverage.summary.covered",
            "result.coverage.summary.executable",
        ],
    ),
    ("test-report", "rpc-tests", &["result.report"]),
    ("gen-kcl-json", "rpc-documents", &["result.kcl"]),
    ("gen-kcl-bad", "rpc-documents", &["error"]),
    ("gen-kcl-schema", "rpc-documents", &["error", "result"]),
    ("gen-openapi", "rpc-documents", &["result.spec"]),
    ("gen-openapi-v", "rpc-documents", &["error"]),
    ("gen-doc", "rpc-documents", &["result.content"]),
    (
        "schema-mapping",
        "rpc-schema-docs",
        &[
            "result.schema_type_mapping.Person.properties.friends.item.properties.friends.item.properties.secret.decorators",
            "result.schema_type_mapping.Person.properties.friends.item.properties.secret.decorators",
            "result.schema_type_mapping.Person.properties.secret.decorators",
            "result.schema_type_mapping.p.properties.friends.item.properties.friends.item.properties.secret.decorators",
            "result.schema_type_mapping.p.properties.friends.item.properties.secret.decorators",
            "result.schema_type_mapping.p.properties.secret.decorators",
        ],
    ),
    (
        "schema-mapping-one",
        "rpc-schema-docs",
        &[
            "result.schema_type_mapping.Person.properties.friends.item.properties.friends.item.properties.secret.decorators",
            "result.schema_type_mapping.Person.properties.friends.item.properties.secret.decorators",
            "result.schema_type_mapping.Person.properties.secret.decorators",
        ],
    ),
    (
        "schema-kinds",
        "rpc-schema-depth",
        &[
            "result.schema_type_mapping.Z.properties.t.item.item.properties.t.item.item.properties.u.type",
            "result.schema_type_mapping.Z.properties.t.item.item.properties.t.item.item.properties.u.union_types",
            "result.schema_type_mapping.Z.properties.t.item.item.properties.u.type",
            "result.schema_type_mapping.Z.properties.t.item.item.properties.u.union_types",
            "result.schema_type_mapping.Z.properties.u.type",
            "result.schema_type_mapping.Z.properties.u.union_types",
            "result.schema_type_mapping.un",
            "result.schema_type_mapping.z.properties.t.item.item.properties.t.item.item.properties.u.type",
            "result.schema_type_mapping.z.properties.t.item.item.properties.t.item.item.properties.u.union_types",
            "result.schema_type_mapping.z.properties.t.item.item.properties.u.type",
            "result.schema_type_mapping.z.properties.t.item.item.properties.u.union_types",
            "result.schema_type_mapping.z.properties.u.type",
            "result.schema_type_mapping.z.properties.u.union_types",
        ],
    ),
    ("validate-bad", "rpc-validate", &["result.err_message"]),
    ("validate-type", "rpc-validate", &["result.err_message"]),
    ("validate-badjson", "rpc-validate", &["result.err_message"]),
    ("validate-badcode", "rpc-validate", &["result.err_message"]),
    ("validate-list", "rpc-validate", &["result.err_message"]),
    ("settings-rel", "rpc-settings", &["error"]),
    ("rename-code", "rpc-rename", &["result.changed_codes./mock/path/main.k"]),
    ("rename-code-attr", "rpc-rename", &["result.changed_codes./mock/path/main.k"]),
    ("deps", "rpc-paths", &["result.external_pkgs[0].pkg_path"]),
    ("deps-none", "rpc-paths", &["error"]),
    ("unknown-method", "rpc-methods", &["error"]),
    ("dep-files", "rpc-methods", &["result.files", "result.pkgroot"]),
];

/// Where the record is.
pub fn record() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kcl-api/tests/oracle.json")
}

/// Reads the record. The environment variable CASE chooses questions by a part of their name.
///
/// # Panics
/// If it is not there or not complete.
pub fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(record()).expect("the record is there");
    let cases: Vec<Case> = serde_json::from_str(&text).expect("the record can be read");
    assert!(cases.len() > 100, "the record is complete");
    let filter = std::env::var("CASE").unwrap_or_default();
    cases.into_iter().filter(|case| case.name.contains(&filter)).collect()
}

/// Asks questions and compares the answers with the record; returns what is not as it should be.
///
/// # Panics
/// If docs/divergences.md does not have the key of a difference.
pub fn judge(cases: &[Case], mut ask: impl FnMut(&Case, &Value) -> Result<Value, String>) -> Vec<String> {
    let ledger =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/divergences.md"));
    let ledger = ledger.expect("the list of differences is there");
    let mut wrong = Vec::new();
    for case in cases {
        let found = differences(case, &asked(case, |args| ask(case, args)));
        let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
        let meant = MEANT.iter().find(|(name, ..)| *name == case.name);
        let (key, held) = meant.map_or(("", &[][..]), |(_, key, held)| (*key, *held));
        if !key.is_empty() {
            assert!(ledger.contains(&format!("`{key}`")), "docs/divergences.md does not mention `{key}`");
        }
        if places != held || meant.is_some() && held.is_empty() {
            let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
            let (name, method, wheel) = (&case.name, &case.method, &case.wheel);
            wrong.push(format!(
                "{name} ({method} of {wheel}) differs in {places:?}, `{key}` allows {held:?}\n{}",
                texts.join("\n")
            ));
        }
    }
    wrong
}

/// Asks one question in a folder of its own; returns the case with the answer in it.
///
/// # Panics
/// If the folder cannot be made.
pub fn asked(case: &Case, ask: impl FnOnce(&Value) -> Result<Value, String>) -> Case {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().canonicalize().expect("its path").display().to_string();
    for (path, text) in &case.files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let answer = ask(&replaced(&case.args, "$DIR", &place));
    let mut out = Case { error: None, result: None, changed: BTreeMap::new(), ..case.clone() };
    match answer {
        Ok(result) => out.result = Some(replaced(&result, &place, "$DIR")),
        Err(error) => out.error = Some(error.replace(&place, "$DIR")),
    }
    for (path, before) in &case.files {
        let after =
            std::fs::read_to_string(folder.path().join(path)).unwrap_or_default().replace(&place, "$DIR");
        if after != *before {
            out.changed.insert(path.clone(), after);
        }
    }
    out
}

/// Where and how an answer differs from the one of the record.
pub fn differences(theirs: &Case, ours: &Case) -> Vec<(String, String)> {
    let told = |case: &Case| case.error.as_deref().map_or(Value::Null, |text| first_error(text).into());
    let form = |case: &Case| {
        let mut value = comparable("", case.result.as_ref().unwrap_or(&Value::Null));
        if let (Value::Object(entries), "0.12.4") = (&mut value, theirs.wheel.as_str()) {
            // Fields of a newer reference: a client of this one does not see them.
            entries.retain(|name, _| !matches!(name.as_str(), "imports" | "kcl_mod" | "apps"));
        }
        value
    };
    let mut found = Vec::new();
    compare("error", &told(ours), &told(theirs), &mut found);
    compare("result", &form(ours), &form(theirs), &mut found);
    for (path, before) in &theirs.files {
        // The reference drops the last line end when it renames.
        let after = |case: &Case| case.changed.get(path).unwrap_or(before).trim_end().into();
        compare(path, &after(ours), &after(theirs), &mut found);
    }
    found
}

/// Every place where two values differ.
fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<(String, String)>) {
    match (ours, theirs) {
        (a, b) if a == b => {}
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let null = Value::Null;
            for key in keys {
                let inside = format!("{path}.{key}");
                compare(&inside, a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{at}]"), a, b, found);
            }
        }
        _ => found.push((path.to_owned(), format!("  {path}\n    ours:   {ours}\n    theirs: {theirs}"))),
    }
}

fn replaced(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(from, to)),
        Value::Array(items) => items.iter().map(|item| replaced(item, from, to)).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.replace(from, to), replaced(value, from, to))).collect()
        }
        other => other.clone(),
    }
}

/// Fields that are not compared: trees, symbol tables, times.
const LEFT_OUT: &[&str] = &[
    "ast_json",
    "program",
    "scopes",
    "symbols",
    "node_symbol_map",
    "symbol_node_map",
    "fully_qualified_name_map",
    "pkg_scope_map",
    "duration",
    "line_hits",
    "checksum",
    "git_sha",
    "version_info",
];

/// A value without empty fields; numbers in quotes are numbers.
fn comparable(key: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if text.parse::<i64>().is_ok() && key != "default" && key != "value" => {
            text.parse::<i64>().unwrap_or_default().into()
        }
        Value::String(text) if key == "err_message" || key == "error" => first_error(text).into(),
        // The reference writes the mappings of options in any order.
        Value::String(text) if key == "value" && text.starts_with('{') && is_json(text) => {
            let mut value: Value = serde_json::from_str(text).unwrap_or_default();
            value.sort_all_objects();
            value.to_string().into()
        }
        Value::String(text) if key == "value" || key == "unsupported_codes" => {
            text.split(|c: char| c.is_whitespace() || c == ',').collect::<String>().into()
        }
        Value::Array(items) if key.ends_with("errors") => {
            let errors = items.iter().filter(|item| item["level"] != "suggestions");
            errors.take(1).map(|item| comparable("", item)).collect()
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| comparable(key, item)).collect();
            if key == "changed_files" {
                // The reference tells them in any order.
                items.sort_by_key(Value::to_string);
            }
            items.into()
        }
        Value::Object(entries) => {
            let mut out: Map<String, Value> = Map::new();
            for (name, value) in entries.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
                let value = comparable(name, value);
                let empty = match &value {
                    Value::Null => true,
                    Value::Bool(flag) => !flag,
                    Value::Number(number) => number.as_f64() == Some(0.0),
                    Value::String(text) => text.is_empty(),
                    Value::Array(items) => items.is_empty(),
                    Value::Object(entries) => entries.is_empty(),
                };
                if !empty {
                    out.insert(name.clone(), value);
                }
            }
            out.sort_keys();
            Value::Object(out)
        }
        other => other.clone(),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// The first error of a text: its kind, its places without columns, its sentences.
fn first_error(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => _ = chars.by_ref().find(|c| *c == 'm'),
            c => plain.push(c),
        }
    }
    let mut lines = Vec::new();
    for line in plain.trim().lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !lines.is_empty() && (line.starts_with("error[") || line.starts_with("suggestion")) {
            break;
        }
        let at_place = line.starts_with("-->");
        let line = if at_place { line.rsplit_once(':').map_or(line, |(head, _)| head) } else { line };
        let line = line.trim_matches(|c: char| c == '|' || c == '^' || c.is_whitespace());
        if !line.is_empty() {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n")
}
