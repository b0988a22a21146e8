//! SARIF 2.1.0: what code scanning reads.

use std::collections::BTreeMap;

use kcl_lint::{Level, RULES};
use serde_json::{Value, json};

use super::item::Item;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "note",
    }
}

/// A path as a relative URI: what is not plain is escaped.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte as char)
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// The log of one run; `errors` are files that could not be judged, with the reason.
pub(super) fn log(items: &[Item], errors: &[(String, String)]) -> Value {
    let mut rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.code,
                "name": rule.kind,
                "shortDescription": { "text": rule.summary },
                "fullDescription": { "text": rule.why },
                "help": { "text": kcl_lint::page(rule) },
                "defaultConfiguration": { "level": level(rule.level) },
                "properties": { "id": rule.id },
            })
        })
        .collect();
    let mut places: BTreeMap<&str, usize> =
        RULES.iter().enumerate().map(|(at, rule)| (rule.code, at)).collect();
    // The codes of compile errors that occur.
    for item in items {
        places.entry(item.code).or_insert_with(|| {
            rules.push(json!({
                "id": item.code,
                "shortDescription": { "text": format!("compile error {}", item.code) },
                "help": { "text": format!("`kcl explain {}` says more", item.code) },
                "defaultConfiguration": { "level": "error" },
            }));
            rules.len() - 1
        });
    }
    let results: Vec<Value> = items.iter().map(|item| result(item, places.get(item.code).copied())).collect();
    let driver = json!({ "name": "kcl lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    let run = json!({
        "tool": { "driver": driver }, "invocations": [invocation(errors)], "columnKind": "unicodeCodePoints",
        "results": results,
    });
    json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] })
}

/// How the run ended: without this, a file that could not be read looks like one without findings.
fn invocation(errors: &[(String, String)]) -> Value {
    let told: Vec<Value> = errors
        .iter()
        .map(|(path, message)| {
            let mut told = json!({ "level": "error", "message": { "text": format!("{path} {message}") } });
            if !path.is_empty() {
                told["locations"] =
                    json!([{ "physicalLocation": { "artifactLocation": { "uri": uri(path) } } }]);
            }
            told
        })
        .collect();
    json!({ "executionSuccessful": errors.is_empty(), "toolExecutionNotifications": told })
}

fn result(item: &Item, rule: Option<usize>) -> Value {
    let text = match &item.help {
        Some(help) => format!("{}. {help}", item.message),
        None => item.message.clone(),
    };
    let mut result = json!({ "ruleId": item.code, "level": level(item.level), "message": { "text": text } });
    if let Some(rule) = rule {
        result["ruleIndex"] = rule.into();
    }
    if item.path.is_empty() {
        return result;
    }
    let artifact = json!({ "uri": uri(&item.path) });
    let region = json!({
        "startLine": item.start.line, "startColumn": item.start.column,
        "endLine": item.end.line, "endColumn": item.end.column,
    });
    result["locations"] = json!([{ "physicalLocation": { "artifactLocation": artifact, "region": region } }]);
    if let Some((safe, edits)) = &item.fix {
        let replacements: Vec<Value> = edits
            .iter()
            .map(|edit| {
                json!({
                    "deletedRegion": {
                        "startLine": edit.start.line, "startColumn": edit.start.column,
                        "endLine": edit.end.line, "endColumn": edit.end.column,
                    },
                    "insertedContent": { "text": edit.text },
                })
            })
            .collect();
        let said = if *safe { "safe fix" } else { "unsafe fix: look at the result" };
        let change = json!({ "artifactLocation": { "uri": uri(&item.path) }, "replacements": replacements });
        result["fixes"] = json!([{ "description": { "text": said }, "artifactChanges": [change] }]);
    }
    result
}
