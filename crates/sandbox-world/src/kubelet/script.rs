//! What a pod's author wants to see go wrong: annotations `sandbox.kusion.io/…` and telling image names.
//!
//! The table is in docs/sandbox-faults.md. An annotation without a suffix is meant for every container that is not an init
//! container; `sandbox.kusion.io/exit.main` is meant for the container `main`, init or not.

use std::time::Duration;

use kube_meaning::time::parse_duration;
use serde_json::Value;

use crate::controllers::read::{annotation, controller_of, text};
use crate::pace::Pace;

/// How a container behaves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    /// When it ends after its start, and how.
    pub(crate) exit: Option<Exit>,
    /// When its readiness probe first succeeds; `None` never.
    pub(crate) ready_after: Option<Duration>,
    /// When its liveness probe begins to fail.
    pub(crate) liveness_after: Option<Duration>,
    /// The startup probe never succeeds.
    pub(crate) startup_fails: bool,
    /// The command cannot be started.
    pub(crate) start_error: Option<String>,
    pub(crate) log: String,
    /// Does not react to the signal to end.
    pub(crate) deaf: bool,
}

/// The end of a container.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exit {
    pub(crate) after: Duration,
    pub(crate) code: i64,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

pub(crate) const PREFIX: &str = "sandbox.kusion.io/";

/// The value of an annotation for a container.
pub(crate) fn told<'p>(pod: &'p Value, container: &str, init: bool, name: &str) -> Option<&'p str> {
    let own = annotation(pod, &format!("{PREFIX}{name}.{container}"));
    let all = if init { "" } else { annotation(pod, &format!("{PREFIX}{name}")) };
    [own, all].into_iter().find(|value| !value.is_empty())
}

/// A Go duration, or plain seconds.
pub(crate) fn span(text: &str) -> Option<Duration> {
    let nanos = match text.parse::<u32>() {
        Ok(seconds) => i128::from(seconds) * 1_000_000_000,
        Err(_) => parse_duration(text)?,
    };
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

/// Reads the script of a container.
pub(crate) fn script(pod: &Value, container: &Value, init: bool, pace: &Pace) -> Script {
    let name = text(container, "/name");
    let told = |key: &str| told(pod, name, init, key);
    let flag = |key: &str| told(key).is_some_and(|value| value != "false");
    let delay = |key: &str| told(key).and_then(span);
    let image = text(container, "/image");
    let oom = flag("oom") || image.contains("oomkill");
    let code = told("exit").and_then(|code| code.parse::<i64>().ok());
    let code = code.or_else(|| image.contains("crashloop").then_some(1));
    let crash_after = delay("exit-after").unwrap_or(pace.crash);
    let end = |after: Duration, code: i64, reason: &'static str| {
        let message = told("message").unwrap_or_default().to_owned();
        Some(Exit { after, code, reason, message })
    };
    let exit = match code {
        _ if oom => end(crash_after, 137, "OOMKilled"),
        Some(0) => end(crash_after, 0, "Completed"),
        Some(code) => end(crash_after, code, "Error"),
        None if init && !is_sidecar(container) => end(pace.stop, 0, "Completed"),
        None if controller_of(pod, "Job").is_some() && text(pod, "/spec/restartPolicy") != "Always" => {
            end(delay("exit-after").unwrap_or(pace.work), 0, "Completed")
        }
        None => delay("exit-after").and_then(|after| end(after, 0, "Completed")),
    };
    Script {
        exit,
        ready_after: (!flag("not-ready")).then(|| delay("ready-after").unwrap_or(pace.ready)),
        liveness_after: delay("liveness-fails-after"),
        startup_fails: flag("startup-fails"),
        start_error: told("start-error").map(str::to_owned),
        log: told("log").unwrap_or_default().to_owned(),
        deaf: flag("ignore-term"),
    }
}

/// An init container that keeps running beside the others.
pub(crate) fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}
