//! Renderers: full (source and carets), short (one line), JSON. They need only the data and the texts.

use std::borrow::Cow;
use std::fmt::Write;

use crate::{Diagnostic, Place, Severity, SourceMap};

/// Colour of the full renderer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// Plain text.
    Never,
    /// ANSI escapes.
    Always,
}

struct Paint(Color);

impl Paint {
    fn wrap(&self, code: &str, text: &str) -> String {
        match self.0 {
            Color::Never => text.to_owned(),
            Color::Always => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    fn head(&self, severity: Severity, text: &str) -> String {
        let code = if severity == Severity::Error { "1;31" } else { "1;33" };
        self.wrap(code, text)
    }

    fn dim(&self, text: &str) -> String {
        self.wrap("34", text)
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Renders a diagnostic with its source lines.
pub fn render_full(diagnostic: &Diagnostic, sources: &SourceMap, color: Color) -> String {
    let paint = Paint(color);
    let mut out = String::new();
    let mut message = diagnostic.title().lines();
    let head = format!("{}[{}]", word(diagnostic.severity), diagnostic.code.code);
    let title = message.next().filter(|m| !m.is_empty()).unwrap_or(diagnostic.code.kind);
    let _ = writeln!(out, "{}: {}", paint.head(diagnostic.severity, &head), clipped(title));
    for line in message {
        let _ = writeln!(out, "{}", clipped(line));
    }
    let places = shown(diagnostic);
    let width = places.iter().filter_map(|(p, _)| line_at(*p, sources)).max().unwrap_or(1).to_string().len();
    for (i, (place, text)) in places.into_iter().enumerate() {
        snippet(&mut out, place, text, i > 0, width, sources, &paint);
    }
    let notes = diagnostic.notes.iter().map(|note| ("note", note));
    let remarks: Vec<(&str, &String)> =
        notes.chain(diagnostic.help.iter().map(|help| ("help", help))).collect();
    if !remarks.is_empty() && diagnostic.place() != Place::None {
        let _ = writeln!(out, "{:width$} {}", "", paint.dim("|"));
    }
    for (word, text) in remarks {
        let _ = writeln!(out, "{:width$} {} {word}: {}", "", paint.dim("="), clipped(text));
    }
    out
}

/// Longer sentences are cut: they quote what was written, which may be anything.
const SENTENCE: usize = 2_000;

fn clipped(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SENTENCE) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            Cow::Owned(format!("{}… ({} more characters)", &text[..end], text[end..].chars().count()))
        }
    }
}

/// Of a longer source line this much is shown, from a little before the place on.
const SHOWN: usize = 200;
const BEFORE: usize = 60;

/// Returns what is shown of a source line, and the column of the place in it.
fn window(line: &str, column: Option<u32>) -> (String, Option<usize>) {
    let at = column.map(|column| (column as usize).saturating_sub(1));
    let shown = |text: &str| text.replace('\t', " ");
    if line.char_indices().nth(SHOWN).is_none() {
        return (shown(line), at);
    }
    let from = at.unwrap_or(0).saturating_sub(BEFORE);
    let mut chars = line.chars();
    let part: String = chars.by_ref().skip(from).take(SHOWN).collect();
    let (front, back) = (if from > 0 { "…" } else { "" }, if chars.next().is_some() { "…" } else { "" });
    (format!("{front}{}{back}", shown(&part)), at.map(|at| at - from + usize::from(from > 0)))
}

/// The places with what is said there, the primary one first.
fn shown(diagnostic: &Diagnostic) -> Vec<(Place, &str)> {
    let told = diagnostic.telling.as_ref().map_or(&[][..], |t| &t.labels);
    if told.is_empty() {
        let own = diagnostic.labels.iter().enumerate();
        return own.map(|(i, l)| (l.place, if i == 0 { "" } else { l.message.as_str() })).collect();
    }
    told.iter().map(|l| (l.place, l.message.as_str())).collect()
}

fn line_at(place: Place, sources: &SourceMap) -> Option<u32> {
    match place {
        Place::Span(file, span) => Some(sources.position(file, span.start).line),
        Place::Line(_, line) => Some(line),
        Place::None => None,
    }
}

fn snippet(
    out: &mut String,
    place: Place,
    text: &str,
    related: bool,
    width: usize,
    sources: &SourceMap,
    paint: &Paint,
) {
    let (file, line, column, length) = match place {
        Place::Span(file, span) => {
            let at = sources.position(file, span.start);
            (file, at.line, Some(at.column), span.end.saturating_sub(span.start))
        }
        Place::Line(file, line) => (file, line, None, 0),
        Place::None => return,
    };
    let Some(source) = sources.get(file) else { return };
    let arrow = if related { ":::" } else { "-->" };
    let place = match column {
        Some(column) => format!("{}:{line}:{column}", sources.shown_path(file)),
        None => format!("{}:{line}", sources.shown_path(file)),
    };
    if related {
        let _ = writeln!(out, "{:width$} {}", "", paint.dim("|"));
    }
    let _ = writeln!(out, "{:width$}{} {place}", "", paint.dim(arrow));
    let start = source.lines().line_start(line) as usize;
    let Some(rest) = source.text.get(start..) else { return };
    let (code, column) = window(rest.lines().next().unwrap_or(""), column);
    let _ = writeln!(out, "{:width$} {}", "", paint.dim("|"));
    let _ = writeln!(out, "{} {} {code}", paint.dim(&format!("{line:width$}")), paint.dim("|"));
    let text = clipped(text);
    if let Some(column) = column {
        let room = code.chars().count().saturating_sub(column).max(1);
        let marks = if related { "-" } else { "^" }.repeat((length as usize).clamp(1, room));
        let pad = " ".repeat(column);
        let code = if related { "34" } else { "1;31" };
        let _ = writeln!(
            out,
            "{:width$} {} {pad}{}",
            "",
            paint.dim("|"),
            paint.wrap(code, format!("{marks} {text}").trim_end())
        );
    } else if !text.is_empty() {
        let _ = writeln!(out, "{:width$} {} {text}", "", paint.dim("="));
    }
}

/// Renders a diagnostic on one line: `file:line:col - error[CODE]: Kind - message; related: ..`.
pub fn render_short(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let flat = |m: &str| m.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = format!(
        "{}{}[{}]: {} - {}",
        place_text(diagnostic.shown_place(), sources),
        word(diagnostic.severity),
        diagnostic.code.code,
        diagnostic.code.kind,
        flat(diagnostic.message())
    );
    for label in diagnostic.labels.iter().skip(1) {
        let _ = write!(out, "; related: {}", flat(&label.message));
    }
    out
}

fn place_text(place: Place, sources: &SourceMap) -> String {
    let (file, line, column) = match place {
        Place::Span(file, span) => {
            let at = sources.position(file, span.start);
            (file, at.line, at.column)
        }
        Place::Line(file, line) => (file, line, 1),
        Place::None => return String::new(),
    };
    format!("{}:{line}:{column} - ", sources.shown_path(file))
}

/// Returns a diagnostic as JSON.
pub fn to_json(diagnostic: &Diagnostic, sources: &SourceMap) -> serde_json::Value {
    let mut shown = shown(diagnostic);
    // The first label says what is wrong, as in the reference.
    if let Some(first) = shown.first_mut() {
        first.1 = diagnostic.message();
    }
    let labels: Vec<serde_json::Value> =
        shown.into_iter().map(|(place, text)| place_json(place, "message", text, sources)).collect();
    serde_json::json!({
        "severity": word(diagnostic.severity),
        "code": diagnostic.code.code,
        "kind": diagnostic.code.kind,
        "id": diagnostic.id,
        "message": diagnostic.message(),
        "title": diagnostic.title(),
        "labels": labels,
        "notes": diagnostic.notes,
        "help": diagnostic.help,
        "fix": diagnostic.fix.as_ref().map(|fix| place_json(fix.place, "text", &fix.text, sources)),
    })
}

/// A place with a text under a key of its own.
fn place_json(place: Place, key: &str, text: &str, sources: &SourceMap) -> serde_json::Value {
    let path = |file| sources.get(file).map_or("", |f| f.path.as_str()).to_owned();
    match place {
        Place::Span(file, span) => {
            let (start, end) = (sources.position(file, span.start), sources.position(file, span.end));
            serde_json::json!({
                key: text, "file": path(file),
                "line": start.line, "column": start.column, "endLine": end.line, "endColumn": end.column,
            })
        }
        Place::Line(file, line) => serde_json::json!({ key: text, "file": path(file), "line": line }),
        Place::None => serde_json::json!({ key: text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, FileId, Span};

    fn example() -> (Diagnostic, SourceMap) {
        let mut sources = SourceMap::default();
        let file = sources.add("main.k", "schema P:\n    name: str\np = P {name = 1}\n".into());
        assert_eq!(file, FileId(0));
        let diagnostic = Diagnostic::error(
            Code::TYPE,
            "type-mismatch",
            Place::Span(file, Span::new(31, 35)),
            "expected str, got int(1)",
        )
        .with_label(Place::Span(file, Span::new(14, 18)), "declared here")
        .with_help("write a string");
        (diagnostic, sources)
    }

    #[test]
    fn the_full_form_shows_both_places() {
        let (diagnostic, sources) = example();
        let expected = "error[E2G22]: expected str, got int(1)\n --> main.k:3:8\n  |\n3 | p = P {name = 1}\n  |        ^^^^\n  |\n \
                        ::: main.k:2:5\n  |\n2 |     name: str\n  |     ---- declared here\n  |\n  = help: write a string\n";
        assert_eq!(render_full(&diagnostic, &sources, Color::Never), expected);
    }

    #[test]
    fn people_are_told_in_better_words_and_closer() {
        let (diagnostic, sources) = example();
        let label = |start, end, message: &str| crate::Label {
            place: Place::Span(FileId(0), Span::new(start, end)),
            message: message.into(),
        };
        let labels = vec![label(38, 39, "an `int`"), label(14, 18, "is a `str` here")];
        let telling = crate::Telling { title: "expected `str`, found `int`".into(), labels };
        let expected = "error[E2G22]: expected `str`, found `int`\n --> main.k:3:15\n  |\n3 | p = P {name = 1}\n  |               ^ an `int`\n  |\n \
                        ::: main.k:2:5\n  |\n2 |     name: str\n  |     ---- is a `str` here\n  |\n  = help: write a string\n";
        assert_eq!(render_full(&diagnostic.with_telling(telling), &sources, Color::Never), expected);
    }

    #[test]
    fn of_a_long_line_the_surroundings_of_the_place_are_shown() {
        let mut sources = SourceMap::default();
        let line = format!("a = {}b{}\n", "é".repeat(1000), "c".repeat(1000));
        let file = sources.add("main.k", line.into());
        let at = 4 + 2 * 1000;
        let diagnostic =
            Diagnostic::error(Code::TYPE, "x", Place::Span(file, Span::new(at, at + 1)), "y".repeat(9000));
        let text = render_full(&diagnostic, &sources, Color::Never);
        assert!(text.contains(&format!("1 | …{}b{}…\n", "é".repeat(60), "c".repeat(139))), "{text}");
        assert!(text.contains(&format!("  | {}^\n", " ".repeat(61))), "{text}");
        assert!(text.contains("y… (7000 more characters)\n"), "{text}");
    }

    #[test]
    fn the_short_form_is_one_line() {
        let (diagnostic, sources) = example();
        assert_eq!(
            render_short(&diagnostic, &sources),
            "main.k:3:8 - error[E2G22]: TypeError - expected str, got int(1); related: declared here"
        );
        assert_eq!(to_json(&diagnostic, &sources)["labels"][0]["line"], 3);
    }
}
