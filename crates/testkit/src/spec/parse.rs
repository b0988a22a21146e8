//! From Markdown to cases.

use crate::{Flags, Program, SourceText};

/// One program with what it must give.
#[derive(Clone, Debug)]
pub struct Case {
    /// The headings above it, joined by ` > `; a number is added to the second and later case of a section.
    pub name: String,
    /// Line (from 1) of the first fence.
    pub line: usize,
    /// The program.
    pub program: Program,
    /// What it must give; empty for a program that is only an illustration of its successor.
    pub expect: Vec<Expect>,
    /// Lines (from 0, half open) of the run of expectation fences, for rewriting.
    pub expect_lines: (usize, usize),
}

/// One expectation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expect {
    /// The YAML output.
    Yaml(String),
    /// The JSON output.
    Json(String),
    /// What `print` writes.
    Log(String),
    /// The first error.
    Error(ExpectedError),
}

/// First line of an `error` fence: `CODE [FILE:]LINE[:COL] [message]`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExpectedError {
    /// Upstream's code.
    pub code: String,
    /// File, if written.
    pub file: Option<String>,
    /// Line from 1; 0 (written `-`): an error without a place, the line is not compared.
    pub line: u32,
    /// Column, if written.
    pub column: Option<u32>,
    /// Message, if written.
    pub message: Option<String>,
}

/// Reads all cases of a Markdown text.
///
/// # Errors
/// The first thing that does not follow the format, with its line.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut reader = Reader::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if let Some(info) = line.strip_prefix("```") {
            let end = lines[at + 1..]
                .iter()
                .position(|l| l.trim_end() == "```")
                .map(|n| at + 1 + n)
                .ok_or_else(|| format!("line {}: fence without an end", at + 1))?;
            let mut body = lines[at + 1..end].join("\n");
            if end > at + 1 {
                body.push('\n');
            }
            reader.fence(info.trim(), body, at, end + 1).map_err(|e| format!("line {}: {e}", at + 1))?;
            at = end + 1;
            continue;
        }
        let level = line.bytes().take_while(|b| *b == b'#').count();
        if level > 0 && line.as_bytes().get(level) == Some(&b' ') {
            reader.heading(level, line[level..].trim())?;
        }
        at += 1;
    }
    reader.finish_case();
    if let Some(case) = reader.cases.iter().find(|case| case.expect.is_empty()) {
        return Err(format!("line {}: a program without an expectation", case.line));
    }
    Ok(reader.cases)
}

#[derive(Default)]
struct Reader {
    headings: Vec<String>,
    in_section: usize,
    cases: Vec<Case>,
    open: Option<Case>,
}

impl Reader {
    fn heading(&mut self, level: usize, title: &str) -> Result<(), String> {
        self.finish_case();
        self.headings.truncate(level - 1);
        self.headings.push(title.to_string());
        self.in_section = 0;
        Ok(())
    }

    fn fence(&mut self, info: &str, body: String, start: usize, end: usize) -> Result<(), String> {
        let mut words = info.split_whitespace();
        let kind = words.next().unwrap_or("");
        let attributes: Vec<&str> = words.collect();
        let path = attributes.iter().find_map(|word| word.strip_prefix("path="));
        if kind == "kcl" || path.is_some() {
            let import = attributes.contains(&"import");
            self.file(kind, path, import, body, start);
            return Ok(());
        }
        let expect = match kind {
            "args" => {
                let flags = Flags::parse(body.split_whitespace())?;
                self.open_case(start).program.flags = flags;
                return Ok(());
            }
            "yaml" => Expect::Yaml(body),
            "json" => Expect::Json(body),
            "log" => Expect::Log(body),
            "error" => Expect::Error(error_line(&body)?),
            _ => return Ok(()), // text, console, …: illustration
        };
        let case = self.open.as_mut().ok_or("an expectation without a program")?;
        if case.expect.is_empty() {
            case.expect_lines.0 = start;
        }
        case.expect.push(expect);
        case.expect_lines.1 = end;
        Ok(())
    }

    fn file(&mut self, kind: &str, path: Option<&str>, import: bool, text: String, start: usize) {
        let path = path.unwrap_or("main.k").to_string();
        let entry = kind == "kcl" && !import && !path.contains('/') && path.ends_with(".k");
        self.open_case(start).program.files.push(SourceText { path, text, entry });
    }

    /// Returns the case that is being read; an expectation closed the one before.
    fn open_case(&mut self, start: usize) -> &mut Case {
        if self.open.as_ref().is_some_and(|case| !case.expect.is_empty()) {
            self.finish_case();
        }
        if self.open.is_none() {
            self.in_section += 1;
            let mut name = self.headings.join(" > ");
            if self.in_section > 1 {
                name.push_str(&format!(" ({})", self.in_section));
            }
            self.open = Some(Case {
                name,
                line: start + 1,
                program: Program::default(),
                expect: Vec::new(),
                expect_lines: (0, 0),
            });
        }
        self.open.as_mut().expect("made above")
    }

    fn finish_case(&mut self) {
        self.cases.extend(self.open.take());
    }
}

fn error_line(body: &str) -> Result<ExpectedError, String> {
    let line = body.lines().next().unwrap_or("");
    let mut parts = line.splitn(3, ' ');
    let code = parts.next().unwrap_or("").to_string();
    let place = parts.next().ok_or("an error is `CODE [FILE:]LINE[:COL] [message]`")?;
    let message = parts.next().filter(|m| !m.is_empty()).map(str::to_string);
    let mut error = ExpectedError { code, message, ..ExpectedError::default() };
    if place == "-" {
        return Ok(error);
    }
    let mut numbers = place;
    if let Some((file, rest)) = place.split_once(':')
        && file.parse::<u32>().is_err()
    {
        error.file = Some(file.to_string());
        numbers = rest;
    }
    let (line, column) = match numbers.split_once(':') {
        Some((line, column)) => (line, Some(column)),
        None => (numbers, None),
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a line or column"));
    error.line = number(line)?;
    error.column = column.map(number).transpose()?;
    Ok(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Merge\n\n## Twice\n\n```kcl\na = 1\n```\n```yaml\na: 1\n```\n\n```kcl path=sub/x.k\nb = 1\n```\n\
        ```kcl\nimport sub\n```\n```error\nE2G22 sub/x.k:3:4 bad thing\nmore\n```\n";

    #[test]
    fn headings_name_cases_and_files_gather_until_the_expectation() {
        let cases = parse(TEXT).unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].name, "Merge > Twice");
        assert_eq!(cases[0].expect, [Expect::Yaml("a: 1\n".into())]);
        assert_eq!(cases[1].name, "Merge > Twice (2)");
        let entries: Vec<_> = cases[1].program.entries().map(|f| f.path.as_str()).collect();
        assert_eq!(entries, ["main.k"]);
        let Expect::Error(error) = &cases[1].expect[0] else { panic!("an error is expected") };
        assert_eq!((error.line, error.column, error.file.as_deref()), (3, Some(4), Some("sub/x.k")));
        assert_eq!(error.message.as_deref(), Some("bad thing"));
    }

    #[test]
    fn a_program_without_expectation_is_refused() {
        assert!(parse("# A\n```kcl\na = 1\n```\n").unwrap_err().contains("without an expectation"));
        assert!(parse("# A\n```yaml\na: 1\n```\n").unwrap_err().contains("without a program"));
        assert!(parse("```kcl\n").unwrap_err().contains("without an end"));
    }
}
