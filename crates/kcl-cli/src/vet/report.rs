//! What became of each document, for people and for machines.

use std::process::ExitCode;

use base_diag::{Diagnostic, SourceMap, to_json};
use base_yaml::{JsonWriter, YamlWriter};
use kcl_vet::{Format, Verdict, WrongCode};
use serde_json::{Value, json};

use super::LoadError;
use super::inputs::Inputs;
use crate::{EXIT_BUG, EXIT_WRONG};

/// So many documents that do not hold are shown; the others are counted.
const SHOWN: usize = 20;

/// One file.
pub(super) struct Checked {
    pub(super) path: String,
    /// Documents by number.
    pub(super) outcome: Result<Vec<(usize, Verdict)>, LoadError>,
}

/// All files, in the order of the command line.
pub(super) struct Report {
    pub(super) files: Vec<Checked>,
}

impl Checked {
    fn is_ok(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|documents| documents.iter().all(|(_, verdict)| verdict.is_ok()))
    }

    fn json(&self) -> Value {
        let unreadable = |told: Value| json!({ "path": self.path, "status": "unreadable", "errors": [told] });
        match &self.outcome {
            Err(LoadError::File(message)) => {
                unreadable(json!({ "message": format!("{} {message}", self.path) }))
            }
            Err(LoadError::Data(bad)) => unreadable(to_json(&bad.diagnostic, &bad.sources)),
            Ok(documents) => {
                let rows: Vec<Value> = documents
                    .iter()
                    .map(|(number, verdict)| {
                        let status = if verdict.is_ok() { "ok" } else { "failed" };
                        let (_, own) = told_apart(verdict);
                        let errors: Value = own.iter().map(|e| to_json(e, &verdict.sources)).collect();
                        let mut row = json!({ "number": number, "status": status, "errors": errors });
                        if let Some(value) = &verdict.filled {
                            row["value"] = json_of(value);
                        }
                        row
                    })
                    .collect();
                let status = if self.is_ok() { "ok" } else { "failed" };
                json!({ "path": self.path, "status": status, "documents": rows })
            }
        }
    }
}

impl Report {
    /// Prints the report and says how the command ends.
    pub(super) fn print(mut self, inputs: &Inputs) -> ExitCode {
        for (_, verdict) in self.files.iter_mut().filter_map(|file| file.outcome.as_mut().ok()).flatten() {
            verdict.sources.show_from(inputs.code.work_dir.display().to_string());
        }
        let ok = self.files.iter().all(Checked::is_ok);
        let out = match (inputs.json, inputs.wish.fill) {
            (true, _) => {
                let files: Vec<Value> = self.files.iter().map(Checked::json).collect();
                let mut all = json!({ "ok": ok, "files": files });
                let mut errors: Vec<Value> = Vec::new();
                for (told, sources) in self.of_code() {
                    errors.extend(told.iter().map(|error| to_json(error, sources)));
                }
                if !errors.is_empty() {
                    all["errors"] = errors.into();
                }
                format!("{all}\n")
            }
            (false, true) => self.filled(inputs),
            (false, false) if ok => "Validate success!\n".to_owned(),
            _ => String::new(),
        };
        if !inputs.json {
            self.tell(inputs);
        }
        if let Err(message) = crate::say::result(&out) {
            eprintln!("error: {message}");
            return ExitCode::from(EXIT_WRONG);
        }
        match ok {
            true => ExitCode::SUCCESS,
            false if self.is_bug() => ExitCode::from(EXIT_BUG),
            false => ExitCode::from(EXIT_WRONG),
        }
    }

    fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.files.iter().filter_map(|file| file.outcome.as_ref().ok()).flatten().map(|(_, verdict)| verdict)
    }

    /// What is wrong with the code is the same for nearly every document: each list of errors once.
    fn of_code(&self) -> Vec<(Vec<Diagnostic>, &SourceMap)> {
        let mut all: Vec<(Vec<Diagnostic>, &SourceMap)> = Vec::new();
        for verdict in self.verdicts() {
            let (of_code, _) = told_apart(verdict);
            if !of_code.is_empty() && !all.iter().any(|(told, _)| *told == of_code) {
                all.push((of_code, &verdict.sources));
            }
        }
        all
    }

    fn is_bug(&self) -> bool {
        self.verdicts().flat_map(|v| &v.diagnostics).any(|d| d.id == "internal-error")
    }

    /// Says on standard error what is wrong.
    fn tell(&self, inputs: &Inputs) {
        for file in &self.files {
            match &file.outcome {
                Err(LoadError::File(message)) => eprintln!("error: {} {message}", file.path),
                Err(LoadError::Data(bad)) => {
                    let told = std::slice::from_ref(&*bad.diagnostic);
                    eprint!("{}", crate::run::render(told, &bad.sources, inputs.errors));
                }
                Ok(_) => {}
            }
        }
        for (told, sources) in self.of_code() {
            eprint!("{}", crate::run::render(&told, sources, inputs.errors));
        }
        let mut shown: Vec<String> = Vec::new();
        let mut left = 0;
        for verdict in self.verdicts() {
            let (_, own) = told_apart(verdict);
            if own.is_empty() {
                continue;
            }
            if shown.len() == SHOWN {
                left += 1;
                continue;
            }
            // A rule of the code that fails for every document says the same each time.
            let text = crate::run::render(&own, &verdict.sources, inputs.errors);
            if !shown.contains(&text) {
                eprint!("{text}");
                shown.push(text);
            }
        }
        let (all, failed) = (self.verdicts().count(), self.verdicts().filter(|v| !v.is_ok()).count());
        if all > 1 && failed > 0 {
            let more = if left > 0 { format!("; the errors of {left} are not shown") } else { String::new() };
            eprintln!("{failed} of {all} documents do not hold{more}");
        }
    }

    fn filled(&self, inputs: &Inputs) -> String {
        let values: Vec<&kcl::Data> = self.verdicts().filter_map(|verdict| verdict.filled.as_ref()).collect();
        let mut out = match inputs.format {
            Some(Format::Json) => values.iter().map(|v| json_text(v)).collect::<Vec<_>>().join("\n"),
            _ => {
                let documents: Vec<String> = values.iter().map(|v| yaml_text(v)).collect();
                base_yaml::join_documents(&documents)
            }
        };
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out
    }
}

/// What is wrong with the code, and what is wrong with the document.
fn told_apart(verdict: &Verdict) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    verdict.diagnostics.iter().cloned().partition(|error| verdict.is_of_code(error))
}

fn json_text(data: &kcl::Data) -> String {
    let mut writer = JsonWriter::indented(4);
    data.write(&mut writer);
    writer.into_string()
}

/// Data in a document of ours.
fn json_of(data: &kcl::Data) -> Value {
    match data {
        kcl::Data::Null => Value::Null,
        kcl::Data::Bool(value) => json!(value),
        kcl::Data::Int(value) => json!(value),
        kcl::Data::Float(value) => json!(value),
        kcl::Data::Text(text) => json!(text.as_str()),
        kcl::Data::List(items) => items.iter().map(json_of).collect(),
        kcl::Data::Map(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.to_string(), json_of(value))).collect())
        }
    }
}

fn yaml_text(data: &kcl::Data) -> String {
    let mut writer = YamlWriter::new();
    data.write(&mut writer);
    writer.into_string()
}

/// The code itself is wrong: no document was looked at.
pub(super) fn print_wrong_code(mut wrong: WrongCode, inputs: &Inputs) -> ExitCode {
    wrong.sources.show_from(inputs.code.work_dir.display().to_string());
    if inputs.json {
        let errors: Vec<Value> = wrong.diagnostics.iter().map(|d| to_json(d, &wrong.sources)).collect();
        println!("{}", json!({ "ok": false, "files": [], "errors": errors }));
    } else {
        eprint!("{}", crate::run::render(&wrong.diagnostics, &wrong.sources, inputs.errors));
    }
    ExitCode::from(EXIT_WRONG)
}
