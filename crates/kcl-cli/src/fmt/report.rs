//! What became of each file, for people and for machines.

use std::process::ExitCode;

use base_diag::{Diagnostic, SourceMap, to_json};
use serde_json::{Value, json};

use super::Wish;
use crate::EXIT_WRONG;

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Unchanged,
    Changed,
    WouldChange,
    Failed,
}

/// Why a file stayed as it is.
pub(super) enum Failure {
    /// It does not parse.
    Syntax(Vec<Diagnostic>, SourceMap),
    /// It cannot be read or written; the sentence goes on after the path.
    File(String),
}

/// One file.
pub(super) struct Done {
    pub(super) path: String,
    pub(super) status: Status,
    pub(super) diff: String,
    /// The formatted text, where it is still needed.
    pub(super) text: Option<String>,
    pub(super) failure: Option<Failure>,
}

impl Done {
    pub(super) fn failed(path: &str, failure: Failure) -> Done {
        let (path, diff) = (path.to_owned(), String::new());
        Done { path, status: Status::Failed, diff, text: None, failure: Some(failure) }
    }

    fn json(&self, stdin: bool) -> Value {
        let status = match self.status {
            Status::Unchanged => "unchanged",
            Status::Changed => "changed",
            Status::WouldChange => "would-change",
            Status::Failed => "failed",
        };
        let mut row = json!({ "path": self.path, "status": status });
        if !self.diff.is_empty() {
            row["diff"] = self.diff.as_str().into();
        }
        if let Some(text) = self.text.as_ref().filter(|_| stdin) {
            row["text"] = text.as_str().into();
        }
        match &self.failure {
            Some(Failure::Syntax(errors, sources)) => {
                row["errors"] = errors.iter().map(|error| to_json(error, sources)).collect();
            }
            Some(Failure::File(message)) => {
                row["errors"] = json!([{ "message": format!("{} {message}", self.path) }]);
            }
            None => {}
        }
        row
    }
}

/// All files, in the order in which they are reported.
pub(super) struct Report {
    pub(super) files: Vec<Done>,
    pub(super) notes: Vec<String>,
    pub(super) stdin: bool,
}

impl Report {
    /// Prints the report and says how the command ends.
    pub(super) fn print(&self, wish: &Wish) -> ExitCode {
        let mut out = String::new();
        if wish.json {
            let rows: Vec<Value> = self.files.iter().map(|done| done.json(self.stdin)).collect();
            out = format!("{}\n", json!({ "files": rows, "notes": self.notes }));
        } else {
            for done in &self.files {
                self.print_file(done, wish, &mut out);
            }
            for note in &self.notes {
                eprintln!("warning: {note}");
            }
        }
        if let Err(message) = crate::say::result(&out) {
            eprintln!("error: {message}");
            return ExitCode::from(EXIT_WRONG);
        }
        let has = |status| self.files.iter().any(|done| done.status == status);
        let wrong = has(Status::Failed) || (wish.check && has(Status::WouldChange));
        if wish.check && has(Status::WouldChange) && !wish.json {
            let count = self.files.iter().filter(|done| done.status == Status::WouldChange).count();
            let files = if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") };
            eprintln!("{files} not formatted; `kcl fmt` without --check does it");
        }
        if wrong { ExitCode::from(EXIT_WRONG) } else { ExitCode::SUCCESS }
    }

    fn print_file(&self, done: &Done, wish: &Wish, out: &mut String) {
        match &done.failure {
            Some(Failure::Syntax(errors, sources)) => {
                eprint!("{}", crate::run::render(errors, sources, wish.errors));
            }
            Some(Failure::File(message)) => {
                eprintln!("error: {} {message}", done.path);
            }
            None if wish.diff => out.push_str(&done.diff),
            None if done.status == Status::Unchanged => {}
            // Formatted standard input is the output itself.
            None if self.stdin && wish.writes() => {}
            None => {
                out.push_str(&done.path);
                out.push('\n');
            }
        }
    }
}
