//! Old values of secrets, so that a release can be returned to: kept once for each digest, sealed on their own inside records
//! that are sealed anyway, so that a state in memory shows none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kusion_model::{Attr, Records, Scope, Secret};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::entry::Outcome;
use crate::ring::Keys;
use crate::{State, StoreError};

/// Sealed values by the stored form of their secrets.
pub(crate) type Vault = BTreeMap<String, String>;

/// Seals the values that some outcomes bring and that are not kept yet.
pub(crate) fn new_values(outcomes: &[Outcome], state: &State, keys: &Keys) -> Result<Vault, StoreError> {
    let mut found = Vault::new();
    for outcome in outcomes {
        let Outcome::Recorded(record) = outcome else { continue };
        let mut kept = Ok(());
        each(&record.attributes, &mut |secret| {
            let name = secret.stored().to_string();
            if kept.is_err()
                || secret.is_passing()
                || state.vault.contains_key(&name)
                || found.contains_key(&name)
            {
                return;
            }
            if let Some(value) = secret.expose() {
                let text = Zeroizing::new(value.to_string());
                match keys.seal_secret(&state.scope, &name, text.as_bytes()) {
                    Ok(sealed) => drop(found.insert(name, sealed)),
                    Err(error) => kept = Err(error),
                }
            }
        });
        kept?;
    }
    Ok(found)
}

/// Gives the secrets of some records their values back, as far as they are kept.
pub(crate) fn fill(records: &mut Records, vault: &Vault, keys: &Keys, scope: &Scope) {
    let wanting: Vec<_> =
        records.iter().filter(|(_, it)| it.attributes.has_secret()).map(|(key, _)| key.clone()).collect();
    for key in wanting {
        if let Some(record) = Arc::make_mut(records).get_mut(&key) {
            fill_in(&mut record.attributes, &|secret| {
                let name = secret.stored().to_string();
                let text = Zeroizing::new(keys.open_secret(scope, &name, vault.get(&name)?)?);
                let value: Value = serde_json::from_slice(&text).ok()?;
                let known = Secret::new(&Attr::from(value), &keys.digest());
                // What does not fit its digest is not that value.
                (known == *secret).then_some(known)
            });
        }
    }
}

/// What the records of a state still name.
pub(crate) fn needed(vault: &Vault, records: &Records) -> Vault {
    let mut names = BTreeSet::new();
    for record in records.values() {
        each(&record.attributes, &mut |secret| {
            names.insert(secret.stored().to_string());
        });
    }
    vault.iter().filter(|(name, _)| names.contains(*name)).map(|(a, b)| (a.clone(), b.clone())).collect()
}

fn each(attr: &Attr, see: &mut dyn FnMut(&Secret)) {
    match attr {
        Attr::Secret(secret) => see(secret),
        Attr::Map(map) => map.values().for_each(|item| each(item, see)),
        Attr::List(items) | Attr::Set(items) => items.iter().for_each(|item| each(item, see)),
        _ => {}
    }
}

fn fill_in(attr: &mut Attr, find: &dyn Fn(&Secret) -> Option<Secret>) {
    match attr {
        Attr::Secret(secret) if !secret.is_known() => {
            if let Some(known) = find(secret) {
                *secret = known;
            }
        }
        Attr::Map(map) if map.values().any(Attr::has_secret) => {
            Arc::make_mut(map).values_mut().for_each(|item| fill_in(item, find));
        }
        Attr::List(items) | Attr::Set(items) if items.iter().any(Attr::has_secret) => {
            Arc::make_mut(items).iter_mut().for_each(|item| fill_in(item, find));
        }
        _ => {}
    }
}
