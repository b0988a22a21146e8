//! The end of an apply: what failed with cause, where and next; the release in one line; the exit code.

use kusion::{Ready, Report, StepEnd};
use kusion_model::{Action, FieldPath, Scope};
use serde_json::json;

use crate::failure::{Failure, exit};
use crate::output::{Format, print};
use crate::place::Place;
use crate::plan_view;
use crate::style::Style;

pub(crate) fn tell(report: &Report, ready: &Ready, place: &Place, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let mut value = serde_json::to_value(report).unwrap_or_default();
        value["event"] = json!("report");
        value["schema"] = json!("kusion.io/report/v1");
        value["state"] = place.meter.report();
        return print(&format!("{value}\n"));
    }
    let (style, scope) = (Style::stdout(), &place.target.scope);
    let mut out = String::from("\n");
    for (key, end) in &report.steps {
        let (what, cause, next) = match end {
            StepEnd::Failed { message } if is_delete(ready, key) => {
                let next = "find out who should let it go, then run the same command again";
                ("is still there", Some(message.clone()), Some(next.to_owned()))
            }
            StepEnd::Failed { message } => ("was refused", Some(message.clone()), None),
            StepEnd::Unhealthy { message, cause, next, timed_out } => {
                let what = if *timed_out { "is not healthy in time" } else { "failed" };
                (what, Some(cause.clone().unwrap_or_else(|| message.clone())), next.clone())
            }
            _ => continue,
        };
        out.push_str(&format!("{} {} {what}\n", style.red(style.glyph("✘", "x")), style.cyan(key)));
        let next = next.unwrap_or_else(|| next_step(ready, scope));
        let rows = [("cause", cause), ("where", source_of(ready, key)), ("next", Some(next))];
        for (word, text) in rows {
            if let Some(text) = text {
                out.push_str(&format!("    {word:<5}  {}\n", text.replace('\n', "\n           ")));
            }
        }
    }
    let count = |test: fn(&StepEnd) -> bool| report.steps.values().filter(|end| test(end)).count();
    let unhealthy = count(|end| matches!(end, StepEnd::Unhealthy { .. }));
    let refused = count(|end| matches!(end, StepEnd::Failed { .. }));
    let waiting = count(|end| matches!(end, StepEnd::Skipped { .. } | StepEnd::NotStarted));
    let mut rest = String::new();
    for (count, word) in [(unhealthy, "unhealthy"), (refused, "failed"), (waiting, "not started")] {
        if count > 0 {
            rest.push_str(&format!(", {count} {word}"));
        }
    }
    let phase = report.phase.to_string();
    let phase = if report.is_success() { style.green(&phase) } else { style.red(&phase) };
    out.push_str(&format!("Release {} {phase}: {}{rest}.\n", report.release, plan_view::done(&report.tally)));
    print(&out)
}

fn is_delete(ready: &Ready, key: &str) -> bool {
    let step = ready.planned.plan.steps.iter().find(|step| step.key.to_string() == key);
    step.is_some_and(|step| step.action == Action::Delete)
}

fn next_step(ready: &Ready, scope: &Scope) -> String {
    match ready.state.latest() {
        Some(_) => format!("fix and apply again; or `kusion rollback {scope}`"),
        None => format!("fix and apply again; or `kusion destroy {scope}`"),
    }
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

/// The exit code as an error that has been told already.
pub(crate) fn code(report: &Report) -> Result<(), Failure> {
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
