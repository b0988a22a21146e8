//! Secrets under the key of another stack: what one stack takes over from another is sealed anew.

use std::collections::{BTreeMap, BTreeSet};
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

    /// Learns further secrets by their values: the leaves of a tree whose stored forms under the old key are asked for.
    pub fn learn(&mut self, tree: &Attr, asked: &BTreeSet<String>) {
        tree.for_each_leaf(&mut |_, leaf| {
            let text = match leaf {
                Attr::Null | Attr::Unknown | Attr::Reference(_) | Attr::Secret(_) => return,
                Attr::Text(text) => text.to_string(),
                other => other.to_string(),
            };
            let old = self.from.sealed(&text);
            if asked.contains(&old) {
                self.known.insert(old, Secret::new(leaf, self.to));
            }
        });
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
                let old = secret.stored().to_string();
                if let Some(new) = self.known.get(&old) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_get_the_new_key_by_their_values_and_others_stay() {
        let (from, to) = (DigestKey::new([1; 32]), DigestKey::new([2; 32]));
        let sealed = |value: &str, key: &DigestKey| Attr::Secret(Secret::new(&Attr::from(json!(value)), key));
        let mut keys = Rekeying::new(&sealed("written", &from), &from, &to);
        let state = Attr::from(json!({"plain": "made", "list": [7, null]}));
        let asked = BTreeSet::from([from.sealed("made"), from.sealed("7"), from.sealed("elsewhere")]);
        keys.learn(&state, &asked);
        for value in ["written", "made", "7"] {
            assert_eq!(keys.stored(from.sealed(value)), to.sealed(value));
        }
        assert_eq!(keys.stored(from.sealed("elsewhere")), from.sealed("elsewhere"));
        let mut tree = sealed("written", &from);
        keys.reseal(&mut tree);
        assert_eq!(tree, sealed("written", &to));
    }
}
