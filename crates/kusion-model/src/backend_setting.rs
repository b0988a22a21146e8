//! Where a project or a stack says that its state is kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `backend:` in `project.yaml` and `stack.yaml`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BackendSetting {
    /// An address, or the name of a backend in the user's configuration.
    Named(String),
    /// As upstream's files say it: a type and its settings.
    Settings {
        #[serde(rename = "type", alias = "storageType")]
        kind: String,
        #[serde(default, alias = "config")]
        configs: BTreeMap<String, Value>,
    },
}

impl BackendSetting {
    /// The settings as text, which is what they are in upstream's files.
    #[must_use]
    pub fn texts(configs: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        configs.iter().map(|(key, value)| (key.clone(), text(value))).collect()
    }
}

impl fmt::Debug for BackendSetting {
    /// Without the settings: one of them may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendSetting::Named(_) => f.write_str("BackendSetting::Named(..)"),
            BackendSetting::Settings { kind, .. } => write!(f, "BackendSetting::Settings({kind})"),
        }
    }
}
