//! Cron schedules: read once, for the server's refusal and for whoever keeps the time.

use std::fmt;

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

/// One of the five fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What people call it.
    pub name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MINUTE: Field = Field { name: "minute", least: 0, most: 59, names: &[] };
const HOUR: Field = Field { name: "hour", least: 0, most: 23, names: &[] };
const DAY: Field = Field { name: "day of month", least: 1, most: 31, names: &[] };
const MONTH: Field = Field { name: "month", least: 1, most: 12, names: &MONTHS };
const WEEKDAY: Field = Field { name: "day of week", least: 0, most: 6, names: &DAYS };

/// Why a schedule cannot be read. Shown, it is the server's complaint; [`Unreadable::in_words`] is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Not five fields.
    Fields(Vec<String>),
    Descriptor(String),
    /// The whole schedule, and what stands behind `@every`.
    Duration(String, String),
    Number(Field, String),
    /// A number outside its field, and the piece that it stands in.
    Below(Field, u32, String),
    Above(Field, u32, String),
    Backwards(Field, u32, u32, String),
    Step(Field, String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Fields(found) => {
                write!(f, "expected exactly 5 fields, found {}: [{}]", found.len(), found.join(" "))
            }
            Unreadable::Descriptor(text) => write!(f, "unrecognized descriptor: {text}"),
            Unreadable::Duration(text, _) => write!(f, "failed to parse duration {text}"),
            Unreadable::Number(_, part) => {
                write!(f, "failed to parse int from {part}: strconv.Atoi: parsing \"{part}\": invalid syntax")
            }
            Unreadable::Below(field, first, piece) => {
                write!(f, "beginning of range ({first}) below minimum ({}): {piece}", field.least)
            }
            Unreadable::Above(field, last, piece) => {
                write!(f, "end of range ({last}) above maximum ({}): {piece}", field.most)
            }
            Unreadable::Backwards(_, first, last, piece) => {
                write!(f, "beginning of range ({first}) beyond end of range ({last}): {piece}")
            }
            Unreadable::Step(_, piece) => write!(f, "step of range should be a positive number: {piece}"),
        }
    }
}

impl Unreadable {
    /// The same for people who have never seen the parser.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Unreadable::Fields(found) if found.is_empty() => "the schedule is empty".to_owned(),
            Unreadable::Fields(found) => format!("expected 5 fields, found {}", found.len()),
            Unreadable::Descriptor(text) => format!("unknown descriptor `{text}`"),
            Unreadable::Duration(_, span) => format!("`{span}` is not a duration"),
            Unreadable::Number(field, part) => format!("`{part}` is not a {}", field.name),
            Unreadable::Below(field, number, _) | Unreadable::Above(field, number, _) => {
                format!("{number} is out of range for {} ({} to {})", field.name, field.least, field.most)
            }
            Unreadable::Backwards(field, first, last, _) => {
                format!("`{first}-{last}` runs backwards in {}", field.name)
            }
            Unreadable::Step(field, piece) => {
                format!("bad step `{}` in {}", piece.split('/').nth(1).unwrap_or(piece), field.name)
            }
        }
    }
}

impl Schedule {
    /// Reads a schedule as the controller does.
    pub fn parse(text: &str) -> Result<Schedule, Unreadable> {
        let fields = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        if let Some(span) = fields.strip_prefix("@every ") {
            let nanos =
                parse_duration(span).ok_or_else(|| Unreadable::Duration(text.to_owned(), span.to_owned()))?;
            return Ok(Schedule::Every(i64::try_from(nanos / 1_000_000_000).unwrap_or(1).max(1)));
        }
        if fields.starts_with('@') {
            return Err(Unreadable::Descriptor(text.to_owned()));
        }
        let parts: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(Unreadable::Fields(parts.iter().map(|part| (*part).to_owned()).collect()));
        };
        Ok(Schedule::Fields {
            minute: MINUTE.read(minute)?,
            hour: HOUR.read(hour)?,
            day: DAY.read(day)?,
            month: MONTH.read(month)?,
            weekday: WEEKDAY.read(weekday)?,
            day_star: day.starts_with(['*', '?']),
            weekday_star: weekday.starts_with(['*', '?']),
        })
    }
}

impl Field {
    fn read(self, text: &str) -> Result<u64, Unreadable> {
        text.split(',').try_fold(0, |bits, piece| Ok(bits | self.range(piece)?))
    }

    fn number(self, part: &str) -> Result<u32, Unreadable> {
        let lower = part.to_lowercase();
        if let Some(at) = self.names.iter().position(|name| *name == lower) {
            return Ok(at as u32 + self.least);
        }
        part.parse().map_err(|_| Unreadable::Number(self, part.to_owned()))
    }

    fn range(self, piece: &str) -> Result<u64, Unreadable> {
        let (span, step) = match piece.split_once('/') {
            Some((span, step)) => (span, Some(self.number(step)?)),
            None => (piece, None),
        };
        let (first, last) = match span.split_once('-') {
            _ if span == "*" || span == "?" => (self.least, self.most),
            Some((first, last)) => (self.number(first)?, self.number(last)?),
            None if step.is_some() => (self.number(span)?, self.most),
            None => (self.number(span)?, self.number(span)?),
        };
        if first < self.least {
            return Err(Unreadable::Below(self, first, piece.to_owned()));
        }
        if last > self.most {
            return Err(Unreadable::Above(self, last, piece.to_owned()));
        }
        if first > last {
            return Err(Unreadable::Backwards(self, first, last, piece.to_owned()));
        }
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(Unreadable::Step(self, piece.to_owned()));
        }
        Ok((first..=last).step_by(step as usize).fold(0, |bits, at| bits | 1 << at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(schedule: &str) -> Option<String> {
        Schedule::parse(schedule).err().map(|why| why.to_string())
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

    #[test]
    fn people_are_told_in_their_own_words() {
        for (bad, words) in [
            ("every night", "expected 5 fields, found 2"),
            ("", "the schedule is empty"),
            ("61 * * * *", "61 is out of range for minute (0 to 59)"),
            ("* * 0 * *", "0 is out of range for day of month (1 to 31)"),
            ("*/0 * * * *", "bad step `0` in minute"),
            ("* 5-1 * * *", "`5-1` runs backwards in hour"),
            ("* * * * funday", "`funday` is not a day of week"),
            ("@sometimes", "unknown descriptor `@sometimes`"),
            ("@every soon", "`soon` is not a duration"),
        ] {
            assert_eq!(Schedule::parse(bad).unwrap_err().in_words(), words, "{bad}");
        }
    }
}
