//! `kusion apply`, `destroy`, `rollback`: a plan, consent, the walk, the record.

use std::sync::Arc;

use kusion::{ApplyAsk, CancelToken, DryRun, Ready, Report, previous_good, rollback_target};
use kusion_apply::{ApplyError, FailurePolicy, Options};
use kusion_model::{Plan, Reason, Release, ReleaseNo, Spec};
use kusion_plan::moved_since;
use kusion_store::{ReleaseDraft, Session, StoreError, wait};

use crate::cluster::{World, seconds, tokio};
use crate::consent::consent;
use crate::ending;
use crate::failure::{Failure, exit};
use crate::flags::{Flag, Given, flag};
use crate::hold::{Way, hold, lock_ask};
use crate::namesake::{self, kin};
use crate::output::{Format, format_of, print, tell};
use crate::place::{Place, now, open, subject};
use crate::plan_view::ago;
use crate::planned::{ready, refuse_conflicts, wanted};
use crate::preview::{detail_of, show};
use crate::progress::{Look, Progress};
use crate::unchanged::{Rest, say_unchanged};

pub(crate) const FLAGS: &[Flag] = &[
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
    namesake::SAME[0],
];

pub(crate) const PLAN: &[Flag] =
    &[flag("plan", None, "FILE", "apply exactly this saved plan, or say what moved")];

pub(crate) const TO: &[Flag] =
    &[flag("to", None, "N", "the release to go back to (default: the last good one before)")];

/// What is about to run.
struct Task {
    verb: &'static str,
    spec: Spec,
    draft: ReleaseDraft,
    saved: Option<Plan>,
}

pub(crate) fn apply(given: &Given) -> Result<(), Failure> {
    let place = open(given)?;
    let saved = given.last("plan").map(|file| saved_plan(&place, &file)).transpose()?;
    let spec = wanted(given, &place)?;
    let draft = draft(given, &place);
    run(given, &place, Task { verb: "apply", spec, draft, saved })
}

pub(crate) fn destroy(given: &Given) -> Result<(), Failure> {
    let place = open(given)?;
    let draft = ReleaseDraft { destroy: true, ..draft(given, &place) };
    run(given, &place, Task { verb: "destroy", spec: Spec::default(), draft, saved: None })
}

pub(crate) fn rollback(given: &Given) -> Result<(), Failure> {
    let place = open(given)?;
    let state = wait(place.target.store.read())?;
    let to = match given.last("to") {
        Some(text) => release_number(&text)?,
        None => previous_good(&state).ok_or_else(|| {
            Failure::usage("there is no release to go back to")
                .cause("no release before the latest one succeeded")
                .next(format!("`kusion release list {}` shows them", place.target.scope))
        })?,
    };
    let spec = wait(rollback_target(&place.target.store, to))?;
    if let Some(target) = state.releases.get(&to).filter(|_| format_of(given).ok() == Some(Format::Text)) {
        print(&back_to(target, &place))?;
    }
    let draft = ReleaseDraft { rollback_to: Some(to), ..draft(given, &place) };
    run(given, &place, Task { verb: "rollback", spec, draft, saved: None })
}

/// `Rollback of shop/dev to release 3 (succeeded, 2 min ago, by li@host: first)`
fn back_to(release: &Release, place: &Place) -> String {
    let when = ago(release.ended.unwrap_or(release.started));
    let message = release.message.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    let (scope, no, word) = (&place.target.scope, release.no, release.word());
    format!("Rollback of {scope} to release {no} ({word}, {when}, by {}{message})\n", release.by)
}

/// Reads the number of a release.
pub(crate) fn release_number(text: &str) -> Result<ReleaseNo, Failure> {
    let number = text.parse().map_err(|_| {
        Failure::usage(format!("`{text}` is no release number")).next("`kusion release list` shows them")
    });
    number.map(ReleaseNo)
}

fn draft(given: &Given, place: &Place) -> ReleaseDraft {
    ReleaseDraft {
        by: subject(),
        commit: kusion::commit_of(&place.folder.stack_dir),
        folder: Some(namesake::folder(place)),
        cluster: None,
        inputs: place
            .arguments
            .iter()
            .map(|(name, value)| (name.clone(), place.target.key.sealed(value)))
            .collect(),
        message: given.last("message"),
        ..ReleaseDraft::default()
    }
}

/// Reads a plan that was sealed with the key of this stack: nobody has changed it since.
fn saved_plan(place: &Place, file: &str) -> Result<Plan, Failure> {
    let text = crate::health::read_text(file)?;
    let unusable = |cause: String| {
        Failure::usage("the saved plan cannot be used")
            .cause(cause)
            .place(file)
            .next("make it anew: kusion preview --plan FILE")
    };
    if text.starts_with('{') {
        return Err(unusable("it is in clear; a plan is sealed with the key of its stack".to_owned()));
    }
    let plan = wait(place.target.store.unseal("plan", &text)).map_err(|error| match error {
        StoreError::Unsealed { .. } => unusable(error.to_string()),
        other => other.into(),
    })?;
    Plan::from_json(&plan).map_err(|e| unusable(e.to_string()))
}

fn run(given: &Given, place: &Place, task: Task) -> Result<(), Failure> {
    let format = format_of(given)?;
    let detail = detail_of(given)?;
    let options = options(given)?;
    let asks = !given.has("yes") && task.saved.is_none();
    // Somebody looks at the plan: it must know what the server would say. Otherwise the writes themselves will tell.
    let dry_run = if asks || task.saved.is_some() { DryRun::All } else { DryRun::Updates };
    let tokio = tokio()?;
    let (mut ready, world) = tokio.block_on(ready(given, place, task.spec, dry_run))?;
    if task.verb == "destroy" {
        say_destroyed(&mut ready.planned.plan);
    }
    let plan = &ready.planned.plan;
    if let Some(saved) = &task.saved {
        same_plan(saved, plan)?;
    }
    if format == Format::Text {
        show(&ready, &world.context, format, detail)?;
    }
    refuse_conflicts(&ready)?;
    if let Some(rest) = Rest::of(&ready, task.verb, options.wait) {
        let ended = rest.tell(format, task.verb, &ready);
        // The process ends: giving the memory back piece by piece would cost more than the plan.
        std::mem::forget(ready);
        return ended;
    }
    if plan.is_empty() && format == Format::Text {
        print(&say_unchanged(&ready, options.wait))?;
    }
    if !plan.is_empty() && asks {
        consent(task.verb, plan, &world.context)?;
    } else if task.saved.is_none() && !given.has("same-project") {
        kin(&ready.state, place).refuse(plan, place)?;
    }
    let way = Way { verb: task.verb, asks, exact: task.saved.is_some(), dry_run, format, detail };
    let (session, ready) = tokio.block_on(hold(given, place, &world, ready, way))?;
    if let Some(rest) = Rest::of(&ready, task.verb, options.wait) {
        wait(session.close(now()))?;
        return rest.tell(format, task.verb, &ready);
    }
    let look = Look { format, tree: !given.has("no-watch"), wait: options.wait };
    let draft = ReleaseDraft { cluster: Some(world.context.clone()), ..task.draft };
    let work = Work { session, ready: &ready, draft, options, look };
    let report = tokio.block_on(carry_out(given, place, &world, work))?;
    ending::tell(&report, &ready, place, format)?;
    let code = ending::code(&report);
    if report.rollback_wanted && task.verb == "apply" {
        roll_back_after(given, place)?;
    }
    code
}

/// The planner sees an empty configuration; the user asked for something else.
pub(crate) fn say_destroyed(plan: &mut Plan) {
    let gone = plan.steps.iter_mut().filter(|step| step.reason == Reason::NotInConfiguration);
    gone.for_each(|step| step.reason = Reason::Destroyed);
}

/// The failure policy asked for the state before.
fn roll_back_after(given: &Given, place: &Place) -> Result<(), Failure> {
    let state = wait(place.target.store.read())?;
    let Some(to) = previous_good(&state) else {
        tell("there is no earlier good release to go back to; everything stays as it is\n");
        return Ok(());
    };
    tell(&format!("\nrolling back to release {to}\n"));
    let spec = wait(rollback_target(&place.target.store, to))?;
    let draft = ReleaseDraft { rollback_to: Some(to), ..draft(given, place) };
    let tokio = tokio()?;
    let (ready, world) = tokio.block_on(ready(given, place, spec, DryRun::Updates))?;
    let (format, options) = (format_of(given)?, options(given)?);
    let way = Way {
        verb: "rollback",
        asks: false,
        exact: false,
        dry_run: DryRun::Updates,
        format,
        detail: detail_of(given)?,
    };
    let (session, ready) = tokio.block_on(hold(given, place, &world, ready, way))?;
    let look = Look { format, tree: !given.has("no-watch"), wait: options.wait };
    let draft = ReleaseDraft { cluster: Some(world.context.clone()), ..draft };
    let work = Work { session, ready: &ready, draft, options, look };
    let report = tokio.block_on(carry_out(given, place, &world, work))?;
    ending::tell(&report, &ready, place, format)
}

fn same_plan(saved: &Plan, plan: &Plan) -> Result<(), Failure> {
    if saved.scope != plan.scope {
        return Err(Failure::usage(format!("the saved plan is for {}, this is {}", saved.scope, plan.scope)));
    }
    let moved = moved_since(saved, plan);
    if moved.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = moved.iter().map(|moved| format!("{} {}", moved.key, moved.what)).collect();
    Err(Failure::new(exit::CONFLICT, "the world has moved since the plan was made")
        .cause(texts.join("\n"))
        .next("look again and save a new plan: kusion preview --plan FILE"))
}

/// A plan under its lock.
struct Work<'a> {
    session: Session,
    ready: &'a Ready,
    draft: ReleaseDraft,
    options: Options,
    look: Look,
}

async fn carry_out(given: &Given, place: &Place, world: &World, work: Work<'_>) -> Result<Report, Failure> {
    let Work { session, ready, draft, options, look } = work;
    let release = ready.state.next_release();
    let title =
        format!("Release {release} of {}, plan {}", place.target.scope, ready.planned.plan.short_hash());
    let progress = Arc::new(Progress::new(look, &ready.planned.plan, title));
    let told = Arc::clone(&progress);
    let cancel = CancelToken::default();
    let ask = ApplyAsk {
        draft,
        options,
        timeout: seconds(given, "timeout")?,
        cancel: cancel.clone(),
        observer: Arc::new(move |happening| told.happened(&happening)),
        ..lock_ask(given)?
    };
    let result = tokio::select! {
        result = world.engine.apply_in(session, &place.target, ready, &ask) => Some(result),
        () = interrupted_twice(&cancel, &progress) => None,
        () = progress.keep_drawing() => None,
    };
    progress.finish();
    match result {
        None => Err(Failure::new(
            exit::INTERRUPTED,
            "interrupted; what was in flight may or may not have happened",
        )
        .next("run the same command again: it goes on from what is there")),
        Some(result) => result.map_err(apply_failed),
    }
}

fn apply_failed(error: ApplyError) -> Failure {
    let text = error.to_string();
    match error {
        ApplyError::Conflict(_) | ApplyError::Owned(_) => Failure::new(exit::CONFLICT, text),
        ApplyError::Store { source, report } => {
            let damaged = matches!(source, StoreError::Damaged { .. });
            let mut failure = Failure::from(source);
            if report.is_some() && !damaged {
                failure.code = exit::PARTIAL;
                failure.next =
                    Some("make room for the state, then apply again: it is read from the cluster".to_owned());
            }
            failure
        }
    }
}

/// Ctrl-C once drains; twice ends at once.
async fn interrupted_twice(cancel: &CancelToken, progress: &Progress) {
    interrupt().await;
    cancel.cancel();
    progress.say("stopping after what is in flight; Ctrl-C again stops at once");
    interrupt().await;
}

/// Waits for an interrupt from the terminal or for an order to end.
pub(crate) async fn interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut ended) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        result = tokio::signal::ctrl_c() => if result.is_err() { std::future::pending().await },
        _ = ended.recv() => {}
    }
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
