//! Timestamps of objects as milliseconds since the epoch.
//!
//! Problem: events and conditions are ordered by RFC 3339 texts. In: text. Out: `Millis`. Invariant: pure, no clock; a text
//! that is no timestamp reads as absent.

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Millis = i64;

/// Reads `2026-01-02T03:04:05[.678](Z|+08:00)`.
pub fn parse(text: &str) -> Option<Millis> {
    let (seconds, nanos) = kube_meaning::time::parse_time(text.trim())?;
    Some(seconds * 1000 + i64::from(nanos / 1_000_000))
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
