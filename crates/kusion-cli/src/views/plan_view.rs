//! A plan on the screen: one line per resource that changes, its fields below it, a tally at the end.

use std::fmt::Write as _;

use kusion_model::{Action, Attr, FieldChange, Note, Plan, Reason, ResourceKey, Step, Tally, Timestamp};
use kusion_store::State;

use crate::input::chosen::now;
use crate::views::style::Style;

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Fields,
    All,
}

const LONGEST_VALUE: usize = 160;

/// The first line of every command: where we are.
pub(crate) fn header(state: &State, context: &str, style: &Style) -> String {
    let dot = style.glyph("·", "-");
    let release = match state.latest() {
        None => "no release yet".to_owned(),
        Some(release) => {
            let when = ago(release.ended.unwrap_or(release.started));
            format!("release {} ({}, {when}, by {})", release.no, release.word(), release.by)
        }
    };
    let scope = &state.scope;
    let interrupted = match state.open {
        Some(no) => {
            format!("\n{} release {no} has not ended: it runs, or it was interrupted\n", style.yellow("!"))
        }
        None => String::new(),
    };
    let cluster = named(context).map(|name| format!(" {dot} cluster {name}")).unwrap_or_default();
    format!("Stack {scope} {dot} workspace {}{cluster} {dot} {release}\n{interrupted}", scope.workspace)
}

/// The name of the cluster; none for a stack that needs none.
pub(crate) fn named(context: &str) -> Option<&str> {
    Some(context).filter(|context| !context.is_empty())
}

/// `1 resource`, `2 resources`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// How long ago something was, in words.
pub(crate) fn ago(at: Timestamp) -> String {
    let seconds = now().millis_since(at) / 1000;
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        172_800..1_814_400 => format!("{} days ago", seconds / 86_400),
        1_814_400..63_072_000 => format!("{} weeks ago", seconds / 604_800),
        _ => format!("{} years ago", seconds / 31_536_000),
    }
}

/// The whole plan.
pub(crate) fn plan(plan: &Plan, detail: Detail, style: &Style) -> String {
    let mut out = steps(&plan.steps.iter().collect::<Vec<_>>(), detail, style);
    if !out.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "Plan {}: {}.", plan.short_hash(), tally(&plan.tally()));
    out
}

/// Some of its steps.
pub(crate) fn steps(steps: &[&Step], detail: Detail, style: &Style) -> String {
    let mut out = String::new();
    let shown: Vec<&Step> = steps.iter().copied().filter(|step| interesting(step, detail)).collect();
    let longest = shown.iter().map(|step| plain(&step.key).chars().count()).max().unwrap_or(0);
    // On a narrow terminal columns would only break the lines.
    let room = if crate::views::screen::is_terminal() { crate::views::screen::size().0 } else { 100 };
    let width = longest.clamp(40, 76).min(room.saturating_sub(24));
    for step in shown {
        one(step, width, detail, style, &mut out);
    }
    out
}

fn interesting(step: &Step, detail: Detail) -> bool {
    step.is_change()
        || !step.aliases.is_empty()
        || !step.changes.is_empty()
        || !step.warnings.is_empty()
        || step.put_off().is_some()
        || detail == Detail::All
}

fn one(step: &Step, width: usize, detail: Detail, style: &Style, out: &mut String) {
    let (glyph, word) = action(step, style);
    let id = plain(&step.key);
    let pad = " ".repeat(width.saturating_sub(id.chars().count()));
    let _ = writeln!(out, "{glyph} {}{pad}  {word}", style.cyan(&id));
    for alias in &step.aliases {
        let _ = writeln!(
            out,
            "        {}",
            style.dim(&format!("known before as {alias}: the same object, its record follows"))
        );
    }
    if let Some(lost) = &step.lost {
        let _ = writeln!(out, "        {}", style.red(lost));
    }
    for change in &step.changes {
        field(change, detail, style, out);
    }
    if detail == Detail::All
        && step.action == Action::Create
        && let Some(desired) = &step.desired
    {
        for line in crate::views::yaml::text(&desired.to_shown()).lines() {
            let _ = writeln!(out, "        {}", style.green(&format!("+ {line}")));
        }
    }
    for warning in &step.warnings {
        let _ = writeln!(out, "      {} {warning}", style.yellow("warning:"));
    }
}

fn action(step: &Step, style: &Style) -> (String, String) {
    let because = |word: &str, reason: &Reason| format!("{word}: {reason}");
    match step.action {
        _ if step.refused_for().is_some() => {
            let text = format!("refused: {}", step.reason);
            (style.red("  !"), style.red(&text))
        }
        Action::Create if step.reason == Reason::New => (style.green("  +"), style.green("create")),
        Action::Create => (style.green("  +"), style.green(&because("create", &step.reason))),
        Action::Update if step.drift => {
            (style.yellow("  !"), style.yellow(&format!("update: drift{}", by(step))))
        }
        Action::Update if step.reason == Reason::Changed => (style.yellow("  ~"), style.yellow("update")),
        Action::Update => (style.yellow("  ~"), style.yellow(&because("update", &step.reason))),
        Action::Replace => {
            let (glyph, word) =
                if step.create_first { ("+/-", "replace, new one first") } else { ("-/+", "replace") };
            (style.magenta(glyph), style.magenta(&because(word, &step.reason)))
        }
        Action::Delete if step.reason == Reason::Destroyed => (style.red("  -"), style.red("delete")),
        Action::Delete => (style.red("  -"), style.red(&because("delete", &step.reason))),
        Action::Release => {
            (style.yellow("  <"), style.yellow(&format!("release: {}, left in place", step.reason)))
        }
        Action::Import => (style.green("  >"), style.green(&because("import", &step.reason))),
        Action::Read => (style.cyan(" <="), style.cyan(&because("read", &step.reason))),
        Action::NoOp if step.put_off().is_some() => {
            (style.yellow("  ?"), style.yellow(&because("put off", &step.reason)))
        }
        Action::NoOp => (style.dim("  ="), style.dim("unchanged")),
    }
}

/// Who caused the drift, if one manager did.
fn by(step: &Step) -> String {
    let mover = step
        .changes
        .iter()
        .filter(|change| change.is_drift())
        .find_map(|change| change.manager.as_deref().map(|m| (m, change.at)));
    match mover {
        Some((manager, Some(at))) => format!(", by {manager}, {}", ago(at)),
        Some((manager, None)) => format!(", by {manager}"),
        None => String::new(),
    }
}

/// Field changes only.
pub(crate) fn fields(changes: &[FieldChange], style: &Style) -> String {
    let mut out = String::new();
    changes.iter().for_each(|change| field(change, Detail::Fields, style, &mut out));
    out
}

fn field(change: &FieldChange, detail: Detail, style: &Style, out: &mut String) {
    let place = change
        .source
        .as_ref()
        .map(|source| format!("  {}", style.dim(&source.to_string())))
        .unwrap_or_default();
    let manager = change.manager.as_deref().unwrap_or("another manager");
    let value =
        |value: &Option<Attr>| value.as_ref().map_or("(absent)".to_owned(), |value| shown(value, detail));
    match &change.note {
        Some(Note::LeftAlone) => {
            let (here, live) = (value(&change.after), value(&change.before));
            let line = format!("{}: {here} here, {live} live; owned by {manager}, left alone", change.path);
            let _ = writeln!(out, "      {}", style.dim(&line));
            return;
        }
        Some(Note::Conflict) => {
            let line = format!("{}  conflict: owned by {manager}", change.path);
            let _ = writeln!(out, "      {}", style.red(&line));
        }
        Some(Note::TakenOver) => {
            let _ = writeln!(
                out,
                "      {}  {}",
                change.path,
                style.yellow(&format!("taken over from {manager}"))
            );
        }
        Some(Note::KnownAfterApply(reference)) => {
            let _ = writeln!(out, "      {}\n        ~ (known after apply: {reference}){place}", change.path);
            return;
        }
        Some(Note::Immutable) | None => {
            let _ = writeln!(out, "      {}", change.path);
        }
    }
    if change.is_secret() {
        let _ = writeln!(out, "        {}{place}", style.yellow("~ (secret changed)"));
        return;
    }
    if let Some(before) = &change.before {
        let _ = writeln!(out, "        {}", style.red(&format!("- {}", shown(before, detail))));
    }
    match &change.after {
        Some(after) => {
            let _ = writeln!(out, "        {}{place}", style.green(&format!("+ {}", shown(after, detail))));
        }
        None if !place.is_empty() => {
            let _ = writeln!(out, "        {place}");
        }
        None => {}
    }
}

fn shown(value: &Attr, detail: Detail) -> String {
    let text = match value {
        Attr::Text(text) if !text.is_empty() && !text.contains('\n') => text.to_string(),
        Attr::Unknown => "(known after apply)".to_owned(),
        other => other.to_string(),
    };
    if detail == Detail::Fields && text.chars().count() > LONGEST_VALUE {
        let cut: String = text.chars().take(LONGEST_VALUE).collect();
        return format!("{cut}...");
    }
    text
}

/// `1 create, 2 update (1 drift), 3 unchanged`.
pub(crate) fn tally(tally: &Tally) -> String {
    counted(
        tally,
        ["create", "update", "replace", "delete", "import", "release", "read", "unchanged"],
        "nothing to do",
    )
}

/// `1 created, 2 updated, 3 unchanged`.
pub(crate) fn done(tally: &Tally) -> String {
    counted(
        tally,
        ["created", "updated", "replaced", "deleted", "imported", "released", "read", "unchanged"],
        "nothing done",
    )
}

fn counted(tally: &Tally, words: [&str; 8], nothing: &str) -> String {
    let Tally { create, update, replace, delete, import, release, read, unchanged, drift: _ } = *tally;
    let counts = [create, update, replace, delete, import, release, read, unchanged];
    let mut parts = Vec::new();
    for (count, word) in counts.into_iter().zip(words) {
        if count > 0 {
            let drift = tally.drift > 0 && word == "update";
            let more = if drift { format!(" ({} drift)", tally.drift) } else { String::new() };
            parts.push(format!("{count} {word}{more}"));
        }
    }
    if parts.is_empty() { nothing.to_owned() } else { parts.join(", ") }
}

/// A key as people read and type it: names with dots and colons without escapes, which every command takes.
pub(crate) fn plain(key: &ResourceKey) -> String {
    key.to_string().replace('\\', "")
}

/// A key padded for a column.
pub(crate) fn column(key: &ResourceKey, width: usize) -> String {
    format!("{:<width$}", plain(key))
}
