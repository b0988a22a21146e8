//! What an apply prints while it runs: plain lines, one per change of a verdict, or one JSON event per line.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use kusion_apply::{Event, EventKind, HealthVerdict};
use kusion_health::Verdict;
use kusion_model::{Action, ResourceKey};

use crate::output::{Format, print};
use crate::plan_view::column;
use crate::style::Style;

/// Receives events from the executor and verdicts from the watches.
pub(crate) struct Progress {
    format: Format,
    style: Style,
    width: usize,
    started: Instant,
    /// The last line told about a resource, so that nothing is told twice.
    told: Mutex<BTreeMap<ResourceKey, String>>,
}

impl Progress {
    pub(crate) fn new(format: Format, width: usize) -> Self {
        let told = Mutex::new(BTreeMap::new());
        Progress { format, style: Style::stdout(), width: width.clamp(30, 76), started: Instant::now(), told }
    }

    /// One event of the executor.
    pub(crate) fn event(&self, event: &Event) {
        if self.format == Format::Json {
            let line = serde_json::to_string(event).unwrap_or_default();
            let _ = print(&format!("{line}\n"));
            return;
        }
        let style = &self.style;
        match &event.kind {
            EventKind::StepApplied { key, action, warnings, .. } => {
                self.line(key, &glyph(*action, style), done_word(*action), "");
                for warning in warnings {
                    let _ = print(&format!("      {} {warning}\n", style.yellow("warning:")));
                }
            }
            EventKind::StepFailed { key, message, .. } => {
                self.line(key, &style.red(style.glyph("✘", "x")), &style.red("refused"), message);
            }
            EventKind::StepSkipped { key, because } => {
                self.line(key, &style.dim(style.glyph("·", ".")), "not started", &format!("needs {because}"));
            }
            EventKind::Retrying { key, attempt, message, after_millis } => {
                let text = format!(
                    "try {attempt} failed, again in {:.1} s: {message}",
                    *after_millis as f64 / 1000.0
                );
                self.line(key, &style.yellow(style.glyph("◐", "~")), "retrying", &text);
            }
            EventKind::HealthKnown { key, verdict, message, .. } => {
                let (glyph, word) = health_word(*verdict, style);
                self.line(key, &glyph, &word, message);
            }
            EventKind::Draining { in_flight } => {
                let _ = print(&format!("stopping: nothing new starts, {in_flight} in flight\n"));
            }
            _ => {}
        }
    }

    /// A new verdict of something that is waited for.
    pub(crate) fn verdict(&self, key: &ResourceKey, verdict: &Verdict) {
        let state = verdict.verdict.as_str();
        // The end of a wait comes as an event of the executor.
        if self.format == Format::Json || matches!(state, "healthy" | "failed") {
            return;
        }
        let text = match &verdict.cause {
            Some(cause) => cause.clone(),
            None => verdict.message.clone(),
        };
        let (glyph, word) = crate::health::mark(state, &self.style);
        self.line(key, &glyph, word.trim_end(), &text);
    }

    fn line(&self, key: &ResourceKey, glyph: &str, word: &str, text: &str) {
        let Ok(mut told) = self.told.lock() else { return };
        let line = format!("{word} {text}");
        if told.get(key) == Some(&line) {
            return;
        }
        told.insert(key.clone(), line);
        let elapsed = format!("{:.1} s", self.started.elapsed().as_secs_f64());
        let id = self.style.cyan(&column(key, self.width));
        let text = format!("  {glyph} {id}  {word:<11} {elapsed:>7}  {text}");
        let _ = print(&format!("{}\n", text.trim_end()));
    }
}

fn glyph(action: Action, style: &Style) -> String {
    match action {
        Action::Create | Action::Import => style.green("+"),
        Action::Update => style.yellow("~"),
        Action::Replace => style.magenta("±"),
        Action::Delete => style.red("-"),
        Action::NoOp => style.dim("="),
    }
}

fn done_word(action: Action) -> &'static str {
    match action {
        Action::Create => "created",
        Action::Import => "imported",
        Action::Update => "updated",
        Action::Replace => "replaced",
        Action::Delete => "deleted",
        Action::NoOp => "unchanged",
    }
}

fn health_word(verdict: HealthVerdict, style: &Style) -> (String, String) {
    match verdict {
        HealthVerdict::Healthy => (style.green(style.glyph("✔", "*")), style.green("healthy")),
        HealthVerdict::Failed => (style.red(style.glyph("✘", "x")), style.red("failed")),
        HealthVerdict::TimedOut => (style.red(style.glyph("✘", "x")), style.red("timed out")),
        HealthVerdict::Unknown => ("?".to_owned(), "unknown".to_owned()),
        HealthVerdict::Suspended => (style.dim("."), "suspended".to_owned()),
    }
}
