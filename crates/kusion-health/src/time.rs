//! Timestamps of objects as milliseconds since the epoch.
//!
//! Problem: events and conditions are ordered by RFC 3339 texts. In: text. Out: `Millis`. Invariant: pure, no clock; a text
//! that is no timestamp reads as absent.

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Millis = i64;

/// Reads `2026-01-02T03:04:05[.678](Z|+08:00)`.
pub fn parse(text: &str) -> Option<Millis> {
    let (date, rest) = text.trim().split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-');
    let year: i64 = number(parts.next()?)?;
    let month: i64 = number(parts.next()?)?;
    let day: i64 = number(parts.next()?)?;
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let split = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(split);
    let mut parts = clock.splitn(3, ':');
    let hour: i64 = number(parts.next()?)?;
    let minute: i64 = number(parts.next()?)?;
    let (second, millis) = seconds(parts.next().unwrap_or("0"))?;
    let days = days_from_civil(year, month, day);
    let local = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + millis;
    Some(local - offset(zone)? * 60_000)
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

fn seconds(text: &str) -> Option<(i64, i64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut millis = 0;
    for place in 0..3 {
        let digit =
            fraction.as_bytes().get(place).map_or(0, |byte| i64::from(byte.wrapping_sub(b'0').min(9)));
        millis = millis * 10 + digit;
    }
    Some((number(whole)?, millis))
}

/// Minutes east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    Some(sign * (number(hours)? * 60 + number(minutes)?))
}

/// Days since the epoch in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A duration for people: `45 s`, `3 min`, `2 h`, `5 d`.
pub(crate) fn span(millis: Millis) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_both_event_apis_are_read() {
        assert_eq!(parse("1970-01-01T00:00:01Z"), Some(1000));
        assert_eq!(parse("2000-03-01T00:00:00Z"), Some(951_868_800_000));
        assert_eq!(parse("2000-03-01T08:00:00.250000+08:00"), Some(951_868_800_250));
        assert_eq!(parse("yesterday"), None);
        assert_eq!(parse("2000-13-01T00:00:00Z"), None);
    }
}
