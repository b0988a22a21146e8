//! CPU time and memory of the plane's processes, for benches: `/proc` as it is.

use std::fs;

/// What one process has used so far.
#[derive(Debug, Clone)]
pub struct Usage {
    pub name: String,
    pub pid: u32,
    /// User and system time in seconds, in ticks of 10 ms.
    pub cpu_seconds: f64,
    /// Proportional share of resident memory: the processes share the pages of one executable.
    pub pss_bytes: u64,
}

/// `None` when the process is gone.
pub(crate) fn of(name: &str, pid: u32) -> Option<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in brackets and may hold blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let kilobytes = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Pss:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|digits| digits.parse::<u64>().ok())
        .unwrap_or(0);
    Some(Usage { name: name.into(), pid, cpu_seconds: ticks as f64 / 100.0, pss_bytes: kilobytes * 1024 })
}
