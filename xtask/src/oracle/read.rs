//! Reads the first error out of the oracle's text.
//!
//! The wheel writes `error[CODE]: Kind` (compile time) or `EvaluationError` (run time), then a place: `---> File f:L:C: message`
//! for files in memory, ` --> /abs/f:L:C` with a snippet for files on disk. Internal panics have their own look.

use testkit::{Fault, Verdict};

/// Turns an error text into a verdict; `folder` is cut off the file names.
pub(crate) fn fault(text: &str, folder: &str) -> Verdict {
    let text = plain(text);
    let mut fault = Fault::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("Could not compiles due to cyclic import") {
            break; // the one error without a place
        }
        if let Some(rest) = line.strip_prefix("error[") {
            if fault.code.is_empty()
                && let Some((code, kind)) = rest.split_once("]: ")
            {
                fault.code = code.to_string();
                fault.kind = kind.trim().to_string();
            }
        } else if line.trim() == "EvaluationError" && fault.code.is_empty() {
            fault.code = "E3M38".into();
            fault.kind = "EvaluationError".into();
        } else if let Some(rest) = line.strip_prefix("---> File ") {
            in_memory(&mut fault, rest, &mut lines);
            break;
        } else if let Some(rest) = line.trim_start().strip_prefix("--> ") {
            place(&mut fault, rest.trim());
            fault.message = snippet(&mut lines);
            if fault.message.is_empty() && line.starts_with("--> ") {
                fault.line = 0; // a place behind the last line is shown as 1:1 without a snippet: unknown
                return Verdict::Fault(within(fault, folder));
            }
            break;
        }
    }
    if fault.line == 0 {
        if fault.code.is_empty() {
            fault.code = "E3M38".into();
            fault.kind = "EvaluationError".into();
        }
        let text = text.trim();
        fault.message = text.strip_prefix("EvaluationError\n").unwrap_or(text).to_string();
    }
    Verdict::Fault(within(fault, folder))
}

/// Cuts the folder off the file name.
fn within(mut fault: Fault, folder: &str) -> Fault {
    if let Some(rest) = fault.file.strip_prefix(folder) {
        fault.file = rest.trim_start_matches('/').to_string();
    }
    fault
}

/// Whether a message is the text of a panic that the wheel caught: an error happened here, its words mean nothing.
pub(crate) fn is_panic(message: &str) -> bool {
    const MARKS: &[&str] = &[
        "RefCell already",
        "capacity overflow",
        "called `Result::unwrap()`",
        "called `Option::unwrap()`",
        "panicked at",
    ];
    MARKS.iter().any(|mark| message.contains(mark))
}

/// Removes colours.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = rest[at..].find('m').map_or("", |end| &rest[at + end + 1..]);
    }
    out.push_str(rest);
    out
}

/// `main.k:3:8: message`, where the column may be missing and the message may go on over lines.
fn in_memory<'a>(fault: &mut Fault, rest: &str, lines: &mut impl Iterator<Item = &'a str>) {
    let mut parts = rest.splitn(3, ':');
    fault.file = parts.next().unwrap_or("").to_string();
    fault.line = parts.next().and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    let tail = parts.next().unwrap_or("");
    let mut message = tail;
    if let Some((column, words)) = tail.split_once(':')
        && let Ok(column) = column.parse()
    {
        fault.column = Some(column);
        message = words;
    } else if fault.code != "E3M38" {
        fault.column = Some(1); // the first column is left out; errors of a run have none
    }
    let mut message = message.trim_start().to_string();
    for line in lines.take_while(|line| !line.is_empty()) {
        message.push('\n');
        message.push_str(line);
    }
    fault.message = message;
}

/// `/abs/main.k:3:8`.
fn place(fault: &mut Fault, text: &str) {
    let mut parts = text.rsplitn(3, ':');
    fault.column = parts.next().and_then(|n| n.parse().ok());
    fault.line = parts.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    fault.file = parts.next().unwrap_or("").to_string();
}

/// The label below the source line: `  |     ^ message`, going on at column 0.
fn snippet<'a>(lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut message = String::new();
    let mut seen_source = false;
    for line in lines {
        let Some((gutter, rest)) = line.split_once('|') else {
            if message.is_empty() {
                break;
            }
            message.push('\n');
            message.push_str(line);
            continue;
        };
        let numbered = gutter.trim().parse::<u32>().is_ok();
        if numbered && !seen_source {
            seen_source = true;
        } else if gutter.trim().is_empty() && seen_source {
            if !message.is_empty() {
                break;
            }
            message = rest.trim_start().trim_start_matches('^').trim_start().to_string();
            if message.is_empty() {
                break;
            }
        } else if !message.is_empty() {
            message.push('\n');
            message.push_str(line);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Fault {
        match fault(text, "/w") {
            Verdict::Fault(fault) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_looks_of_a_place_are_read() {
        let memory = read("\nerror[E2L23]: CompileError\n---> File main.k:1:5: name 'b' is not defined\n\n");
        assert_eq!((memory.code.as_str(), memory.line, memory.column), ("E2L23", 1, Some(5)));
        assert_eq!(memory.message, "name 'b' is not defined");
        let disk = read(
            "EvaluationError\n \u{1b}[1m-->\u{1b}[0m /w/sub/s.k:3:1\n  |\n3 | b = y[3]\n  |  list index\nmore\n  |\n\n",
        );
        assert_eq!((disk.code.as_str(), disk.file.as_str(), disk.line), ("E3M38", "sub/s.k", 3));
        assert_eq!(disk.message, "list index\nmore");
        let run_time = read("EvaluationError\n---> File main.k:2: list: index\n\n");
        assert_eq!((run_time.line, run_time.column, run_time.message.as_str()), (2, None, "list: index"));
    }
}
