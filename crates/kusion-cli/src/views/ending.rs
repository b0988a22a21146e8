//! The end of an apply: what failed with cause, where and next; the release in one line; the exit code.

use kusion::{Ready, Report, StepEnd};
use kusion_model::{Action, Phase, Scope, SourceRef};
use serde_json::json;

use crate::input::chosen::ChosenStack;
use crate::views::culprit::culprit;
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
    let (style, scope) = (Style::stdout(), &chosen.target.scope);
    let mut out = String::from("\n");
    for (key, end) in &report.steps {
        let (what, cause, next) = match end {
            StepEnd::Failed { message } if is(ready, key, Action::Delete) => {
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
        let cross = style.red(style.glyph("✘", "x"));
        let kept = if is(ready, key, Action::NoOp) { " (unchanged by this release)" } else { "" };
        out.push_str(&format!("{cross} {} {what}{}{kept}\n", style.cyan(key), after(report, key)));
        let next = match next {
            Some(next) if is(ready, key, Action::Delete) => next,
            Some(next) => format!("{next}\n{}", next_step(ready, scope)),
            None => next_step(ready, scope),
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
        out.push_str(&format!("Health was not waited for (--no-wait): `kusion status {scope}` tells.\n"));
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
    let waiting = count(|end| matches!(end, StepEnd::Skipped { .. } | StepEnd::NotStarted));
    let mut rest = String::new();
    for (count, word) in [(unhealthy, "unhealthy"), (refused, "failed"), (waiting, "not started")] {
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

fn next_step(ready: &Ready, scope: &Scope) -> String {
    let mut before = ready.state.releases.values().rev();
    match before.find(|release| release.phase == Phase::Succeeded) {
        Some(good) => format!("fix and apply again; or `kusion rollback {scope} --to {}`", good.no),
        None => format!("fix and apply again; or `kusion destroy {scope}`"),
    }
}

/// The line of the field that a cause is about; if only one field was changed, of that.
fn source_of(ready: &Ready, chosen: &ChosenStack, key: &str, cause: &str) -> Option<String> {
    let step = ready.plan().steps.iter().find(|step| step.key.to_string() == key)?;
    let resource = ready.spec.resources.iter().find(|resource| resource.key() == step.key);
    let about = resource.and_then(|resource| {
        let field = culprit(&resource.attributes, cause)?;
        resource.source.find(&field)
    });
    let changed = match step.changes.as_slice() {
        [only] => only.source.as_ref(),
        _ => None,
    };
    let source = about.or(changed)?;
    // A line of something that has secrets may hold one.
    let silent = resource.is_none_or(|resource| resource.attributes.has_secret());
    let text = if silent { None } else { line_of(chosen, source) };
    Some(text.map_or_else(|| source.to_string(), |text| format!("{source}   {text}")))
}

/// The text of a source line, if it is short enough to help.
fn line_of(chosen: &ChosenStack, source: &SourceRef) -> Option<String> {
    let text = std::fs::read_to_string(chosen.folder.project_dir.join(&*source.file)).ok()?;
    let line = text.lines().nth(usize::try_from(source.line).ok()?.checked_sub(1)?)?.trim();
    (!line.is_empty() && line.chars().count() <= 80).then(|| line.to_owned())
}
