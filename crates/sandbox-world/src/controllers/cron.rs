//! When is the next time of a schedule after a moment? In UTC.

use kube_meaning::schedule::Schedule;

use crate::time::Time;

const MINUTE: i64 = 60_000;
/// Four years and a day, twice, in days: the longest gap is the 29th of February around a century.
const SEARCH: i64 = 366 * 8 + 3;

/// The first time after a moment.
pub(crate) fn next_time(schedule: &Schedule, after: Time) -> Option<Time> {
    let Schedule::Fields { minute, hour, day, month, weekday, day_star, weekday_star } = schedule else {
        let Schedule::Every(seconds) = schedule else { return None };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let schedule = Schedule::parse(schedule).unwrap();
        next_time(&schedule, Time::parse(after).unwrap()).map(Time::text).unwrap_or_default()
    }

    #[test]
    fn the_next_time_is_found() {
        assert_eq!(next("*/5 * * * *", "2026-01-01T00:00:00Z"), "2026-01-01T00:05:00Z");
        assert_eq!(next("30 4 * * mon-fri", "2026-01-02T05:00:00Z"), "2026-01-05T04:30:00Z");
        assert_eq!(next("0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
        assert_eq!(next("0 0 1 * 0", "2026-01-02T00:00:00Z"), "2026-01-04T00:00:00Z");
        assert_eq!(next("@hourly", "2026-01-01T00:59:59Z"), "2026-01-01T01:00:00Z");
        assert_eq!(next("0 12 * * sun", "2026-01-01T00:00:00Z"), "2026-01-04T12:00:00Z");
        assert_eq!(next("0 0 31 2 *", "2026-01-01T00:00:00Z"), "");
    }
}
