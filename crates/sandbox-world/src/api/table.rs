//! Tables for people: the columns that `kubectl get` prints.

use serde_json::{Value, json};

use super::show::partial;
use crate::registry::Served;
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
    let _ = (served, now);
    let mut row = json!({"cells": [object["metadata"]["name"], object["metadata"]["creationTimestamp"]]});
    match include {
        Include::None => {}
        Include::Metadata => row["object"] = partial(object),
        Include::Object => row["object"] = object.clone(),
    }
    row
}

/// A table of rows; later events of a watch leave the columns out.
pub(crate) fn table(_served: &Served, head: Value, rows: Vec<Value>, columns: bool) -> Value {
    let definitions = json!([
        {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
        {"name": "Created At", "type": "date", "format": "", "description": "", "priority": 0},
    ]);
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": head,
        "columnDefinitions": if columns { definitions } else { Value::Null }, "rows": rows})
}
