//! When there is nothing to change: whether that means that all is well.

use kusion::Ready;
use kusion_model::ResourceKey;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Format, print};
use crate::progress::EVENT;

/// Nothing is to be done, not even a release to be recorded.
pub(crate) struct Rest {
    /// Not well, and not waited for because the user said so.
    unwell: Vec<ResourceKey>,
}

impl Rest {
    /// Says whether a command may end here: nothing changes, and everything is well (or health is not waited for).
    pub(crate) fn of(ready: &Ready, verb: &str, wait: bool) -> Option<Rest> {
        if !ready.changes_nothing() {
            return None;
        }
        let destroyed = verb == "destroy";
        let unwell: Vec<ResourceKey> = match destroyed {
            true => Vec::new(),
            false => ready.unwell().into_iter().map(|(key, _)| key.clone()).collect(),
        };
        let doubtful = !unwell.is_empty() || ready.last_failed();
        (destroyed || !wait || !doubtful).then_some(Rest { unwell })
    }

    pub(crate) fn tell(&self, format: Format, verb: &str, ready: &Ready) -> Result<(), Failure> {
        let ids: Vec<String> = self.unwell.iter().map(ToString::to_string).collect();
        match format {
            Format::Json => print(&format!(
                "{}\n",
                json!({"schema": EVENT, "event": "nothing-to-do", "release": ready.state.latest().map(|r| r.no), "unhealthy": ids})
            )),
            Format::Text if verb == "destroy" => print("Nothing to destroy.\n"),
            Format::Text if !ids.is_empty() => print(&format!(
                "Nothing to change. Not healthy, and not waited for (--no-wait): {}\n",
                ids.join(", ")
            )),
            Format::Text => print("Nothing to do: everything is as the configuration says.\n"),
        }
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
