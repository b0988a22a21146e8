//! One object, one step: ids are compared as the platform resolves them before anything is decided.
//!
//! In: the Spec's keys, the state, what each key means to the platform, the live objects. Out: the state with every record under
//! the id that the configuration uses now, and the ids it was known by before. Two keys are one object if the platform resolves
//! them to one identity, or if one live object (by uid) answers to both. Two resources of one Spec that are one object are a
//! mistake of the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use kusion_model::{FieldPath, Observed, Prior, Records, ResourceKey, ResourceRecord};

use crate::{Prepared, Problem};

/// What each key means to its platform.
pub type Identities = BTreeMap<ResourceKey, String>;

/// The state with one record for each object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct United {
    pub prior: Prior,
    /// By the id that counts now: the other ids under which the state has the same object.
    pub aliases: BTreeMap<ResourceKey, Vec<ResourceKey>>,
}

/// Brings ids together that mean one object.
///
/// # Errors
/// Resources of the Spec that are one object.
pub fn unite(
    prepared: &Prepared<'_>,
    prior: &Prior,
    identities: &Identities,
    live: &mut BTreeMap<ResourceKey, Observed>,
) -> Result<United, Vec<Problem>> {
    let groups = groups(prepared, prior, identities, live);
    let mut problems = Vec::new();
    let mut united = United { prior: prior.clone(), aliases: BTreeMap::new() };
    let mut names: BTreeMap<ResourceKey, ResourceKey> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.len() > 1) {
        let wanted: Vec<&ResourceKey> =
            group.iter().copied().filter(|key| prepared.index.contains_key(*key)).collect();
        if let [first, second, ..] = wanted[..] {
            problems.push(same_object(prepared, first, second));
            continue;
        }
        // One record would be forgotten, and its object with it.
        if let Some((first, second)) = apart(group, live) {
            problems.push(Problem::TwoObjects { first: first.clone(), second: second.clone() });
            continue;
        }
        let Some(chosen) = wanted.first().copied().or_else(|| newest(group, prior)) else { continue };
        let others: Vec<ResourceKey> = group.iter().copied().filter(|key| *key != chosen).cloned().collect();
        carry_over(&mut united.prior, group, chosen);
        for other in &others {
            names.insert(other.clone(), chosen.clone());
            if let Some(observed) = live.remove(other) {
                live.entry(chosen.clone()).or_insert(observed);
            }
        }
        united.aliases.insert(chosen.clone(), others);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    rename_edges(&mut united.prior.records, &names);
    rename_edges(&mut united.prior.intents, &names);
    Ok(united)
}

/// Two keys of a group that are two objects after all: each was made somewhere else than its id means now.
fn apart<'k>(
    group: &[&'k ResourceKey],
    live: &BTreeMap<ResourceKey, Observed>,
) -> Option<(&'k ResourceKey, &'k ResourceKey)> {
    let uid = |key: &ResourceKey| live.get(key).and_then(|observed| observed.uid.clone());
    let first = group.iter().find(|key| uid(key).is_some())?;
    let second = group.iter().find(|key| uid(key).is_some_and(|other| uid(first) != Some(other)))?;
    Some((first, second))
}

/// All keys, those that mean one object together.
fn groups<'k>(
    prepared: &'k Prepared<'_>,
    prior: &'k Prior,
    identities: &Identities,
    live: &BTreeMap<ResourceKey, Observed>,
) -> Vec<Vec<&'k ResourceKey>> {
    let unwanted = prior.keys().into_iter().filter(|key| !prepared.index.contains_key(key));
    let keys: Vec<&ResourceKey> = prepared.keys.iter().chain(unwanted).collect();
    let mut first: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    let mut group_of: Vec<usize> = (0..keys.len()).collect();
    for (at, key) in keys.iter().enumerate() {
        let uid = live.get(key).and_then(|observed| observed.uid.as_deref());
        // What a record says of its object still holds when its version of the kind is not served any more.
        let recorded = || prior.get(key).and_then(|record| record.uid.as_deref());
        let uid = uid.or_else(recorded).filter(|uid| !uid.is_empty());
        let signs = [("id", identities.get(*key).map(String::as_str)), ("uid", uid)];
        for (what, sign) in signs {
            let Some(sign) = sign else { continue };
            let other = *first.entry((what, &key.cluster, sign)).or_insert(at);
            join(&mut group_of, at, other);
        }
    }
    let mut groups: BTreeMap<usize, Vec<&ResourceKey>> = BTreeMap::new();
    for (at, key) in keys.iter().enumerate() {
        groups.entry(root(&group_of, at)).or_default().push(key);
    }
    groups.into_values().collect()
}

fn root(group_of: &[usize], mut at: usize) -> usize {
    while group_of[at] != at {
        at = group_of[at];
    }
    at
}

fn join(group_of: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(group_of, a), root(group_of, b));
    group_of[a.max(b)] = a.min(b);
}

/// The key whose record is the newest; a record counts more than an intent.
fn newest<'k>(group: &[&'k ResourceKey], prior: &Prior) -> Option<&'k ResourceKey> {
    let rank = |key: &ResourceKey| {
        let record = prior.get(key).map(|record| record.release);
        (prior.records.contains_key(key), record)
    };
    group.iter().copied().max_by_key(|key| rank(key))
}

/// Puts the newest record of a group under the chosen key, and takes the others out.
fn carry_over(prior: &mut Prior, group: &[&ResourceKey], chosen: &ResourceKey) {
    let Some(from) = newest(group, prior).cloned() else { return };
    let recorded = prior.records.contains_key(&from);
    let Some(record) = prior.get(&from).cloned() else { return };
    for records in [&mut prior.records, &mut prior.intents] {
        if group.iter().any(|key| records.contains_key(*key)) {
            let records = Arc::make_mut(records);
            group.iter().for_each(|key| {
                records.remove(*key);
            });
        }
    }
    let place = if recorded { &mut prior.records } else { &mut prior.intents };
    Arc::make_mut(place).insert(chosen.clone(), ResourceRecord { key: chosen.clone(), ..record });
}

fn rename_edges(records: &mut Records, names: &BTreeMap<ResourceKey, ResourceKey>) {
    let touched = |record: &ResourceRecord| record.depends_on.iter().any(|on| names.contains_key(on));
    if names.is_empty() || !records.values().any(touched) {
        return;
    }
    for record in Arc::make_mut(records).values_mut() {
        for on in &mut record.depends_on {
            if let Some(name) = names.get(on) {
                *on = name.clone();
            }
        }
        record.depends_on.sort();
        record.depends_on.dedup();
    }
}

fn same_object(prepared: &Prepared<'_>, first: &ResourceKey, second: &ResourceKey) -> Problem {
    let place = |key: &ResourceKey| {
        let at = *prepared.index.get(key)?;
        prepared.resources[at].source.find(&FieldPath::root()).cloned()
    };
    let places_of = Box::new((place(first), place(second)));
    Problem::SameObject { first: first.clone(), second: second.clone(), places_of }
}
