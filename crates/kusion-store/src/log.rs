//! The file of the log: lines of `checksum json`, read with care.

use std::path::Path;

use kusion_model::sha256_hex;
use serde_json::Value;

use crate::entry::{Entry, FORMAT};
use crate::upgrade::upgrade;
use crate::{Disk, State, StoreError};

const CHECKSUM_LEN: usize = 16;

/// A log as read.
pub(crate) struct Log {
    pub(crate) state: State,
    pub(crate) entries: Vec<Entry>,
    /// How many bytes are intact.
    pub(crate) len: u64,
}

/// Returns the line of an entry.
pub(crate) fn line(entry: &Entry) -> String {
    let json = serde_json::to_string(entry).unwrap_or_default();
    format!("{} {json}\n", checksum(&json))
}

fn checksum(json: &str) -> String {
    sha256_hex(json.as_bytes())[..CHECKSUM_LEN].to_owned()
}

/// Reads a log; `None` if there is none, or nothing of it survived its first write.
pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Log>, StoreError> {
    let Some(bytes) = disk.read(path).map_err(StoreError::io("read", path))? else { return Ok(None) };
    let mut log: Option<Log> = None;
    let mut at = 0;
    let mut number = 0;
    while at < bytes.len() {
        number += 1;
        let rest = &bytes[at..];
        let end = rest.iter().position(|&b| b == b'\n');
        let parsed = end.ok_or("the line has no end").and_then(|end| parse(&rest[..end]));
        let value = match (parsed, end) {
            (Ok(value), _) => value,
            // Only the tail can be torn: an append that did not finish has nothing behind it.
            (Err(_), None) => return Ok(torn(log)),
            (Err(_), Some(end)) if at + end + 1 == bytes.len() => return Ok(torn(log)),
            (Err(what), _) => return Err(damaged(path, number, what)),
        };
        at += end.map_or(0, |end| end + 1);
        take(&mut log, value, path, number)?;
        if let Some(log) = &mut log {
            log.len = at as u64;
        }
    }
    Ok(log)
}

fn torn(log: Option<Log>) -> Option<Log> {
    log.map(|mut log| {
        log.state.torn_tail = true;
        log
    })
}

fn parse(line: &[u8]) -> Result<Value, &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    let (sum, json) = text.split_once(' ').ok_or("it has no checksum")?;
    if checksum(json) != sum {
        return Err("its checksum does not fit");
    }
    serde_json::from_str(json).map_err(|_| "it is not JSON")
}

fn take(log: &mut Option<Log>, value: Value, path: &Path, number: usize) -> Result<(), StoreError> {
    let Some(log) = log else {
        *log = Some(start(value, path)?);
        return Ok(());
    };
    let format = match log.entries.first() {
        Some(Entry::Header { format, .. }) => *format,
        _ => FORMAT,
    };
    let entry: Entry = serde_json::from_value(upgrade(value, format))
        .map_err(|_| damaged(path, number, "it is no entry of this format"))?;
    log.state.fold(&entry);
    log.entries.push(entry);
    Ok(())
}

fn start(value: Value, path: &Path) -> Result<Log, StoreError> {
    let found = value.get("format").and_then(Value::as_u64).unwrap_or(0);
    if found > u64::from(FORMAT) {
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        return Err(StoreError::Newer { path: path.to_owned(), found, known: FORMAT });
    }
    let entry: Entry = serde_json::from_value(value).map_err(|_| damaged(path, 1, "it is no header"))?;
    let Entry::Header { lineage, scope, .. } = &entry else {
        return Err(damaged(path, 1, "the log does not start with a header"));
    };
    let state = State::new(lineage.clone(), scope.clone());
    Ok(Log { state, entries: vec![entry], len: 0 })
}

fn damaged(path: &Path, line: usize, what: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), line, what: what.to_owned() }
}
