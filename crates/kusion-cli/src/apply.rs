//! `kusion apply`, `destroy`, `rollback`: a plan, consent, the walk, the record.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kusion::{Execution, execute, previous_good, rollback_target};
use kusion_apply::{ApplyError, CancelToken, FailurePolicy, Options, Report, StepEnd};
use kusion_model::{FieldPath, Plan, ReleaseNo, Spec};
use kusion_plan::moved_since;
use kusion_runtime_k8s::{DryRun, OnVerdict};
use kusion_store::{ReleaseDraft, Session, State, StoreError};
use serde_json::json;

use crate::cluster::{WallClock, tokio};
use crate::failure::{Failure, exit};
use crate::flags::{Flag, Given, flag};
use crate::output::{Format, format_of, print, tell};
use crate::place::{Place, liveness, now, open, owner, subject};
use crate::plan_view::{self, Detail};
use crate::planned::{Ready, ready, refuse_conflicts, wanted};
use crate::preview::{detail_of, show};
use crate::progress::Progress;
use crate::style::Style;

pub(crate) const FLAGS: &[Flag] = &[
    flag("yes", Some('y'), "", "do not ask"),
    flag("output", Some('o'), "FORMAT", "text, or json: one event per line"),
    flag("no-wait", None, "", "do not wait for health"),
    flag("watch", None, "", "tell every change of health while waiting (the default)"),
    flag("timeout", None, "SECONDS", "how long to wait for the health of each resource"),
    flag("on-failure", None, "POLICY", "stop (default), continue or rollback"),
    flag("lock-timeout", None, "SECONDS", "how long to wait for a locked stack"),
    flag("detail", None, "all", "show everything"),
    flag("message", Some('m'), "TEXT", "a word about this release"),
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
    let saved = given.last("plan").map(|file| saved_plan(&file)).transpose()?;
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
    let state = place.store.read()?;
    let to = match given.last("to") {
        Some(text) => ReleaseNo(text.parse().map_err(|_| {
            Failure::usage(format!("--to {text} is no release")).next("`kusion release list` shows them")
        })?),
        None => previous_good(&state).ok_or_else(|| {
            Failure::usage("there is no release to go back to")
                .cause("no release before the latest one succeeded")
                .next("`kusion release list` shows them")
        })?,
    };
    let spec = rollback_target(&place.store, to)?;
    let draft = ReleaseDraft { rollback_to: Some(to), ..draft(given, &place) };
    run(given, &place, Task { verb: "rollback", spec, draft, saved: None })
}

fn draft(given: &Given, place: &Place) -> ReleaseDraft {
    ReleaseDraft {
        by: subject(),
        commit: kusion::commit_of(&place.stack.stack_dir),
        inputs: place.arguments.iter().cloned().collect(),
        message: given.last("message"),
        ..ReleaseDraft::default()
    }
}

fn saved_plan(file: &str) -> Result<Plan, Failure> {
    let text = crate::health::read_text(file)?;
    Plan::from_json(&text).map_err(|e| {
        Failure::usage("the saved plan cannot be used")
            .cause(e.to_string())
            .place(file)
            .next("make it anew: kusion preview --plan FILE")
    })
}

fn run(given: &Given, place: &Place, task: Task) -> Result<(), Failure> {
    let format = format_of(given)?;
    let detail = detail_of(given)?;
    let state = place.store.read()?;
    let asks = !given.has("yes") && task.saved.is_none();
    let dry_run = if asks || task.saved.is_some() { DryRun::All } else { DryRun::Updates };
    let tokio = tokio()?;
    let ready = tokio.block_on(ready(given, place, task.spec, &state, dry_run))?;
    let plan = &ready.planned.plan;
    if let Some(saved) = &task.saved {
        same_plan(saved, plan)?;
    }
    if format == Format::Text {
        show(&ready, &state, format, detail)?;
    }
    refuse_conflicts(&ready)?;
    let stale = plan.steps.iter().any(|step| step.rerecord.is_some());
    if plan.is_empty() && !stale {
        return finish_empty(format, task.verb, &state);
    }
    if !plan.is_empty() && asks {
        consent(task.verb, &ready)?;
    }
    let report = tokio.block_on(carry_out(given, place, &ready, task.draft, format))?;
    tell_end(&report, &ready, place, format)?;
    end_code(&report)
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

fn finish_empty(format: Format, verb: &str, state: &State) -> Result<(), Failure> {
    match format {
        Format::Json => print(&format!(
            "{}\n",
            json!({"event": "nothing-to-do", "release": state.latest().map(|r| r.no)})
        )),
        Format::Text if verb == "destroy" => print("Nothing to destroy.\n"),
        Format::Text => print("Nothing to do: everything is as the configuration says.\n"),
    }
}

/// Asks; without a terminal the question becomes an error that names the flag.
fn consent(verb: &str, ready: &Ready) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::usage(format!(
            "`kusion {verb}` needs consent and there is no terminal to ask on"
        ))
        .next(format!(
            "look at the plan above, then: kusion {verb} -y, or save it: kusion preview --plan FILE"
        )));
    }
    loop {
        tell(&format!("? {} this plan  > yes / details / no: ", capital(verb)));
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        match line.trim() {
            "y" | "yes" => return Ok(()),
            "d" | "details" => print(&plan_view::plan(&ready.planned.plan, Detail::All, &Style::stdout()))?,
            "n" | "no" => return Err(Failure::usage("nothing was changed: the answer was no")),
            _ if read.is_err() || line.is_empty() => {
                return Err(Failure::usage("nothing was changed: no answer"));
            }
            _ => {}
        }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

async fn carry_out(
    given: &Given,
    place: &Place,
    ready: &Ready,
    draft: ReleaseDraft,
    format: Format,
) -> Result<Report, Failure> {
    let mut session = lock(given, place).await?;
    let width =
        ready.planned.plan.steps.iter().filter(|s| s.is_change()).map(|s| s.key.to_string().len()).max();
    let progress = Arc::new(Progress::new(format, width.unwrap_or(0)));
    let told = Arc::clone(&progress);
    let listener: OnVerdict = Arc::new(move |key, verdict| told.verdict(key, verdict));
    let health = ready.clusters.health(&listener, seconds(given, "timeout")?);
    let cancel = CancelToken::default();
    let outputs = place.stack.stack.read_outputs().unwrap_or_default();
    let with = Execution {
        runtimes: &ready.clusters.runtimes,
        health: &health,
        clock: &WallClock,
        cancel: &cancel,
        events: &move |event| progress.event(&event),
        options: options(given)?,
        key: &ready.key,
        outputs: &outputs,
    };
    let result = tokio::select! {
        result = execute(&ready.planned, &mut session, draft, &with) => Some(result),
        () = interrupted_twice(&cancel) => None,
    };
    let closed = session.close(now());
    match result {
        None => Err(Failure::new(
            exit::INTERRUPTED,
            "interrupted; what was in flight may or may not have happened",
        )
        .next("run the same command again: it goes on from what is there")),
        Some(Err(error)) => Err(apply_failed(error)),
        Some(Ok(report)) => {
            closed?;
            Ok(report)
        }
    }
}

fn apply_failed(error: ApplyError) -> Failure {
    let text = error.to_string();
    match error {
        ApplyError::Conflict(_) => Failure::new(exit::CONFLICT, text),
        ApplyError::Store { source, report } => {
            let mut failure = Failure::from(source);
            if report.is_some() {
                failure.code = exit::PARTIAL;
                failure.next =
                    Some("make room for the state, then apply again: it is read from the cluster".to_owned());
            }
            failure
        }
    }
}

/// Ctrl-C once drains; twice ends at once.
async fn interrupted_twice(cancel: &CancelToken) {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    cancel.cancel();
    tell("\nstopping after what is in flight; Ctrl-C again stops at once\n");
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn lock(given: &Given, place: &Place) -> Result<Session, Failure> {
    let patience = seconds(given, "lock-timeout")?.unwrap_or_default();
    let started = Instant::now();
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    loop {
        match place.store.acquire(owner(&command), now(), &liveness) {
            Err(StoreError::Locked { .. }) if started.elapsed() < patience => {
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            other => return Ok(other?),
        }
    }
}

fn seconds(given: &Given, name: &str) -> Result<Option<Duration>, Failure> {
    let Some(text) = given.last(name) else { return Ok(None) };
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.trim_end_matches('s'), 1),
    };
    let count: u64 = number.parse().map_err(|_| {
        Failure::usage(format!("--{name} {text} is no time")).next(format!("--{name} 90, 90s or 5m"))
    })?;
    Ok(Some(Duration::from_secs(count.saturating_mul(unit))))
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
    Ok(Options { wait: !given.has("no-wait"), on_failure, ..Options::default() })
}

fn tell_end(report: &Report, ready: &Ready, place: &Place, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let mut value = serde_json::to_value(report).unwrap_or_default();
        value["event"] = json!("report");
        value["schema"] = json!("kusion.io/report/v1");
        return print(&format!("{value}\n"));
    }
    let style = Style::stdout();
    let mut out = String::from("\n");
    for (key, end) in &report.steps {
        let (what, cause, next) = match end {
            StepEnd::Failed { message } => ("was refused", Some(message.clone()), None),
            StepEnd::Unhealthy { message, cause, next, timed_out } => {
                let what = if *timed_out { "is not healthy in time" } else { "failed" };
                (what, Some(cause.clone().unwrap_or_else(|| message.clone())), next.clone())
            }
            _ => continue,
        };
        out.push_str(&format!("{} {key} {what}\n", style.red(style.glyph("✘", "x"))));
        let back = format!("fix and apply again; or `kusion rollback {}`", place.scope);
        let rows = [("cause", cause), ("where", source_of(ready, key)), ("next", Some(next.unwrap_or(back)))];
        for (word, text) in rows {
            if let Some(text) = text {
                out.push_str(&format!("    {word:<5}  {}\n", text.replace('\n', "\n           ")));
            }
        }
    }
    let waiting = report
        .steps
        .values()
        .filter(|end| matches!(end, StepEnd::Skipped { .. } | StepEnd::NotStarted))
        .count();
    let rest = if waiting > 0 { format!(", {waiting} not started") } else { String::new() };
    let phase = report.phase.to_string();
    let phase = if report.is_success() { style.green(&phase) } else { style.red(&phase) };
    out.push_str(&format!("Release {} {phase}: {}{rest}.\n", report.release, plan_view::done(&report.tally)));
    print(&out)
}

/// The line behind a resource: that of its first changed field, else its own.
fn source_of(ready: &Ready, key: &str) -> Option<String> {
    let step = ready.planned.plan.steps.iter().find(|step| step.key.to_string() == key)?;
    let changed = step.changes.iter().find_map(|change| change.source.as_ref()).map(ToString::to_string);
    let resource = ready.spec.resources.iter().find(|resource| resource.key() == step.key);
    let first = ["spec.template.spec.containers[0].image", "spec", "metadata.name", "metadata"];
    let own = || {
        let map = &resource?.source;
        first.iter().find_map(|path| map.find(&FieldPath::parse(path).ok()?).map(ToString::to_string))
    };
    changed.or_else(own)
}

fn end_code(report: &Report) -> Result<(), Failure> {
    let any = |test: fn(&StepEnd) -> bool| report.steps.values().any(test);
    if report.cancelled {
        return Err(Failure::told(exit::INTERRUPTED));
    }
    if report.is_success() {
        return Ok(());
    }
    Err(Failure::told(match () {
        () if any(|end| matches!(end, StepEnd::Unhealthy { .. })) => exit::UNHEALTHY,
        () if any(StepEnd::is_applied) => exit::PARTIAL,
        () => exit::REMOTE,
    }))
}
