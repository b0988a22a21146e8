//! Reading logs of older formats: each entry is brought forward one format at a time.
//!
//! A format change adds one function to the table and one fixture to the tests. The next compaction writes the new form.

use serde_json::Value;

use crate::entry::FORMAT;

/// `UPGRADES[n]` turns an entry of format `n` into format `n + 1`.
type Upgrade = fn(Value) -> Value;

const UPGRADES: [Upgrade; FORMAT as usize] = [
    // 0 → 1: the drafts before the first release called the lease token `fence`.
    |mut entry| {
        if let Some(map) = entry.as_object_mut()
            && let Some(token) = map.remove("fence")
        {
            map.insert("token".to_owned(), token);
        }
        entry
    },
];

/// Brings an entry from `format` to the current one.
pub(crate) fn upgrade(entry: Value, format: u32) -> Value {
    UPGRADES.iter().skip(format as usize).fold(entry, |entry, step| step(entry))
}
