//! Results as texts: the reference's report, JUnit XML, JSON.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

/// What became of a case, as it is reported.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The case.
    pub name: String,
    /// Its package, as people name it.
    pub package: String,
    /// The file it stands in, as people name it.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// How long it ran.
    pub duration: Duration,
    /// What `print` wrote.
    pub log: String,
    /// The text of its error, empty if it passed.
    pub error: String,
    /// Nothing was tried: the package does not compile, or cannot be read. Such rows are for reports that hold cases only.
    pub is_broken: bool,
}

impl Row {
    fn passed(&self) -> bool {
        self.error.is_empty()
    }
}

const RULE: &str = "--------------------------------------------------------------------------------";

/// Returns the report of the reference.
pub fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no test files\n".to_owned();
    }
    let mut out = String::new();
    for row in rows {
        let verdict = if row.passed() { "PASS" } else { "FAIL" };
        out.push_str(&format!("{}: {verdict} ({}ms)\n", row.name, row.duration.as_millis()));
        for part in [&row.log, &row.error] {
            out.push_str(part);
            if !part.is_empty() && !part.ends_with('\n') {
                out.push('\n');
            }
        }
        if !row.log.is_empty() || !row.passed() {
            out.push('\n');
        }
    }
    let passed = rows.iter().filter(|row| row.passed()).count();
    out.push_str(&format!("{RULE}\nPASS: {passed}/{}\n", rows.len()));
    if passed < rows.len() {
        out.push_str(&format!("FAIL: {}/{}\n", rows.len() - passed, rows.len()));
    }
    out
}

/// Returns what became of examples: those that fail, and how many pass. The reference has none; they stand below its report.
pub fn examples(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows.iter().filter(|row| !row.passed()) {
        out.push_str(&format!(
            "{} ({}:{}): FAIL\n{}\n\n",
            row.name,
            row.file,
            row.line,
            row.error.trim_end()
        ));
    }
    let passed = rows.iter().filter(|row| row.passed()).count();
    match rows.len() {
        0 => out,
        all => format!("{out}EXAMPLES: {passed}/{all}\n"),
    }
}

/// Returns the report as JSON.
pub fn json(rows: &[Row]) -> Value {
    let case = |row: &Row| {
        json!({
            "name": row.name, "package": row.package, "file": row.file, "line": row.line,
            "status": if row.passed() { "passed" } else { "failed" },
            "microseconds": row.duration.as_micros() as u64, "log": row.log, "error": plain(&row.error),
        })
    };
    let passed = rows.iter().filter(|row| row.passed()).count();
    json!({
        "passed": passed, "failed": rows.len() - passed,
        "cases": rows.iter().map(case).collect::<Vec<_>>(),
    })
}

/// Returns the report as JUnit XML, one suite per package, in the form that both published schemas accept: Ant's wants every
/// attribute of a suite, and the output of its cases at its end.
pub fn junit(rows: &[Row], started: DateTime<Utc>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let mut packages: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match packages.iter_mut().find(|(package, _)| *package == row.package) {
            Some((_, rows)) => rows.push(row),
            None => packages.push((&row.package, vec![row])),
        }
    }
    for (id, (package, rows)) in packages.into_iter().enumerate() {
        junit_suite(&mut out, id, package, &rows, started);
    }
    out.push_str("</testsuites>\n");
    out
}

fn junit_suite(out: &mut String, id: usize, package: &str, rows: &[&Row], started: DateTime<Utc>) {
    out.push_str(&format!(
        "  <testsuite id=\"{id}\" name=\"{package}\" package=\"{package}\" timestamp=\"{}\" hostname=\"localhost\" \
         tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\">\n    <properties>\n      <property name=\"tool\" \
         value=\"kcl test\"/>\n    </properties>\n",
        started.format("%Y-%m-%dT%H:%M:%S"),
        rows.len(),
        rows.iter().filter(|row| !row.passed() && !row.is_broken).count(),
        rows.iter().filter(|row| row.is_broken).count(),
        rows.iter().map(|row| row.duration).sum::<Duration>().as_secs_f64(),
        package = escaped(package),
    ));
    rows.iter().for_each(|row| out.push_str(&junit_case(row)));
    let said = rows.iter().filter(|row| !row.log.is_empty());
    let said: String = said.map(|row| format!("{}:\n{}\n", row.name, row.log.trim_end())).collect();
    out.push_str(&format!(
        "    <system-out>{}</system-out>\n    <system-err/>\n  </testsuite>\n",
        escaped(&said)
    ));
}

fn junit_case(row: &Row) -> String {
    let head = format!(
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3}\"",
        escaped(&row.name),
        escaped(&row.file),
        row.duration.as_secs_f64()
    );
    if row.passed() {
        return head + "/>\n";
    }
    let first = row.error.lines().next().unwrap_or_default();
    let kind = if row.is_broken { "error" } else { "failure" };
    format!(
        "{head}>\n      <{kind} message=\"{}\" type=\"{kind}\">{}</{kind}>\n    </testcase>\n",
        escaped(first),
        escaped(&row.error)
    )
}

/// A text for machines: without the colours that a terminal shows.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let after = &rest[at + 2..];
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        out.push_str(&rest[..at]);
        match after[end..].strip_prefix('m') {
            Some(next) => rest = next,
            None => {
                out.push_str(&rest[at..at + 2]);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// XML takes no control characters, not even escaped ones.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\0'..='\x1F' | '\x7F'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
