//! What an apply shows while it runs: a live tree on a terminal, else plain lines, or one JSON event per line.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kusion::{Happening, Healths, Node};
use kusion_apply::{Event, EventKind, HealthVerdict};
use kusion_health::Verdict;
use kusion_model::{Action, Plan, ResourceKey};
use serde_json::json;

use crate::input::chosen::now;
use crate::input::planned::warn;
use crate::views::board::{Board, Frame};
use crate::views::output::{Format, print_data};
use crate::views::plan_view::column;
use crate::views::screen::{Screen, size};
use crate::views::style::Style;

/// Between two pictures.
const TICK: Duration = Duration::from_millis(120);

/// Without a terminal: the longest silence.
const SILENCE: Duration = Duration::from_secs(15);

/// The schema of a line of `-o json`.
pub(crate) const EVENT: &str = "kusion.io/event/v1";

/// How to show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) format: Format,
    /// A live tree, where it is possible.
    pub(crate) tree: bool,
    /// Whether the apply waits for health.
    pub(crate) wait: bool,
}

/// Receives what happens and shows it.
pub(crate) struct Progress {
    format: Format,
    wait: bool,
    style: Style,
    width: usize,
    started: Instant,
    /// The last line told about a resource, so that nothing is told twice.
    told: Mutex<BTreeMap<ResourceKey, String>>,
    /// What has begun and not ended, with the last that is known of it.
    waiting: Mutex<BTreeMap<ResourceKey, String>>,
    spoke: Mutex<Instant>,
    live: Option<Mutex<Live>>,
}

/// The live tree.
struct Live {
    board: Board,
    screen: Screen,
    healths: Option<Arc<Healths>>,
    /// Told when the last picture stands.
    warnings: Vec<String>,
}

impl Progress {
    pub(crate) fn new(look: Look, plan: &Plan, title: String) -> Self {
        let changes = plan.steps.iter().filter(|step| step.is_change());
        let width = changes.map(|step| step.key.to_string().len()).max().unwrap_or(0).clamp(30, 76);
        let possible = look.tree && look.format == Format::Text && Screen::is_possible();
        let live = possible.then(|| {
            let screen = Screen::default();
            Mutex::new(Live { board: Board::new(plan, title), screen, healths: None, warnings: Vec::new() })
        });
        let (told, waiting) = (Mutex::default(), Mutex::default());
        let (style, started) = (Style::stdout(), Instant::now());
        let spoke = Mutex::new(started);
        Progress { format: look.format, wait: look.wait, style, width, started, told, waiting, spoke, live }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Something happened.
    pub(crate) fn happened(&self, happening: &Happening<'_>) {
        if let Some(Ok(mut live)) = self.live.as_ref().map(|live| live.lock()) {
            match happening {
                Happening::Warning(text) => live.warnings.push((*text).to_owned()),
                Happening::Began { healths, .. } => live.healths = Some(Arc::clone(healths)),
                Happening::Event(event) => live.board.event(&event.kind, self.wait, self.elapsed()),
                Happening::Verdict { key, verdict } => live.board.verdict(key, verdict, self.elapsed()),
                _ => {}
            }
            return;
        }
        match happening {
            Happening::Warning(text) => warn(text),
            Happening::Event(event) => {
                if let Ok(mut waiting) = self.waiting.lock() {
                    remember(&mut waiting, &event.kind);
                }
                self.event(event);
            }
            Happening::Verdict { key, verdict } => {
                if let Some(known) = self.waiting.lock().ok().as_mut().and_then(|all| all.get_mut(*key)) {
                    known.clone_from(verdict.cause.as_ref().unwrap_or(&verdict.message));
                }
                self.verdict(key, verdict);
            }
            _ => {}
        }
    }

    /// Draws one picture, a moment from now; without a terminal it says every 15 seconds what is waited for.
    pub(crate) async fn draw_next(&self) {
        tokio::time::sleep(TICK).await;
        if self.live.is_some() {
            return self.draw();
        }
        let silent = self.spoke.lock().map_or(Duration::ZERO, |spoke| spoke.elapsed());
        if silent >= SILENCE {
            self.still_waiting();
        }
    }

    /// A sign of life.
    fn still_waiting(&self) {
        let waiting = self.waiting.lock().map(|waiting| waiting.clone()).unwrap_or_default();
        self.print(&heartbeat(self.format, self.started.elapsed().as_secs(), &waiting));
    }

    /// A line that somebody reads later.
    fn print(&self, text: &str) {
        if let Ok(mut spoke) = self.spoke.lock() {
            *spoke = Instant::now();
        }
        let _ = print_data(text);
    }

    /// Says something to the user: in the picture, or as a line of its own.
    pub(crate) fn say(&self, text: &'static str) {
        match self.live.as_ref().map(|live| live.lock()) {
            Some(Ok(mut live)) => live.board.note(text),
            _ => crate::views::output::tell(&format!("\n{text}\n")),
        }
    }

    /// The last picture stays.
    pub(crate) fn finish(&self) {
        self.draw();
        if let Some(Ok(live)) = self.live.as_ref().map(|live| live.lock()) {
            live.warnings.iter().for_each(|text| warn(text));
        }
    }

    fn draw(&self) {
        let Some(Ok(mut live)) = self.live.as_ref().map(|live| live.lock()) else { return };
        let (width, height) = size();
        let healths = live.healths.clone();
        let below = |key: &ResourceKey| tree(healths.as_deref(), key);
        let frame = Frame { now: self.elapsed(), width, height, style: &self.style, below: &below };
        let lines = live.board.draw(&frame);
        live.screen.draw(&lines);
    }

    /// One event of the executor.
    fn event(&self, event: &Event) {
        if self.format == Format::Json {
            let mut line = serde_json::to_value(event).unwrap_or_default();
            line["schema"] = json!(EVENT);
            self.print(&format!("{line}\n"));
            return;
        }
        let style = &self.style;
        match &event.kind {
            EventKind::StepApplied { key, action, warnings, .. } => {
                self.line(key, &glyph(*action, style), done_word(*action), "");
                for warning in warnings {
                    self.print(&format!("      {} {warning}\n", style.yellow("warning:")));
                }
            }
            EventKind::StepFailed { key, message, .. } => {
                self.line(key, &style.red(style.glyph("✘", "x")), &style.red("failed"), message);
            }
            EventKind::StepSkipped { key, because } => {
                self.line(key, &style.dim(style.glyph("·", ".")), "not started", &format!("needs {because}"));
            }
            EventKind::OldGone { key, .. } => self.line(key, &style.red("-"), "old gone", ""),
            EventKind::OldStays { key, because } => {
                self.line(key, &style.yellow("-"), "old stays", &format!("needs {because}"));
            }
            EventKind::Retrying { key, attempt, message, after_millis } => {
                let text = format!(
                    "try {attempt} failed, again in {:.1} s: {message}",
                    *after_millis as f64 / 1000.0
                );
                self.line(key, &style.yellow(style.glyph("◐", "~")), "retrying", &text);
            }
            EventKind::HealthKnown { key, verdict, message, cause, .. } => {
                let (glyph, word) = health_word(*verdict, style);
                self.line(key, &glyph, &word, cause.as_ref().unwrap_or(message));
            }
            EventKind::Draining { in_flight } => {
                self.print(&format!("stopping: nothing new starts, {in_flight} in flight\n"));
            }
            _ => {}
        }
    }

    /// A new verdict of something that is waited for.
    fn verdict(&self, key: &ResourceKey, verdict: &Verdict) {
        let state = verdict.verdict.as_str();
        // The end of a wait comes as an event of the executor.
        if self.format == Format::Json || matches!(state, "healthy" | "failed") {
            return;
        }
        let text = match &verdict.cause {
            Some(cause) => cause.clone(),
            None => verdict.message.clone(),
        };
        let (glyph, word) = crate::views::tree::mark(state, &self.style);
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
        self.print(&format!("{}\n", text.trim_end()));
    }
}

/// Keeps in mind what has begun and not ended.
fn remember(waiting: &mut BTreeMap<ResourceKey, String>, kind: &EventKind) {
    match kind {
        EventKind::StepStarted { key, .. } => _ = waiting.insert(key.clone(), "in flight".to_owned()),
        EventKind::HealthAwaited { key } => _ = waiting.insert(key.clone(), "not healthy yet".to_owned()),
        EventKind::OldLeaving { key } => _ = waiting.insert(key.clone(), "the old one leaves".to_owned()),
        EventKind::StepApplied { key, .. }
        | EventKind::OldGone { key, .. }
        | EventKind::StepFailed { key, .. }
        | EventKind::HealthKnown { key, .. } => _ = waiting.remove(key),
        _ => {}
    }
}

/// What is waited for, in one line.
fn heartbeat(format: Format, seconds: u64, waiting: &BTreeMap<ResourceKey, String>) -> String {
    if format == Format::Json {
        let keys: Vec<_> =
            waiting.iter().map(|(key, why)| json!({"key": key.to_string(), "message": why})).collect();
        let line = json!({"schema": EVENT, "event": "waiting", "seconds": seconds, "for": keys});
        return format!("{line}\n");
    }
    let shown: Vec<String> = waiting.iter().take(3).map(|(key, why)| format!("{key} ({why})")).collect();
    let more = waiting.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = if shown.is_empty() { "the cluster".to_owned() } else { shown.join(", ") };
    format!("  {seconds} s: still waiting for {what}{more}\n")
}

fn tree(healths: Option<&Healths>, key: &ResourceKey) -> Vec<Node> {
    healths.map(|healths| healths.below(key, now())).unwrap_or_default()
}

fn glyph(action: Action, style: &Style) -> String {
    match action {
        Action::Create | Action::Import => style.green("+"),
        Action::Update => style.yellow("~"),
        Action::Replace => style.magenta("±"),
        Action::Delete => style.red("-"),
        Action::Release => style.yellow("<"),
        Action::Read => style.cyan("<="),
        Action::NoOp => style.dim("="),
    }
}

pub(crate) fn done_word(action: Action) -> &'static str {
    match action {
        Action::Create => "created",
        Action::Import => "imported",
        Action::Update => "updated",
        Action::Replace => "replaced",
        Action::Delete => "deleted",
        Action::Release => "released",
        Action::Read => "read",
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

#[cfg(test)]
mod tests {
    use super::*;
    use kusion_model::ResourceId;

    #[test]
    fn a_heartbeat_names_what_is_waited_for() {
        let key = |name: &str| ResourceKey::new(ResourceId::from_parts(["v1", "Pod", name]));
        let mut waiting = BTreeMap::new();
        remember(&mut waiting, &EventKind::HealthAwaited { key: key("a") });
        for name in ["b", "c"] {
            remember(&mut waiting, &EventKind::StepStarted { key: key(name), action: Action::Create });
        }
        let (millis, warnings) = (0, Vec::new());
        let applied = EventKind::StepApplied { key: key("c"), action: Action::Create, millis, warnings };
        remember(&mut waiting, &applied);
        let line = heartbeat(Format::Text, 15, &waiting);
        assert_eq!(line, "  15 s: still waiting for v1:Pod:a (not healthy yet), v1:Pod:b (in flight)\n");
        let value: serde_json::Value = serde_json::from_str(&heartbeat(Format::Json, 15, &waiting)).unwrap();
        assert_eq!((&value["event"], &value["for"][1]["key"]), (&json!("waiting"), &json!("v1:Pod:b")));
    }
}
