//! What an apply shows while it runs: a live tree on a terminal, else plain lines, or one JSON event per line.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kusion::{Happening, Healths, Node, below};
use kusion_apply::{Event, EventKind, HealthVerdict};
use kusion_health::{Profile, Verdict};
use kusion_model::{Action, Plan, ResourceKey};

use crate::board::{Board, Frame};
use crate::output::{Format, print};
use crate::place::now;
use crate::plan_view::column;
use crate::planned::warn;
use crate::screen::{Screen, size};
use crate::style::Style;

/// Between two pictures.
const TICK: Duration = Duration::from_millis(120);

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
        let told = Mutex::new(BTreeMap::new());
        let (style, started) = (Style::stdout(), Instant::now());
        Progress { format: look.format, wait: look.wait, style, width, started, told, live }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Something happened.
    pub(crate) fn happened(&self, happening: &Happening<'_>) {
        if let Some(Ok(mut live)) = self.live.as_ref().map(|live| live.lock()) {
            match happening {
                Happening::Waiting(_) => {}
                Happening::Warning(text) => live.warnings.push((*text).to_owned()),
                Happening::Began(healths) => live.healths = Some(Arc::clone(healths)),
                Happening::Event(event) => live.board.event(&event.kind, self.wait, self.elapsed()),
                Happening::Verdict { key, verdict } => live.board.verdict(key, verdict, self.elapsed()),
            }
            return;
        }
        match happening {
            Happening::Began(_) | Happening::Waiting(_) => {}
            Happening::Warning(text) => warn(text),
            Happening::Event(event) => self.event(event),
            Happening::Verdict { key, verdict } => self.verdict(key, verdict),
        }
    }

    /// Draws until somebody drops it; without a terminal it only waits.
    pub(crate) async fn keep_drawing(&self) {
        if self.live.is_none() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(TICK).await;
            self.draw();
        }
    }

    /// Says something to the user: in the picture, or as a line of its own.
    pub(crate) fn say(&self, text: &'static str) {
        match self.live.as_ref().map(|live| live.lock()) {
            Some(Ok(mut live)) => live.board.note(text),
            _ => crate::output::tell(&format!("\n{text}\n")),
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
                self.line(key, &style.red(style.glyph("✘", "x")), &style.red("failed"), message);
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
            EventKind::HealthKnown { key, verdict, message, cause, .. } => {
                let (glyph, word) = health_word(*verdict, style);
                self.line(key, &glyph, &word, cause.as_ref().unwrap_or(message));
            }
            EventKind::Draining { in_flight } => {
                let _ = print(&format!("stopping: nothing new starts, {in_flight} in flight\n"));
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

fn tree(healths: Option<&Healths>, key: &ResourceKey) -> Vec<Node> {
    let at = i64::try_from(now().millis).unwrap_or(i64::MAX);
    let look = |healths: &Healths| {
        healths.look(&key.cluster, |snapshot| below(key, snapshot, &Profile::default(), Some(at)))
    };
    healths.and_then(look).unwrap_or_default()
}

fn glyph(action: Action, style: &Style) -> String {
    match action {
        Action::Create | Action::Import => style.green("+"),
        Action::Update => style.yellow("~"),
        Action::Replace => style.magenta("±"),
        Action::Delete => style.red("-"),
        Action::Release => style.yellow("<"),
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
