//! "did you mean": candidates that look like a mistyped name.

use kcl_syntax::ast::Str;

/// A candidate must be more similar than this (Jaro-Winkler, 1 is equal).
const THRESHOLD: f64 = 0.8;

/// Returns the similar names, least similar first.
pub(crate) fn similar<'a>(name: &str, candidates: impl Iterator<Item = &'a Str>) -> Vec<Str> {
    let mut found: Vec<(f64, &Str)> = candidates
        .filter(|c| *c != name)
        .map(|c| (strsim::jaro_winkler(name, c), c))
        .filter(|(score, _)| *score > THRESHOLD)
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.dedup_by(|a, b| a.1 == b.1);
    found.into_iter().map(|(_, c)| c.clone()).collect()
}

/// Returns `, did you mean '["a", "b"]'?` of similar names, or nothing.
pub(crate) fn hint(found: &[Str]) -> String {
    if found.is_empty() { String::new() } else { format!(", did you mean '{found:?}'?") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_least_similar_first_and_never_the_name_itself() {
        let names: Vec<Str> = ["name", "names", "other", "nam"].map(Str::from).into();
        let found = |name| hint(&similar(name, names.iter()));
        assert_eq!(found("nam"), ", did you mean '[\"names\", \"name\"]'?");
        assert_eq!(found("zz"), "");
    }
}
