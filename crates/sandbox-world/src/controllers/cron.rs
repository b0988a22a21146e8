//! Schedules of five fields: when is the next time after a moment? In UTC.

use kube_meaning::time::parse_duration;

use crate::time::Time;

/// Which minutes, hours, days, months and weekdays; bit by bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    Fields {
        minute: u64,
        hour: u64,
        day: u64,
        month: u64,
        weekday: u64,
        day_star: bool,
        weekday_star: bool,
    },
    /// `@every 90s`, in seconds.
    Every(i64),
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MINUTE: i64 = 60_000;
/// Four years and a day, in days: the longest gap is the 29th of February.
const SEARCH: i64 = 366 * 8 + 3;

impl Schedule {
    /// Reads a schedule; the reason when it cannot be read.
    pub(crate) fn parse(text: &str) -> Result<Schedule, String> {
        let text = text.trim();
        let fields = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            _ => text,
        };
        if let Some(span) = fields.strip_prefix("@every ") {
            let nanos = parse_duration(span).ok_or_else(|| format!("failed to parse duration {text}"))?;
            return Ok(Schedule::Every(i64::try_from(nanos / 1_000_000_000).unwrap_or(1).max(1)));
        }
        let parts: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(format!("expected exactly 5 fields, found {}: [{}]", parts.len(), parts.join(" ")));
        };
        let weekdays = field(weekday, 0, 7, &DAYS)?;
        Ok(Schedule::Fields {
            minute: field(minute, 0, 59, &[])?,
            hour: field(hour, 0, 23, &[])?,
            day: field(day, 1, 31, &[])?,
            month: field(month, 1, 12, &MONTHS)?,
            // Sunday is 0 and 7.
            weekday: (weekdays | weekdays >> 7) & 0x7f,
            day_star: day.starts_with(['*', '?']),
            weekday_star: weekday.starts_with(['*', '?']),
        })
    }

    /// The first time after a moment.
    pub(crate) fn next(&self, after: Time) -> Option<Time> {
        let Schedule::Fields { minute, hour, day, month, weekday, day_star, weekday_star } = self else {
            let Schedule::Every(seconds) = self else { return None };
            return Some(Time::from_millis((after.millis().div_euclid(1000) + seconds) * 1000));
        };
        let start = after.millis().div_euclid(MINUTE) + 1;
        let first = start.div_euclid(1440);
        for date in first..first + SEARCH {
            let text = Time::from_millis(date * 1440 * MINUTE).text();
            let (of_month, of_day) = (text[5..7].parse::<u32>().ok()?, text[8..10].parse::<u32>().ok()?);
            let of_week = (date + 4).rem_euclid(7);
            let by_day = day >> of_day & 1 == 1;
            let by_week = weekday >> of_week & 1 == 1;
            let taken = if *day_star || *weekday_star { by_day && by_week } else { by_day || by_week };
            if month >> of_month & 1 == 0 || !taken {
                continue;
            }
            let from = if date == first { start.rem_euclid(1440) } else { 0 };
            let found = (from..1440).find(|at| hour >> (at / 60) & 1 == 1 && minute >> (at % 60) & 1 == 1);
            if let Some(at) = found {
                return Some(Time::from_millis((date * 1440 + at) * MINUTE));
            }
        }
        None
    }
}

fn field(text: &str, least: u32, most: u32, names: &[&str]) -> Result<u64, String> {
    let mut bits = 0;
    for piece in text.split(',') {
        bits |= range(piece, least, most, names)?;
    }
    Ok(bits)
}

fn range(text: &str, least: u32, most: u32, names: &[&str]) -> Result<u64, String> {
    let number = |part: &str| -> Result<u32, String> {
        let lower = part.to_lowercase();
        if let Some(at) = names.iter().position(|name| *name == lower) {
            return Ok(at as u32 + if names.len() == 12 { 1 } else { 0 });
        }
        part.parse().map_err(|_| {
            format!("failed to parse int from {part}: strconv.Atoi: parsing \"{part}\": invalid syntax")
        })
    };
    let (span, step) = match text.split_once('/') {
        Some((span, step)) => (span, Some(number(step)?)),
        None => (text, None),
    };
    let (first, last) = match span.split_once('-') {
        _ if span == "*" || span == "?" => (least, if most == 7 { 6 } else { most }),
        Some((first, last)) => (number(first)?, number(last)?),
        None if step.is_some() => (number(span)?, most),
        None => (number(span)?, number(span)?),
    };
    if first < least {
        return Err(format!("beginning of range ({first}) below minimum ({least}): {text}"));
    }
    if last > most {
        return Err(format!("end of range ({last}) above maximum ({most}): {text}"));
    }
    if first > last {
        return Err(format!("beginning of range ({first}) beyond end of range ({last}): {text}"));
    }
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok((first..=last).step_by(step as usize).fold(0, |bits, at| bits | 1 << at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        Schedule::parse(schedule)
            .unwrap()
            .next(Time::parse(after).unwrap())
            .map(Time::text)
            .unwrap_or_default()
    }

    #[test]
    fn the_next_time_is_found() {
        assert_eq!(next("*/5 * * * *", "2026-01-01T00:00:00Z"), "2026-01-01T00:05:00Z");
        assert_eq!(next("30 4 * * mon-fri", "2026-01-02T05:00:00Z"), "2026-01-05T04:30:00Z");
        assert_eq!(next("0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
        assert_eq!(next("0 0 1 * 0", "2026-01-02T00:00:00Z"), "2026-01-04T00:00:00Z");
        assert_eq!(next("@hourly", "2026-01-01T00:59:59Z"), "2026-01-01T01:00:00Z");
        assert_eq!(next("0 12 * * 7", "2026-01-01T00:00:00Z"), "2026-01-04T12:00:00Z");
        assert_eq!(next("0 0 31 2 *", "2026-01-01T00:00:00Z"), "");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for bad in ["", "* * * *", "61 * * * *", "a * * * *", "5-1 * * * *", "*/0 * * * *", "* * * * * *"] {
            assert!(Schedule::parse(bad).is_err(), "{bad}");
        }
    }
}
