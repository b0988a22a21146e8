//! How long ago, as people read it: `5m32s`, `3d4h`.

use serde_json::Value;

use crate::time::Time;

/// The age of a timestamp; `<unknown>` when there is none.
pub(crate) fn since(moment: Option<&Value>, now: Time) -> String {
    match moment.and_then(Value::as_str).and_then(Time::parse) {
        Some(then) => short((now.millis() - then.millis()).div_euclid(1000)),
        None => "<unknown>".to_owned(),
    }
}

/// A number of seconds in at most two units.
pub(crate) fn short(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |big: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{part}"),
    };
    match seconds {
        ..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 192 => two(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn ages_have_at_most_two_units() {
        let cases = [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (332, "5m32s"),
            (601, "10m"),
            (3 * 3600, "3h"),
            (4 * 3600 + 60, "4h1m"),
            (9 * 3600, "9h"),
            (50 * 3600, "2d2h"),
            (86400 * 20, "20d"),
            (86400 * 800, "2y70d"),
            (86400 * 365 * 9, "9y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(short(seconds), text, "{seconds}");
        }
    }
}
