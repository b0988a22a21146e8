//! What can go wrong with the state, with the next step in the text.

use std::io;
use std::path::{Path, PathBuf};

use kusion_model::ReleaseNo;

use crate::lease::Holder;

/// A failed operation on the state.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {what} {}: {}", path.display(), explain(source))]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("the stack is locked by {holder}")]
    Locked { holder: Box<Holder> },
    #[error("another run has taken over the lock (token {theirs}, ours was {ours}); nothing more is written")]
    Fenced { ours: u64, theirs: u64 },
    #[error("the state has moved on since it was read (serial {expected} expected)")]
    Stale { expected: u64 },
    #[error("{} is damaged in line {line}: {what}; the lines before it are intact", path.display())]
    Damaged { path: PathBuf, line: usize, what: String },
    #[error("{} has format {found}, this engine reads up to {known}; use a newer engine", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("release {no} does not exist{}", known_releases(*first, *last))]
    NoRelease { no: ReleaseNo, first: Option<ReleaseNo>, last: Option<ReleaseNo> },
    #[error("release {no} is not open")]
    NotOpen { no: ReleaseNo },
}

impl StoreError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { what, path, source }
    }
}

fn explain(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::StorageFull => "the disk is full; nothing was recorded".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            format!("{source}; set KUSION_HOME to a folder that can be written")
        }
        _ => source.to_string(),
    }
}

fn known_releases(first: Option<ReleaseNo>, last: Option<ReleaseNo>) -> String {
    match (first, last) {
        (Some(first), Some(last)) if first == last => format!("; the only one is {first}"),
        (Some(first), Some(last)) => format!("; there are {first} to {last}"),
        _ => "; the stack has no release yet".to_owned(),
    }
}
