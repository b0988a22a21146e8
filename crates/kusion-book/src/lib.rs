//! The book of docs/book, inside the program.
//!
//! In: the pages that `SUMMARY.md` lists, embedded when the library is built. Out: [`book`], its pages in order;
//! [`site`], a searchable site that needs no network; [`find`], pages for a terminal.
//! Invariant: every page of the site is reachable from its menu, and every link in it leads somewhere (tests check both).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod links;
mod search;
mod site;
mod summary;

use std::sync::LazyLock;

pub use search::{Hit, find};
pub use site::site;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its path in the book: `howto/rollback.md`.
    pub path: &'static str,
    /// Where its text is in the repository; pages of features are beside other documents.
    pub source: &'static str,
    /// The part of the book; empty for the first page.
    pub part: String,
    pub title: String,
    /// Markdown.
    pub text: &'static str,
}

impl Page {
    /// The name without folder and ending, by which a person asks for it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let file = self.path.rsplit('/').next().unwrap_or(self.path);
        file.strip_suffix(".md").unwrap_or(file)
    }

    /// The text as a terminal shows it: without the remarks that only the tests of the book read.
    #[must_use]
    pub fn plain(&self) -> String {
        let lines = self.text.lines().filter(|line| !line.trim_start().starts_with("<!--"));
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// The pages, in the order of the book.
#[must_use]
pub fn book() -> &'static [Page] {
    static BOOK: LazyLock<Vec<Page>> = LazyLock::new(summary::pages);
    &BOOK
}

/// A file that is part of the book.
fn file(path: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    FILES.iter().find(|(known, _, _)| *known == path)
}
