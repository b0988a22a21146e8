//! "Did you mean": the known name that a wrong one is nearest to.

use strsim::osa_distance;

/// Longer words are nobody's slip, and would cost time.
const LONGEST: usize = 64;

/// Returns the nearest of some names, if one is near at all; a swap of neighbours counts as one slip.
pub fn nearest<'a>(names: impl Iterator<Item = &'a str>, wrong: &str) -> Option<&'a str> {
    let wrong: String = wrong.chars().take(LONGEST).collect();
    let limit = if wrong.chars().count() <= 4 { 1 } else { 2 };
    let near = names.map(|name| (osa_distance(name, &wrong), name)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, _)| *distance <= limit).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_knows_swaps_and_does_not_guess_wildly() {
        assert_eq!(nearest(["apply", "destroy"].into_iter(), "aply"), Some("apply"));
        assert_eq!(nearest(["apply", "destroy"].into_iter(), "detsroy"), Some("destroy"));
        assert_eq!(nearest(["apply", "destroy"].into_iter(), "xyz"), None);
    }
}
