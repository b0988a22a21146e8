//! The file of the log: lines of `checksum json`, read with care.
//!
//! Reading costs one pass over the newest attributes of each resource: a release writes down what it is going to do and what
//! came of it, and where the second is complete the first is not read again.

use std::collections::BTreeSet;
use std::path::Path;

use kusion_model::sha256_hex;
use serde_json::Value;

use crate::entry::{Entry, FORMAT, Outcome};
use crate::line::{Line, StepKey, Tag};
use crate::upgrade::upgrade;
use crate::{Disk, State, StoreError};

const CHECKSUM_LEN: usize = 16;

/// A log as read.
pub(crate) struct Log {
    pub(crate) state: State,
    /// The format in which it stands on the disk.
    pub(crate) format: u32,
    /// How many bytes are intact.
    pub(crate) len: u64,
    /// How many releases can be rebuilt from it.
    pub(crate) n_releases: usize,
}

/// Returns the line of an entry.
pub(crate) fn line(entry: &Entry) -> String {
    let json = serde_json::to_string(entry).unwrap_or_default();
    format!("{} {json}\n", checksum(&json))
}

fn checksum(json: &str) -> String {
    sha256_hex(json.as_bytes())[..CHECKSUM_LEN].to_owned()
}

/// Reads the state out of a log; `None` if there is none, or nothing of it survived its first write.
pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Log>, StoreError> {
    let Some(bytes) = disk.read(path).map_err(StoreError::io("read", path))? else { return Ok(None) };
    let text = intact(&bytes, path)?;
    let Some(mut log) = text.start(path)? else { return Ok(None) };
    if log.format < FORMAT {
        for entry in text.entries(path)? {
            log.take(entry);
        }
        return Ok(Some(log));
    }
    let mut lines = Vec::with_capacity(text.lines.len());
    for (at, json) in text.lines.iter().enumerate().skip(1) {
        let line: Line<StepKey> = serde_json::from_str(json).map_err(|_| no_entry(path, at + 1))?;
        lines.push((at + 1, line));
    }
    let settled = settled(&lines);
    for ((number, line), settled) in lines.into_iter().zip(settled) {
        let entry = if line.entry == Tag::Begin && !settled {
            serde_json::from_str::<Line<_>>(text.lines[number - 1])
                .ok()
                .and_then(|line| line.into_entry(|steps| steps))
        } else {
            line.into_entry(|_| Vec::new())
        };
        log.take(entry.ok_or_else(|| no_entry(path, number))?);
    }
    Ok(Some(log))
}

/// Reads every entry of a log in full.
pub(crate) fn entries(disk: &dyn Disk, path: &Path) -> Result<Vec<Entry>, StoreError> {
    match disk.read(path).map_err(StoreError::io("read", path))? {
        Some(bytes) => intact(&bytes, path)?.entries(path),
        None => Ok(Vec::new()),
    }
}

impl Log {
    fn take(&mut self, entry: Entry) {
        self.n_releases += usize::from(matches!(entry, Entry::Begin { .. }));
        self.state.fold(entry);
    }
}

/// Tells for each line whether it begins a release of which every step is known to have been done: what it intended is then
/// of no interest any more.
fn settled(lines: &[(usize, Line<StepKey>)]) -> Vec<bool> {
    let mut done = BTreeSet::new();
    let mut settled = vec![false; lines.len()];
    for (at, (_, line)) in lines.iter().enumerate().rev() {
        match line.entry {
            Tag::Begin => {
                settled[at] = line.steps.iter().all(|step| done.contains(&step.key));
                done.clear();
            }
            _ => done.extend(line.outcomes.iter().filter_map(|outcome| match outcome {
                Outcome::Recorded(record) => Some(&record.key),
                Outcome::Forgotten(key) => Some(key),
                Outcome::Failed { .. } => None,
            })),
        }
    }
    settled
}

/// The lines of a log whose checksums fit.
struct Intact<'a> {
    lines: Vec<&'a str>,
    len: u64,
    torn: bool,
}

fn intact<'a>(bytes: &'a [u8], path: &Path) -> Result<Intact<'a>, StoreError> {
    let mut found = Intact { lines: Vec::new(), len: 0, torn: false };
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = rest.iter().position(|&b| b == b'\n');
        match (end.ok_or("the line has no end").and_then(|end| parse(&rest[..end])), end) {
            (Ok(json), _) => found.lines.push(json),
            // Only the tail can be torn: an append that did not finish has nothing behind it.
            (Err(_), None) => found.torn = true,
            (Err(_), Some(end)) if at + end + 1 == bytes.len() => found.torn = true,
            (Err(what), _) => return Err(damaged(path, found.lines.len() + 1, what)),
        }
        if found.torn {
            break;
        }
        at += end.map_or(0, |end| end + 1);
        found.len = at as u64;
    }
    Ok(found)
}

fn parse(line: &[u8]) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    let (sum, json) = text.split_once(' ').ok_or("it has no checksum")?;
    if checksum(json) == sum { Ok(json) } else { Err("its checksum does not fit") }
}

impl Intact<'_> {
    /// Reads the header.
    fn start(&self, path: &Path) -> Result<Option<Log>, StoreError> {
        let Some(first) = self.lines.first() else { return Ok(None) };
        let value: Value = serde_json::from_str(first).map_err(|_| damaged(path, 1, "it is not JSON"))?;
        let found = value.get("format").and_then(Value::as_u64).unwrap_or(0);
        let format = u32::try_from(found).unwrap_or(u32::MAX);
        if format > FORMAT {
            return Err(StoreError::Newer { path: path.to_owned(), found: format, known: FORMAT });
        }
        let entry: Entry = serde_json::from_value(value).map_err(|_| damaged(path, 1, "it is no header"))?;
        let Entry::Header { lineage, scope, .. } = entry else {
            return Err(damaged(path, 1, "the log does not start with a header"));
        };
        let mut state = State::new(lineage, scope);
        state.torn_tail = self.torn;
        Ok(Some(Log { state, format, len: self.len, n_releases: 0 }))
    }

    /// Reads all entries, brought forward to the current format.
    fn entries(&self, path: &Path) -> Result<Vec<Entry>, StoreError> {
        let Some(log) = self.start(path)? else { return Ok(Vec::new()) };
        let read = |(at, json): (usize, &&str)| {
            let value: Value = serde_json::from_str(json).ok()?;
            let mut entry = serde_json::from_value(upgrade(value, log.format)).ok()?;
            if let (0, Entry::Header { format, .. }) = (at, &mut entry) {
                *format = FORMAT;
            }
            Some(entry)
        };
        let numbered = self.lines.iter().enumerate();
        numbered.map(|line| read(line).ok_or_else(|| no_entry(path, line.0 + 1))).collect()
    }
}

fn no_entry(path: &Path, line: usize) -> StoreError {
    damaged(path, line, "it is no entry of this format")
}

fn damaged(path: &Path, line: usize, what: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), line, what: what.to_owned() }
}
