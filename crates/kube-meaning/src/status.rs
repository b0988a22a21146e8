//! Refusals, in the server's words: HTTP code, reason, message and causes, ready to be written as a `Status` object.

use ecow::EcoString;
use serde_json::{Map, Value, json};

/// One cause of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    /// Empty for the refusals of apply that the server sends without one.
    pub reason: &'static str,
    pub message: String,
    pub causes: Vec<Cause>,
    /// `details.name`, `details.group`, `details.kind`; empty ones are left out.
    pub name: EcoString,
    pub group: EcoString,
    pub kind: EcoString,
    /// `details.retryAfterSeconds`.
    pub retry_after: Option<u16>,
}

impl Refusal {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            reason,
            message: message.into(),
            causes: Vec::new(),
            name: EcoString::new(),
            group: EcoString::new(),
            kind: EcoString::new(),
            retry_after: None,
        }
    }

    /// 400 BadRequest.
    pub fn bad_request(message: impl Into<String>) -> Refusal {
        Refusal::new(400, "BadRequest", message)
    }

    /// 500 without a reason: the server's answer to an applied object that does not fit the schema.
    pub fn typed(message: impl Into<String>) -> Refusal {
        Refusal::new(500, "", message)
    }

    /// 422 Invalid with its causes; the message lists them as the server does.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Refusal {
        let texts: Vec<String> = causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        let list = match texts.as_slice() {
            [] => "<nil>".to_owned(),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        Refusal {
            causes,
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            ..Refusal::new(422, "Invalid", format!("{qualified} \"{name}\" is invalid: {list}"))
        }
    }

    /// The `Status` object.
    pub fn to_json(&self) -> Value {
        let mut details = Map::new();
        for (key, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind)] {
            if !text.is_empty() {
                details.insert(key.to_owned(), Value::from(text.as_str()));
            }
        }
        if !self.causes.is_empty() {
            let causes = self
                .causes
                .iter()
                .map(|c| json!({"reason": c.reason, "message": c.message, "field": c.field}));
            details.insert("causes".to_owned(), causes.collect());
        }
        if let Some(seconds) = self.retry_after {
            details.insert("retryAfterSeconds".to_owned(), Value::from(seconds));
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
        });
        if let Value::Object(map) = &mut status {
            if !self.reason.is_empty() {
                map.insert("reason".to_owned(), Value::from(self.reason));
            }
            if !details.is_empty() || self.code == 422 {
                map.insert("details".to_owned(), Value::Object(details));
            }
            map.insert("code".to_owned(), Value::from(self.code));
        }
        status
    }
}

impl Cause {
    /// `FieldValueInvalid`: `Invalid value: <value>: <text>`.
    pub fn invalid(field: &str, value: &Value, text: &str) -> Cause {
        let shown = match value {
            Value::String(s) => format!("{s:?}"),
            other => other.to_string(),
        };
        Cause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {shown}: {text}"),
            field: field.to_owned(),
        }
    }

    /// `FieldValueRequired`: `Required value: <text>`.
    pub fn required(field: &str, text: &str) -> Cause {
        let message =
            if text.is_empty() { "Required value".to_owned() } else { format!("Required value: {text}") };
        Cause { reason: "FieldValueRequired", message, field: field.to_owned() }
    }

    /// `FieldValueForbidden`: `Forbidden: <text>`.
    pub fn forbidden(field: &str, text: &str) -> Cause {
        Cause {
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {text}"),
            field: field.to_owned(),
        }
    }

    /// `FieldValueNotSupported`: `Unsupported value: <value>: supported values: …`.
    pub fn not_supported(field: &str, value: &Value, allowed: &[&str]) -> Cause {
        let list: Vec<String> = allowed.iter().map(|a| format!("{a:?}")).collect();
        Cause {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {value}: supported values: {}", list.join(", ")),
            field: field.to_owned(),
        }
    }

    /// `FieldValueDuplicate`: `Duplicate value: <value>`.
    pub fn duplicate(field: &str, value: &Value) -> Cause {
        Cause {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {value}"),
            field: field.to_owned(),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
