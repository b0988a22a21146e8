//! Many changes in one file: a JSON list, an object with `changes`, or one object per line.

use std::path::Path;

use kcl_edit::{Action, text_literal};
use serde_json::{Map, Value};

use super::{Verb, Wish, path_of};
use crate::files::{self, text_of};
use crate::wrong::Wrong;

const FORM: &str =
    "each change is {\"op\": \"set\", \"target\": \"dev\", \"path\": \"app.image\", \"text\": \"pay:v42\"}";

pub(super) fn read(file: &str) -> Result<Vec<Wish>, Wrong> {
    let text = match file {
        "-" => files::standard_input().and_then(text_of),
        path => files::read(Path::new(path)).and_then(text_of),
    };
    let text = text.map_err(|message| Wrong::with_help(format!("{file} {message}"), FORM))?;
    let rows = rows(&text).map_err(|why| Wrong::with_help(format!("{file} is no batch: {why}"), FORM))?;
    let wish = |(at, row): (usize, &Value)| {
        one(row).map_err(|why| Wrong::with_help(format!("{file}: change {}: {why}", at + 1), FORM))
    };
    rows.iter().enumerate().map(wish).collect()
}

fn rows(text: &str) -> Result<Vec<Value>, String> {
    match serde_json::from_str(text) {
        // A pipe that broke must not look like a day without changes; that is `[]`.
        _ if text.trim().is_empty() => Err("it is empty".into()),
        Ok(Value::Array(rows)) => Ok(rows),
        Ok(Value::Object(mut map)) if map.contains_key("changes") => match map.remove("changes") {
            Some(Value::Array(rows)) if map.is_empty() => Ok(rows),
            _ => Err("`changes` is a list, and nothing stands beside it".into()),
        },
        Ok(one @ Value::Object(_)) => Ok(vec![one]),
        Ok(_) => Err("it is neither a list nor objects".into()),
        Err(whole) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(|_| whole.to_string())
        }
    }
}

fn one(row: &Value) -> Result<Wish, String> {
    let Value::Object(map) = row else { return Err("it is no object".into()) };
    const KNOWN: &[&str] = &["op", "target", "path", "value", "text", "json", "name"];
    if let Some(key) = map.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!("there is no key `{key}`: use {}", KNOWN.join(", ")));
    }
    let text = |key: &str| match map.get(key) {
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(format!("`{key}` is a text")),
        None => Err(format!("`{key}` is missing")),
    };
    let verb = match text("op")? {
        "set" => Verb::Change(Action::Set(value(map)?)),
        "append" => Verb::Change(Action::Append(value(map)?)),
        "unset" => Verb::Change(Action::Unset),
        "rename" => Verb::Rename(text("name")?.to_owned()),
        "get" => Verb::Get,
        other => return Err(format!("there is no op `{other}`: use get, set, append, unset or rename")),
    };
    let path = path_of(text("path")?).map_err(|wrong| wrong.message().to_owned())?;
    Ok(Wish { target: text("target")?.to_owned(), path, verb })
}

/// Exactly one of `value` (a KCL expression), `text` (plain text) and `json` (any JSON).
fn value(map: &Map<String, Value>) -> Result<String, String> {
    match (map.get("value"), map.get("text"), map.get("json")) {
        (Some(Value::String(expression)), None, None) => Ok(expression.clone()),
        (None, Some(Value::String(text)), None) => Ok(text_literal(text)),
        (None, None, Some(json)) => Ok(expression(json)),
        (None, None, None) => Err("`value`, `text` or `json` is missing".into()),
        _ => Err("give one of `value` (a KCL expression), `text` (plain text) and `json`".into()),
    }
}

/// JSON as a KCL expression. Depth is bounded by the reader.
fn expression(json: &Value) -> String {
    match json {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text_literal(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(expression).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{} = {}", text_literal(key), expression(value));
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}
