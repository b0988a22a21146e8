//! The proof of a change of names: the program compiles as before, and every name means what it meant.

use base_diag::Span;
use kcl_check::index::Meaning;

use super::{At, Obstacle, Renamed, Why, path_of};
use crate::index::Index;

/// What a name means, without numbers that change from one check to the next.
#[derive(PartialEq, Eq, Debug)]
enum Sense {
    Here(At),
    Other(String),
    Nothing,
}

/// Compares a program with what it becomes.
pub(super) fn same_meanings(before: &Index, after: &Index, edits: &[Renamed]) -> Result<(), Obstacle> {
    if let Some(error) = after.diagnostics.first().filter(|_| before.diagnostics.is_empty()) {
        let why = Why::Breaks(error.message().to_owned());
        return Err(match error.place() {
            base_diag::Place::Span(file, span) => Obstacle::at(why, &path_of(after, file), span),
            _ => Obstacle { why, at: None },
        });
    }
    let (old, new) = (senses(before, &|at| moved(at, edits)), senses(after, &|at| at));
    let other = old.iter().zip(&new).find(|(old, new)| old != new).map(|(_, new)| new);
    let longer = || old.get(new.len()).or_else(|| new.get(old.len()));
    match other.or_else(longer) {
        None => Ok(()),
        Some((at, name, _)) => {
            Err(Obstacle::at(Why::Captured(name.clone()), &at.0, Span::new(at.1, at.1 + name.len() as u32)))
        }
    }
}

/// Every name of a program with what it means, by place. Names that the change touches are not compared as texts.
fn senses(index: &Index, moved: &dyn Fn(At) -> At) -> Vec<(At, String, Sense)> {
    let mut out = Vec::new();
    for (package, names) in index.program.packages.iter().zip(&index.packages) {
        let place = |start: u32| {
            let (file, start) = package.locate(start);
            moved((path_of(index, file), start))
        };
        for name in names.occurrences() {
            let sense = match &name.meaning {
                Meaning::Builtin(name) | Meaning::System(name) | Meaning::Method(name) => {
                    Sense::Other(name.to_string())
                }
                declared => match index.defined(declared).and_then(|definition| definition.place) {
                    Some((file, span)) => Sense::Here(moved((path_of(index, file), span.start))),
                    None => Sense::Nothing,
                },
            };
            out.push((place(name.span.start), String::new(), sense));
        }
        for (name, span) in names.unbound() {
            out.push((place(span.start), name.to_string(), Sense::Nothing));
        }
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

/// Where a place is after the edits.
fn moved(at: At, edits: &[Renamed]) -> At {
    let from = edits.partition_point(|edit| edit.path < at.0);
    let before = edits[from..].iter().take_while(|edit| edit.path == at.0 && edit.span.start < at.1);
    let grown: i64 =
        before.map(|edit| edit.text.len() as i64 - i64::from(edit.span.end - edit.span.start)).sum();
    let start = i64::from(at.1) + grown;
    (at.0, u32::try_from(start).unwrap_or_default())
}
