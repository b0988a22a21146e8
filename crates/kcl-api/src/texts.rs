//! Errors as the reference tells them: its shape and its words, without colours.

use std::fmt::Write;

use base_diag::{Code, Diagnostic, Place, Severity, SourceMap};

use crate::messages::{Error, Message, Position};

/// Renders errors one after the other.
pub(crate) fn pretty(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|diagnostic| one(diagnostic, sources)).collect();
    texts.join("\n")
}

/// Renders errors on one line each.
pub(crate) fn short(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    let line = |diagnostic: &Diagnostic| {
        let at = position(diagnostic.place(), sources);
        let (word, code) = (level(diagnostic), diagnostic.code);
        let place = format!("{}:{}:{}", at.filename, at.line, at.column + 1);
        format!(
            "{place} - {word}[{}]: {} - {}\n",
            code.code,
            code.kind,
            diagnostic.message().replace('\n', " ")
        )
    };
    diagnostics.iter().map(line).collect()
}

fn one(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    if diagnostic.place() == Place::None {
        return diagnostic.message().to_owned();
    }
    let mut out = match diagnostic.code == Code::EVALUATION {
        true => format!("{}\n", diagnostic.code.kind),
        false => format!("{}[{}]: {}\n", level(diagnostic), diagnostic.code.code, diagnostic.code.kind),
    };
    for label in &diagnostic.labels {
        block(&mut out, label.place, &label.message, sources);
        out.push('\n');
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "suggestion: {help}");
    }
    out
}

fn block(out: &mut String, place: Place, message: &str, sources: &SourceMap) {
    let (file, line, column) = match place {
        Place::Span(file, span) => {
            let at = sources.position(file, span.start);
            (file, at.line, Some(at.column as usize))
        }
        Place::Line(file, line) => (file, line, None),
        Place::None => {
            let _ = writeln!(out, "{message}");
            return;
        }
    };
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let code = sources.get(file).map_or("", |source| {
        let start = source.lines().line_start(line) as usize;
        source.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
    });
    let mark = column.map_or_else(|| " ".to_owned(), |column| format!("{}^", " ".repeat(column)));
    let _ = writeln!(out, "{gutter}--> {}:{line}:{}", sources.shown_path(file), column.unwrap_or(1));
    let _ = writeln!(out, "{gutter} |\n{number} | {code}\n{gutter} |{mark} {message}\n{gutter} |");
}

fn level(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Errors as messages; what to try stands behind the error that it is about.
pub(crate) fn messages<'d>(
    diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    sources: &SourceMap,
) -> Vec<Error> {
    let mut out = Vec::new();
    for diagnostic in diagnostics {
        let code = match diagnostic.severity {
            Severity::Error => format!("Error({})", diagnostic.code.kind),
            Severity::Warning => format!("Warning({})", diagnostic.code.kind),
        };
        let message = |label: &base_diag::Label| Message {
            msg: label.message.clone(),
            pos: Some(position(label.place, sources)),
        };
        let messages = diagnostic.labels.iter().map(message).collect();
        out.push(Error { level: level(diagnostic).to_owned(), code, messages });
        if let Some(help) = &diagnostic.help {
            let messages = vec![Message { msg: help.clone(), pos: Some(Position::default()) }];
            out.push(Error { level: "suggestions".to_owned(), code: "Suggestions".to_owned(), messages });
        }
    }
    out
}

/// A place as the reference counts: lines from 1, columns from 0.
pub(crate) fn position(place: Place, sources: &SourceMap) -> Position {
    let (file, line, column) = match place {
        Place::Span(file, span) => {
            let at = sources.position(file, span.start);
            (file, at.line, at.column.saturating_sub(1))
        }
        Place::Line(file, line) => (file, line, 0),
        Place::None => return Position::default(),
    };
    let filename = sources.get(file).map(|source| source.path.clone()).unwrap_or_default();
    Position { line: i64::from(line), column: i64::from(column), filename }
}
