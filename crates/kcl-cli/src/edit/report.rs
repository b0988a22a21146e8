//! What became of each wish and each file, for people and for machines.

use std::process::ExitCode;

use kcl_edit::Effect;
use serde_json::{Value, json};

use super::workbench::{Answer, Spot, Written};
use super::{Verb, Wish};
use crate::EXIT_WRONG;
use crate::flags::Given;

/// The whole call.
pub(super) struct Report {
    check: bool,
    diff: bool,
    json: bool,
    keep_going: bool,
    rows: Vec<Value>,
    /// What is told of each wish, with the file that is changed for it.
    lines: Vec<(Option<String>, String)>,
    errors: String,
    refused: usize,
    absent: bool,
    changes: bool,
}

impl Report {
    pub(super) fn new(given: &Given) -> Report {
        Report {
            check: given.has("check"),
            diff: given.has("diff"),
            json: given.has("json"),
            keep_going: given.has("keep-going"),
            rows: Vec::new(),
            lines: Vec::new(),
            errors: String::new(),
            refused: 0,
            absent: false,
            changes: false,
        }
    }

    pub(super) fn may_write(&self) -> bool {
        !self.check && !self.diff && (self.refused == 0 || self.keep_going)
    }

    pub(super) fn shows_diff(&self) -> bool {
        self.diff
    }

    pub(super) fn add(&mut self, wish: &Wish, answer: Answer) {
        let path = wish.path.to_string();
        let mut row = json!({ "op": wish.verb.word(), "target": wish.target, "path": path });
        match answer {
            Answer::Done { outcome, spot } => {
                self.changes |= outcome != Effect::Unchanged;
                row["status"] = outcome.word().into();
                put_spot(&mut row, spot.as_ref());
                let place = spot.as_ref().map(|spot| place(spot) + ": ").unwrap_or_default();
                if !self.diff {
                    let line = format!("{place}{} {path}\n", outcome.word());
                    self.lines.push((spot.map(|spot| spot.file), line));
                }
            }
            Answer::Values(values) => {
                match values.last() {
                    Some(last) => self.lines.push((None, format!("{}\n", last.text))),
                    None => {
                        self.absent = true;
                        self.errors.push_str(&format!("error: {} does not set `{path}`\nhelp: a path leads through what is written out: variables, braces, lists\n", wish.target));
                    }
                }
                let found = values.iter().map(|value| {
                    let mut row = json!({ "operator": value.operator, "text": value.text, "own": value.own });
                    put_spot(&mut row, Some(&value.spot));
                    row
                });
                row["values"] = found.collect();
            }
            Answer::Refused { id, message, help, spot } => {
                self.refused += 1;
                // The other carriers of an edit have no such flag.
                let flag = match (&wish.verb, id) {
                    (Verb::Change(_), "bad-value" | "breaks-file") => "; --string takes it as plain text",
                    _ => "",
                };
                let help = help + flag;
                let at = spot.as_ref().map(|spot| format!("  --> {}\n", place(spot))).unwrap_or_default();
                self.errors.push_str(&format!("error: {message}\n{at}help: {help}\n"));
                row["status"] = "refused".into();
                row["error"] = json!({ "id": id, "message": message, "help": help });
                put_spot(&mut row["error"], spot.as_ref());
            }
        }
        if matches!(wish.verb, Verb::Get) && row.get("status").is_none() {
            row["status"] =
                if row["values"].as_array().is_some_and(|v| !v.is_empty()) { "set" } else { "not-set" }
                    .into();
        }
        self.rows.push(row);
    }

    pub(super) fn print(mut self, files: Vec<Written>) -> ExitCode {
        let failed: Vec<&str> =
            files.iter().filter(|file| file.error.is_some()).map(|file| file.file.as_str()).collect();
        // What did not reach its file was not done.
        self.lines.retain(|(file, _)| !file.as_ref().is_some_and(|file| failed.contains(&file.as_str())));
        for row in &mut self.rows {
            if row["file"].as_str().is_some_and(|file| failed.contains(&file)) {
                row["status"] = "failed".into();
            }
        }
        let mut out: String = self.lines.drain(..).map(|(_, line)| line).collect();
        for file in &files {
            if let Some(error) = &file.error {
                self.errors.push_str(&format!("error: {} {error}\n", file.file));
            }
            out.push_str(&file.diff);
        }
        if self.json {
            let files: Vec<Value> = files.iter().map(file_row).collect();
            out = format!("{}\n", json!({ "changes": self.rows, "files": files }));
        } else {
            if self.refused > 0 && !self.keep_going && self.rows.len() > 1 {
                let rest = format!(
                    "{} of {} changes were refused: nothing was written\n",
                    self.refused,
                    self.rows.len()
                );
                self.errors.push_str(&rest);
                out.clear();
            }
            eprint!("{}", self.errors);
        }
        if let Err(message) = crate::say::result(&out) {
            eprintln!("error: {message}");
            return ExitCode::from(EXIT_WRONG);
        }
        let wrong = !failed.is_empty() || self.refused > 0 || self.absent || (self.check && self.changes);
        if wrong { ExitCode::from(EXIT_WRONG) } else { ExitCode::SUCCESS }
    }
}

fn place(spot: &Spot) -> String {
    match spot.line {
        0 => spot.file.clone(),
        line => format!("{}:{line}", spot.file),
    }
}

fn put_spot(row: &mut Value, spot: Option<&Spot>) {
    if let Some(spot) = spot {
        row["file"] = spot.file.as_str().into();
        if spot.line > 0 {
            row["line"] = spot.line.into();
        }
    }
}

fn file_row(file: &Written) -> Value {
    let mut row = json!({ "file": file.file, "status": file.status });
    if !file.diff.is_empty() {
        row["diff"] = file.diff.as_str().into();
    }
    if let Some(error) = &file.error {
        row["error"] = format!("{} {error}", file.file).into();
    }
    row
}
