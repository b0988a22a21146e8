//! Holds a verdict against the expectations of a case.

use super::{Case, Expect, ExpectedError};
use crate::{Fault, Verdict};

/// Checks a verdict.
///
/// # Errors
/// A text for people: what was expected, what came.
pub fn check(case: &Case, verdict: &Verdict) -> Result<(), String> {
    for expect in &case.expect {
        let fits = match (expect, verdict) {
            (Expect::Yaml(text), Verdict::Output(out)) => same_text(text, &out.yaml),
            (Expect::Json(text), Verdict::Output(out)) => same_text(text, &out.json),
            (Expect::Log(text), Verdict::Output(out)) => same_text(text, &out.log),
            (Expect::Error(error), Verdict::Fault(fault)) => same_error(error, fault),
            _ => false,
        };
        if !fits {
            return Err(report(case, expect, verdict));
        }
    }
    Ok(())
}

/// Final newlines are not compared: a Markdown fence cannot show them. The oracle runner compares every byte.
fn same_text(expected: &str, got: &str) -> bool {
    expected.trim_end_matches('\n') == got.trim_end_matches('\n')
}

fn same_error(expected: &ExpectedError, got: &Fault) -> bool {
    expected.code == got.code
        && (expected.line == 0 || expected.line == got.line)
        && expected.file.as_ref().is_none_or(|file| *file == got.file)
        && expected.column.is_none_or(|column| got.column == Some(column))
        && expected.message.as_ref().is_none_or(|message| message.trim() == got.headline().trim())
}

fn report(case: &Case, expect: &Expect, verdict: &Verdict) -> String {
    let mut text = String::new();
    for file in &case.program.files {
        text.push_str(&format!("--- {}\n{}", file.path, file.text));
    }
    let (kind, wanted) = match expect {
        Expect::Yaml(body) => ("yaml", body.clone()),
        Expect::Json(body) => ("json", body.clone()),
        Expect::Log(body) => ("log", body.clone()),
        Expect::Error(error) => ("error", super::rewrite::error_text(error)),
    };
    text.push_str(&format!("--- expected {kind}\n{}\n--- got\n", wanted.trim_end()));
    match (expect, verdict) {
        (Expect::Json(_), Verdict::Output(out)) => text.push_str(&out.json),
        _ => text.push_str(&verdict.to_string()),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn column_and_message_count_only_if_written() {
        let fault = Verdict::Fault(Fault {
            code: "E2G22".into(),
            line: 2,
            column: Some(5),
            message: "x\nmore".into(),
            ..Fault::default()
        });
        let judge = |line: &str| {
            check(&parse(&format!("# A\n```kcl\na\n```\n```error\n{line}\n```\n")).unwrap()[0], &fault)
        };
        assert!(judge("E2G22 2").is_ok());
        assert!(judge("E2G22 2:5 x").is_ok());
        assert!(judge("E2G22 2:6").is_err());
        assert!(judge("E2G22 2 y").is_err());
        assert!(judge("E1001 2").is_err());
    }
}
