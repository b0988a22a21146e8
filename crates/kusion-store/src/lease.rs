//! The lease: who may write, and how to tell that the holder is dead.
//!
//! No clock of another machine is believed. Whoever waits looks at the holder's beat: if it has not moved for the time of a
//! lease on the waiter's own clock, the holder is silent. A process of this machine is dead as soon as it has ended.

use std::fmt;
use std::time::Duration;

use kusion_model::Timestamp;
use serde::{Deserialize, Serialize};

/// A holder whose beat has not moved for this long has lost the lease.
pub const LEASE_TIME: Duration = Duration::from_secs(30);

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
    /// On another machine: only the beat tells.
    Unknown,
}

/// Who may write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Grows with every holder; a smaller one may write no more.
    pub token: u64,
    /// The name of the holding: two of them never share it, even if a lost lease has made their tokens equal.
    #[serde(default)]
    pub session: String,
    /// Counts the signs of life.
    #[serde(default)]
    pub beat: u64,
    /// Absent after it was given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    pub since: Timestamp,
    /// The holder's clock at its last sign of life, for people only.
    pub heartbeat: Timestamp,
}

/// What a writer shows at every write: a lease of another holding refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    pub token: u64,
    pub session: String,
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
        write!(f, ") since {}; last seen at {}", self.since, self.heartbeat)
    }
}

impl Lease {
    /// Returns who holds the lease, unless the owner is known to be dead.
    #[must_use]
    pub fn holder(&self, alive: &dyn Fn(&Owner) -> Liveness) -> Option<Holder> {
        let owner = self.owner.as_ref().filter(|owner| alive(owner) != Liveness::Dead)?;
        Some(Holder { owner: owner.clone(), since: self.since, heartbeat: self.heartbeat })
    }

    pub(crate) fn fence(&self) -> Fence {
        Fence { token: self.token, session: self.session.clone() }
    }

    /// Refuses a writer that holds another lease.
    pub(crate) fn check(lease: Option<&Lease>, ours: &Fence) -> Result<(), crate::StoreError> {
        let theirs = lease.map_or(0, |lease| lease.token);
        if lease.is_some_and(|lease| lease.token == ours.token && lease.session == ours.session) {
            return Ok(());
        }
        Err(crate::StoreError::Fenced { ours: ours.token, theirs })
    }
}

/// What a waiter has seen of a holder, by the waiter's own clock.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    seen: Option<(u64, String, u64)>,
    since: Duration,
}

impl Watch {
    /// Notes the beat as it is now (`elapsed` by a clock that never goes back). Returns whether it has stood still for the time
    /// of a lease.
    pub fn is_silent(&mut self, lease: &Lease, elapsed: Duration) -> bool {
        let now = (lease.token, lease.session.clone(), lease.beat);
        if self.seen.as_ref() != Some(&now) {
            (self.seen, self.since) = (Some(now), elapsed);
            return false;
        }
        elapsed.saturating_sub(self.since) > LEASE_TIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(beat: u64) -> Lease {
        let owner = Owner { user: "li".into(), host: "h".into(), pid: 7, started: 0, command: String::new() };
        let at = Timestamp::from_millis(1_000_000);
        Lease { token: 1, session: "s".into(), beat, owner: Some(owner), since: at, heartbeat: at }
    }

    #[test]
    fn dead_process_holds_nothing_and_a_stranger_holds_until_it_is_silent() {
        assert!(lease(0).holder(&|_| Liveness::Dead).is_none());
        assert!(lease(0).holder(&|_| Liveness::Unknown).is_some());
        let given_back = Lease { owner: None, ..lease(0) };
        assert_eq!(given_back.holder(&|_| Liveness::Alive), None);
    }

    #[test]
    fn silence_is_measured_by_the_waiter_and_ends_with_every_beat() {
        let (mut watch, at) = (Watch::default(), Duration::from_secs);
        assert!(
            !watch.is_silent(&lease(0), at(1_000)),
            "the first look tells nothing, whatever the clocks say"
        );
        assert!(!watch.is_silent(&lease(0), at(1_029)));
        assert!(!watch.is_silent(&lease(1), at(1_031)), "it moved");
        assert!(!watch.is_silent(&lease(1), at(1_060)));
        assert!(watch.is_silent(&lease(1), at(1_062)));
    }
}
