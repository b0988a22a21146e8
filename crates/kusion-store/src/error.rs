//! What can go wrong with the state, with the next step in the text.

use std::io;
use std::path::{Path, PathBuf};

use kusion_model::ReleaseNo;

use crate::Damage;
use crate::lease::Holder;

/// A failed operation on the state.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {what} {}: {}", path.display(), explain(source))]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    /// The medium did not answer: the write may have happened.
    #[error("no answer from {} after {tries} tries; what was written last may or may not be there", place.display())]
    Unanswered { place: PathBuf, tries: u32 },
    /// The medium could not be asked.
    #[error("{} does not answer: {why}", place.display())]
    Unreachable { place: PathBuf, why: String },
    /// The medium answered, and will not do it.
    #[error("{} refuses: {why}", place.display())]
    Refused { place: PathBuf, why: String },
    #[error("the stack is locked by {holder}")]
    Locked { holder: Box<Holder> },
    /// What stands where the lease should be is none.
    #[error("the lock in {} is unreadable", place.display())]
    LeaseGarbled { place: PathBuf },
    #[error("another run has taken over the lock (token {theirs}, ours was {ours}); nothing more is written")]
    Fenced { ours: u64, theirs: u64 },
    #[error("the state has moved on since it was read (serial {expected} expected)")]
    Stale { expected: u64 },
    #[error("the state is damaged: {damage}")]
    Damaged { place: PathBuf, damage: Damage },
    #[error("{} has format {found}, this engine reads up to {known}; use a newer engine", place.display())]
    Newer { place: PathBuf, found: u32, known: u32 },
    #[error("release {no} does not exist{}", known_releases(*first, *last))]
    NoRelease { no: ReleaseNo, first: Option<ReleaseNo>, last: Option<ReleaseNo> },
    /// The state is kept elsewhere now.
    #[error("the state has moved from {} to {to}", place.display())]
    Moved { place: PathBuf, to: String },
    /// The state is being brought here, and does not count yet.
    #[error("the state is on its way from {from} to {}, and has not arrived", place.display())]
    OnItsWay { place: PathBuf, from: String },
    /// Another state stands where one should go.
    #[error("there is a state in {} already", place.display())]
    Occupied { place: PathBuf },
    #[error("there is no state in {}", place.display())]
    NoState { place: PathBuf },
    /// The keys are locked by something else than what was given.
    #[error("the state is locked by {needs}, and {given} was given")]
    OtherLock { needs: String, given: String },
    /// A repair without the key would give up everything that is sealed with it.
    #[error("nothing of the state in {} opens with {given}", place.display())]
    KeyNeeded { place: PathBuf, given: String },
    #[error("{lock} does not open or lock the keys: {why}")]
    Lock { lock: String, why: String },
    /// A thing that left the store is not what was sealed.
    #[error("the {what} is not what was sealed with the key of this stack: {fault}")]
    Unsealed { what: String, fault: crate::Fault },
    #[error("nothing can be sealed: {why}")]
    NoRandom { why: String },
    #[error("release {no} is not open")]
    NotOpen { no: ReleaseNo },
}

impl StoreError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { what, path, source }
    }

    /// Returns whether the key is missing or wrong: nothing can be read, and a repair can only begin anew.
    #[must_use]
    pub fn is_about_the_key(&self) -> bool {
        let StoreError::Damaged { damage, .. } = self else { return false };
        matches!(damage, Damage::Key | Damage::NoKey { .. } | Damage::WrongKey { .. })
    }

    /// Returns whether the medium lets nobody write, so that a command that only reads can go on.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let StoreError::Io { source, .. } = self else { return false };
        matches!(source.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
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
