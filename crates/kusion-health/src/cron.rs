//! Is this a schedule a CronJob controller can read?
//!
//! In: `spec.schedule` and `spec.timeZone`. Out: ok or the problem in words. The schedule itself is read by
//! `kube_meaning::schedule`; here are the time zones, before it or beside it.

use kube_meaning::schedule::Schedule;

/// Checks a schedule, with a `TZ=` before it or without.
pub(crate) fn check(schedule: &str) -> Result<(), String> {
    let mut text = schedule.trim();
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        let (zone, rest) = text.split_once(' ').ok_or("a time zone without a schedule")?;
        check_zone(zone.split_once('=').map_or("", |(_, zone)| zone))?;
        text = rest.trim();
    }
    Schedule::parse(text).map(|_| ()).map_err(|why| why.in_words())
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
            "TZ=Mars/Base * * * * *",
            "TZ=UTC",
        ] {
            assert!(check(schedule).is_err(), "{schedule}");
        }
        assert!(check_zone("Mars/Olympus Mons").is_err());
        assert!(check_zone("Europe/Berlin").is_ok());
    }
}
