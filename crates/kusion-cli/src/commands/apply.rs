//! `kusion apply`, `destroy`, `rollback`: an errand on the road of the engine, and how it is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use kusion::{
    Advice, ApplyAsk, CancelToken, Consent, Ending, Errand, FailurePolicy, Options, Purpose, ReleaseDraft,
    Road, RoadError, SavedPlan, Wanted, want,
};
use kusion_model::{Release, ReleaseNo};
use kusion_store::{StoreError, wait};

use crate::input::chosen::{ChosenStack, Intent, liveness, open_for, owner, subject};
use crate::input::cluster::{Connection, seconds, tokio};
use crate::input::consent::Terminal;
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::{ended, ruled, sources};
use crate::input::recall::{connection_for, look_back};
use crate::input::who::acting;
use crate::views::company::Company;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print};
use crate::views::plan_view::ago;
use crate::views::unchanged::tell_rest;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("yes", Some('y'), "", "do not ask"),
        flag("output", Some('o'), "FORMAT", "text, or json: one event per line"),
        flag("no-wait", None, "", "do not wait for health"),
        flag("watch", None, "", "a live tree until the end (the default on a terminal)"),
        flag("no-watch", None, "", "plain lines, also on a terminal"),
        flag("timeout", None, "TIME", "how long to wait for the health of each resource"),
        flag("on-failure", None, "POLICY", "stop (default), continue or rollback"),
        flag("lock-timeout", None, "TIME", "how long to wait for a locked stack"),
        flag("detail", None, "all", "show everything"),
        flag("message", Some('m'), "TEXT", "a word about this release"),
        flag("same-project", None, "", "this folder is the same project as the one that made the state"),
        flag("break-dependents", None, "", "go on although other stacks use outputs that go away"),
    ]
}

pub(crate) fn plan() -> Vec<Arg> {
    vec![flag("plan", None, "FILE", "apply exactly this saved plan, or say what moved")]
}

pub(crate) fn to() -> Vec<Arg> {
    vec![flag("to", None, "N", "the release to go back to (default: the last good one before)")]
}

pub(crate) fn apply(given: &Given) -> Result<(), Failure> {
    let chosen = ruled(given, open_for(given, Intent::Record)?)?;
    let saved = given.last("plan").map(|file| saved_plan(&file, &chosen)).transpose()?;
    let (spec, models) = sources(given, &chosen)?;
    let consent = match saved {
        Some(plan) => Consent::Saved(Arc::new(plan)),
        None => asked(given),
    };
    run(given, chosen, Purpose::Apply(spec), consent, models)
}

pub(crate) fn destroy(given: &Given) -> Result<(), Failure> {
    let chosen = ruled(given, open_for(given, Intent::Record)?)?;
    run(given, chosen, Purpose::Destroy, asked(given), BTreeMap::new())
}

pub(crate) fn rollback(given: &Given) -> Result<(), Failure> {
    let chosen = ruled(given, open_for(given, Intent::Record)?)?;
    let to = given.last("to").map(|text| release_number(&text)).transpose()?;
    run(given, chosen, Purpose::Rollback(to), asked(given), BTreeMap::new())
}

/// `-y` is consent; otherwise somebody is asked.
fn asked(given: &Given) -> Consent {
    if given.has("yes") { Consent::Given } else { Consent::Asked(Arc::new(Terminal)) }
}

/// `Rollback of shop/dev to release 3 (succeeded, 2 min ago, by li@host: first)`
fn back_to(release: &Release, chosen: &ChosenStack) -> String {
    let when = ago(release.ended.unwrap_or(release.started));
    let message = release.message.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    let (scope, no, word) = (&chosen.target.scope, release.no, release.word());
    format!("Rollback of {scope} to release {no} ({word}, {when}, by {}{message})\n", release.by)
}

/// Reads the number of a release.
pub(crate) fn release_number(text: &str) -> Result<ReleaseNo, Failure> {
    let number = text.parse().map_err(|_| {
        Failure::usage(format!("`{text}` is no release number"))
            .advise(Advice::new("", "release list").after(" shows them"))
    });
    number.map(ReleaseNo)
}

fn draft(given: &Given, chosen: &ChosenStack) -> ReleaseDraft {
    let source = kusion::source_of(&chosen.folder.stack_dir);
    let short = |source: &kusion_model::Checkout| {
        let commit: String = source.commit.chars().take(12).collect();
        if source.clean { commit } else { format!("{commit}+") }
    };
    ReleaseDraft {
        by: subject(),
        commit: source.as_ref().map(short),
        source,
        folder: Some(chosen.target.files()),
        inputs: chosen
            .arguments
            .iter()
            .map(|(name, value)| (name.clone(), chosen.target.key.sealed(value)))
            .collect(),
        message: given.last("message"),
        ..ReleaseDraft::default()
    }
}

/// Reads a plan that was sealed with the key of this stack: nobody has changed it since.
fn saved_plan(file: &str, chosen: &ChosenStack) -> Result<SavedPlan, Failure> {
    let text = crate::input::text::read_text(file)?;
    let unusable = |cause: String| {
        Failure::usage("the saved plan cannot be used")
            .cause(cause)
            .place(file)
            .next(format!("make it anew: kusion preview {} --plan FILE", chosen.target.called.there()))
    };
    if text.starts_with('{') {
        return Err(unusable("it is in clear; a plan is sealed with the key of its stack".to_owned()));
    }
    let plan = wait(chosen.target.store.unseal("plan", &text)).map_err(|error| match error {
        StoreError::Unsealed { .. } => unusable(error.to_string()),
        other => other.into(),
    })?;
    SavedPlan::from_text(&plan).map_err(|e| unusable(e.to_string()))
}

fn run(
    given: &Given,
    chosen: ChosenStack,
    purpose: Purpose,
    consent: Consent,
    models: BTreeMap<String, String>,
) -> Result<(), Failure> {
    let format = format_of(given)?;
    let mut ask = apply_ask(given, &chosen)?;
    ask.draft.by = acting(&chosen)?;
    ask.draft.models = models;
    let chosen = Arc::new(chosen);
    let tokio = tokio()?;
    let wanted = match wait(want(&chosen.target, purpose)) {
        Ok(wanted) => wanted,
        // The release that is missed may have been lost with the state.
        Err(error) => {
            if matches!(error, RoadError::NothingBefore | RoadError::Store(StoreError::NoRelease { .. })) {
                let state = wait(chosen.target.store.read())?;
                tokio.block_on(look_back(given, &chosen, &state))?;
            }
            return Err(error.told(&chosen.target, ""));
        }
    };
    if let Some(release) = wanted.release().filter(|_| format == Format::Text) {
        print(&back_to(release, &chosen))?;
    }
    let connection = tokio.block_on(connection_for(given, &chosen, &wanted))?;
    let company = Company::new(given, Arc::clone(&chosen), &connection, &ask)?;
    ask.observer = company.observer();
    ask.break_dependents = given.has("break-dependents");
    let errand = Errand { consent, policy: false, same_project: given.has("same-project"), ask };
    let ending = tokio.block_on(walk(given, &chosen, &connection, wanted, &errand, &company))?;
    let exit = ending.exit();
    if let Ending::Rest(rest, ready) = ending {
        let told = tell_rest(&rest, format, &ready);
        // The process ends: giving the memory back piece by piece would cost more than the plan.
        std::mem::forget(ready);
        return told;
    }
    if exit == Exit::Done { Ok(()) } else { Err(Failure::told(exit)) }
}

/// Walks the road, and beside it draws and listens for interrupts.
async fn walk(
    given: &Given,
    chosen: &ChosenStack,
    connection: &Connection,
    wanted: Wanted,
    errand: &Errand,
    company: &Company,
) -> Result<Ending, Failure> {
    let road = Road { engine: &connection.engine, target: &chosen.target };
    let walked = tokio::select! {
        walked = road.go(wanted, errand) => Some(walked),
        () = interrupted_twice(&errand.ask.cancel, company) => None,
        () = company.keep_drawing() => None,
    };
    company.finish();
    if let Some(failure) = company.failure() {
        return Err(failure);
    }
    match walked {
        None => Err(Failure::new(
            Exit::Interrupted,
            "interrupted; what was in flight may or may not have happened",
        )
        .next("run the same command again: it goes on from what is there")),
        Some(walked) => walked.map_err(|error| ended(given, chosen, connection, error)),
    }
}

/// Ctrl-C once stops, and drains what is in flight; twice ends at once. Nobody listens before the lock is asked for: until then
/// an interrupt simply ends the process.
async fn interrupted_twice(cancel: &CancelToken, company: &Company) {
    company.locking().await;
    interrupt().await;
    cancel.cancel();
    company.say("stopping after what is in flight; Ctrl-C again stops at once");
    interrupt().await;
}

/// Waits for an interrupt from the terminal or for an order to end.
async fn interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut ended) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        result = tokio::signal::ctrl_c() => if result.is_err() { std::future::pending().await },
        _ = ended.recv() => {}
    }
}

/// Who acts, and how long to wait for what.
pub(crate) fn apply_ask(given: &Given, chosen: &ChosenStack) -> Result<ApplyAsk, Failure> {
    Ok(ApplyAsk {
        options: options(given)?,
        timeout: seconds(given, "timeout")?,
        owner: owner(&given.without_values()),
        alive: liveness,
        lock_timeout: seconds(given, "lock-timeout")?.unwrap_or_default(),
        ..ApplyAsk::new(draft(given, chosen))
    })
}

fn options(given: &Given) -> Result<Options, Failure> {
    let on_failure = match given.last("on-failure").as_deref() {
        None | Some("stop") => FailurePolicy::Stop,
        Some("continue") => FailurePolicy::Continue,
        Some("rollback") => FailurePolicy::Rollback,
        Some(other) => {
            let failure = Failure::usage(format!("--on-failure {other} is not known"));
            return Err(failure.next("stop, continue or rollback"));
        }
    };
    let default = Options::default();
    let gone_limit = seconds(given, "timeout")?.unwrap_or(default.gone_limit);
    Ok(Options { wait: !given.has("no-wait"), on_failure, gone_limit, ..default })
}
