//! What a statement needs of a server: calls, open streams, and that time passes.

use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub code: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    }

    pub fn headers(&self, name: &str) -> Vec<&str> {
        let all = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        all.map(|(_, value)| value.as_str()).collect()
    }

    /// The body, if the code is the one that is wanted.
    pub fn is(&self, code: u16) -> Result<Value, String> {
        if self.code == code {
            return Ok(self.json());
        }
        let text: String = self.text().chars().take(300).collect();
        Err(format!("{} instead of {code}: {text}", self.code))
    }

    /// The Status of a refusal, if code and reason are those that are wanted.
    pub fn refused(&self, code: u16, reason: &str) -> Result<Value, String> {
        let status = self.is(code)?;
        let told = status["reason"].as_str().unwrap_or_default();
        if status["kind"] != "Status" || told != reason || status["code"] != code {
            return Err(format!("not a Status {code} {reason}: {status}"));
        }
        Ok(status)
    }
}

/// An open stream of JSON lines.
pub trait Lines {
    /// The next line; `None` when none comes in time or the stream ends.
    fn next(&mut self, wait: Duration) -> Option<Value>;
    /// Whether the stream ends in time (lines that come are passed over).
    fn ends(&mut self, within: Duration) -> bool;
}

/// A server.
pub trait Wire {
    fn call(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply;
    fn open(&self, target: &str, headers: &[(&str, &str)]) -> Box<dyn Lines + '_>;
    /// Lets time pass.
    fn pass(&self, time: Duration);
    fn is_real(&self) -> bool;
    /// Something that makes names of this run its own.
    fn mark(&self) -> &str;
    /// Goes wrong on purpose from now on; only the sandbox does.
    fn faults(&self, script: &str);
    /// Forgets all events so far, as a compaction does; only the sandbox does.
    fn forget(&self);
}
