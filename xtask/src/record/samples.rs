//! What the server makes of a valid object of each kind: its defaults, and which of its fields cannot be changed later.
//!
//! Out: `defaults.jsonl`, a line `{"body","object"}` per sample; `immutable.tsv`, a line per field that an update may not
//! change: `apiVersion`, `kind`, the path changed, `set` or `remove`, the server's message.

use std::collections::BTreeSet;

use kube_sequences::{Places, normal, samples};
use serde_json::{Value, json};
use testenv::ControlPlane;
use testenv::http::Client;

use super::write;

const NAMESPACE: &str = "samples";
/// How the server words that a field is fixed; there is no machine-readable reason for it.
const WORDS: [&str; 7] = [
    "immutable",
    "may not change",
    "may not be changed",
    "cannot be changed",
    "cannot change",
    "updates to",
    "may not be updated",
];

pub(super) fn record(plane: &ControlPlane) -> Result<(), String> {
    let mut client = plane.http();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    post(&mut client, "/api/v1/namespaces", &namespace)?;
    // Pods are refused without their service account, and no controller makes the first one here.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    post(&mut client, &format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts"), &account)?;
    let mut places = Places::default();
    let mut defaults = String::new();
    let mut paths = Vec::new();
    let mut fixed: BTreeSet<String> = BTreeSet::new();
    for body in samples() {
        let collection = places.collection(&mut client, body, NAMESPACE)?;
        let object = post(&mut client, &collection, body)?;
        let line = json!({"body": body, "object": normal::drawn(&normal::object(&object), body)});
        defaults.push_str(&format!("{line}\n"));
        paths.push(format!("{collection}/{}", body["metadata"]["name"].as_str().unwrap_or_default()));
    }
    for path in paths {
        let answer = client.get(&path).map_err(|error| error.to_string())?;
        let object = serde_json::from_slice(&answer.body).map_err(|error| format!("GET {path}: {error}"))?;
        immutable(&mut client, &path, &object, &mut fixed)?;
    }
    let lines: Vec<String> = fixed.into_iter().collect();
    println!("{} samples, {} immutable paths", samples().len(), lines.len());
    write("samples/defaults.jsonl", &defaults)?;
    write("samples/immutable.tsv", &(lines.join("\n") + "\n"))
}

fn post(client: &mut Client, collection: &str, body: &Value) -> Result<Value, String> {
    let path = format!("{collection}?fieldManager=sample&fieldValidation=Strict");
    let answer = client
        .request("POST", &path, "application/json", body.to_string().as_bytes())
        .map_err(|error| error.to_string())?;
    if answer.status >= 300 {
        return Err(format!("POST {path} {body}: {}", answer.text()));
    }
    serde_json::from_slice(&answer.body).map_err(|error| format!("POST {path}: {error}"))
}

/// Tries to change and to remove every value of an object, without saving, and notes what is refused as fixed.
fn immutable(
    client: &mut Client,
    path: &str,
    object: &Value,
    fixed: &mut BTreeSet<String>,
) -> Result<(), String> {
    for (pointer, place) in values(object) {
        for change in ["set", "remove"] {
            let mut body = object.clone();
            let changed =
                if change == "set" { alter(&mut body, &pointer) } else { remove(&mut body, &pointer) };
            if !changed {
                continue;
            }
            let url = format!("{path}?dryRun=All&fieldManager=sample");
            let answer = client
                .request("PUT", &url, "application/json", body.to_string().as_bytes())
                .map_err(|error| error.to_string())?;
            let status: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            for cause in status.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten() {
                let message = cause["message"].as_str().unwrap_or_default();
                if let Some(rule) = rule(message) {
                    let field = cause["field"].as_str().unwrap_or_default();
                    fixed.insert(
                        [text(object, "apiVersion"), text(object, "kind"), &place, change, field, &rule]
                            .join("\t"),
                    );
                }
            }
        }
    }
    Ok(())
}

/// The part of the message that says that a field is fixed, without the values and differences around it.
fn rule(message: &str) -> Option<String> {
    if !WORDS.iter().any(|word| message.contains(word)) {
        return None;
    }
    let message = message.lines().next().unwrap_or_default();
    let start = message
        .rfind(": ")
        .map(|at| at + 2)
        .filter(|at| WORDS.iter().any(|word| message[*at..].contains(word)));
    Some(message[start.unwrap_or(0)..].replace('\t', " "))
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// Every value below the top level with its pointer and its path without indexes.
fn values(object: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<(String, String, &Value)> = Vec::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()) {
            open.push((format!("/{}", escape(key)), format!(".{key}"), value));
        }
    }
    while let Some((pointer, place, value)) = open.pop() {
        match value {
            Value::Object(map) => {
                open.extend(map.iter().map(|(key, value)| {
                    (format!("{pointer}/{}", escape(key)), format!("{place}.{key}"), value)
                }));
            }
            Value::Array(items) => {
                open.extend(
                    items
                        .iter()
                        .enumerate()
                        .map(|(n, value)| (format!("{pointer}/{n}"), format!("{place}[]"), value)),
                );
            }
            _ => {}
        }
        found.push((pointer, place));
    }
    found
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Another value of the same type; false for containers.
fn alter(object: &mut Value, pointer: &str) -> bool {
    let Some(place) = object.pointer_mut(pointer) else { return false };
    *place = match &*place {
        Value::String(text) => json!(format!("{text}x")),
        Value::Number(number) => json!(number.as_i64().unwrap_or(0) + 1),
        Value::Bool(flag) => json!(!flag),
        _ => return false,
    };
    true
}

fn remove(object: &mut Value, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return false };
    let last = last.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(map)) => map.shift_remove(&last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}
