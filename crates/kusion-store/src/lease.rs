//! The lease: who may write, until when, and how to tell that the holder is dead.

use std::fmt;

use kusion_model::Timestamp;
use serde::{Deserialize, Serialize};

/// A holder that has not shown itself for this long has lost the lease.
pub const LEASE_TTL_MILLIS: u64 = 30_000;

/// A process that wants to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub user: String,
    pub host: String,
    pub pid: u32,
    /// Tells two processes apart that had the same pid; 0 if unknown.
    #[serde(default)]
    pub started: u64,
    /// What it is doing: `kusion apply dev`.
    #[serde(default)]
    pub command: String,
}

/// Whether a process still runs, as far as can be told from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Dead,
    /// On another machine: only the heartbeat tells.
    Unknown,
}

/// The lease file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lease {
    /// Grows with every holder; a smaller one may write no more.
    pub(crate) token: u64,
    /// Absent after it was given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<Owner>,
    pub(crate) since: Timestamp,
    pub(crate) heartbeat: Timestamp,
}

/// Who holds the lock, for the error that tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    pub owner: Owner,
    pub since: Timestamp,
    pub heartbeat: Timestamp,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Owner { user, host, pid, command, .. } = &self.owner;
        write!(f, "{user} on {host} (process {pid}")?;
        if !command.is_empty() {
            write!(f, ", `{command}`")?;
        }
        write!(f, ") since {}; it last showed itself at {}", self.since, self.heartbeat)
    }
}

impl Lease {
    /// Returns the holder if the lease still counts.
    pub(crate) fn holder(&self, now: Timestamp, alive: &dyn Fn(&Owner) -> Liveness) -> Option<Holder> {
        let owner = self.owner.as_ref()?;
        let quiet = now.millis_since(self.heartbeat) > LEASE_TTL_MILLIS;
        // A process that certainly runs on this machine keeps its lease even if it was stopped for a while.
        let lost = match alive(owner) {
            Liveness::Dead => true,
            Liveness::Unknown => quiet,
            Liveness::Alive => false,
        };
        (!lost).then(|| Holder { owner: owner.clone(), since: self.since, heartbeat: self.heartbeat })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease() -> Lease {
        let owner = Owner { user: "li".into(), host: "h".into(), pid: 7, started: 0, command: String::new() };
        let at = Timestamp::from_millis(1_000_000);
        Lease { token: 1, owner: Some(owner), since: at, heartbeat: at }
    }

    #[test]
    fn dead_process_loses_at_once_and_a_silent_stranger_after_a_while() {
        let soon = Timestamp::from_millis(1_010_000);
        let late = Timestamp::from_millis(1_000_000 + LEASE_TTL_MILLIS + 1);
        let holds = |now, liveness: Liveness| lease().holder(now, &|_| liveness).is_some();
        assert!(!holds(soon, Liveness::Dead));
        assert!(holds(soon, Liveness::Unknown) && !holds(late, Liveness::Unknown));
        assert!(holds(late, Liveness::Alive));
    }

    #[test]
    fn lease_that_was_given_back_has_no_holder() {
        let given_back = Lease { owner: None, ..lease() };
        assert_eq!(given_back.holder(Timestamp::from_millis(0), &|_| Liveness::Alive), None);
    }
}
