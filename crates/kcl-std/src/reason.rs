//! Why the world did not do what a library function asked of it.

use std::fmt;
use std::io::{Error, ErrorKind};

/// A reason, as a fact: whoever tells of it decides on the words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The system refuses, and says why.
    System {
        /// What kind of refusal it is.
        kind: ErrorKind,
        /// Its words, which the reference repeats.
        said: String,
    },
    /// The bytes of a file are no text.
    NotText,
    /// A path leads out of the folders that the program may touch.
    OutOfBounds {
        /// The path as the program has it.
        path: String,
    },
    /// The program may read and not write.
    ReadOnly,
    /// Nothing of the kind is given to programs that run here.
    NotHere,
    /// A check runs that the program does not reach: the world stays as it is.
    OnlyLooking,
}

impl From<Error> for Reason {
    fn from(error: Error) -> Self {
        Reason::System { kind: error.kind(), said: error.to_string() }
    }
}

/// The end of a sentence as the reference has it.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::System { said, .. } => f.write_str(said),
            Reason::NotText => f.write_str("stream did not contain valid UTF-8"),
            Reason::OutOfBounds { path } => write!(
                f,
                "access to {path} is refused: it is outside the module and the work folder (allow it with --allow-files)"
            ),
            Reason::ReadOnly => f.write_str("this program may not change files"),
            Reason::NotHere => f.write_str("it is not allowed here"),
            Reason::OnlyLooking => f.write_str("the world stays as it is"),
        }
    }
}

impl Reason {
    /// The same for people: no numbers of the system, and what can be done is left to the help.
    pub(crate) fn words(&self) -> String {
        match self {
            Reason::System { said, .. } => {
                let end = said.rfind(" (os error ").filter(|_| said.ends_with(')')).unwrap_or(said.len());
                said[..end].to_owned()
            }
            Reason::NotText => "it is no UTF-8 text".to_owned(),
            Reason::OutOfBounds { .. } => "it is outside the module and the work folder".to_owned(),
            other => other.to_string(),
        }
    }

    /// What to do about a path that was not found, or must not be touched.
    pub(crate) fn help(&self, path: &str) -> Option<&'static str> {
        match self {
            Reason::OutOfBounds { .. } => Some("allow it with --allow-files"),
            Reason::NotText => {
                Some("`crypto.filesha256` reads files of any bytes; other functions read text")
            }
            Reason::System { kind: ErrorKind::NotFound, .. } if !path.starts_with('/') => Some(
                "a relative path starts at the work folder: see `file.workdir()`, or use `file.modpath()`",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_no_numbers_of_the_system() {
        let missing = Reason::from(Error::from_raw_os_error(2));
        assert_eq!(missing.to_string(), "No such file or directory (os error 2)");
        assert_eq!(missing.words(), "No such file or directory");
        assert!(missing.help("a").is_some() && missing.help("/a").is_none());
    }
}
