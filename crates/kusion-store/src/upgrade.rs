//! Reading logs of older formats: each entry is brought forward one format at a time, then chained.
//!
//! A format change adds one function to the table and one fixture to the tests. Opening the log for writing writes the new form
//! once and keeps the old file.

use kusion_model::sha256_hex;
use serde_json::Value;

use crate::backend::Records;
use crate::chain::{self, NOTHING};
use crate::damage::{Damage, Fault};
use crate::entry::FORMAT;

/// `UPGRADES[n]` turns an entry of format `n` into format `n + 1`.
type Upgrade = fn(&mut Value);

const UPGRADES: [Upgrade; FORMAT as usize] = [
    // 0 → 1: the drafts before the first release called the lease token `fence`.
    |entry| {
        if let Some(map) = entry.as_object_mut()
            && let Some(token) = map.remove("fence")
        {
            map.insert("token".to_owned(), token);
        }
    },
    // 1 → 2: the records are chained; the entries are the same.
    |_| {},
];

/// The length of the checksum before each entry, up to format 1.
const CHECKSUM_LEN: usize = 16;

/// The name under which the log of an older format is kept.
pub(crate) fn copy_name(format: u32) -> String {
    format!("log.format-{format}")
}

/// Returns the records of an older log in the current format, and whether its last one was left out because it is torn.
pub(crate) fn records(log: &Records, format: u32) -> Result<(Vec<String>, bool), Damage> {
    let (mut found, mut prev) = (Vec::with_capacity(log.bounds.len()), NOTHING.to_owned());
    let n = log.bounds.len();
    for (at, bytes) in log.iter().enumerate() {
        let last = at + 1 == n;
        let checked = if last && log.unfinished { Err(Fault::Cut) } else { check(bytes) };
        let json = match checked {
            Ok(json) => json,
            // These formats have no head: only the tail can be torn, and every torn tail counts as such.
            Err(_) if last && at > 0 => return Ok((found, true)),
            Err(what) => return Err(Damage::Garbled { line: at + 1, what }),
        };
        let garbled = |_| Damage::Garbled { line: at + 1, what: Fault::Unknown };
        let mut entry: Value = serde_json::from_str(json).map_err(garbled)?;
        UPGRADES.iter().skip(format as usize).for_each(|step| step(&mut entry));
        if at == 0 {
            entry["format"] = FORMAT.into();
        }
        let record = chain::write(&prev, &entry.to_string());
        prev = link_of(&entry, &record);
        found.push(record);
    }
    Ok((found, false))
}

/// Returns the text of an entry of the format before, if its own checksum fits.
pub(crate) fn salvage(line: &[u8]) -> Option<String> {
    check(line).ok().map(str::to_owned)
}

/// What the next record follows from.
fn link_of(entry: &Value, record: &str) -> String {
    let folded = entry.get("folded").and_then(Value::as_str);
    folded.map_or_else(|| chain::hash_of(record), str::to_owned)
}

fn check(line: &[u8]) -> Result<&str, Fault> {
    if !line.is_empty() && line.iter().all(|&byte| byte == 0) {
        return Err(Fault::Zeros);
    }
    let text = std::str::from_utf8(line).map_err(|_| Fault::Hash)?;
    let (sum, json) = text.split_once(' ').ok_or(Fault::Hash)?;
    if sha256_hex(json.as_bytes())[..CHECKSUM_LEN] == *sum { Ok(json) } else { Err(Fault::Hash) }
}
