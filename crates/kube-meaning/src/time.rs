//! Timestamps and durations as the API writes them.
//!
//! In: RFC 3339 texts with any offset and precision, Go durations (`1h30m`). Out: UTC, whole seconds (or six digits for
//! MicroTime). No clock is read here.

/// Seconds since 1970 and nanoseconds of an RFC 3339 text.
pub fn parse_time(text: &str) -> Option<(i64, u32)> {
    let bytes = text.as_bytes();
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let part = text.get(range)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let punctuated = bytes.len() >= 20
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b't')
        && bytes[13] == b':'
        && bytes[16] == b':';
    if !punctuated {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanos = 0u32;
    if let Some(fraction) = rest.strip_prefix('.') {
        let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
        let digits = fraction.get(..end.min(9))?;
        nanos = format!("{digits:0<9}").parse().ok()?;
        rest = fraction.get(end..)?;
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = match rest.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let (hours, minutes) = rest.get(1..)?.split_once(':')?;
            sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60)
        }
    };
    Some((days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset, nanos))
}

/// `2026-01-01T00:00:00Z`.
pub fn format_time(seconds: i64) -> String {
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// `2026-01-01T00:00:00.000000Z`.
pub fn format_micro_time(seconds: i64, nanos: u32) -> String {
    let text = format_time(seconds);
    format!("{}.{:06}Z", text.trim_end_matches('Z'), nanos / 1000)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// Nanoseconds of a Go duration (`300ms`, `-1.5h`, `1h30m`).
pub fn parse_duration(text: &str) -> Option<i128> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() || rest.len() > 64 {
        return None;
    }
    let mut total = 0i128;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let unit = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 6e10,
            "h" => 3.6e12,
            _ => return None,
        };
        total += (number.parse::<f64>().ok()? * unit).round() as i128;
        rest = next;
    }
    Some(if negative { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_offsets_and_written_in_utc() {
        let (seconds, nanos) = parse_time("2026-01-01T01:30:00.25+01:30").unwrap();
        assert_eq!((format_time(seconds).as_str(), nanos), ("2026-01-01T00:00:00Z", 250_000_000));
        assert_eq!(format_micro_time(0, 1_234_567), "1970-01-01T00:00:00.001234Z");
        assert_eq!(
            parse_time("2024-02-29T23:59:59Z").map(|(s, _)| format_time(s)).unwrap(),
            "2024-02-29T23:59:59Z"
        );
        for bad in [
            "",
            "2026",
            "2026-13-01T00:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00",
            "é026-01-01T00:00:00Z",
        ] {
            assert!(parse_time(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn durations_are_gos() {
        assert_eq!(parse_duration("1h30m"), Some(5_400_000_000_000));
        assert_eq!(parse_duration("-1.5s"), Some(-1_500_000_000));
        assert_eq!(parse_duration("0"), Some(0));
        assert!(parse_duration("5").is_none());
    }
}
