//! Tables for people: what `kubectl get` prints, made by the server.
//!
//! In: an object, its resource, the time (ages are texts). Out: a row. Columns are one line of text per kind ([`columns`]),
//! cells one small function per kind ([`cells`]); custom resources take both from their definition ([`path`]).

mod age;
mod cells;
mod columns;
mod network;
mod path;
mod pods;
mod storage;

use serde_json::{Value, json};

use super::show::partial;
use crate::registry::Served;
use crate::store::with_entries;
use crate::time::Time;

/// What the rows of a table carry beside their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

/// The row of an object.
pub(crate) fn row(served: &Served, object: &Value, include: Include, now: Time) -> Value {
    let cells = match custom_columns(served) {
        Some(columns) => custom_cells(columns, object, now),
        None => cells::cells(served.resource(), object, now),
    };
    let mut row = json!({"cells": cells});
    match include {
        Include::None => {}
        Include::Metadata => row["object"] = partial(object),
        Include::Object => row["object"] = with_entries(object),
    }
    row
}

/// A table of rows; later events of a watch leave the columns out.
pub(crate) fn table(served: &Served, head: Value, rows: Vec<Value>, columns: bool) -> Value {
    let definitions = match (columns, custom_columns(served)) {
        (false, _) => Value::Null,
        (true, Some(custom)) => custom_definitions(custom),
        (true, None) => columns::definitions(served.resource()),
    };
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": head,
        "columnDefinitions": definitions, "rows": rows})
}

/// The columns that a definition gives its version.
fn custom_columns(served: &Served) -> Option<&[Value]> {
    let columns = served.custom_version()?.get("additionalPrinterColumns")?.as_array()?;
    Some(columns.as_slice()).filter(|columns| !columns.is_empty())
}

fn custom_definitions(custom: &[Value]) -> Value {
    let mut out = vec![columns::definition("Name", "string", "name", 0)];
    for column in custom {
        out.push(json!({
            "name": column["name"],
            "type": column["type"],
            "format": column.get("format").cloned().unwrap_or_else(|| json!("")),
            "description": column.get("description").cloned().unwrap_or_else(|| json!("")),
            "priority": column.get("priority").cloned().unwrap_or_else(|| json!(0)),
        }));
    }
    Value::Array(out)
}

fn custom_cells(custom: &[Value], object: &Value, now: Time) -> Vec<Value> {
    let mut out = vec![object["metadata"]["name"].clone()];
    for column in custom {
        let found = column["jsonPath"].as_str().and_then(|text| path::first(text, object));
        out.push(match (column["type"].as_str(), found) {
            (_, None) => Value::Null,
            (Some("date"), Some(value)) => json!(age::since(Some(value), now)),
            (Some("integer"), Some(Value::Number(n))) => {
                n.as_i64().map_or_else(|| json!(n.as_f64().unwrap_or(0.0) as i64), Value::from)
            }
            (Some("string"), Some(Value::String(text))) => json!(text),
            (Some("string"), Some(value)) => json!(value.to_string()),
            (Some("integer" | "number" | "boolean"), Some(Value::String(_))) => Value::Null,
            (_, Some(value)) => value.clone(),
        });
    }
    out
}
