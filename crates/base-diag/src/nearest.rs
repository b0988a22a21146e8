//! "Did you mean": the known name that a wrong one is nearest to.

/// Returns the nearest of some names, if one is near at all.
pub fn nearest<'a>(names: impl Iterator<Item = &'a str>, wrong: &str) -> Option<&'a str> {
    let limit = if wrong.chars().count() <= 4 { 1 } else { 2 };
    let near = names.map(|name| (distance(name, wrong), name)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, _)| *distance <= limit).map(|(_, name)| name)
}

/// Edits between two words; a swap of neighbours counts once.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
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
