//! Where a key stands in a list of keys: the table behind large dicts and behind the names of a record.
//!
//! It holds positions, not keys: a row is eight bytes, so that a hundred thousand keys stay close together. The hash stands beside
//! the position, so that a growing table does not have to look at the keys again.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Positions by key; the keys themselves stay with the owner, who shows them when they are compared.
#[derive(Clone, Debug, Default)]
pub struct KeyIndex {
    rows: HashTable<(u32, u32)>,
}

impl KeyIndex {
    /// Makes an empty index with room for `n` keys.
    pub fn with_capacity(n: usize) -> Self {
        KeyIndex { rows: HashTable::with_capacity(n) }
    }

    /// Returns the position of a key; `key_at` gives the key of a position that was entered.
    pub fn find<'k>(&self, key: &str, key_at: impl Fn(usize) -> &'k str) -> Option<usize> {
        let wanted = hash(key);
        let same = |(hash, at): &(u32, u32)| *hash == wanted && key_at(*at as usize) == key;
        self.rows.find(spread(wanted), same).map(|(_, at)| *at as usize)
    }

    /// Enters a key that is known not to be there.
    pub fn insert_new(&mut self, key: &str, at: usize) {
        let hash = hash(key);
        self.rows.insert_unique(spread(hash), (hash, at as u32), |(hash, _)| spread(*hash));
    }

    /// Forgets a key; the positions of the others stay.
    pub fn remove<'k>(&mut self, key: &str, key_at: impl Fn(usize) -> &'k str) {
        let wanted = hash(key);
        let same = |(hash, at): &(u32, u32)| *hash == wanted && key_at(*at as usize) == key;
        if let Ok(row) = self.rows.find_entry(spread(wanted), same) {
            row.remove();
        }
    }
}

fn hash(key: &str) -> u32 {
    let hash = FxBuildHasher.hash_one(key);
    (hash ^ (hash >> 32)) as u32
}

/// The table looks at the upper and the lower bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
