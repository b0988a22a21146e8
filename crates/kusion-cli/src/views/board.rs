//! The live tree as data: rows, their dependents, one picture per moment. Pure: a clock and a width come in, lines go out.

use std::collections::BTreeMap;

use kube_meaning::id::KubeId;
use kusion::Node;
use kusion_apply::{EventKind, HealthVerdict};
use kusion_health::Verdict;
use kusion_model::{Action, Plan, ResourceKey};

use crate::views::progress::done_word;
use crate::views::style::Style;
use crate::views::tree::mark;
use crate::views::tree::{folded, row_of};

/// How far a resource has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Waiting,
    Working,
    Done,
    Failed,
    Skipped,
}

struct Row {
    key: ResourceKey,
    kind: String,
    name: String,
    stage: Stage,
    text: String,
    since: u64,
    took: Option<u64>,
    /// What the step makes is made; an old object may be left to go.
    made: bool,
}

/// All rows of an apply.
pub(crate) struct Board {
    title: String,
    rows: Vec<Row>,
    index: BTreeMap<ResourceKey, usize>,
    /// A word to the user below the rows.
    note: Option<&'static str>,
}

/// What surrounds a picture.
pub(crate) struct Frame<'a> {
    pub(crate) now: u64,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) style: &'a Style,
    /// Everything below a resource, right now.
    pub(crate) below: &'a dyn Fn(&ResourceKey) -> Vec<Node>,
}

impl Board {
    pub(crate) fn new(plan: &Plan, title: String) -> Self {
        let steps = plan.steps.iter().filter(|step| step.is_change());
        let rows: Vec<Row> = steps
            .map(|step| {
                let (kind, name) = short(&step.key);
                let text = match step.after.iter().chain(&step.old_after).next() {
                    Some(edge) => {
                        let (kind, name) = short(&edge.on);
                        format!("after {kind} {name}")
                    }
                    None => String::new(),
                };
                Row {
                    key: step.key.clone(),
                    kind,
                    name,
                    stage: Stage::Waiting,
                    text,
                    since: 0,
                    took: None,
                    made: false,
                }
            })
            .collect();
        let index = rows.iter().enumerate().map(|(at, row)| (row.key.clone(), at)).collect();
        Board { title, rows, index, note: None }
    }

    /// Says something below the rows.
    pub(crate) fn note(&mut self, text: &'static str) {
        self.note = Some(text);
    }

    fn set(&mut self, key: &ResourceKey, stage: Stage, text: String, now: u64) {
        let Some(row) = self.index.get(key).and_then(|&at| self.rows.get_mut(at)) else { return };
        if row.stage == Stage::Waiting {
            row.since = now;
        }
        if matches!(stage, Stage::Done | Stage::Failed) {
            row.took = Some(now.saturating_sub(row.since));
        }
        (row.stage, row.text) = (stage, text);
    }

    fn is_made(&self, key: &ResourceKey) -> bool {
        self.index.get(key).and_then(|&at| self.rows.get(at)).is_some_and(|row| row.made)
    }

    /// Something that the plan leaves as it is turned out not to be well.
    fn add(&mut self, key: &ResourceKey, now: u64) {
        let (kind, name) = short(key);
        let text = "unchanged, not healthy".to_owned();
        self.index.insert(key.clone(), self.rows.len());
        let (key, stage) = (key.clone(), Stage::Working);
        self.rows.push(Row { key, kind, name, stage, text, since: now, took: None, made: false });
    }

    /// Takes in an event of the executor.
    pub(crate) fn event(&mut self, event: &EventKind, waits: bool, now: u64) {
        match event {
            EventKind::StepStarted { key, action } => {
                self.set(key, Stage::Working, doing(*action).to_owned(), now);
            }
            EventKind::StepApplied { key, action, .. } => {
                if let Some(row) = self.index.get(key).and_then(|&at| self.rows.get_mut(at)) {
                    row.made = true;
                }
                let stage = if waits && !action.is_leaving() { Stage::Working } else { Stage::Done };
                self.set(key, stage, done_word(*action).to_owned(), now);
            }
            EventKind::StepFailed { key, message, .. } => self.set(key, Stage::Failed, message.clone(), now),
            EventKind::StepSkipped { key, because } => {
                let (kind, name) = short(because);
                self.set(key, Stage::Skipped, format!("not started: needs {kind} {name}"), now);
            }
            EventKind::OldLeaving { key } => {
                self.set(key, Stage::Working, "deleting the old one".to_owned(), now);
            }
            EventKind::OldGone { key, .. } if self.is_made(key) => {
                self.set(key, Stage::Done, "replaced, the old one is gone".to_owned(), now);
            }
            EventKind::OldGone { key, .. } => {
                self.set(key, Stage::Working, "the old one is gone".to_owned(), now);
            }
            EventKind::OldStays { key, because } => {
                let (kind, name) = short(because);
                self.set(key, Stage::Done, format!("the old one stays: needs {kind} {name}"), now);
            }
            EventKind::Retrying { key, attempt, message, .. } => {
                self.set(key, Stage::Working, format!("try {attempt} failed: {message}"), now);
            }
            EventKind::HealthAwaited { key } if !self.index.contains_key(key) => self.add(key, now),
            EventKind::HealthKnown { key, verdict, message, cause, .. } => {
                let stage = match verdict {
                    HealthVerdict::Failed | HealthVerdict::TimedOut => Stage::Failed,
                    _ => Stage::Done,
                };
                self.set(key, stage, cause.clone().unwrap_or_else(|| message.clone()), now);
            }
            _ => {}
        }
    }

    /// Takes in a verdict.
    pub(crate) fn verdict(&mut self, key: &ResourceKey, verdict: &Verdict, now: u64) {
        let text = verdict.cause.clone().unwrap_or_else(|| verdict.message.clone());
        let open = self.index.get(key).and_then(|&at| self.rows.get(at));
        if open.is_some_and(|row| row.stage == Stage::Working) {
            self.set(key, Stage::Working, text, now);
        }
    }

    /// Draws the moment.
    pub(crate) fn draw(&self, frame: &Frame<'_>) -> Vec<String> {
        let finished = self.rows.iter().filter(|row| row.stage == Stage::Done).count();
        let right = format!("{finished} of {} done, {} s", self.rows.len(), frame.now / 1000);
        let title = cut(&self.title, frame.width.saturating_sub(right.chars().count() + 2));
        let gap = frame.width.saturating_sub(title.chars().count() + right.chars().count()).max(2);
        let mut lines = vec![cut(&format!("{title}{}{right}", " ".repeat(gap)), frame.width)];
        let full = self.rows.len() + 4 > frame.height;
        let kind_width = self.rows.iter().map(|row| row.kind.chars().count()).max().unwrap_or(0).min(24);
        let room = frame.height.saturating_sub(3).max(4);
        let mut hidden = 0;
        for row in &self.rows {
            if (full && matches!(row.stage, Stage::Done | Stage::Waiting)) || lines.len() >= room {
                hidden += 1;
                continue;
            }
            lines.push(row.draw(kind_width, frame));
            if row.stage == Stage::Working && !full {
                let nodes = (frame.below)(&row.key);
                branches(&nodes, "  ", frame, room, &mut lines);
            }
        }
        if hidden > 0 {
            let text = format!("  ... and {hidden} more, done or not begun");
            lines.push(frame.style.dim(&cut(&text, frame.width)));
        }
        lines.extend(self.note.map(|note| frame.style.yellow(&cut(note, frame.width))));
        lines
    }
}

impl Row {
    fn draw(&self, kind_width: usize, frame: &Frame<'_>) -> String {
        let style = frame.style;
        let (plain, glyph) = match self.stage {
            Stage::Waiting => (".", style.dim(style.glyph("·", "."))),
            Stage::Working => ("~", style.yellow(style.glyph("◐", "~"))),
            Stage::Done => ("*", style.green(style.glyph("✔", "*"))),
            Stage::Failed => ("x", style.red(style.glyph("✘", "x"))),
            Stage::Skipped => ("-", style.dim(style.glyph("·", "-"))),
        };
        let time = match (self.stage, self.took) {
            (Stage::Working, _) => format!("{:.1} s", frame.now.saturating_sub(self.since) as f64 / 1000.0),
            (_, Some(took)) => format!("{:.1} s", took as f64 / 1000.0),
            _ => String::new(),
        };
        // On a narrow terminal what happens is worth more than columns that line up.
        let name_width = if frame.width < 70 { 0 } else { 32 };
        let (name, text) = (&self.name, one_line(&self.text));
        let rest = format!("{:<kind_width$}  {name:<name_width$} {time:>7}  {text}", self.kind);
        let rest = cut(rest.trim_end(), frame.width.saturating_sub(plain.len() + 1));
        format!("{glyph} {}", if self.stage == Stage::Waiting { style.dim(&rest) } else { rest })
    }
}

fn branches(nodes: &[Node], indent: &str, frame: &Frame<'_>, room: usize, lines: &mut Vec<String>) {
    let style = frame.style;
    let nodes = folded(nodes);
    for (at, node) in nodes.iter().enumerate() {
        if lines.len() >= room {
            return;
        }
        let last = at + 1 == nodes.len();
        let branch = if last { style.glyph("└", "`") } else { style.glyph("├", "|") };
        let (glyph, _) = mark(node.verdict, style);
        let stem = format!("{indent}{branch} ");
        let room_left = frame.width.saturating_sub(stem.chars().count() + 2);
        lines.push(format!("{}{glyph} {}", style.dim(&stem), style.dim(&cut(&row_of(node), room_left))));
        let deeper = format!("{indent}{} ", if last { " " } else { style.glyph("│", "|") });
        branches(&node.children, &deeper, frame, room, lines);
    }
}

/// `Deployment`, `shop-dev/web`.
pub(crate) fn short(key: &ResourceKey) -> (String, String) {
    let cluster = if key.cluster.is_empty() { String::new() } else { format!(" @{}", key.cluster) };
    let parts = key.id.parts();
    if let [first, _, kind, name] = &parts[..]
        && !first.contains('/')
        && !first.starts_with('v')
    {
        // `namespace:provider:type:name`: the API of a cluster has a group, or is v1.
        return (kind.clone(), name.clone());
    }
    match KubeId::from_parts(parts) {
        Ok(id) => {
            let name = match &id.namespace {
                Some(namespace) => format!("{namespace}/{}", id.name),
                None => id.name.clone(),
            };
            (id.kind, name + &cluster)
        }
        Err(_) => (String::new(), key.to_string()),
    }
}

fn doing(action: Action) -> &'static str {
    match action {
        Action::Create => "creating",
        Action::Import => "importing",
        Action::Update => "updating",
        Action::Replace => "replacing",
        Action::Delete => "deleting",
        Action::Release => "releasing",
        Action::Read => "reading",
        Action::NoOp => "",
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

/// Cuts a line to a width; one that is too long would break the picture. A word that does not fit is left out whole, unless hardly
/// anything would be left.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    let in_a_word = text[kept.len()..].starts_with(|next: char| next != ' ');
    let whole = kept.rsplit_once(' ').map(|(words, _)| words).filter(|_| in_a_word);
    let kept = whole.filter(|words| words.chars().count() * 2 >= width).unwrap_or(&kept);
    format!("{}~", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kusion_model::ResourceId;

    fn board() -> (Board, ResourceKey) {
        let key = ResourceKey::new(ResourceId::parse("apps/v1:Deployment:shop-dev:web").unwrap());
        let row = Row {
            key: key.clone(),
            kind: "Deployment".into(),
            name: "shop-dev/web".into(),
            stage: Stage::Waiting,
            text: "after Namespace shop-dev".into(),
            since: 0,
            took: None,
            made: false,
        };
        let index = BTreeMap::from([(key.clone(), 0)]);
        (Board { title: "Release 1 of shop/dev".into(), rows: vec![row], index, note: None }, key)
    }

    fn draw(board: &Board, width: usize) -> Vec<String> {
        let below = |_: &ResourceKey| {
            let child = |kind: &str, name: &str, children| Node {
                kind: kind.into(),
                name: name.into(),
                verdict: "progressing",
                message: "pulling web:2".into(),
                old: false,
                children,
            };
            vec![child("ReplicaSet", "web-1", vec![child("Pod", "web-1-a", Vec::new())])]
        };
        let style = Style::default();
        board.draw(&Frame { now: 4200, width, height: 24, style: &style, below: &below })
    }

    #[test]
    fn a_working_row_shows_its_time_and_everything_below_it() {
        let (mut board, key) = board();
        board.event(&EventKind::StepStarted { key: key.clone(), action: Action::Create }, true, 1000);
        let lines = draw(&board, 100);
        assert!(lines[0].contains("0 of 1 done, 4 s"), "{lines:?}");
        assert!(
            lines[1].starts_with("~ Deployment  shop-dev/web") && lines[1].contains("3.2 s"),
            "{lines:?}"
        );
        assert!(
            lines[2].contains("` ~ ReplicaSet web-1") && lines[3].contains("` ~ Pod web-1-a"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_replaced_row_says_where_its_old_object_is() {
        let (mut board, key) = board();
        let replace = EventKind::StepStarted { key: key.clone(), action: Action::Replace };
        let (millis, warnings) = (0, Vec::new());
        let made = EventKind::StepApplied { key: key.clone(), action: Action::Replace, millis, warnings };
        let leaving = EventKind::OldLeaving { key: key.clone() };
        let gone = EventKind::OldGone { key, millis };
        board.event(&replace, false, 0);
        board.event(&leaving, false, 0);
        assert!(draw(&board, 100)[1].ends_with("deleting the old one"));
        board.event(&gone, false, 0);
        assert!(draw(&board, 100)[1].starts_with('~'), "the new one is to come");
        board.event(&made, false, 0);
        board.event(&leaving, false, 0);
        board.event(&gone, false, 0);
        let line = draw(&board, 100)[1].clone();
        assert!(line.starts_with('*') && line.ends_with("replaced, the old one is gone"), "{line}");
    }

    #[test]
    fn words_are_left_out_whole() {
        assert_eq!(cut("2 of 3 new pods ready", 18), "2 of 3 new pods~");
        assert_eq!(cut("2 of 3 new pods ready", 16), "2 of 3 new pods~");
        assert_eq!(cut("a deployments-of-a-long-name", 12), "a deploymen~", "something has to be seen");
        assert_eq!(cut("short", 5), "short");
    }

    #[test]
    fn no_line_is_wider_than_a_narrow_terminal() {
        let (mut board, key) = board();
        board.event(&EventKind::StepStarted { key, action: Action::Create }, true, 0);
        board.note("stopping after what is in flight; Ctrl-C again stops at once");
        let lines = draw(&board, 40);
        assert!(lines[0].ends_with("0 of 1 done, 4 s") && lines[1].contains("4.2 s"), "{lines:?}");
        assert!(draw(&board, 40).iter().all(|line| line.chars().count() <= 40), "{:?}", draw(&board, 40));
    }
}
