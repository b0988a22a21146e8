//! `kusion state mv STACK ID … --to-stack OTHER`: what one stack has recorded is recorded by another. Nothing here touches the world.
//!
//! The other stack records it first, and then this one forgets it: whoever is killed in between leaves it recorded twice, never
//! nowhere, and doing it again goes on. Every stack has keys of its own, so digests and what a provider keeps are sealed anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kusion_model::{
    Attr, Deposed, DigestKey, Kept, Records, ResourceKey, ResourceRecord, ResourceType, Secret,
};
use kusion_runtime_tf::Held;
use kusion_store::{Outcome, Session, State, wait};

use super::edit::{lines, told, write};
use super::show::record;
use crate::input::chosen::{ChosenStack, liveness, now, open_named, owner};
use crate::input::consent;
use crate::input::flags::Given;
use crate::views::failure::{Exit, Failure};
use crate::views::output::format_of;
use crate::views::plan_view::count;

const COMMAND: &str = "kusion state mv";

/// Gives resources of one stack to another.
pub(super) fn mv(given: &Given, chosen: &ChosenStack, ids: &[String], other: &str) -> Result<(), Failure> {
    if ids.is_empty() {
        return Err(Failure::usage("mv needs an id").next("kusion state mv STACK ID ... --to-stack OTHER"));
    }
    let (format, there) = (format_of(given)?, open_named(given, Some(other))?);
    let (from, to) = (&chosen.target.scope, &there.target.scope);
    if from == to {
        return Err(Failure::usage(format!("{to} is the stack that has them"))
            .next("name another stack; another id in the same stack: kusion state mv STACK FROM TO"));
    }
    let state = wait(chosen.target.store.read())?;
    let keys = wanted(&state, ids)?;
    let after = aftermath(&state, &keys, chosen, &there);
    if !given.has("yes") {
        let question = format!("{after}Give {} of {from} to {to}", count(keys.len(), "resource"));
        consent::ask("state mv", &question)?;
    }
    let mut here = wait(chosen.target.store.acquire(owner(COMMAND), now(), &liveness))?;
    let moved = match wait(there.target.store.acquire(owner(COMMAND), now(), &liveness)) {
        Err(error) => Err(error.into()),
        Ok(mut arriving) => {
            let moved = carry((&mut here, chosen), (&mut arriving, &there), ids);
            let closed = wait(arriving.close(now()));
            moved.and_then(|outcomes| closed.map(|()| outcomes).map_err(Failure::from))
        }
    };
    let closed = wait(here.close(now()));
    let lines = lines(&moved?);
    closed?;
    let text = format!("{} of {from} given to {to}.\n{after}", count(keys.len(), "resource"));
    told(format, chosen, "mv", &lines, &text)
}

fn wanted(state: &State, ids: &[String]) -> Result<BTreeSet<ResourceKey>, Failure> {
    ids.iter().map(|id| record(state, id).map(|record| record.key.clone())).collect()
}

/// What the person has to do and know, before and afterwards.
fn aftermath(state: &State, keys: &BTreeSet<ResourceKey>, from: &ChosenStack, to: &ChosenStack) -> String {
    let (from, to) = (&from.target.scope, &to.target.scope);
    let mut text = String::new();
    for record in state.records.values().filter(|record| !keys.contains(&record.key)) {
        for key in record.depends_on.iter().filter(|key| keys.contains(key)) {
            text.push_str(&format!("{} stays in {from} and depends on {key}.\n", record.key));
        }
    }
    text.push_str(&format!(
        "Nothing was changed in the world: what leaves the configuration of {from} must stand in that of {to}.\n"
    ));
    let marked = |key: &&ResourceKey| {
        state.records.get(key).is_some_and(|record| record.kind == ResourceType::kubernetes())
    };
    if keys.iter().any(|key| marked(&key)) {
        text.push_str(&format!(
            "Objects of a cluster still say that they belong to {from}: kusion apply {to} --take-over.\n"
        ));
    }
    text
}

/// Records in one state what another has, then forgets it there.
fn carry(
    (here, chosen): (&mut Session, &ChosenStack),
    (arriving, there): (&mut Session, &ChosenStack),
    ids: &[String],
) -> Result<Vec<Outcome>, Failure> {
    let keys = wanted(here.state(), ids)?;
    let with_values = match here.state().latest() {
        Some(release) => wait(chosen.target.store.state_at(release.no))?,
        None => Records::default(),
    };
    let mut arrivals = Vec::new();
    for key in &keys {
        let Some(old) = with_values.get(key).or_else(|| here.state().records.get(key)) else { continue };
        let new = anew(old, &keys, arriving.state(), (&chosen.target.key, &there.target.key));
        let new = new
            .map_err(|why| Failure::new(Exit::Conflict, format!("{key} cannot be given away")).cause(why))?;
        match arriving.state().records.get(key) {
            None => arrivals.push(Outcome::Recorded(Box::new(new))),
            // It came with a run that was interrupted.
            Some(known) if known.uid == new.uid && known.kind == new.kind => {}
            Some(_) => {
                return Err(Failure::new(
                    Exit::Conflict,
                    format!("{key} is recorded in {} already", there.target.scope),
                )
                .next(format!("forget one of the two first: kusion state rm {} {key}", there.target.scope)));
            }
        }
    }
    write(arriving, COMMAND, there, arrivals.clone())?;
    let leaving: Vec<Outcome> = keys.into_iter().map(Outcome::Forgotten).collect();
    write(here, COMMAND, chosen, leaving.clone())?;
    Ok(leaving)
}

/// A record under the keys of another stack.
fn anew(
    old: &ResourceRecord,
    moving: &BTreeSet<ResourceKey>,
    there: &State,
    (from, to): (&DigestKey, &DigestKey),
) -> Result<ResourceRecord, String> {
    let mut known = BTreeMap::new();
    learn(&old.attributes, to, &mut known);
    let kept = |kept: &Option<Kept>| kept.as_ref().map(|kept| rekept(kept, &known, from, to)).transpose();
    let deposed = old.deposed.iter().map(|gone| Ok(Deposed { kept: kept(&gone.kept)?, ..gone.clone() }));
    let mut new = ResourceRecord {
        kept: kept(&old.kept)?,
        deposed: deposed.collect::<Result<_, String>>()?,
        release: there.next_release(),
        ..old.clone()
    };
    reseal(&mut new.attributes, &known);
    // What stays behind orders nothing in the other stack.
    new.depends_on.retain(|key| moving.contains(key) || there.records.contains_key(key));
    Ok(new)
}

/// What a provider gets back, under another key.
fn rekept(kept: &Kept, known: &Digests, from: &DigestKey, to: &DigestKey) -> Result<Kept, String> {
    let mut shown = kept.state.clone();
    reseal(&mut shown, known);
    if kept.private.is_none() {
        return Ok(Kept { state: shown, ..kept.clone() });
    }
    let mut held = Held::open(kept, from)?;
    let renamed = |digest: String| known.get(&digest).map_or(digest, |secret| secret.stored().to_string());
    held.secrets = held.secrets.into_iter().map(renamed).collect();
    held.seal(shown, to)
}

/// Secrets under the new key by their digests under the old one.
type Digests = BTreeMap<String, Secret>;

fn learn(attr: &Attr, key: &DigestKey, known: &mut Digests) {
    attr.for_each_leaf(&mut |_, leaf| {
        if let Attr::Secret(secret) = leaf
            && let Some(value) = secret.expose()
        {
            known.insert(secret.stored().to_string(), Secret::new(&Attr::from(value), key));
        }
    });
}

/// Puts the new digests in place of the old. A secret whose value nobody has kept is a change for the next plan.
fn reseal(attr: &mut Attr, known: &Digests) {
    match attr {
        Attr::Secret(secret) => {
            let digest = secret.stored().to_string();
            if let Some(new) = known.get(&digest) {
                *secret = new.clone();
            }
        }
        Attr::Map(map) if map.values().any(Attr::has_secret) => {
            Arc::make_mut(map).values_mut().for_each(|item| reseal(item, known));
        }
        Attr::List(items) | Attr::Set(items) if items.iter().any(Attr::has_secret) => {
            Arc::make_mut(items).iter_mut().for_each(|item| reseal(item, known));
        }
        _ => {}
    }
}
