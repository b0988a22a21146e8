//! CronJob: healthy from the start, unless its schedule cannot be read.

use crate::context::Context;
use crate::cron;
use crate::time;
use crate::verdict::Verdict;
use crate::view::View;

const BAD_SCHEDULE: [&str; 5] =
    ["UnparseableSchedule", "UnparsableSchedule", "UnknownTimeZone", "TooManyMissedTimes", "InvalidSchedule"];

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    if object.flag("/spec/suspend") {
        return Verdict::suspended("Suspended", "suspended by its spec");
    }
    let schedule = object.str("/spec/schedule");
    if let Some(bad) = context.events(object).into_iter().find(|event| BAD_SCHEDULE.contains(&event.reason)) {
        return bad_schedule(bad.message).because(cause(schedule, bad.message));
    }
    if object.get("/spec/schedule").is_some()
        && let Err(problem) = cron::check(schedule)
    {
        return bad_schedule(&problem).because(cause(schedule, &problem));
    }
    let zone = object.text("/spec/timeZone").unwrap_or("UTC");
    if let Err(problem) = cron::check_zone(zone) {
        return bad_schedule(&problem).because(problem);
    }
    scheduled(object, context)
}

fn bad_schedule(message: &str) -> Verdict {
    Verdict::failed("BadSchedule", message)
        .then("correct spec.schedule or spec.timeZone: five fields, for example \"0 3 * * *\"")
}

fn cause(schedule: &str, problem: &str) -> String {
    format!("schedule \"{schedule}\" cannot be used: {problem}")
}

fn scheduled(object: View<'_>, context: &Context<'_>) -> Verdict {
    let active = object.list("/status/active").len();
    let last = object.str("/status/lastScheduleTime");
    let message = match (last, active) {
        ("", _) => "not yet due for the first time".to_owned(),
        (last, 0) => format!("last scheduled {last}"),
        (last, active) => format!("last scheduled {last}, {active} active"),
    };
    let verdict = Verdict::healthy("Scheduled", message);
    let good = time::parse(object.str("/status/lastSuccessfulTime"));
    let began = time::parse(last);
    let behind = match (good, began) {
        (Some(good), Some(began)) => good < began,
        (None, Some(_)) => failed_run(object, context),
        _ => false,
    };
    if active == 0 && behind { verdict.warn("the last run failed") } else { verdict }
}

/// Without any success so far, only a failed Job proves a failure.
fn failed_run(object: View<'_>, context: &Context<'_>) -> bool {
    let owned = context.snapshot.owned_by(object);
    owned.iter().any(|job| crate::condition::Conditions::of(*job).is_true("Failed"))
}
