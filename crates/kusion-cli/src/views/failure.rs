//! A failure on the screen, or as a line of JSON.

use std::fmt::Write as _;

pub(crate) use kusion::{Exit, Failure};

use crate::views::style::Style;

/// One line of JSON, for who asked for JSON.
pub(crate) fn to_json(failure: &Failure) -> String {
    if failure.what.is_empty() {
        return String::new();
    }
    let value = serde_json::json!({
        "schema": "kusion.io/error/v1", "code": failure.exit.code(), "error": failure.what,
        "cause": failure.cause, "where": failure.place, "next": failure.next,
    });
    format!("{value}\n")
}

/// The text for stderr.
pub(crate) fn render(failure: &Failure, style: &Style) -> String {
    if failure.what.is_empty() {
        return String::new();
    }
    let mut out = format!("{} {}\n", style.red("error:"), failure.what);
    for (word, text) in [("cause", &failure.cause), ("where", &failure.place), ("next", &failure.next)] {
        if let Some(text) = text {
            let text = text.trim_end().replace('\n', "\n           ");
            let _ = writeln!(out, "    {:<5}  {text}", word);
        }
    }
    out
}
