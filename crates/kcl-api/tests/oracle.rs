//! Our answers beside those of the released wheels, field by field.
//!
//! `oracle.json` holds questions with the answers of the wheels 0.12.4 and, for what only it has, 0.13.2. Trees and symbol tables are
//! not compared. Texts of errors are compared without colours and repetitions, values of `ListVariables` without their layout.
//! A case that differs on purpose is named in [`MEANT`] with the key of docs/divergences.md, and must differ.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use kcl_api::{Budget, Encoding, call};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Case {
    name: String,
    wheel: String,
    method: String,
    args: Value,
    files: BTreeMap<String, String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    changed: BTreeMap<String, String>,
}

/// Cases that differ on purpose, with the key of their reason in docs/divergences.md.
const MEANT: &[(&str, &str)] = &[
    ("builtin-ping", "rpc-builtin"),
    ("list-method", "rpc-builtin"),
    ("exec-noyaml", "rpc-no-yaml"),
    ("exec-missing", "rpc-paths"),
    ("parse-program-sources", "rpc-paths"),
    ("load-package", "rpc-newer-fields"),
    ("list-variables", "rpc-variables"),
    ("list-variables-specs", "rpc-variables"),
    ("override-many", "rpc-override"),
    ("override-import", "rpc-override"),
    ("override-broken", "rpc-override"),
    ("exec-errors-json", "rpc-error-format"),
    ("test-coverage", "rpc-tests"),
    ("test-report", "rpc-tests"),
    ("gen-kcl-json", "rpc-documents"),
    ("gen-kcl-yaml", "rpc-documents"),
    ("gen-kcl-toml", "rpc-documents"),
    ("gen-kcl-bad", "rpc-documents"),
    ("gen-kcl-schema", "rpc-documents"),
    ("gen-openapi", "rpc-documents"),
    ("gen-openapi-v", "rpc-documents"),
    ("gen-doc", "rpc-documents"),
    ("schema-mapping", "rpc-schema-docs"),
    ("schema-mapping-one", "rpc-schema-docs"),
    ("schema-kinds", "rpc-schema-depth"),
    ("validate-bad", "rpc-validate"),
    ("validate-type", "rpc-validate"),
    ("validate-badjson", "rpc-validate"),
    ("validate-badcode", "rpc-validate"),
    ("validate-list", "rpc-validate"),
    ("settings", "rpc-settings"),
    ("settings-rel", "rpc-settings"),
    ("rename-code", "rpc-rename"),
    ("rename-code-attr", "rpc-rename"),
    ("deps", "rpc-paths"),
    ("deps-none", "rpc-paths"),
    ("unknown-method", "rpc-methods"),
    ("dep-files", "rpc-methods"),
];

#[test]
fn answers_are_those_of_the_wheels() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("oracle.json")).unwrap();
    assert!(cases.len() > 100, "the record is complete");
    let ledger = include_str!("../../../docs/divergences.md");
    let mut wrong = Vec::new();
    let filter = std::env::var("CASE").unwrap_or_default();
    for case in cases.iter().filter(|case| case.name.contains(&filter)) {
        let meant = MEANT.iter().find(|(name, _)| *name == case.name);
        let found = difference(case);
        match (meant, found) {
            (None, Some(difference)) => {
                wrong.push(format!("{} ({} of {}): {difference}", case.name, case.method, case.wheel));
            }
            (Some((_, key)), None) => wrong.push(format!("{} does not differ any more: `{key}`", case.name)),
            (Some((_, key)), Some(_)) => {
                assert!(ledger.contains(&format!("`{key}`")), "docs/divergences.md does not mention `{key}`");
            }
            (None, None) => {}
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(case: &Case) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap().display().to_string();
    for (path, text) in &case.files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let args = replaced(&case.args, "$DIR", &place);
    let answer = call(&case.method, Encoding::Json, args.to_string().as_bytes(), &Budget::default());
    let (error, result) = match answer {
        Ok(bytes) => (None, Some(serde_json::from_slice::<Value>(&bytes).unwrap())),
        Err(failure) => (Some(failure.message), None),
    };
    let told = |text: &Option<String>| text.as_deref().map(|text| first_error(&text.replace(&place, "$DIR")));
    if told(&error) != told(&case.error) {
        return Some(format!("error\n  ours:   {:?}\n  theirs: {:?}", told(&error), told(&case.error)));
    }
    let form =
        |value: &Option<Value>| value.as_ref().map(|value| comparable("", &replaced(value, &place, "$DIR")));
    let (ours, theirs) = (form(&result), form(&case.result));
    if ours != theirs {
        return Some(match (&ours, &theirs) {
            (Some(ours), Some(theirs)) => first_difference("result", ours, theirs),
            _ => format!("result\n  ours:   {ours:?}\n  theirs: {theirs:?}"),
        });
    }
    changed(case, folder.path(), &place)
}

/// Where two values differ first.
fn first_difference(path: &str, ours: &Value, theirs: &Value) -> String {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys());
            let differs = |key: &&String| a.get(*key) != b.get(*key);
            let null = Value::Null;
            keys.into_iter().find(differs).map_or_else(String::new, |key| {
                let path = format!("{path}.{key}");
                first_difference(&path, a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let at = (0..a.len()).find(|at| a[*at] != b[*at]).unwrap_or_default();
            first_difference(&format!("{path}[{at}]"), &a[at], &b[at])
        }
        _ => format!("{path}\n  ours:   {ours}\n  theirs: {theirs}"),
    }
}

fn changed(case: &Case, folder: &Path, place: &str) -> Option<String> {
    for (path, before) in &case.files {
        let ours = std::fs::read_to_string(folder.join(path)).unwrap().replace(place, "$DIR");
        let theirs = case.changed.get(path).unwrap_or(before);
        // The reference drops the last line end when it renames.
        if ours.trim_end() != theirs.trim_end() {
            return Some(format!("{path}\n  ours:   {ours:?}\n  theirs: {theirs:?}"));
        }
    }
    None
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
            text.parse::<i64>().unwrap().into()
        }
        Value::String(text) if key == "err_message" || key == "error" => first_error(text).into(),
        Value::String(text) if key == "value" || key == "unsupported_codes" => {
            text.split(|c: char| c.is_whitespace() || c == ',').collect::<String>().into()
        }
        Value::Array(items) if key.ends_with("errors") => {
            let errors = items.iter().filter(|item| item["level"] != "suggestions");
            errors.take(1).map(|item| comparable("", item)).collect()
        }
        Value::Array(items) => items.iter().map(|item| comparable(key, item)).collect(),
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
