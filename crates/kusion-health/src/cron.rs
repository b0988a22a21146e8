//! Is this a schedule a CronJob controller can read?
//!
//! In: `spec.schedule` and `spec.timeZone`. Out: ok or the problem in words. Invariant: accepts what the controller accepts:
//! five fields with names, ranges, lists and steps; `@hourly` and its kin; `@every 1h30m`; a `TZ=` prefix.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

struct Field {
    name: &'static str,
    low: u32,
    high: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { name: "minute", low: 0, high: 59, names: &[] },
    Field { name: "hour", low: 0, high: 23, names: &[] },
    Field { name: "day of month", low: 1, high: 31, names: &[] },
    Field { name: "month", low: 1, high: 12, names: &MONTHS },
    Field { name: "day of week", low: 0, high: 6, names: &DAYS },
];

/// Checks a schedule.
pub(crate) fn check(schedule: &str) -> Result<(), String> {
    let mut text = schedule.trim();
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        let (zone, rest) = text.split_once(' ').ok_or("a time zone without a schedule")?;
        check_zone(zone.split_once('=').map_or("", |(_, zone)| zone))?;
        text = rest.trim();
    }
    if text.is_empty() {
        return Err("the schedule is empty".to_owned());
    }
    if let Some(word) = text.strip_prefix('@') {
        return descriptor(word);
    }
    let parts: Vec<&str> = text.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Err(format!("expected 5 fields, found {}", parts.len()));
    }
    FIELDS
        .iter()
        .zip(parts)
        .try_for_each(|(field, part)| part.split(',').try_for_each(|item| check_item(field, item)))
}

fn descriptor(word: &str) -> Result<(), String> {
    if matches!(word, "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly") {
        return Ok(());
    }
    match word.strip_prefix("every ") {
        Some(span) if is_duration(span.trim()) => Ok(()),
        Some(span) => Err(format!("`{span}` is not a duration")),
        None => Err(format!("unknown descriptor `@{word}`")),
    }
}

/// `1h30m`, `90s`, `1.5h`.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    let mut parts = 0;
    while !rest.is_empty() && parts < 16 {
        let digits = rest.find(|ch: char| !ch.is_ascii_digit() && ch != '.').unwrap_or(rest.len());
        let Some(unit) =
            ["ms", "us", "ns", "µs", "h", "m", "s"].iter().find(|unit| rest[digits..].starts_with(**unit))
        else {
            return false;
        };
        if digits == 0 || rest[..digits].parse::<f64>().is_err() {
            return false;
        }
        rest = &rest[digits + unit.len()..];
        parts += 1;
    }
    parts > 0 && rest.is_empty()
}

fn check_item(field: &Field, item: &str) -> Result<(), String> {
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (item, None),
    };
    if let Some(step) = step {
        match step.parse::<u32>() {
            Ok(1..) => {}
            _ => return Err(format!("bad step `{step}` in {}", field.name)),
        }
    }
    if matches!(range, "*" | "?") {
        return Ok(());
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (value(field, first)?, value(field, last)?);
    if first > last {
        return Err(format!("`{range}` runs backwards in {}", field.name));
    }
    Ok(())
}

fn value(field: &Field, text: &str) -> Result<u32, String> {
    let lower = text.to_lowercase();
    if let Some(at) = field.names.iter().position(|name| *name == lower) {
        return Ok(field.low + at as u32);
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse::<u32>().ok() } else { None };
    match number {
        Some(number) if (field.low..=field.high).contains(&number) => Ok(number),
        Some(number) => {
            Err(format!("{number} is out of range for {} ({} to {})", field.name, field.low, field.high))
        }
        None => Err(format!("`{text}` is not a {}", field.name)),
    }
}

/// The first words of zone names.
const AREAS: [&str; 18] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Brazil",
    "Canada",
    "Chile",
    "Etc",
    "Europe",
    "Indian",
    "Mexico",
    "Pacific",
    "US",
    "posix",
    "right",
];

/// Time zones are names of the zone database; without it only the shape can be checked.
pub(crate) fn check_zone(zone: &str) -> Result<(), String> {
    let shaped = !zone.is_empty()
        && zone.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '/' | '_' | '-' | '+'))
        && !zone.starts_with(['/', '-'])
        && !zone.eq_ignore_ascii_case("local")
        && zone.split_once('/').is_none_or(|(area, _)| AREAS.contains(&area));
    if shaped { Ok(()) } else { Err(format!("unknown time zone \"{zone}\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_the_controller_reads_are_accepted() {
        for schedule in [
            "* * * * *",
            "*/5 0 1,15 * 1-5",
            "0 3 * JAN-MAR mon",
            "@hourly",
            "@every 1h30m",
            "0 0 ? * 0",
            "TZ=Asia/Shanghai 0 3 * * *",
            "5/15 * * * *",
            "0 22 * * 1-5",
        ] {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn schedules_the_controller_refuses_are_refused() {
        for schedule in [
            "",
            "every day",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "*/0 * * * *",
            "5-1 * * * *",
            "@sometimes",
            "@every soon",
            "a * * * *",
            "-1 * * * *",
            "1.5 * * * *",
        ] {
            assert!(check(schedule).is_err(), "{schedule}");
        }
        assert!(check_zone("Mars/Olympus Mons").is_err());
        assert!(check_zone("Europe/Berlin").is_ok());
    }
}
