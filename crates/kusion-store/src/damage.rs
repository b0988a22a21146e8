//! What can be wrong with a log, told from one another.

use std::fmt;

use kusion_model::{ReleaseNo, Scope};

/// A log that is not what was written. Nothing is planned on one; `kusion state repair` saves what can be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// There is no log beside its head, lease or key.
    Removed { head: Option<u64> },
    /// The log is there and has no byte.
    Emptied { head: Option<u64> },
    /// The log holds zeros only.
    Zeroed { head: Option<u64> },
    /// The first entry is no header.
    NoHeader,
    /// An entry is not what was written.
    Garbled { line: usize, what: Fault },
    /// Entries are missing between two others.
    Missing { line: usize, from: u64, to: u64 },
    /// Entries stand in another order.
    Swapped { line: usize, found: u64, expected: u64 },
    /// An entry does not follow from the one before it.
    Unchained { line: usize, serial: u64 },
    /// The log ends before its head: it was cut, or an older copy was put in its place.
    Behind { ends: u64, head: u64, release: ReleaseNo },
    /// The entry at the head is another one: an older copy was put in place and written on.
    Forked { serial: u64 },
    /// The log is of another history than the head.
    Foreign { found: String, expected: String },
    /// The log is that of another stack.
    OtherStack { found: Box<Scope> },
    /// The records of the log and a copy of them differ.
    Unequal,
    /// The head is gone, so nobody can tell whether the log is whole.
    NoHead,
    /// The head is not what was written.
    HeadGarbled,
    /// What stands where the key should be is none.
    Key,
    /// The key is gone.
    NoKey { needs: String },
    /// The key is another than the one that locks the state.
    WrongKey { needs: String },
    /// The log is sealed with keys that its head does not know.
    OtherKeys,
    /// The log is in clear, and was sealed.
    Downgraded,
    /// The cluster knows releases of this stack, and there is no state; `at` is where it knows them, if that was told.
    Lost { witness: u64, release: ReleaseNo, at: Option<String> },
    /// The cluster knows a later state: an older copy of the folder was put in place.
    Old { ends: u64, witness: u64, release: ReleaseNo },
    /// The cluster knows another history of this stack.
    Stranger { found: String, witness: String },
    /// The cluster knows another entry of that number.
    Unlike { serial: u64 },
}

/// How an entry is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its bytes do not fit its hash.
    Hash,
    /// It is cut in the middle.
    Cut,
    /// Its bytes are zeros.
    Zeros,
    /// Its hash fits, but it is no entry that this engine knows.
    Unknown,
    /// It does not open: it was changed since it was sealed.
    Seal,
    /// It is the entry of that number, put in the place of another.
    Moved { serial: u64 },
    /// It is sealed with another key.
    OtherKey,
    /// It stands in clear where everything is sealed.
    Clear,
    /// It is sealed by an algorithm that this engine does not know or no longer trusts.
    Algorithm,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Fault::Moved { serial } = self {
            return write!(f, "it is entry {serial}, put in the place of another");
        }
        f.write_str(match self {
            Fault::Hash => "its bytes do not fit its hash",
            Fault::Cut => "it is cut in the middle",
            Fault::Zeros => "its bytes are zeros",
            Fault::Unknown => "it is no entry of this format",
            Fault::Seal | Fault::Moved { .. } => "it was changed since it was sealed",
            Fault::OtherKey => "it is sealed with another key",
            Fault::Clear => "it is in clear, and everything here is sealed",
            Fault::Algorithm => "it is sealed by an algorithm that is not known here",
        })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Removed { head } => write!(f, "the log is gone{}", known(*head)),
            Damage::Emptied { head } => write!(f, "the log is empty{}", known(*head)),
            Damage::Zeroed { head } => write!(f, "the log holds nothing but zeros{}", known(*head)),
            Damage::NoHeader => f.write_str("the log has lost its first line"),
            Damage::Garbled { line, what } => write!(f, "line {line} of the log is damaged: {what}"),
            Damage::Missing { line, from, to } if from == to => {
                write!(f, "entry {from} is missing before line {line} of the log")
            }
            Damage::Missing { line, from, to } => {
                write!(f, "the entries {from} to {to} are missing before line {line} of the log")
            }
            Damage::Swapped { line, found, expected } => {
                write!(
                    f,
                    "the entries are not in order: line {line} of the log has number {found}, not {expected}"
                )
            }
            Damage::Unchained { line, serial } => {
                write!(f, "entry {serial} in line {line} of the log does not follow from the one before it")
            }
            Damage::Behind { ends, head, release } => write!(
                f,
                "the log ends at entry {ends}, but {head} were written (up to release {release}): \
                 it was cut, or an older copy was put in its place"
            ),
            Damage::Forked { serial } => write!(
                f,
                "entry {serial} is not the one that was written: an older copy was put in place and written on"
            ),
            Damage::Foreign { found, expected } => {
                write!(f, "the log is of another history ({found}) than its head ({expected})")
            }
            Damage::OtherStack { found } => write!(f, "the log is that of another stack, {found}"),
            Damage::Unequal => f.write_str("the records of the log and the packed copy of them differ"),
            Damage::NoHead => {
                f.write_str("the head of the log is gone, so that nobody can tell whether the log is whole")
            }
            Damage::HeadGarbled => f.write_str("the head of the log is not what was written"),
            Damage::Key => f.write_str("the key file holds no key"),
            Damage::NoKey { needs } => write!(f, "the key is gone: the state is locked by {needs}"),
            Damage::WrongKey { needs } => {
                write!(f, "the key is not the one that the state is sealed with: it is locked by {needs}")
            }
            Damage::OtherKeys => f.write_str("the log is sealed with other keys than its head knows"),
            Damage::Downgraded => {
                f.write_str("the log is in clear, but it was sealed: another log was put in its place")
            }
            Damage::Lost { witness, release, .. } => write!(
                f,
                "there is no state here, but the cluster knows {witness} entries of it (up to release {release})"
            ),
            Damage::Old { ends, witness, release } => write!(
                f,
                "the state ends at entry {ends}, but the cluster knows {witness} (up to release {release}): \
                 an older copy was put in its place"
            ),
            Damage::Stranger { found, witness } => {
                write!(f, "the state is of another history ({found}) than the cluster knows ({witness})")
            }
            Damage::Unlike { serial } => write!(
                f,
                "entry {serial} is not the one that the cluster knows: an older copy was put in place and written on"
            ),
        }
    }
}

fn known(head: Option<u64>) -> String {
    match head {
        Some(serial) => format!(", but {serial} entries were written"),
        None => ", but a release has been made here".to_owned(),
    }
}
