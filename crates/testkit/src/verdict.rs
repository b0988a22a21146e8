//! What came out of running a program, in the terms that are compared: output bytes, or code and line of the first error.

/// What came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The program evaluated.
    Output(Output),
    /// The program is wrong; the first error.
    Fault(Fault),
    /// The evaluator itself failed: panic, abort, no answer.
    Broken(String),
}

/// The result of a program that evaluated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Output {
    /// The YAML text, without the final newline the command line adds.
    pub yaml: String,
    /// The JSON text.
    pub json: String,
    /// What `print` wrote.
    pub log: String,
}

/// The first error of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fault {
    /// `E2G22` …; empty where there is none (argument errors).
    pub code: String,
    /// `TypeError` …
    pub kind: String,
    /// File as given in the program; empty if the error has no place.
    pub file: String,
    /// Line from 1; 0 if the error has no place.
    pub line: u32,
    /// Column from 1, if known.
    pub column: Option<u32>,
    /// The message.
    pub message: String,
}

impl Fault {
    /// Returns the first line of the message.
    pub fn headline(&self) -> &str {
        self.message.lines().next().unwrap_or("")
    }
}

/// How two verdicts about one program differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// Both evaluated, the bytes differ.
    Bytes,
    /// Both rejected, with another code.
    Code,
    /// Both rejected with the same code, at another file or line.
    Line,
    /// The first evaluated, the second rejected.
    OnlyFirstAccepts,
    /// The first rejected, the second evaluated.
    OnlySecondAccepts,
    /// The first broke.
    FirstBroke,
    /// The second broke.
    SecondBroke,
}

/// Compares two verdicts; `None` means they agree.
pub fn difference(first: &Verdict, second: &Verdict) -> Option<Difference> {
    match (first, second) {
        (Verdict::Broken(_), _) => Some(Difference::FirstBroke),
        (_, Verdict::Broken(_)) => Some(Difference::SecondBroke),
        (Verdict::Output(a), Verdict::Output(b)) => {
            let same = a.yaml == b.yaml && a.json == b.json && a.log == b.log;
            (!same).then_some(Difference::Bytes)
        }
        (Verdict::Output(_), Verdict::Fault(_)) => Some(Difference::OnlyFirstAccepts),
        (Verdict::Fault(_), Verdict::Output(_)) => Some(Difference::OnlySecondAccepts),
        (Verdict::Fault(a), Verdict::Fault(b)) => {
            if a.code != b.code {
                Some(Difference::Code)
            } else if a.line != 0 && b.line != 0 && (a.line != b.line || a.file != b.file) {
                // A line of 0 is an error without a place, e.g. an import cycle.
                Some(Difference::Line)
            } else {
                None
            }
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Output(out) => {
                if !out.log.is_empty() {
                    writeln!(f, "log: {}", out.log.trim_end())?;
                }
                write!(f, "{}", out.yaml)
            }
            Verdict::Fault(fault) => {
                write!(f, "{} {} {}:{}", fault.code, fault.kind, fault.file, fault.line)?;
                if let Some(column) = fault.column {
                    write!(f, ":{column}")?;
                }
                write!(f, " {}", fault.message)
            }
            Verdict::Broken(why) => write!(f, "BROKEN {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_line_decide_and_words_do_not() {
        let fault = |code: &str, line, message: &str| {
            Verdict::Fault(Fault { code: code.into(), line, message: message.into(), ..Fault::default() })
        };
        assert_eq!(difference(&fault("E1001", 1, "a"), &fault("E1001", 1, "b")), None);
        assert_eq!(difference(&fault("E1001", 1, ""), &fault("E1001", 2, "")), Some(Difference::Line));
        assert_eq!(difference(&fault("E1001", 1, ""), &fault("E2G22", 1, "")), Some(Difference::Code));
    }
}
