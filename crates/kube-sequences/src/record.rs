//! Recordings: sequences as lines of JSON.
//!
//! A sequence is one line `{"sequence":seed,"kind":…,"apiVersion":…,"plural":…,"name":…}` followed by one line per step:
//! `{"manager","op","subresource"?,"force"?,"body","code","unchanged"?,"object"|"error"}`. `object` is left out when the
//! step changed nothing at all: it is then the object of the step before.

use serde_json::{Map, Value, json};

use crate::live::Step;
use crate::{Request, Sequence};

/// One recorded step.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub request: Request,
    pub code: u16,
    /// True when the server wrote nothing.
    pub unchanged: bool,
    /// The object after the step, or the error.
    pub outcome: Result<Value, Value>,
}

/// One recorded sequence.
#[derive(Debug, Clone)]
pub struct Recording {
    pub seed: u64,
    pub kind: String,
    pub api_version: String,
    pub name: String,
    pub steps: Vec<Recorded>,
}

/// Writes sequences as text.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
    last: Option<Value>,
}

impl Writer {
    /// Begins a sequence.
    pub fn begin(&mut self, sequence: &Sequence) {
        self.last = None;
        let kind = sequence.kind;
        let line = json!({
            "sequence": sequence.seed, "kind": kind.kind, "apiVersion": kind.api_version, "plural": kind.plural,
            "name": sequence.name,
        });
        self.line(&line);
    }

    /// Adds a step.
    pub fn step(&mut self, step: &Step) {
        let mut line: Map<String, Value> = step.request.to_json();
        line.insert("code".into(), json!(step.code));
        match &step.outcome {
            Ok(object) => {
                if step.unchanged {
                    line.insert("unchanged".into(), json!(true));
                }
                if self.last.as_ref() != Some(object) {
                    line.insert("object".into(), object.clone());
                }
                self.last = Some(object.clone());
            }
            Err(error) => drop(line.insert("error".into(), error.clone())),
        }
        self.line(&Value::Object(line));
    }

    fn line(&mut self, value: &Value) {
        self.text.push_str(&value.to_string());
        self.text.push('\n');
    }

    /// The text so far.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Reads what [`Writer`] wrote; an error names the line.
pub fn read(text: &str) -> Result<Vec<Recording>, String> {
    let mut recordings: Vec<Recording> = Vec::new();
    let mut last = Value::Null;
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("line {}: {what}", number + 1);
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
        if let Some(seed) = value.get("sequence").and_then(Value::as_u64) {
            let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (kind, api_version, name) = (word("kind"), word("apiVersion"), word("name"));
            recordings.push(Recording { seed, kind, api_version, name, steps: Vec::new() });
            last = Value::Null;
            continue;
        }
        let request = Request::from_json(&value).ok_or_else(|| wrong("not a step"))?;
        let code = value.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let code = code.ok_or_else(|| wrong("no code"))?;
        let outcome = match value.get("error") {
            Some(error) => Err(error.clone()),
            None => {
                if let Some(object) = value.get("object") {
                    last = object.clone();
                }
                Ok(last.clone())
            }
        };
        let unchanged = value.get("unchanged") == Some(&Value::Bool(true)) || outcome.is_err();
        let recording = recordings.last_mut().ok_or_else(|| wrong("a step before its sequence"))?;
        recording.steps.push(Recorded { request, code, unchanged, outcome });
    }
    Ok(recordings)
}
