//! The processes of this machine as owners of leases.

use std::fs;
use std::path::Path;

use crate::{Liveness, Owner};

/// Describes this process as the owner of a lease.
#[must_use]
pub fn local_owner(user: &str, host: &str, command: &str) -> Owner {
    let pid = std::process::id();
    Owner {
        user: user.to_owned(),
        host: host.to_owned(),
        pid,
        started: start_time(pid).unwrap_or(0),
        command: command.to_owned(),
    }
}

/// Tells whether the owner of a lease still runs, if it is on the machine called `host`.
#[must_use]
pub fn local_liveness(host: &str, owner: &Owner) -> Liveness {
    if owner.host != host || !Path::new("/proc/self").exists() {
        return Liveness::Unknown;
    }
    match start_time(owner.pid) {
        None => Liveness::Dead,
        Some(started) if owner.started != 0 && started != owner.started => Liveness::Dead,
        Some(_) => Liveness::Alive,
    }
}

/// Returns when a process started, in ticks since boot: field 22 of its stat, counted behind the name in parentheses.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    // A zombie has ended, whatever its table entry says.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
