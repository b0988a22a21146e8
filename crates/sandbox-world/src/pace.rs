//! How fast the simulated cluster is: delays of the kubelet and back-offs. Data only; a world is made with it.

use std::time::Duration;

/// Delays and back-offs. The default is quick enough to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From the binding of a pod to its sandbox.
    pub sandbox: Duration,
    /// The shortest image pull; each image takes this and up to `pull_spread` more, always the same for the same image.
    pub pull: Duration,
    pub pull_spread: Duration,
    /// From the start of a container to its first good readiness probe (a probe's initial delay is added).
    pub ready: Duration,
    /// How long a container of a Job runs before it ends well.
    pub work: Duration,
    /// From the start of a failing container to its exit.
    pub crash: Duration,
    /// From the signal to the end of a container.
    pub stop: Duration,
    /// First wait between two starts of a failing container; doubles up to `crash_limit`.
    pub crash_backoff: Duration,
    pub crash_limit: Duration,
    /// First wait between two pulls of a bad image; doubles up to `pull_limit`.
    pub pull_backoff: Duration,
    pub pull_limit: Duration,
    /// Between two looks at a missing ConfigMap or Secret.
    pub config_retry: Duration,
    /// First wait of a Job between two failed pods; doubles up to ten minutes.
    pub job_backoff: Duration,
    /// Between two looks of the volume binder.
    pub bind_retry: Duration,
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            sandbox: ms(100),
            pull: ms(300),
            pull_spread: ms(700),
            ready: ms(500),
            work: ms(1000),
            crash: ms(500),
            stop: ms(200),
            crash_backoff: ms(2000),
            crash_limit: ms(300_000),
            pull_backoff: ms(2000),
            pull_limit: ms(300_000),
            config_retry: ms(2000),
            job_backoff: ms(2000),
            bind_retry: ms(15_000),
        }
    }
}
