//! Results as texts: the reference's report, JUnit XML, JSON.

use std::time::Duration;

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

/// Returns the report as JSON.
pub fn json(rows: &[Row]) -> Value {
    let case = |row: &Row| {
        json!({
            "name": row.name, "package": row.package, "file": row.file, "line": row.line,
            "status": if row.passed() { "passed" } else { "failed" },
            "microseconds": row.duration.as_micros() as u64, "log": row.log, "error": row.error,
        })
    };
    let passed = rows.iter().filter(|row| row.passed()).count();
    json!({
        "passed": passed, "failed": rows.len() - passed,
        "cases": rows.iter().map(case).collect::<Vec<_>>(),
    })
}

/// Returns the report as JUnit XML: one suite per package, in the form that Jenkins and surefire agree on.
pub fn junit(rows: &[Row]) -> String {
    let seconds =
        |rows: &[&Row]| format!("{:.6}", rows.iter().map(|row| row.duration).sum::<Duration>().as_secs_f64());
    let failures = |rows: &[&Row]| rows.iter().filter(|row| !row.passed()).count();
    let all: Vec<&Row> = rows.iter().collect();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{}\">\n",
        all.len(),
        failures(&all),
        seconds(&all)
    );
    let mut packages: Vec<&str> = rows.iter().map(|row| row.package.as_str()).collect();
    packages.dedup();
    for package in packages {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.package == package).collect();
        out.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" time=\"{}\">\n",
            escaped(package),
            rows.len(),
            failures(&rows),
            seconds(&rows)
        ));
        rows.iter().for_each(|row| out.push_str(&junit_case(row)));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn junit_case(row: &Row) -> String {
    let mut out = format!(
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.6}\"",
        escaped(&row.name),
        escaped(&row.file),
        row.duration.as_secs_f64()
    );
    if row.passed() && row.log.is_empty() {
        return out + "/>\n";
    }
    out.push_str(">\n");
    if !row.passed() {
        let first = row.error.lines().next().unwrap_or_default();
        out.push_str(&format!(
            "      <failure message=\"{}\" type=\"failure\">{}</failure>\n",
            escaped(first),
            escaped(&row.error)
        ));
    }
    if !row.log.is_empty() {
        out.push_str(&format!("      <system-out>{}</system-out>\n", escaped(&row.log)));
    }
    out + "    </testcase>\n"
}

/// XML takes no control characters, not even escaped ones.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
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
