//! What is wrong, and where.

use tf_value::{Path, ValueError};

/// Something wrong with a configuration or with what a provider answered. The message never holds a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    pub path: Path,
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Problem {
    pub fn at(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.clone(), message: message.into() }
    }
}

impl From<ValueError> for Problem {
    fn from(error: ValueError) -> Self {
        Self { path: error.path, message: error.message }
    }
}
