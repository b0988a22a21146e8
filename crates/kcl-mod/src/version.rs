//! How versions compare: a leading `v` is fine, missing numbers are zeros, more than three are allowed, a pre-release comes before its
//! release, build data does not count.

use std::cmp::Ordering;

/// Compares two versions; texts that are no versions come before all versions, in the order of their letters.
pub fn compare(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Returns whether a text is a version: a branch or a commit is none.
pub(crate) fn is_version(text: &str) -> bool {
    parse(text).is_some()
}

/// Returns the greatest version of a list of tags; tags that are no versions are passed over, pre-releases count only where there is
/// no release.
pub fn greatest<'t>(tags: impl Iterator<Item = &'t str> + Clone) -> Option<&'t str> {
    let parsed = tags.filter_map(|tag| Some((parse(tag)?, tag)));
    let releases = parsed.clone().filter(|(version, _)| version.pre.is_empty()).max_by(|a, b| a.0.cmp(&b.0));
    releases.or_else(|| parsed.max_by(|a, b| a.0.cmp(&b.0))).map(|(_, tag)| tag)
}

#[derive(PartialEq, Eq, Debug)]
struct Version {
    /// Without trailing zeros: `1.2` is `1.2.0`.
    numbers: Vec<u64>,
    pre: Vec<Part>,
}

/// A part of a pre-release; numbers come before words.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Number(u64),
    Word(String),
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let pre = match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        };
        self.numbers.cmp(&other.numbers).then(pre)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn parse(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let text = text.split_once('+').map_or(text, |(version, _)| version);
    let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
    let mut numbers: Vec<u64> = numbers.split('.').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    let part = |word: &str| word.parse().map_or_else(|_| Part::Word(word.to_owned()), Part::Number);
    let pre = if pre.is_empty() { Vec::new() } else { pre.split('.').map(part).collect() };
    Some(Version { numbers, pre })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_people_read_them() {
        let rising = [
            "latest",
            "0.9",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-rc1",
            "1",
            "v1.0.1",
            "1.2",
            "1.2.0.1",
            "1.10",
        ];
        for pair in rising.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare("v1.2", "1.2.0+build"), Ordering::Equal);
    }

    #[test]
    fn the_greatest_is_a_release_if_there_is_one() {
        assert_eq!(greatest(["1.0", "main", "2.0-rc1", "v1.4.0"].into_iter()), Some("v1.4.0"));
        assert_eq!(greatest(["main", "2.0-rc1"].into_iter()), Some("2.0-rc1"));
        assert_eq!(greatest(["main"].into_iter()), None);
    }
}
