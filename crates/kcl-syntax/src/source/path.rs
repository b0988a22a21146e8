//! The text of a path: `app.containers[name=main].image`, `a["p.q"][0]`.

use std::fmt;

use crate::ast::Str;

/// One step of a path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A variable, or a key of braces: `.name`, `["any text"]`.
    Key(Str),
    /// An item of a list by its number; a negative one counts from the end: `[0]`, `[-1]`.
    Index(i64),
    /// The items of a list whose braces have an entry with this value: `[name=main]`.
    Item {
        /// The key of the entry.
        key: Str,
        /// What its literal value says.
        value: Str,
    },
}

impl Step {
    /// Returns the key, if the step is one.
    pub fn key(&self) -> Option<&Str> {
        match self {
            Step::Key(key) => Some(key),
            Step::Index(_) | Step::Item { .. } => None,
        }
    }
}

/// Where something stands, in words of the source: a variable, then keys and items.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourcePath {
    /// At least one step; the first is the name of the variable.
    pub steps: Vec<Step>,
}

/// What is wrong with the text of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathError {
    /// A `[` without a quote after it, where only keys are allowed.
    NoQuote,
    /// A quote or bracket that does not end.
    Open,
    /// Nothing between two dots, or nothing at all.
    Empty,
    /// In brackets stands neither a quoted key, nor a number, nor `key=value`.
    NoItem,
    /// The first step is not a name.
    NoName,
    /// More than 256 steps.
    TooLong,
}

impl PathError {
    /// Returns the sentence about it.
    pub fn message(self) -> &'static str {
        match self {
            PathError::NoQuote => "Expected opening quote after '['",
            PathError::Open => "a quote or bracket is not closed",
            PathError::Empty => "a part is empty",
            PathError::NoItem => {
                "brackets hold a quoted key, a number or key=value: a[\"b.c\"], a[0], a[name=main]"
            }
            PathError::NoName => "a path starts with the name of a variable",
            PathError::TooLong => "more than 256 parts",
        }
    }
}

/// A longer path is a mistake.
const MAX_STEPS: usize = 256;

/// What stands between dots and brackets.
enum Part<'a> {
    Bare(&'a str),
    Quoted(&'a str),
    Bracket(&'a str),
}

impl SourcePath {
    /// Reads a path with keys and items of lists.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<SourcePath, PathError> {
        let mut steps = Vec::new();
        let mut after_bracket = false;
        for part in parts(text.trim(), true)? {
            match part {
                // `a["b"].c`: between the bracket and the dot stands nothing, and that is right.
                Part::Bare("") if std::mem::take(&mut after_bracket) => continue,
                Part::Bare("") => return Err(PathError::Empty),
                Part::Bare(name) => {
                    steps.push(Step::Key(name.trim().strip_prefix('$').unwrap_or(name.trim()).into()))
                }
                Part::Quoted(name) => steps.push(Step::Key(name.into())),
                Part::Bracket(inner) => steps.push(item(inner)?),
            }
            after_bracket = !matches!(part, Part::Bare(_));
            if steps.len() > MAX_STEPS {
                return Err(PathError::TooLong);
            }
        }
        match steps.first() {
            Some(Step::Key(name)) if !name.is_empty() => Ok(SourcePath { steps }),
            Some(_) => Err(PathError::NoName),
            None => Err(PathError::Empty),
        }
    }

    /// Reads the path of an override as the reference does: keys only, empty parts are dropped, `$` before any part.
    ///
    /// # Errors
    /// [`PathError::NoQuote`], [`PathError::Open`] or [`PathError::Empty`].
    pub fn of_override(text: &str) -> Result<SourcePath, PathError> {
        let mut steps = Vec::new();
        for part in parts(text, false)? {
            let (Part::Bare(name) | Part::Quoted(name) | Part::Bracket(name)) = part;
            if !name.is_empty() {
                steps.push(Step::Key(name.strip_prefix('$').unwrap_or(name).into()));
            }
        }
        if steps.is_empty() { Err(PathError::Empty) } else { Ok(SourcePath { steps }) }
    }

    /// Returns the name of the variable and the steps after it.
    pub fn split(&self) -> Option<(&Str, &[Step])> {
        let (first, rest) = self.steps.split_first()?;
        Some((first.key()?, rest))
    }

    /// Finds the `=` between a path and a value, outside quotes and brackets.
    pub fn end_before_value(text: &str) -> Option<usize> {
        let (mut quote, mut depth) = (None, 0u32);
        for (at, byte) in text.bytes().enumerate() {
            match (quote, byte) {
                (Some(q), b) if b == q => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'[') => depth += 1,
                (None, b']') => depth = depth.saturating_sub(1),
                (None, b'=') if depth == 0 => return Some(at),
                _ => {}
            }
        }
        None
    }
}

/// Cuts a path at dots and brackets.
fn parts(path: &str, items: bool) -> Result<Vec<Part<'_>>, PathError> {
    let mut parts = Vec::new();
    let mut rest = path;
    loop {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        // Before a bracket that follows a bracket or starts the path there is no part.
        if end > 0 || !rest.starts_with('[') || !items {
            parts.push(Part::Bare(&rest[..end]));
        }
        rest = &rest[end..];
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            continue;
        }
        let Some(inner) = rest.strip_prefix('[') else { return Ok(parts) };
        let (part, after) = bracket(inner, items)?;
        parts.push(part);
        rest = after;
        if rest.is_empty() {
            return Ok(parts);
        }
        if items && !rest.starts_with(['.', '[']) {
            return Err(PathError::NoItem);
        }
    }
}

/// What stands after a `[`, and what follows its `]`.
fn bracket(inner: &str, items: bool) -> Result<(Part<'_>, &str), PathError> {
    if let Some(quote @ ('"' | '\'')) = inner.chars().next() {
        let end = inner[1..].find(quote).ok_or(PathError::Open)?;
        let after = inner[end + 2..].strip_prefix(']').ok_or(PathError::Open)?;
        return Ok((Part::Quoted(&inner[1..=end]), after));
    }
    if !items {
        return Err(PathError::NoQuote);
    }
    let mut quote = None;
    for (at, byte) in inner.bytes().enumerate() {
        match (quote, byte) {
            (Some(q), b) if b == q => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b']') => return Ok((Part::Bracket(&inner[..at]), &inner[at + 1..])),
            _ => {}
        }
    }
    Err(PathError::Open)
}

/// `0`, `-1`, `name=main`, `name="a b"`.
fn item(inner: &str) -> Result<Step, PathError> {
    let inner = inner.trim();
    if let Ok(index) = inner.parse() {
        return Ok(Step::Index(index));
    }
    let (key, value) = inner.split_once('=').ok_or(PathError::NoItem)?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        return Err(PathError::NoItem);
    }
    let bare = ['"', '\''].into_iter().find_map(|q| value.strip_prefix(q)?.strip_suffix(q));
    Ok(Step::Item { key: key.into(), value: bare.unwrap_or(value).into() })
}

impl fmt::Display for SourcePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_name = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) if is_name(key) => write!(f, ".{key}")?,
                Step::Key(key) if key.contains('"') => write!(f, "['{key}']")?,
                Step::Key(key) => write!(f, "[\"{key}\"]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Item { key, value } => write!(f, "[{key}={value}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PathError, SourcePath, Step};

    #[test]
    fn paths_are_read_and_written() {
        for text in ["a", "a.b.c", "a[\"p.q\"].b", "a[0][-1].b", "a.b[name=main].image", "a['\"']"] {
            assert_eq!(SourcePath::parse(text).unwrap().to_string(), text);
        }
        let path = SourcePath::parse("$a.b[name=\"x ]\"]").unwrap();
        assert_eq!(path.steps[0], Step::Key("a".into()));
        assert_eq!(path.steps[2], Step::Item { key: "name".into(), value: "x ]".into() });
    }

    #[test]
    fn what_is_no_path_is_told() {
        let wrong = |text: &str| SourcePath::parse(text).unwrap_err();
        assert_eq!(wrong(""), PathError::Empty);
        assert_eq!(wrong("a..b"), PathError::Empty);
        assert_eq!(wrong("a.b."), PathError::Empty);
        assert_eq!(wrong("a[b]"), PathError::NoItem);
        assert_eq!(wrong("a[0]b"), PathError::NoItem);
        assert_eq!(wrong("a[\"b]"), PathError::Open);
        assert_eq!(wrong("a[0"), PathError::Open);
        assert_eq!(wrong("[0].a"), PathError::NoName);
        assert_eq!(wrong(&"a.".repeat(300)), PathError::TooLong);
    }

    #[test]
    fn the_value_begins_after_the_first_equals_sign_outside_brackets() {
        let split = |text: &str| SourcePath::end_before_value(text);
        assert_eq!(split("a[name=main].image=\"x=y\""), Some(18));
        assert_eq!(split("a[\"=\"]=1"), Some(6));
        assert_eq!(split("a"), None);
    }
}
