//! One finding, ready to be told in any form.

use base_diag::{Color, Diagnostic, FileId, Place, Position, SourceMap, Span, render_full, render_short};
use kcl_lint::{Finding, Level};
use serde_json::{Value, json};

/// A replacement in a file.
pub(super) struct Replacement {
    pub(super) start: Position,
    pub(super) end: Position,
    pub(super) text: String,
}

/// One finding or compile error.
pub(super) struct Item {
    /// The path as people see it; empty if it has no place.
    pub(super) path: String,
    pub(super) start: Position,
    pub(super) end: Position,
    pub(super) level: Level,
    pub(super) code: &'static str,
    pub(super) id: &'static str,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// Whether the fix is safe, and what it replaces.
    pub(super) fix: Option<(bool, Vec<Replacement>)>,
    /// As people read it, in the form that was asked for.
    pub(super) text: String,
}

const NOWHERE: Position = Position { line: 1, column: 1 };

impl Item {
    /// Makes the item of a diagnostic.
    pub(super) fn new(diagnostic: &Diagnostic, level: Level, sources: &SourceMap, form: Form) -> Item {
        let (path, start, end) = match diagnostic.place() {
            Place::Span(file, span) => {
                let (start, end) = positions(sources, file, span);
                (sources.shown_path(file).to_owned(), start, end)
            }
            Place::Line(file, line) => {
                let at = Position { line, column: 1 };
                (sources.shown_path(file).to_owned(), at, at)
            }
            Place::None => (String::new(), NOWHERE, NOWHERE),
        };
        let mut text = match form {
            Form::Full(color) => render_full(diagnostic, sources, color),
            Form::Short => render_short(diagnostic, sources),
            Form::None => String::new(),
        };
        if level == Level::Info
            && let Some(rest) = text.find("warning[")
        {
            // A remark is no warning.
            text.replace_range(rest..rest + "warning".len(), "info");
        }
        Item {
            path,
            start,
            end,
            level,
            code: diagnostic.code.code,
            id: diagnostic.id,
            message: diagnostic.title().to_owned(),
            help: diagnostic.help.clone(),
            fix: None,
            text,
        }
    }

    /// Makes the item of a finding.
    pub(super) fn found(finding: &Finding, sources: &SourceMap, form: Form) -> Item {
        let item = Item::new(&finding.diagnostic(), finding.level, sources, form);
        let fix = finding.fix.as_ref().map(|fix| {
            let edits = fix.edits.iter().map(|edit| {
                let (start, end) = positions(sources, finding.file, edit.span);
                Replacement { start, end, text: edit.text.clone() }
            });
            (fix.safe, edits.collect())
        });
        Item { fix, help: finding.help.clone(), ..item }
    }

    /// Returns the item as JSON.
    pub(super) fn json(&self) -> Value {
        let fix = self.fix.as_ref().map(|(safe, edits)| {
            let edits: Vec<Value> = edits
                .iter()
                .map(|edit| {
                    json!({
                        "line": edit.start.line, "column": edit.start.column,
                        "endLine": edit.end.line, "endColumn": edit.end.column, "text": edit.text,
                    })
                })
                .collect();
            json!({ "safe": safe, "edits": edits })
        });
        json!({
            "file": self.path, "line": self.start.line, "column": self.start.column,
            "endLine": self.end.line, "endColumn": self.end.column,
            "level": self.level.word(), "code": self.code, "id": self.id,
            "message": self.message, "help": self.help, "fix": fix,
        })
    }
}

fn positions(sources: &SourceMap, file: FileId, span: Span) -> (Position, Position) {
    (sources.position(file, span.start), sources.position(file, span.end))
}

/// How people read an item.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Full(Color),
    Short,
    None,
}
