//! The end of an apply: what failed with cause, where and next; the release in one line; the exit code.

use kusion::{Ready, Report, StepEnd, culprit, with_line};
use kusion_model::{Action, Phase};
use kusion_runtime::ErrorKind;
use serde_json::json;

use crate::input::chosen::ChosenStack;
use crate::views::failure::Failure;
use crate::views::output::{Format, print, print_data};
use crate::views::plan_view;
use crate::views::style::Style;

pub(crate) fn tell(
    report: &Report,
    ready: &Ready,
    chosen: &ChosenStack,
    format: Format,
) -> Result<(), Failure> {
    if format == Format::Json {
        let mut value = serde_json::to_value(report).unwrap_or_default();
        value["event"] = json!("report");
        value["schema"] = json!("kusion.io/report/v1");
        value["state"] = chosen.meter.report();
        return print_data(&format!("{value}\n"));
    }
    let (style, stack) = (Style::stdout(), chosen.target.called.there());
    let mut out = String::from("\n");
    for (key, end) in &report.steps {
        let (what, cause, next) = match end {
            StepEnd::Failed { message, kind } if is(ready, key, Action::Delete) => {
                let next = match kind {
                    Some(ErrorKind::Forbidden) => {
                        "ask for the right that the message names, then run the same command again"
                    }
                    _ => "find out who should let it go, then run the same command again",
                };
                ("is still there", Some(message.clone()), Some(next.to_owned()))
            }
            StepEnd::Failed { message, .. } => ("was refused", Some(message.clone()), None),
            StepEnd::HalfReplaced { because } => {
                let why = because.as_ref().map_or_else(
                    || "the run was stopped in between".to_owned(),
                    |because| format!("it needs {because}"),
                );
                let cause = format!("the old one is deleted, the new one is not made: {why}");
                let next = "run the same command again: it makes the new one".to_owned();
                ("is half replaced", Some(cause), Some(next))
            }
            StepEnd::Unhealthy { message, cause, next, timed_out } => {
                let what = if *timed_out { "is not healthy in time" } else { "failed" };
                (what, Some(cause.clone().unwrap_or_else(|| message.clone())), next.clone())
            }
            _ => continue,
        };
        let cross = style.red(style.glyph("✘", "x"));
        let kept = if is(ready, key, Action::NoOp) { " (unchanged by this release)" } else { "" };
        let shown = style.cyan(&key.replace('\\', ""));
        out.push_str(&format!("{cross} {shown} {what}{}{kept}\n", after(report, key)));
        let next = match next {
            Some(next) if is(ready, key, Action::Delete) || is_half(end) => next,
            Some(next) => format!("{next}\n{}", next_step(ready, &stack)),
            None => next_step(ready, &stack),
        };
        let place_of = source_of(ready, chosen, key, cause.as_deref().unwrap_or_default());
        let rows = [("cause", cause), ("where", place_of), ("next", Some(next))];
        for (word, text) in rows {
            if let Some(text) = text {
                out.push_str(&format!("    {word:<5}  {}\n", text.replace('\n', "\n           ")));
            }
        }
    }
    for text in &report.wrong_outputs {
        let cross = style.red(style.glyph("✘", "x"));
        out.push_str(&format!(
            "{cross} {text}\n    next   correct `type` under `outputs:` in stack.yaml, or the field\n"
        ));
    }
    let rest = rest_of(report);
    let phase = if report.cancelled { "interrupted".to_owned() } else { report.phase.to_string() };
    let phase = if report.is_success() { style.green(&phase) } else { style.red(&phase) };
    out.push_str(&format!("Release {} {phase}: {}{rest}.\n", report.release, plan_view::done(&report.tally)));
    if !report.waited && ready.plan().steps.iter().any(|step| !step.action.is_leaving()) {
        out.push_str(&format!("Health was not waited for (--no-wait): `kusion status {stack}` tells.\n"));
    }
    if report.cancelled {
        out.push_str("Run the same command again: it goes on from what is there.\n");
    }
    print(&out)
}

/// `, 1 unhealthy, 2 not started (needs ...)`: what did not come to its end.
fn rest_of(report: &Report) -> String {
    let count = |test: fn(&StepEnd) -> bool| report.steps.values().filter(|end| test(end)).count();
    let unhealthy = count(|end| matches!(end, StepEnd::Unhealthy { .. }));
    let refused = count(|end| matches!(end, StepEnd::Failed { .. }));
    let half = count(|end| matches!(end, StepEnd::HalfReplaced { .. }));
    let waiting = count(|end| matches!(end, StepEnd::Skipped { .. } | StepEnd::NotStarted));
    let mut rest = String::new();
    let counts =
        [(unhealthy, "unhealthy"), (refused, "failed"), (half, "half replaced"), (waiting, "not started")];
    for (count, word) in counts {
        if count > 0 {
            rest.push_str(&format!(", {count} {word}"));
        }
    }
    let needed = report.steps.values().find_map(|end| match end {
        StepEnd::Skipped { because } => Some(because),
        _ => None,
    });
    if let Some(because) = needed {
        rest.push_str(&format!(" (needs {because})"));
    }
    rest
}

fn is_half(end: &StepEnd) -> bool {
    matches!(end, StepEnd::HalfReplaced { .. })
}

/// ` after 41 s`; what took no time says nothing.
fn after(report: &Report, key: &str) -> String {
    match report.millis.get(key) {
        Some(millis) if *millis >= 100 => format!(" after {:.1} s", *millis as f64 / 1000.0),
        _ => String::new(),
    }
}

fn is(ready: &Ready, key: &str, action: Action) -> bool {
    let step = ready.plan().steps.iter().find(|step| step.key.to_string() == key);
    step.is_some_and(|step| step.action == action)
}

fn next_step(ready: &Ready, stack: &str) -> String {
    let mut before = ready.state.releases.values().rev();
    match before.find(|release| release.phase == Phase::Succeeded) {
        Some(good) => format!("fix and apply again; or `kusion rollback {stack} --to {}`", good.no),
        None => format!("fix and apply again; or `kusion destroy {stack}`"),
    }
}

/// The line of the field that a cause is about; if only one field was changed, of that.
fn source_of(ready: &Ready, chosen: &ChosenStack, key: &str, cause: &str) -> Option<String> {
    let step = ready.plan().steps.iter().find(|step| step.key.to_string() == key)?;
    let resource = ready.spec.resources.iter().find(|resource| resource.key() == step.key);
    let about = resource.and_then(|resource| culprit(resource, cause));
    let changed = match step.changes.as_slice() {
        [only] => only.source.as_ref(),
        _ => None,
    };
    Some(with_line(resource, about.or(changed)?, &chosen.target.project_dir))
}
