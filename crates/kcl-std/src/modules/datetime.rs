//! `datetime`: the format letters are those of the `chrono` crate; the clock is the host's.

use chrono::format::{Item, StrftimeItems};
use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime};
use kcl_value::Value;

use super::text;
use crate::{Args, Error, FormatMistake, Host, Mistake};

type Answer = Result<Value, Error>;

fn local_time(host: &dyn Host) -> Option<DateTime<FixedOffset>> {
    let (seconds, nanos, offset) = host.now();
    let zone = FixedOffset::east_opt(offset)?;
    Some(DateTime::from_timestamp(seconds, nanos)?.with_timezone(&zone))
}

fn formatted(host: &dyn Host, format: &str) -> Result<String, Error> {
    let items: Vec<Item<'_>> = StrftimeItems::new(format).collect();
    if items.contains(&Item::Error) {
        return Err(FormatMistake::BadTimeFormat { format: format.into() }.into());
    }
    let now = local_time(host).ok_or(Mistake::NoTime)?;
    Ok(now.format_with_items(items.iter()).to_string())
}

/// `ticks()`: whole seconds since 1970.
pub(crate) fn ticks(host: &mut dyn Host, _: &Value, _: Args<'_>) -> Answer {
    Ok(Value::Float(host.now().0 as f64))
}

/// `date()`.
pub(crate) fn date(host: &mut dyn Host, _: &Value, _: Args<'_>) -> Answer {
    formatted(host, "%Y-%m-%d %H:%M:%S").map(Value::from)
}

/// `now(format)`.
pub(crate) fn now(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let format = match args.get(0, "format") {
        Some(format) => format.as_str().unwrap_or(""),
        None => "%a %b %d %H:%M:%S %Y",
    };
    formatted(host, format).map(Value::from)
}

/// `today()`: date and time, a point, and the ticks.
pub(crate) fn today(host: &mut dyn Host, _: &Value, _: Args<'_>) -> Answer {
    let ticks = host.now().0;
    formatted(host, "%Y-%m-%d %H:%M:%S").map(|text| Value::from(format!("{text}.{ticks}")))
}

/// `validate(date, format)`: as a date-time, else as a date, else as a time.
pub(crate) fn validate(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let (date, format) = (text(args, 0, "date"), super::needed(args, 1, "format", "validate")?);
    let valid = NaiveDateTime::parse_from_str(date, format).is_ok()
        || NaiveDate::parse_from_str(date, format).is_ok()
        || NaiveTime::parse_from_str(date, format).is_ok();
    Ok(Value::Bool(valid))
}

fn rfc3339(text: &str) -> bool {
    DateTime::parse_from_rfc3339(text).is_ok()
}

/// `is_rfc3339(date)`.
pub(crate) fn is_rfc3339(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Bool(rfc3339(text(args, 0, "date"))))
}

/// `is_iso8601(date)`: RFC 3339 or a duration.
pub(crate) fn is_iso8601(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let date = text(args, 0, "date");
    Ok(Value::Bool(rfc3339(date) || is_duration(date)))
}

/// `P[nY][nM][nW][nD][T[nH][nM][nS]]`, with at least one part after P and after T.
fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (days, time) = match rest.split_once('T') {
        Some((days, time)) => (days, Some(time)),
        None => (rest, None),
    };
    let parts = duration_parts(days, "YMWD");
    match time {
        None => parts.is_some_and(|n| n > 0),
        Some(time) => parts.is_some() && duration_parts(time, "HMS").is_some_and(|n| n > 0),
    }
}

/// Counts the parts if they stand in the order of `letters`, each at most once.
fn duration_parts(mut text: &str, letters: &str) -> Option<usize> {
    let mut left = letters;
    let mut count = 0;
    while !text.is_empty() {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (whole, fraction) = text[..end].split_once('.').unwrap_or((&text[..end], "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let letter = text[end..].chars().next()?;
        left = &left[left.find(letter)? + 1..];
        text = &text[end + letter.len_utf8()..];
        count += 1;
    }
    Some(count)
}
