//! Cron schedules: read once, for the server's refusal and for whoever keeps the time.

use crate::time::parse_duration;

/// Which minutes, hours, days, months and weekdays; bit by bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
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

impl Schedule {
    /// Reads a schedule; the server's complaint when it cannot be read.
    pub fn parse(text: &str) -> Result<Schedule, String> {
        let fields = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        if let Some(span) = fields.strip_prefix("@every ") {
            let nanos = parse_duration(span).ok_or_else(|| format!("failed to parse duration {text}"))?;
            return Ok(Schedule::Every(i64::try_from(nanos / 1_000_000_000).unwrap_or(1).max(1)));
        }
        if fields.starts_with('@') {
            return Err(format!("unrecognized descriptor: {text}"));
        }
        let parts: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(format!("expected exactly 5 fields, found {}: [{}]", parts.len(), parts.join(" ")));
        };
        Ok(Schedule::Fields {
            minute: field(minute, 0, 59, &[])?,
            hour: field(hour, 0, 23, &[])?,
            day: field(day, 1, 31, &[])?,
            month: field(month, 1, 12, &MONTHS)?,
            weekday: field(weekday, 0, 6, &DAYS)?,
            day_star: day.starts_with(['*', '?']),
            weekday_star: weekday.starts_with(['*', '?']),
        })
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
            return Ok(at as u32 + least);
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
        _ if span == "*" || span == "?" => (least, most),
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

    fn problem(schedule: &str) -> Option<String> {
        Schedule::parse(schedule).err()
    }

    #[test]
    fn schedules_that_a_server_takes_are_taken() {
        for good in
            ["* * * * *", "*/5 0-6,12 1 jan-mar MON", "0 0 31 2 *", "@daily", "@every 1h", "5/15 * ? * 0"]
        {
            assert_eq!(problem(good), None, "{good}");
        }
        for (bad, words) in [
            ("every now and then", "expected exactly 5 fields, found 4: [every now and then]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("x * * * *", "failed to parse int from x"),
            ("*/0 * * * *", "positive number"),
            ("5-3 * * * *", "beyond end"),
            ("@sometimes", "unrecognized descriptor"),
            ("", "expected exactly 5 fields, found 0: []"),
            ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ] {
            assert!(problem(bad).is_some_and(|told| told.contains(words)), "{bad}: {:?}", problem(bad));
        }
    }
}
