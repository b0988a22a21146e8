//! Writes new expectations into a spec file: `UPDATE=1`, and `cargo xtask oracle --spec --update`.

use super::{Case, Expect, ExpectedError, parse};
use crate::{Runner, Verdict};

/// Returns the text with the expectations that no longer hold replaced by what the runner gives.
///
/// # Errors
/// As [`parse`].
pub fn rewrite(text: &str, runner: &mut dyn Runner) -> Result<String, String> {
    let cases = parse(text)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    let mut copied = 0;
    for case in &cases {
        let verdict = runner.run(&case.program);
        if super::check(case, &verdict).is_ok() {
            continue;
        }
        let Some(block) = expectation(case, &verdict) else { continue };
        push_lines(&mut out, &lines[copied..case.expect_lines.0]);
        out.push_str(&block);
        copied = case.expect_lines.1;
    }
    push_lines(&mut out, &lines[copied..]);
    Ok(out)
}

fn push_lines(out: &mut String, lines: &[&str]) {
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
}

fn expectation(case: &Case, verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Broken(_) => None,
        Verdict::Fault(fault) => {
            let main = case.program.entries().next().is_some_and(|file| file.path == fault.file);
            let error = ExpectedError {
                code: fault.code.clone(),
                file: (!main && !fault.file.is_empty()).then(|| fault.file.clone()),
                line: fault.line,
                column: fault.column,
                message: Some(fault.headline().to_string()).filter(|m| !m.is_empty()),
            };
            Some(format!("```error\n{}\n```\n", error_text(&error)))
        }
        Verdict::Output(out) => {
            let mut block = String::new();
            let has = |test: fn(&Expect) -> bool| case.expect.iter().any(test);
            if has(|e| matches!(e, Expect::Json(_))) {
                block.push_str(&fence("json", &out.json));
            }
            if block.is_empty() || has(|e| matches!(e, Expect::Yaml(_))) {
                block = fence("yaml", &out.yaml) + &block;
            }
            if !out.log.is_empty() {
                block = fence("log", &out.log) + &block;
            }
            Some(block)
        }
    }
}

fn fence(kind: &str, body: &str) -> String {
    let body = body.trim_end_matches('\n');
    let gap = if body.is_empty() { "" } else { "\n" };
    format!("```{kind}\n{body}{gap}```\n")
}

pub(super) fn error_text(error: &ExpectedError) -> String {
    let mut text = format!("{} ", error.code);
    if let Some(file) = &error.file {
        text.push_str(&format!("{file}:"));
    }
    if error.line == 0 {
        text.push('-');
    } else {
        text.push_str(&error.line.to_string());
    }
    if let Some(column) = error.column {
        text.push_str(&format!(":{column}"));
    }
    if let Some(message) = &error.message {
        text.push_str(&format!(" {message}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Output, Program};

    #[test]
    fn only_what_no_longer_holds_is_rewritten() {
        let text = "# A\n```kcl\na\n```\n```yaml\nold\n```\nend\n\n## B\n```kcl\nb\n```\n```yaml\nnew\n```\n";
        let mut runner = |_: &Program| Verdict::Output(Output { yaml: "new".into(), ..Output::default() });
        let once = rewrite(text, &mut runner).unwrap();
        assert_eq!(once, text.replace("old", "new"));
    }
}
