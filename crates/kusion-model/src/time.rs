//! Points in time as data: milliseconds since 1970, written as RFC 3339 in UTC. Reading a clock happens elsewhere.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    pub millis: u64,
}

impl Timestamp {
    /// Returns the point `millis` milliseconds after 1970.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Timestamp { millis }
    }

    /// Returns the milliseconds from `earlier` to `self`, 0 if it is not earlier.
    #[must_use]
    pub const fn millis_since(self, earlier: Timestamp) -> u64 {
        self.millis.saturating_sub(earlier.millis)
    }

    /// Reads `2026-01-31T12:00:00[.123]Z`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.strip_suffix('Z')?;
        let (whole, fraction) = bytes.split_once('.').unwrap_or((bytes, ""));
        let (date, clock) = whole.split_once('T')?;
        let number = |part: Option<&str>| part.and_then(|p| p.parse::<u64>().ok());
        let mut date = date.split('-');
        let (year, month, day) = (number(date.next())?, number(date.next())?, number(date.next())?);
        let mut clock = clock.split(':');
        let (hour, minute, second) = (number(clock.next())?, number(clock.next())?, number(clock.next())?);
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(Timestamp { millis: seconds * 1_000 + millis })
    }
}

/// Days from 1970-01-01 for a date from 1970 on (Gregorian, counted in years that start in March).
const fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

const fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + (month <= 2) as u64, month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.millis / 1_000;
        let (year, month, day) = civil_from_days(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
            self.millis % 1_000
        )
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a time is not in RFC 3339 form with Z"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_reads_back() {
        for millis in [0, 951_782_400_000, 1_794_787_436_123, 4_107_542_400_999] {
            let time = Timestamp::from_millis(millis);
            assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }
        assert_eq!(Timestamp::from_millis(951_782_400_000).to_string(), "2000-02-29T00:00:00.000Z");
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::parse("2026-01-31T12:00:00Z"), Timestamp::parse("2026-01-31T12:00:00.000Z"));
    }
}
