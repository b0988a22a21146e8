//! Secrets under the key of another stack: what one stack takes over from another is sealed anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Attr, DigestKey, Secret};

/// Two keys, and the secrets whose values are known.
#[derive(Clone, Debug)]
pub struct Rekeying<'k> {
    pub from: &'k DigestKey,
    pub to: &'k DigestKey,
    /// Under the new key, by their stored form under the old one.
    known: BTreeMap<String, Secret>,
}

impl<'k> Rekeying<'k> {
    /// Learns the secrets of a tree that still has their values.
    #[must_use]
    pub fn new(tree: &Attr, from: &'k DigestKey, to: &'k DigestKey) -> Self {
        let mut known = BTreeMap::new();
        tree.for_each_leaf(&mut |_, leaf| {
            if let Attr::Secret(secret) = leaf
                && let Some(value) = secret.expose()
            {
                known.insert(secret.stored().to_string(), Secret::new(&Attr::from(value), to));
            }
        });
        Rekeying { from, to, known }
    }

    /// The stored form of a secret under the new key. One whose value nobody has kept stays as it is: a change for the next plan.
    #[must_use]
    pub fn stored(&self, old: String) -> String {
        self.known.get(&old).map_or(old, |secret| secret.stored().to_string())
    }

    /// Puts the new digests in place of the old.
    pub fn reseal(&self, attr: &mut Attr) {
        match attr {
            Attr::Secret(secret) => {
                if let Some(new) = self.known.get(&secret.stored().to_string()) {
                    *secret = new.clone();
                }
            }
            Attr::Map(map) if map.values().any(Attr::has_secret) => {
                Arc::make_mut(map).values_mut().for_each(|item| self.reseal(item));
            }
            Attr::List(items) | Attr::Set(items) if items.iter().any(Attr::has_secret) => {
                Arc::make_mut(items).iter_mut().for_each(|item| self.reseal(item));
            }
            _ => {}
        }
    }
}
