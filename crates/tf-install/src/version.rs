//! Versions and what is asked of them.

use std::cmp::Ordering;
use std::fmt;

/// Terms of one constraint.
const MAX_TERMS: usize = 100;

/// A version: three numbers, what comes before a release, and what says nothing about order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    numbers: [u64; 3],
    pre: String,
    build: String,
}

impl Version {
    /// Reads a whole version, `1.2.3-beta1+build`.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(text: &str) -> Result<Version, String> {
        match partial(text) {
            Some((version, 3)) => Ok(version),
            _ => Err(format!("`{}` is no version: three numbers as in 1.2.3", text.escape_debug())),
        }
    }

    /// Whether it comes before a release.
    pub fn is_pre_release(&self) -> bool {
        !self.pre.is_empty()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        self.tail(f)
    }
}

impl Version {
    fn tail(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if self.build.is_empty() { Ok(()) } else { write!(f, "+{}", self.build) }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| compare_pre(&self.pre, &other.pre))
            .then_with(|| self.build.cmp(&other.build))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A release comes after everything before it; parts are compared as numbers where both are.
fn compare_pre(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Reads a version with one to three numbers and says how many there were.
fn partial(text: &str) -> Option<(Version, usize)> {
    let (text, build) = cut(text, '+')?;
    let (core, pre) = cut(text, '-')?;
    let mut numbers = [0; 3];
    let mut count = 0;
    for part in core.split('.') {
        let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let canonical = plain && (part == "0" || !part.starts_with('0'));
        *numbers.get_mut(count)? = if canonical { part.parse().ok()? } else { return None };
        count += 1;
    }
    // Only a whole version can have something behind it.
    let whole = count == 3 || pre.is_empty() && build.is_empty();
    whole.then(|| (Version { numbers, pre: pre.to_owned(), build: build.to_owned() }, count))
}

fn cut(text: &str, at: char) -> Option<(&str, &str)> {
    let Some((before, after)) = text.split_once(at) else { return Some((text, "")) };
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    after.split('.').all(word).then_some((before, after))
}

/// How a version is compared; the order is that of normal forms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Operator {
    Greater,
    GreaterOrEqual,
    Equal,
    /// `~> 1.2.3`: only the last number may grow.
    PatchOnly,
    /// `~> 1.2`: the second number may grow.
    MinorOnly,
    LessOrEqual,
    Less,
    NotEqual,
}

const OPERATORS: &[(&str, Operator)] = &[
    (">=", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("!=", Operator::NotEqual),
    ("~>", Operator::PatchOnly),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
];

#[derive(Clone, PartialEq, Eq, Debug)]
struct Term {
    bound: Version,
    operator: Operator,
}

/// What is asked of a version: a list of terms that all hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraints {
    /// Sorted and without repetition.
    terms: Vec<Term>,
}

impl Constraints {
    /// Reads `>= 1.0, != 1.4.2, < 2.0`; an empty text asks for nothing.
    ///
    /// # Errors
    /// A sentence with the term that is none.
    pub fn parse(text: &str) -> Result<Constraints, String> {
        if text.trim().is_empty() {
            return Ok(Constraints::default());
        }
        let mut terms = Vec::new();
        for term in text.split(',') {
            if terms.len() == MAX_TERMS {
                return Err(format!("a constraint has more than {MAX_TERMS} terms"));
            }
            terms.push(self::term(term.trim()).ok_or_else(|| {
                format!(
                    "`{}` is no constraint on versions: as in `>= 1.2, < 2.0`, `~> 1.2` or `1.2.3`",
                    term.trim().escape_debug()
                )
            })?);
        }
        terms.sort_by(|a, b| a.bound.cmp(&b.bound).then(a.operator.cmp(&b.operator)));
        terms.dedup();
        Ok(Constraints { terms })
    }

    /// Asks for one version and no other.
    pub fn exactly(version: &Version) -> Constraints {
        Constraints { terms: vec![Term { bound: version.clone(), operator: Operator::Equal }] }
    }

    /// The one version that can fit, if only one can.
    pub fn exact(&self) -> Option<&Version> {
        self.terms.iter().find(|term| term.operator == Operator::Equal).map(|term| &term.bound)
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a version fits. What comes before a release fits only where it is named.
    pub fn allow(&self, version: &Version) -> bool {
        let named = |term: &Term| term.operator == Operator::Equal && term.bound == *version;
        self.terms.iter().all(|term| term.holds(version))
            && (!version.is_pre_release() || self.terms.iter().any(named))
    }

    /// The newest of some versions that fits.
    pub fn newest<'v>(&self, versions: impl IntoIterator<Item = &'v Version>) -> Option<&'v Version> {
        versions.into_iter().filter(|version| self.allow(version)).max()
    }
}

fn term(text: &str) -> Option<Term> {
    let found = OPERATORS.iter().find_map(|(sign, operator)| Some((text.strip_prefix(sign)?, *operator)));
    let (rest, operator) = found.unwrap_or((text, Operator::Equal));
    let (bound, count) = partial(rest.trim())?;
    let operator = if operator == Operator::PatchOnly && count < 3 { Operator::MinorOnly } else { operator };
    Some(Term { bound, operator })
}

impl Term {
    fn holds(&self, version: &Version) -> bool {
        let bound = &self.bound;
        match self.operator {
            Operator::Greater => version > bound,
            Operator::GreaterOrEqual => version >= bound,
            Operator::Equal => version == bound,
            Operator::NotEqual => version != bound,
            Operator::Less => version < bound,
            Operator::LessOrEqual => version <= bound,
            Operator::PatchOnly => version >= bound && version.numbers[..2] == bound.numbers[..2],
            Operator::MinorOnly => version >= bound && version.numbers[0] == bound.numbers[0],
        }
    }
}

impl fmt::Display for Constraints {
    /// The normal form, which lock files demand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            let sign = match term.operator {
                Operator::Greater => "> ",
                Operator::GreaterOrEqual => ">= ",
                Operator::Equal => "",
                Operator::PatchOnly => "~> ",
                Operator::MinorOnly => {
                    write!(f, "~> {}.{}", term.bound.numbers[0], term.bound.numbers[1])?;
                    continue;
                }
                Operator::LessOrEqual => "<= ",
                Operator::Less => "< ",
                Operator::NotEqual => "!= ",
            };
            write!(f, "{sign}{}", term.bound)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: &[&str] = &["1.0.1", "1.1.0", "1.9.0", "2.0.0", "2.1.0-beta1"];

    fn chosen(constraint: &str) -> Result<Option<String>, String> {
        let offered: Vec<Version> = OFFERED.iter().map(|text| Version::parse(text).unwrap()).collect();
        Ok(Constraints::parse(constraint)?.newest(&offered).map(ToString::to_string))
    }

    #[test]
    fn the_same_version_is_chosen_as_by_tofu() {
        for (constraint, wanted) in [
            ("~> 1.0.0", Some("1.0.1")),
            ("~> 1.0", Some("1.9.0")),
            ("~> 1", Some("1.9.0")),
            (">= 1.0, < 2.0.0", Some("1.9.0")),
            ("!= 2.0.0", Some("1.9.0")),
            ("", Some("2.0.0")),
            ("2.1.0-beta1", Some("2.1.0-beta1")),
            ("= 2.1.0-beta1", Some("2.1.0-beta1")),
            (">= 2.1.0-beta1", None),
            ("~> 2.1.0-beta1", None),
            ("1", None),
            ("> 5", None),
        ] {
            assert_eq!(chosen(constraint).unwrap().as_deref(), wanted, "{constraint}");
        }
        for wrong in [
            "v1.0.1",
            "1.x",
            "1.0.0.0",
            "~>",
            ">= 1.0,",
            "=> 1",
            "01.2.3",
            "1.2-beta",
            "99999999999999999999",
        ] {
            assert!(chosen(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn constraints_have_one_normal_form() {
        for (written, normal) in [
            ("~> 1", "~> 1.0"),
            (">= 1.0", ">= 1.0.0"),
            ("= 3.9.0", "3.9.0"),
            ("< 2.0.0 , >= 1.0,>=1.0.0", ">= 1.0.0, < 2.0.0"),
            ("!= 1.5.0, ~> 1.5.0", "~> 1.5.0, != 1.5.0"),
            ("~>1.2.3-rc.1", "~> 1.2.3-rc.1"),
        ] {
            let read = Constraints::parse(written).unwrap();
            assert_eq!(read.to_string(), normal);
            assert_eq!(Constraints::parse(normal).unwrap(), read);
        }
    }

    #[test]
    fn versions_are_ordered_as_releases_are() {
        let mut texts =
            ["1.0.0", "1.0.0-rc.1", "1.0.0-2", "1.0.0-alpha", "1.0.0-11", "0.9.9", "1.0.0-alpha.1"];
        texts.sort_by_key(|text| Version::parse(text).unwrap());
        assert_eq!(
            texts,
            ["0.9.9", "1.0.0-2", "1.0.0-11", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-rc.1", "1.0.0"]
        );
    }
}
