//! Pages for a terminal: by name, by title, by words.

use crate::{Page, book};

/// A page that fits, and the first line that says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub page: &'static Page,
    /// A line of the page; empty where its name or title fits.
    pub line: String,
    /// Its number; 0 where there is none.
    pub number: usize,
}

/// Pages for words, the best first. One whose name or path is asked for stands alone.
#[must_use]
pub fn find(words: &str) -> Vec<Hit> {
    let words = words.to_lowercase();
    let wanted: Vec<&str> = words.split_whitespace().collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let whole = |page: &'static Page| Hit { page, line: String::new(), number: 0 };
    let named = |page: &&Page| {
        page.name() == words || page.path == words || page.path.trim_end_matches(".md") == words
    };
    let named: Vec<Hit> = book().iter().filter(named).map(whole).collect();
    if !named.is_empty() {
        return named;
    }
    let has = |text: &str| wanted.iter().all(|word| text.to_lowercase().contains(word));
    let (titled, rest): (Vec<&'static Page>, Vec<_>) = book().iter().partition(|page| has(&page.title));
    let in_line = |page: &'static Page| {
        let (number, line) = page.text.lines().enumerate().find(|(_, line)| has(line))?;
        Some(Hit { page, line: line.trim().to_owned(), number: number + 1 })
    };
    titled.into_iter().map(whole).chain(rest.into_iter().filter_map(in_line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_name_title_and_words() {
        let paths = |words: &str| find(words).iter().map(|hit| hit.page.path).collect::<Vec<_>>();
        assert_eq!(paths("rollback"), ["howto/rollback.md"]);
        assert_eq!(paths("howto/rollback"), ["howto/rollback.md"]);
        assert_eq!(paths("things go wrong")[0], "howto/trouble.md");
        let hit = &find("did you mean")[0];
        assert!(hit.number > 0 && hit.line.contains("did you mean"), "{hit:?}");
        assert!(find("  ").is_empty() && find("zzzz-nothing").is_empty());
    }
}
