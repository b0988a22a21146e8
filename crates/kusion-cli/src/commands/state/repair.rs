//! `kusion state repair`: first what can be saved is shown, then, on demand, saved.

use kusion::{DryRun, Stand, clusters_of};
use kusion_model::{Head, Scope, Spec};
use kusion_store::{Findings, State, StoreError, wait};
use serde_json::json;

use super::claim;
use crate::input::chosen::ChosenStack;
use crate::input::cluster::{connect, tokio};
use crate::input::consent;
use crate::input::flags::Given;
use crate::input::locks::lock;
use crate::input::planned::{wanted, warn};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};

/// Shows what can be saved, asks, and saves it.
pub(super) fn repair(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let format = format_of(given)?;
    let store = &chosen.target.store;
    let found = wait(store.examine(None))?;
    let witness = tokio()?.block_on(witness(given, chosen, &found));
    let found = wait(store.examine(witness.as_ref()))?;
    if found.damage.is_none() {
        return tell(&found, chosen, format, None);
    }
    if found.is_locked() && !given.has("lost-key") {
        return Err(StoreError::KeyNeeded { place: store.place(), given: lock(given)?.word() }.into());
    }
    if format == Format::Text {
        print(&findings(&found, &chosen.target.scope))?;
    }
    if !given.has("yes") {
        let question = "Make this the state (the damaged log is kept beside it)";
        consent::ask(given, question)?;
    }
    let claim = claim("kusion state repair");
    let found = wait(store.repair(&claim, witness.as_ref(), given.has("lost-key")))?;
    let copy = format!("{}/log.damaged-{}", store.place().display(), claim.now.millis);
    tell(&found, chosen, format, Some(copy))
}

/// What the cluster knows about the stack, if it can be asked.
async fn witness(given: &Given, chosen: &ChosenStack, found: &Findings) -> Option<Head> {
    let saved = &found.saved;
    let spec = wanted(given, chosen).unwrap_or_else(|_| Spec::default());
    let connection = match connect(given, chosen, &clusters_of(&spec, saved)).await {
        Ok(connection) => connection,
        Err(failure) => {
            warn(&format!("the cluster was not asked what it knows about this state: {}", failure.what));
            return None;
        }
    };
    let sites = connection.engine.sites(&chosen.target, DryRun::All);
    let mut stand = Stand::of(&chosen.target.scope, &spec, saved, &sites).of_history(found.lineage());
    let (known, warnings) = stand.recall().await;
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
             What is lost is read from the cluster: look at `kusion preview {}` before you apply.\n",
            chosen.target.called.there()
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
