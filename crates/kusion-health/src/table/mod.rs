//! Verdicts of custom kinds as data: `rows.txt`, one line per group of kinds.
//!
//! Problem: two hundred kinds differ only in which condition or field means what. In: an object. Out: the verdict of the first
//! rule that matches, progressing if none does, `None` for kinds without a line. Invariant: rows are data; what needs code is
//! in `code.rs` and said so in the row.

mod code;
pub(crate) mod eval;
pub(crate) mod parse;

use crate::context::Context;
use crate::verdict::Verdict;
use crate::view::View;
use parse::Line;
use std::sync::LazyLock;

const ROWS: &str = include_str!("rows.txt");

/// A row that cannot be read is a bug of ours, found by the tests; at run time it is left out.
static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| rows().filter_map(Result::ok).collect());

fn rows() -> impl Iterator<Item = Result<Line, String>> {
    let text = ROWS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    text.map(parse::line)
}

/// The verdict of the table, `None` when no line names the kind.
pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    let line = LINES.iter().find(|line| line.names(object.group(), object.kind()))?;
    if let Some(verdict) = code::judge(object) {
        return Some(verdict);
    }
    Some(eval::judge(line, object, context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read() {
        let bad: Vec<String> = rows().filter_map(Result::err).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        assert!(rows().count() > 120);
    }

    #[test]
    fn no_row_is_hidden_by_an_earlier_one() {
        let lines: Vec<Line> = rows().map(|row| row.expect("readable")).collect();
        for (at, line) in lines.iter().enumerate() {
            for (group, kind) in
                line.kinds.iter().filter(|(group, kind)| !group.contains('*') && !kind.contains('*'))
            {
                let first = lines.iter().position(|other| other.names(group, kind));
                assert_eq!(first, Some(at), "{group}/{kind}");
            }
        }
    }
}
