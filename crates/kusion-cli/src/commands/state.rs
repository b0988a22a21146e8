//! `kusion state repair|rotate|unlock`: a state that is damaged, whose key should change, or that is locked for good.

use std::collections::BTreeSet;

use kusion::{DryRun, Stand};
use kusion_model::{Head, Scope, Spec};
use kusion_store::{Claim, Findings, StackStore, State, StoreError, wait};
use serde_json::json;

use crate::input::chosen::{ChosenStack, liveness, now, open_named, owner};
use crate::input::cluster::{connect, tokio};
use crate::input::consent;
use crate::input::flags::{Arg, Given, flag};
use crate::input::locks::{lock, new_lock};
use crate::input::planned::{wanted, warn};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("yes", Some('y'), "", "do not ask"),
        flag("new-key", None, "HOW", "what locks the state after `rotate`; as --key"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let Some((verb, words)) = given.rest.split_first() else {
        return Err(Failure::usage("kusion state needs a verb").next("repair, rotate or unlock"));
    };
    if words.len() > 1 {
        return Err(Failure::usage(format!("one stack at a time, not {}", words.join(" and "))));
    }
    let word = words.first().cloned().or_else(|| given.last("workdir"));
    let chosen = open_named(given, word.as_deref())?;
    match verb.as_str() {
        "repair" => repair(given, &chosen),
        "unlock" => unlock(given, &chosen.target.store, &chosen.target.scope),
        "rotate" => rotate(given, &chosen),
        other => {
            Err(Failure::usage(format!("there is no `kusion state {other}`"))
                .next("repair, rotate or unlock"))
        }
    }
}

/// Seals everything anew with another key.
fn rotate(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let (format, new) = (format_of(given)?, new_lock(given)?);
    let alive = liveness;
    let claim =
        Claim { owner: owner("kusion state rotate"), now: now(), elapsed: Default::default(), alive: &alive };
    let number = wait(chosen.target.store.rotate(&claim, new.as_ref()))?;
    let by = match new {
        Some(new) => new.word(),
        None => lock(given)?.word(),
    };
    let scope = &chosen.target.scope;
    if format == Format::Json {
        let schema = "kusion.io/state-rotate/v1";
        return print_json(&json!({"schema": schema, "stack": scope, "ring": number, "lockedBy": by}));
    }
    print(&format!(
        "The state of {scope} is sealed anew (key {number}), locked by {by}. Plans that were saved before no longer open.\n"
    ))
}

/// Shows what can be saved, asks, and saves it.
fn repair(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let format = format_of(given)?;
    let store = &chosen.target.store;
    let found = wait(store.examine(None))?;
    let witness = tokio()?.block_on(witness(given, chosen, &found.saved));
    let found = wait(store.examine(witness.as_ref()))?;
    if found.damage.is_none() {
        return tell(&found, chosen, format, None);
    }
    if format == Format::Text {
        print(&findings(&found, &chosen.target.scope))?;
    }
    if !given.has("yes") {
        let question = "Make this the state (the damaged log is kept beside it)";
        consent::ask("state repair", question)?;
    }
    let alive = liveness;
    let claim =
        Claim { owner: owner("kusion state repair"), now: now(), elapsed: Default::default(), alive: &alive };
    let found = wait(store.repair(&claim, witness.as_ref()))?;
    let copy = format!("{}/log.damaged-{}", store.place().display(), claim.now.millis);
    tell(&found, chosen, format, Some(copy))
}

/// What the cluster knows about the stack, if it can be asked.
async fn witness(given: &Given, chosen: &ChosenStack, saved: &State) -> Option<Head> {
    let spec = wanted(given, chosen).unwrap_or_else(|_| Spec::default());
    let wanted = spec.resources.iter().map(|resource| resource.key().cluster.to_string());
    let names: BTreeSet<String> =
        wanted.chain(saved.records.keys().map(|key| key.cluster.to_string())).collect();
    let connection = match connect(given, chosen, &names).await {
        Ok(connection) => connection,
        Err(failure) => {
            warn(&format!("the cluster was not asked what it knows about this state: {}", failure.what));
            return None;
        }
    };
    let clusters = connection.engine.clusters(&chosen.target, DryRun::All);
    let (known, warnings) = Stand::of(&chosen.target.scope, &spec, saved, &clusters).recall().await;
    warnings.iter().for_each(|text| warn(text));
    known
}

fn tell(found: &Findings, chosen: &ChosenStack, format: Format, copy: Option<String>) -> Result<(), Failure> {
    let scope = &chosen.target.scope;
    if format == Format::Json {
        return print_json(&json!({
            "schema": "kusion.io/state-repair/v1", "stack": scope, "repaired": copy.is_some(), "copy": copy,
            "damage": found.damage.as_ref().map(ToString::to_string), "missing": found.missing,
            "resources": found.saved.records.keys().map(ToString::to_string).collect::<Vec<_>>(),
            "releases": found.saved.releases.keys().collect::<Vec<_>>(),
        }));
    }
    match copy {
        None => print(&format!("The state of {scope} is whole: {}.\n", counts(&found.saved))),
        Some(copy) => print(&format!(
            "The state of {scope} is repaired. The damaged log, if there was one, is kept: {copy}\n\
             What is lost is read from the cluster: look at `kusion preview {scope}` before you apply.\n"
        )),
    }
}

fn findings(found: &Findings, scope: &Scope) -> String {
    let damage = found.damage.as_ref().map(ToString::to_string).unwrap_or_default();
    let range =
        |(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from} to {to}") };
    let lost: Vec<String> = found.missing.iter().map(range).collect();
    let lost = match (found.whole, lost.is_empty()) {
        (true, _) => "nothing; only what stands beside the log is written anew".to_owned(),
        (false, true) => "no entry; releases of the past can no longer be returned to".to_owned(),
        (false, false) => {
            format!("entries {}; releases of the past can no longer be returned to", lost.join(", "))
        }
    };
    format!("The state of {scope} is damaged: {damage}\n  saved  {}\n  lost   {lost}\n", counts(&found.saved))
}

fn counts(state: &State) -> String {
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let last = state.latest().map_or_else(String::new, |release| format!(", the last is {}", release.no));
    format!(
        "{} and {}{last}",
        plural(state.records.len(), "resource"),
        plural(state.releases.len(), "release")
    )
}

/// Takes a lock away: for a holder on another machine that will not come back, or a lock that nobody can read.
pub(crate) fn unlock(given: &Given, store: &StackStore, scope: &Scope) -> Result<(), Failure> {
    let holder = match wait(store.holder(&liveness)) {
        Ok(None) => return print(&format!("Stack {scope} is not locked.\n")),
        Ok(Some(holder)) => holder.to_string(),
        Err(StoreError::LeaseGarbled { .. }) => "nobody knows whom: the lock cannot be read".to_owned(),
        Err(error) => return Err(error.into()),
    };
    if !given.has("yes") {
        let question = format!("The lock is held by {holder}. It can write no more afterwards. Break it");
        consent::ask("state unlock", &question)?;
    }
    wait(store.break_lock(now()))?;
    print(&format!("The lock of {scope} is open; it was held by {holder}.\n"))
}
