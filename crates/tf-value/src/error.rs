//! The one error of this crate: where in the value, and what is wrong there.

use crate::{NumberError, Path};

/// What is wrong with a value, a type or their bytes, and where in the value it is. Never holds the value itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ValueError {
    pub path: Path,
    pub message: String,
}

impl std::fmt::Display for ValueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl ValueError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: Path::default(), message: message.into() }
    }

    pub fn at(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.clone(), message: message.into() }
    }
}

impl From<NumberError> for ValueError {
    fn from(error: NumberError) -> Self {
        Self::new(error.to_string())
    }
}
