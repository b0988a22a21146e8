//! When there is nothing to change: whether that means that all is well.

use kusion::{Aim, Ready, Rest};
use serde_json::json;

use crate::views::failure::Failure;
use crate::views::output::{Format, print, print_data};
use crate::views::progress::EVENT;

/// Nothing is to be done, not even a release to be recorded.
pub(crate) fn tell_rest(rest: &Rest, format: Format, ready: &Ready) -> Result<(), Failure> {
    let ids: Vec<String> = rest.unwell.iter().map(ToString::to_string).collect();
    match format {
        Format::Json => print_data(&format!(
            "{}\n",
            json!({"schema": EVENT, "event": "nothing-to-do", "release": ready.state.latest().map(|r| r.no), "unhealthy": ids})
        )),
        Format::Text if ready.aim == Aim::Destroy => print("Nothing to destroy.\n"),
        Format::Text if !ids.is_empty() => print(&format!(
            "Nothing to change. Not healthy, and not waited for (--no-wait): {}\n",
            ids.join(", ")
        )),
        Format::Text => match ready.aim {
            Aim::Rollback(to) => print(&format!("Nothing to do: everything is as release {to} made it.\n")),
            _ => print("Nothing to do: everything is as the configuration says.\n"),
        },
    }
}

/// Why an apply goes on although nothing changes.
pub(crate) fn say_unchanged(ready: &Ready, wait: bool) -> String {
    let unwell = ready.unwell();
    match unwell.as_slice() {
        [] if ready.last_failed() => {
            "Nothing to change; the last release failed, all is healthy now.\n".to_owned()
        }
        [] => String::new(),
        _ if !wait => String::new(),
        [(key, _)] => format!("Nothing to change, but {key} is not healthy: waiting for it.\n"),
        more => {
            format!("Nothing to change, but {} resources are not healthy: waiting for them.\n", more.len())
        }
    }
}
