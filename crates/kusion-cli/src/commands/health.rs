//! `kusion health -f FILE|- [-o json]`: judges objects offline.
//!
//! All objects of all files are one snapshot, so pods and events in them are evidence for the roots. Rows come in input
//! order. Being unhealthy is an answer, not an error: the exit code is 0 unless `--exit-code` asks for more.

use kusion_generate::read_documents;
use kusion_health::{Rules, judge_input};
use serde_json::Value;

use crate::input::flags::{Arg, Given, flag};
use crate::input::text::read_text;
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::style::Style;
use crate::views::tree::mark;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag(
            "filename",
            Some('f'),
            "FILE",
            "YAML or JSON objects; `-` reads standard input; may be repeated",
        ),
        flag("rules", None, "FILE", "health rules for custom kinds: lines, or JSON with CEL expressions"),
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("exit-code", None, "", "leave with 6 unless everything is healthy or suspended"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let mut files = given.all("filename");
    files.extend(given.rest.iter().map(String::as_str));
    if files.is_empty() {
        return Err(
            Failure::usage("nothing to judge").next("kusion health -f FILE, or `-f -` for standard input")
        );
    }
    let mut objects = Vec::new();
    for file in files {
        let text = read_text(file)?;
        let documents = read_documents(&text).map_err(|error| {
            let place = if error.line == 0 { file.to_owned() } else { format!("{file}:{}", error.line) };
            Failure::usage(format!("{file} is neither YAML nor JSON")).cause(error.message).place(place).next(
                "several objects are `---` documents, a JSON array, or a List; correct the file at that line",
            )
        })?;
        objects.extend(documents);
    }
    let mut rules = None;
    for file in given.all("rules") {
        let read = Rules::parse(&read_text(file)?).map_err(|problem| {
            Failure::usage("the health rules cannot be used").cause(problem).place(file)
        })?;
        rules.get_or_insert_with(Rules::default).extend(read);
    }
    let rows = judge_input(objects, rules.as_ref());
    let good = rows.iter().all(|row| matches!(row["verdict"].as_str(), Some("healthy" | "suspended")));
    match format {
        Format::Json => print_json(&Value::Array(rows))?,
        Format::Text => print(&table(&rows, &Style::stdout()))?,
    }
    if given.has("exit-code") && !good { Err(Failure::told(Exit::Unhealthy)) } else { Ok(()) }
}

fn table(rows: &[Value], style: &Style) -> String {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let width = rows.iter().map(|row| text(row, "id").chars().count()).max().unwrap_or(0).min(72);
    let mut out = String::new();
    for row in rows {
        let verdict = text(row, "verdict");
        let (glyph, painted) = mark(&verdict, style);
        let reason = text(row, "reason");
        out.push_str(&format!("{glyph} {:<width$}  {painted}  {reason}", text(row, "id")));
        let message = text(row, "message");
        if !message.is_empty() {
            out.push_str(&format!("  {message}"));
        }
        out.push('\n');
        for (word, key) in [("cause", "cause"), ("next", "next")] {
            if let Some(sentence) = row[key].as_str() {
                out.push_str(&format!("    {word:<5}  {sentence}\n"));
            }
        }
    }
    out
}
