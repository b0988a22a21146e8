//! `kusion state`: what is recorded of a stack, where it is kept, and what can be done about it by hand.

mod between;
mod edit;
mod import;
mod migrate;
mod repair;
mod show;

use kusion_model::Scope;
use kusion_store::{Claim, StackStore, StoreError, wait};
use serde_json::json;

use crate::input::chosen::{ChosenStack, Intent, liveness, now, open_named_for, owner};
use crate::input::consent;
use crate::input::flags::{Arg, Given, flag};
use crate::input::locks::{lock, new_lock};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};

/// What can be said behind `kusion state`, and how many words may follow the stack.
const VERBS: &[(&str, usize)] = &[
    ("list", 0),
    ("show", 1),
    ("pull", 0),
    ("push", 1),
    ("mv", usize::MAX),
    ("rm", usize::MAX),
    ("import", 1),
    ("migrate", 0),
    ("repair", 0),
    ("rotate", 0),
    ("unlock", 0),
];

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("yes", Some('y'), "", "do not ask"),
        flag("lost-key", None, "", "`repair`: the key is lost for good; begin anew"),
        flag("new-key", None, "HOW", "what locks the state after `rotate` or `migrate`; as --key"),
        flag("all", None, "", "`list`: the stacks that have a state on this backend"),
        flag("to", None, "ADDRESS", "`migrate`: where the state goes; as --backend"),
        flag("to-stack", None, "STACK", "`mv`: the stack that records the resources from now on"),
        flag("tenant", None, "NAME", "`import`: the first %s of an address of upstream's HTTP backend"),
        flag("cluster", None, "NAME", "`import`: the last %s of such an address"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let names = VERBS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let Some((verb, words)) = given.rest.split_first() else {
        return Err(Failure::usage("kusion state needs a verb").next(names));
    };
    let Some((verb, most)) = VERBS.iter().find(|(name, _)| name == verb) else {
        let failure = Failure::usage(format!("there is no `kusion state {verb}`"));
        return Err(match base_diag::nearest(VERBS.iter().map(|(name, _)| *name), verb) {
            Some(near) => failure.next(format!("did you mean `kusion state {near}`?")),
            None => failure.next(names),
        });
    };
    if *verb == "list" && given.has("all") {
        return show::stacks(given);
    }
    let (stack, rest) = match (words.split_first(), given.last("workdir")) {
        (_, Some(folder)) => (Some(folder), words),
        (Some((first, rest)), None) => (Some(first.clone()), rest),
        (None, None) => (None, words),
    };
    if rest.len() > *most {
        return Err(Failure::usage(format!(
            "`kusion state {verb}` does not know what to do with {}",
            rest.join(" ")
        ))
        .next("kusion state --help"));
    }
    let intent = if matches!(*verb, "list" | "show" | "pull") { Intent::Look } else { Intent::Record };
    let chosen = open_named_for(given, stack.as_deref(), intent)?;
    match *verb {
        "list" => show::list(given, &chosen),
        "show" => show::show(given, &chosen, rest.first()),
        "pull" => edit::pull(&chosen),
        "push" => edit::push(given, &chosen, rest.first()),
        "mv" => match given.last("to-stack") {
            Some(other) => between::mv(given, &chosen, rest, &other),
            None => edit::mv(given, &chosen, rest),
        },
        "rm" => edit::rm(given, &chosen, rest),
        "import" => import::import(given, &chosen, rest.first()),
        "migrate" => migrate::migrate(given, &chosen),
        "repair" => repair::repair(given, &chosen),
        "unlock" => unlock(given, &chosen.target.store, &chosen.target.scope),
        _ => rotate(given, &chosen),
    }
}

/// Who wants the lock.
fn claim(command: &str) -> Claim<'static> {
    Claim { owner: owner(command), now: now(), elapsed: Default::default(), alive: &liveness }
}

/// Seals everything anew with another key.
fn rotate(given: &Given, chosen: &ChosenStack) -> Result<(), Failure> {
    let (format, new) = (format_of(given)?, new_lock(given)?);
    let number = wait(chosen.target.store.rotate(&claim("kusion state rotate"), new.as_ref()))?;
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

/// Takes a lock away: for a holder on another machine that will not come back, or a lock that nobody can read.
pub(crate) fn unlock(given: &Given, store: &StackStore, scope: &Scope) -> Result<(), Failure> {
    let format = format_of(given)?;
    let holder = match wait(store.holder(&liveness)) {
        Ok(None) if format == Format::Json => return told_unlocked(scope, None),
        Ok(None) => return print(&format!("Stack {scope} is not locked.\n")),
        Ok(Some(holder)) => holder.to_string(),
        Err(StoreError::LeaseGarbled { .. }) => "nobody knows whom: the lock cannot be read".to_owned(),
        Err(error) => return Err(error.into()),
    };
    if !given.has("yes") {
        let question = format!("The lock is held by {holder}. It can write no more afterwards. Break it");
        consent::ask(given, &question)?;
    }
    wait(store.break_lock(now()))?;
    if format == Format::Json {
        return told_unlocked(scope, Some(&holder));
    }
    print(&format!("The lock of {scope} is open; it was held by {holder}.\n"))
}

fn told_unlocked(scope: &Scope, holder: Option<&str>) -> Result<(), Failure> {
    let schema = "kusion.io/state-unlock/v1";
    print_json(&json!({"schema": schema, "stack": scope, "broken": holder.is_some(), "holder": holder}))
}
