//! Cron schedules, as far as a server refuses them: five fields of numbers, names, ranges and steps.

/// What one field may hold: the name in messages, its bounds and its words.
struct Bounds {
    low: u32,
    high: u32,
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [Bounds; 5] = [
    Bounds { low: 0, high: 59, words: &[] },
    Bounds { low: 0, high: 23, words: &[] },
    Bounds { low: 1, high: 31, words: &[] },
    Bounds { low: 1, high: 12, words: &MONTHS },
    Bounds { low: 0, high: 6, words: &DAYS },
];

/// The complaint about a schedule; `None` when it can be used.
pub(crate) fn problem(schedule: &str) -> Option<String> {
    if let Some(word) = schedule.strip_prefix('@') {
        let known = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
        let every =
            word.strip_prefix("every ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        return (!known.contains(&word) && !every).then(|| format!("unrecognized descriptor: {schedule}"));
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let list = fields.join(" ");
        return Some(format!("expected exactly 5 fields, found {}: [{list}]", fields.len()));
    }
    fields
        .iter()
        .zip(&FIELDS)
        .find_map(|(field, bounds)| field.split(',').find_map(|part| part_problem(part, bounds)))
}

fn part_problem(part: &str, bounds: &Bounds) -> Option<String> {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    if let Some(step) = step {
        match step.parse::<u32>() {
            Ok(0) => return Some(format!("step of range should be a positive number: {part}")),
            Ok(_) => {}
            Err(_) => {
                return Some(format!(
                    "failed to parse int from {step}: strconv.Atoi: parsing {step:?}: invalid syntax"
                ));
            }
        }
    }
    if matches!(range, "*" | "?") {
        return None;
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| {
        let word = bounds.words.iter().position(|word| text.eq_ignore_ascii_case(word));
        let named = word.and_then(|at| u32::try_from(at).ok()).map(|at| at + bounds.low);
        named.or_else(|| text.parse::<u32>().ok())
    };
    let (Some(start), Some(end)) = (number(first), number(last)) else {
        let wrong = if number(first).is_none() { first } else { last };
        return Some(format!(
            "failed to parse int from {wrong}: strconv.Atoi: parsing {wrong:?}: invalid syntax"
        ));
    };
    if start < bounds.low {
        return Some(format!("beginning of range ({start}) below minimum ({}): {part}", bounds.low));
    }
    if end > bounds.high {
        return Some(format!("end of range ({end}) above maximum ({}): {part}", bounds.high));
    }
    (start > end).then(|| format!("beginning of range ({start}) beyond end of range ({end}): {part}"))
}

#[cfg(test)]
mod tests {
    use super::problem;

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
        ] {
            assert!(problem(bad).is_some_and(|told| told.contains(words)), "{bad}: {:?}", problem(bad));
        }
    }
}
