//! Reading one line of the table: `kinds : V test & test | V test | …`.
//!
//! In: text. Out: a `Line`, or the problem in words. Invariant: a line that parses can be evaluated on any object.

use crate::condition::Tri;
use crate::verdict::Grade;

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// (group pattern, kind pattern), `*` matches anything.
    pub kinds: Vec<(String, String)>,
    pub rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub state: Grade,
    pub tests: Vec<Test>,
}

#[derive(Clone, Debug)]
pub(crate) enum Test {
    Not(Box<Test>),
    /// A condition with one of these statuses, and with one (or none) of these reasons.
    Condition {
        kind: String,
        statuses: Vec<Tri>,
        reasons: Vec<String>,
        excluded: bool,
    },
    Present(String),
    Stale,
    NoStatus,
    Truthy(Path),
    Empty(Path),
    /// `2/2`: both numbers are equal.
    Ratio(Path),
    Text {
        path: Path,
        words: Vec<String>,
        differs: bool,
    },
    Compare {
        left: Vec<Term>,
        op: Op,
        right: Vec<Term>,
    },
    Some(Path, Vec<Test>),
    Every(Path, Vec<Test>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Less,
    LessEqual,
    More,
    MoreEqual,
    Equal,
    Differ,
}

/// One operand; the first counts, the others are subtracted.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Literal(i64),
    Field(Path, i64),
    Count(Path),
    Sum(Path),
}

/// A field under the status (or the element), or under the object when it begins with `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub root: bool,
    pub keys: Vec<String>,
}

impl Line {
    pub(crate) fn names(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|(groups, kinds)| glob(groups, group) && glob(kinds, kind))
    }
}

/// `*` matches any text.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, end)) => {
            text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
        }
    }
}

pub(crate) fn line(text: &str) -> Result<Line, String> {
    let (kinds, body) = text.split_once(" : ").ok_or_else(|| format!("no ` : ` in `{text}`"))?;
    let mut found = Vec::new();
    for pattern in kinds.split_whitespace() {
        let (groups, names) = pattern.rsplit_once('/').ok_or_else(|| format!("no group in `{pattern}`"))?;
        for group in alternatives(groups) {
            found.extend(alternatives(names).into_iter().map(|name| (group.clone(), name)));
        }
    }
    Ok(Line { kinds: found, rules: rules(body)? })
}

/// `a{b,c}d` → `abd`, `acd`.
fn alternatives(text: &str) -> Vec<String> {
    let Some((start, rest)) = text.split_once('{') else { return vec![text.to_owned()] };
    let Some((inner, end)) = rest.split_once('}') else { return vec![text.to_owned()] };
    inner.split(',').map(|word| format!("{start}{}{end}", word.trim())).collect()
}

/// The rules of a line; `code` stands for a function.
pub(crate) fn rules(body: &str) -> Result<Vec<Rule>, String> {
    let body = body.trim();
    if body == "code" {
        return Ok(Vec::new());
    }
    body.split(" | ").map(rule).collect()
}

fn rule(text: &str) -> Result<Rule, String> {
    let text = text.trim();
    let (letter, tests) = text.split_once(' ').unwrap_or((text, ""));
    let state = match letter {
        "H" => Grade::Healthy,
        "P" => Grade::Progressing,
        "F" => Grade::Failed,
        "S" => Grade::Suspended,
        "U" => Grade::Unknown,
        _ => return Err(format!("`{letter}` is none of H P F S U in `{text}`")),
    };
    Ok(Rule { state, tests: tests_of(tests, 0)? })
}

fn tests_of(text: &str, depth: u8) -> Result<Vec<Test>, String> {
    if depth > 4 {
        return Err(format!("nested too deep: `{text}`"));
    }
    let parts = split_top(text, " & ");
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(|part| test(part, depth)).collect()
}

/// Splits outside of parentheses and quotes.
fn split_top<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut depth, mut quoted, mut start) = (0_i32, false, 0);
    for (at, ch) in text.char_indices() {
        match ch {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 && !quoted && at >= start && text[at..].starts_with(mark) {
            parts.push(&text[start..at]);
            start = at + mark.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

fn test(text: &str, depth: u8) -> Result<Test, String> {
    for (word, every) in [("some ", false), ("every ", true)] {
        if let Some(rest) = text.strip_prefix(word) {
            let (list, inner) = rest.split_once('(').ok_or_else(|| format!("no ( in `{text}`"))?;
            let inner = inner.strip_suffix(')').ok_or_else(|| format!("no ) in `{text}`"))?;
            let tests = tests_of(inner, depth + 1)?;
            let list = path(list.trim())?;
            return Ok(if every { Test::Every(list, tests) } else { Test::Some(list, tests) });
        }
    }
    match text {
        "stale" => return Ok(Test::Stale),
        "nostatus" => return Ok(Test::NoStatus),
        _ => {}
    }
    if let Some(rest) = text.strip_prefix("empty ") {
        return Ok(Test::Empty(path(rest)?));
    }
    if let Some(rest) = text.strip_prefix("ratio ") {
        return Ok(Test::Ratio(path(rest)?));
    }
    if let Some(rest) = text.strip_prefix('!') {
        return Ok(Test::Not(Box::new(test(rest, depth)?)));
    }
    if let Some(kind) = text.strip_suffix('?') {
        return Ok(Test::Present(kind.to_owned()));
    }
    match operator(text) {
        Some((left, "=", right)) => equality(left, right),
        Some((left, "!=", right)) => Ok(Test::Text { path: path(left)?, words: words(right), differs: true }),
        Some((left, op, right)) => {
            Ok(Test::Compare { left: terms(left)?, op: op_of(op)?, right: terms(right)? })
        }
        None => Ok(Test::Truthy(path(text)?)),
    }
}

/// The first operator outside quotes, with both sides.
fn operator(text: &str) -> Option<(&str, &str, &str)> {
    let mut quoted = false;
    for (at, ch) in text.char_indices() {
        if ch == '"' {
            quoted = !quoted;
        }
        if quoted {
            continue;
        }
        for op in ["<>", "<=", ">=", "==", "!=", "<", ">", "="] {
            if text[at..].starts_with(op) {
                return Some((text[..at].trim(), &text[at..at + op.len()], text[at + op.len()..].trim()));
            }
        }
    }
    None
}

fn op_of(op: &str) -> Result<Op, String> {
    Ok(match op {
        "<" => Op::Less,
        "<=" => Op::LessEqual,
        ">" => Op::More,
        ">=" => Op::MoreEqual,
        "==" => Op::Equal,
        "<>" => Op::Differ,
        _ => return Err(format!("unknown operator `{op}`")),
    })
}

/// `X=FU{R}` is a condition when the right side is made of statuses, else a text.
fn equality(left: &str, right: &str) -> Result<Test, String> {
    let (statuses, braces) = match right.find(['{', '!']) {
        Some(at) => right.split_at(at),
        None => (right, ""),
    };
    let tri: Option<Vec<Tri>> = statuses.chars().map(status).collect();
    let Some(found) = tri.filter(|found| !found.is_empty() && !left.is_empty()) else {
        return Ok(Test::Text { path: path(left)?, words: words(right), differs: false });
    };
    let excluded = braces.starts_with('!');
    let inner = braces.trim_start_matches('!');
    let reasons = match inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
        Some(list) => words(list),
        None if inner.is_empty() => Vec::new(),
        None => return Err(format!("bad reasons `{braces}`")),
    };
    Ok(Test::Condition { kind: left.to_owned(), statuses: found, reasons, excluded })
}

fn status(letter: char) -> Option<Tri> {
    match letter {
        'T' => Some(Tri::True),
        'F' => Some(Tri::False),
        'U' => Some(Tri::Unknown),
        _ => None,
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).collect()
}

fn terms(text: &str) -> Result<Vec<Term>, String> {
    text.split(" - ").map(|part| term(part.trim())).collect()
}

fn term(text: &str) -> Result<Term, String> {
    if let Ok(number) = text.parse() {
        return Ok(Term::Literal(number));
    }
    if let Some(rest) = text.strip_prefix("count ") {
        return Ok(Term::Count(path(rest)?));
    }
    if let Some(rest) = text.strip_prefix("sum ") {
        return Ok(Term::Sum(path(rest)?));
    }
    let (field, default) = match text.rsplit_once(':') {
        Some((field, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (field, digits.parse().unwrap_or(0))
        }
        _ => (text, 0),
    };
    Ok(Term::Field(path(field)?, default))
}

/// `a.b."c.d"`; an empty path is the element itself.
fn path(text: &str) -> Result<Path, String> {
    let text = text.trim();
    if text.contains(['(', ')', '{', '}', '&', '|', '=', '<', '>']) {
        return Err(format!("`{text}` is no path"));
    }
    let (root, text) = match text.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if text.is_empty() {
        return if root { Err("an empty path".to_owned()) } else { Ok(Path { root, keys: Vec::new() }) };
    }
    let keys: Vec<String> =
        split_top(text, ".").into_iter().map(|key| key.trim_matches('"').to_owned()).collect();
    if keys.iter().any(String::is_empty) {
        return Err(format!("`{text}` has an empty key"));
    }
    Ok(Path { root, keys })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_open_their_alternatives_and_wildcards() {
        let line = line("{a.io,b.io}/{X,Y} *.c.io/*Policy : H").expect("parses");
        assert!(line.names("b.io", "Y") && line.names("z.c.io", "MyPolicy"));
        assert!(!line.names("c.io", "X") && !line.names("a.io", "Z"));
    }

    #[test]
    fn bad_rules_are_refused_with_words() {
        for bad in ["X phase=a", "F some list", "F a.=b", "F Ready=F{A", "F (x)"] {
            assert!(rules(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn conditions_and_texts_are_told_apart() {
        let tests = |text: &str| tests_of(text, 0).expect("parses");
        assert!(matches!(tests("Ready=FU!{A,B}")[0], Test::Condition { excluded: true, .. }));
        assert!(matches!(tests("status=False")[0], Test::Text { .. }));
        assert!(
            matches!(tests("/metadata.annotations.\"a.b/c\"=on")[0], Test::Text { ref path, .. } if path.keys.len() == 3)
        );
        assert!(matches!(tests("updated>replicas - /spec.partition")[0], Test::Compare { op: Op::More, .. }));
        assert_eq!(tests("some list (a=b & c) & d").len(), 2);
    }
}
