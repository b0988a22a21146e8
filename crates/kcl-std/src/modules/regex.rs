//! `regex`: the dialect of the `fancy-regex` crate; patterns are compiled at first use.

use fancy_regex::Regex;
use kcl_value::Value;

use super::{int, needed, text};
use crate::{Args, Error, Host, Mistake};

type Answer = Result<Value, Error>;

/// The mistake that a pattern was given up.
fn given_up(regex: &Regex, error: &fancy_regex::Error) -> Mistake {
    Mistake::PatternGivenUp { pattern: regex.as_str().into(), why: error.to_string() }
}

fn is_match(host: &mut dyn Host, args: Args<'_>, function: &'static str) -> Answer {
    let string = text(args, 0, "string");
    host.charge(string.len() as u64 / 16)?;
    let regex = host.patterns().compiled(needed(args, 1, "pattern", function)?)?;
    // A match that was given up counts as none, as in the reference.
    Ok(Value::Bool(regex.is_match(string).unwrap_or(false)))
}

/// `match(string, pattern)`: not anchored.
pub(crate) fn matches(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    is_match(host, args, "match")
}

/// `search(string, pattern)`.
pub(crate) fn search(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    is_match(host, args, "search")
}

/// `compile(pattern)`: whether the pattern is valid.
pub(crate) fn compile(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Bool(host.patterns().compiled(text(args, 0, "pattern")).is_ok()))
}

/// `replace(string, pattern, replace, count=0)`: 0 and less replace all.
pub(crate) fn replace(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let string = text(args, 0, "string");
    let replacement = needed(args, 2, "replace", "replace")?;
    let count = usize::try_from(int(args, 3, "count")?.unwrap_or(0)).unwrap_or(0);
    let regex = host.patterns().compiled(needed(args, 1, "pattern", "replace")?)?;
    let growth = (string.len() as u64 + 1).saturating_mul(replacement.len() as u64 + 1);
    host.charge(growth / 64)?;
    let done = regex.try_replacen(string, count, replacement).map_err(|err| given_up(&regex, &err))?;
    Ok(Value::from(done.into_owned()))
}

/// `findall(string, pattern)`: whole matches, or with two groups and more a list of groups for each.
pub(crate) fn find_all(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let string = text(args, 0, "string");
    let regex = host.patterns().compiled(needed(args, 1, "pattern", "findall")?)?;
    host.charge(string.len() as u64)?;
    let groups = regex.captures_len().saturating_sub(1);
    let mut found = Vec::new();
    for captures in regex.captures_iter(string) {
        let captures = captures.map_err(|err| given_up(&regex, &err))?;
        let group = |i: usize| Value::from(captures.get(i).map_or("", |m| m.as_str()));
        found.push(match groups {
            0 | 1 => group(0),
            _ => Value::from((1..=groups).map(group).collect::<Vec<_>>()),
        });
    }
    Ok(Value::from(found))
}

/// `split(string, pattern, maxsplit=0)`: `maxsplit=N` gives the first N fields and drops the rest.
pub(crate) fn split(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let string = text(args, 0, "string");
    let regex = host.patterns().compiled(needed(args, 1, "pattern", "split")?)?;
    let limit = match int(args, 2, "maxsplit")?.unwrap_or(0) {
        n if n > 0 => usize::try_from(n).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    host.charge(string.len() as u64)?;
    let mut fields = Vec::new();
    let mut from = 0;
    for found in regex.find_iter(string) {
        let found = found.map_err(|err| given_up(&regex, &err))?;
        if fields.len() >= limit {
            return Ok(Value::from(fields));
        }
        fields.push(Value::from(&string[from..found.start()]));
        from = found.end();
    }
    if fields.len() < limit {
        fields.push(Value::from(&string[from..]));
    }
    Ok(Value::from(fields))
}
