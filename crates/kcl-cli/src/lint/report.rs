//! What was found, for people and for machines.

use std::process::ExitCode;

use kcl_lint::Level;
use serde_json::{Value, json};

use super::item::Item;
use super::judge::Done;
use super::{Format, Wish, sarif};
use crate::{EXIT_BUG, EXIT_WRONG};

/// All findings, in order of path and place.
pub(super) struct Report {
    items: Vec<Item>,
    changed: Vec<(String, String)>,
    mended: usize,
    files: usize,
    notes: Vec<String>,
    errors: Vec<(String, String)>,
    is_bug: bool,
}

impl Report {
    pub(super) fn new(done: Vec<Done>, notes: Vec<String>, errors: Vec<(String, String)>) -> Report {
        let mut report = Report {
            items: Vec::new(),
            changed: Vec::new(),
            mended: 0,
            files: 0,
            notes,
            errors,
            is_bug: false,
        };
        for one in done {
            report.items.extend(one.items);
            report.changed.extend(one.changed);
            report.errors.extend(one.errors);
            report.mended += one.mended;
            report.files += one.files;
            report.is_bug |= one.is_bug;
        }
        let key = |item: &Item| (item.path.clone(), item.start, item.end, item.code);
        report.items.sort_by_cached_key(key);
        report.errors.dedup();
        report
    }

    fn count(&self, level: Level) -> usize {
        self.items.iter().filter(|item| item.level == level).count()
    }

    /// Prints the report and says how the command ends.
    pub(super) fn print(&self, wish: &Wish) -> ExitCode {
        let out = match wish.format {
            Format::Full => self.items.iter().map(|item| format!("{}\n", item.text)).collect(),
            Format::Short => self.items.iter().map(|item| format!("{}\n", item.text)).collect(),
            Format::Json => format!("{}\n", self.json()),
            Format::Sarif => format!("{}\n", sarif::log(&self.items, &self.errors)),
            Format::Github => {
                let unread = self.errors.iter().map(|(path, message)| {
                    format!("::error file={}::{}\n", property(path), data(&format!("{path} {message}")))
                });
                self.items.iter().map(github).chain(unread).collect::<String>()
            }
        };
        // A document for machines holds its diffs, or the edits of its findings; nothing stands before it.
        let out = match (wish.diff, wish.format) {
            (true, Format::Full | Format::Short) => {
                self.changed.iter().map(|(_, diff)| diff.as_str()).collect::<String>() + &out
            }
            _ => out,
        };
        if let Err(message) = crate::say::result(&out) {
            eprintln!("error: {message}");
            return ExitCode::from(EXIT_WRONG);
        }
        self.tell_people(wish);
        let wrong = self.count(Level::Error) + self.count(Level::Warning) > 0 || !self.errors.is_empty();
        match (self.is_bug, wrong) {
            (true, _) => ExitCode::from(EXIT_BUG),
            (false, true) => ExitCode::from(EXIT_WRONG),
            (false, false) => ExitCode::SUCCESS,
        }
    }

    /// What stands beside the findings, on standard error.
    fn tell_people(&self, wish: &Wish) {
        for note in &self.notes {
            eprintln!("warning: {note}");
        }
        for (path, message) in &self.errors {
            eprintln!("error: {path} {message}");
        }
        if !matches!(wish.format, Format::Full | Format::Short) {
            return;
        }
        if !wish.diff {
            for (path, _) in &self.changed {
                eprintln!("mended {path}");
            }
        }
        let counted: Vec<String> =
            [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Info, "remark")]
                .into_iter()
                .filter_map(|(level, word)| match self.count(level) {
                    0 => None,
                    1 => Some(format!("1 {word}")),
                    n => Some(format!("{n} {word}s")),
                })
                .collect();
        let files = if self.files == 1 { "1 file".to_owned() } else { format!("{} files", self.files) };
        let found = match (counted.is_empty(), self.errors.is_empty()) {
            (false, _) => counted.join(", "),
            (true, true) => "nothing found".to_owned(),
            (true, false) => "nothing found in what could be read".to_owned(),
        };
        let mended = match self.mended {
            0 => String::new(),
            n if wish.diff => format!("; {n} would be mended"),
            n => format!("; {n} mended"),
        };
        eprintln!("{files}: {found}{mended}");
        let safe = self.items.iter().filter(|item| matches!(item.fix, Some((true, _)))).count();
        if safe > 0 && !wish.fix {
            eprintln!("`kcl lint --fix` mends {safe} of them; `kcl explain RULE` says more about a rule");
        }
    }

    fn json(&self) -> Value {
        let errors: Vec<Value> =
            self.errors.iter().map(|(path, message)| json!({ "file": path, "message": message })).collect();
        json!({
            "findings": self.items.iter().map(Item::json).collect::<Vec<_>>(),
            "changed": self.changed.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            "diffs": self.changed.iter().map(|(_, diff)| diff).filter(|diff| !diff.is_empty()).collect::<Vec<_>>(),
            "mended": self.mended,
            "files": self.files,
            "errors": errors,
            "notes": self.notes,
        })
    }
}

/// The message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A command of a workflow run that makes an annotation.
fn github(item: &Item) -> String {
    let kind = match item.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "notice",
    };
    let text = match &item.help {
        Some(help) => format!("{}\n{help}", item.message),
        None => item.message.clone(),
    };
    format!(
        "::{kind} file={},line={},endLine={},col={},endColumn={},title={}::{}\n",
        property(&item.path),
        item.start.line,
        item.end.line,
        item.start.column,
        item.end.column,
        property(&format!("{} {}", item.code, item.id)),
        data(&text)
    )
}
