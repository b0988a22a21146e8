//! `kusion state mv STACK ID … --to-stack OTHER`: what one stack has recorded is recorded by another. Nothing here touches the world.

use std::collections::BTreeSet;

use kusion::{platforms, recorded_keys};
use kusion_model::ResourceKey;
use kusion_store::{State, wait};

use super::edit::{hand, lines, told};
use crate::input::chosen::{ChosenStack, Intent, open_named_for};
use crate::input::consent;
use crate::input::flags::Given;
use crate::views::failure::Failure;
use crate::views::output::format_of;
use crate::views::plan_view::count;

const COMMAND: &str = "kusion state mv";

/// Gives resources of one stack to another.
pub(super) fn mv(given: &Given, chosen: &ChosenStack, ids: &[String], other: &str) -> Result<(), Failure> {
    if ids.is_empty() {
        return Err(Failure::usage("mv needs an id").next("kusion state mv STACK ID ... --to-stack OTHER"));
    }
    let (format, there) = (format_of(given)?, open_named_for(given, Some(other), Intent::Record)?);
    let (from, to) = (&chosen.target.scope, &there.target.scope);
    if from == to {
        return Err(Failure::usage(format!("{to} is the stack that has them"))
            .next("name another stack; another id in the same stack: kusion state mv STACK FROM TO"));
    }
    let state = wait(chosen.target.store.read())?;
    let keys = recorded_keys(&state, ids)?;
    let after = aftermath(&state, &keys, chosen, &there);
    if !given.has("yes") {
        let question = format!("{after}Give {} of {from} to {to}", count(keys.len(), "resource"));
        consent::ask(given, &question)?;
    }
    let moved = wait(hand(COMMAND).give(&chosen.target, &there.target, ids, &platforms()))?;
    let lines = lines(&moved);
    let text = format!("{} of {from} given to {to}.\n{after}", count(keys.len(), "resource"));
    told(format, chosen, "mv", &lines, &text)
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
        state.records.get(key).is_some_and(|record| platforms().lives_in_cluster(&record.kind))
    };
    if keys.iter().any(|key| marked(&key)) {
        text.push_str(&format!(
            "Objects of a cluster still say that they belong to {from}: kusion apply {to} --take-over.\n"
        ));
    }
    text
}
