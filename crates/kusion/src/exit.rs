//! Exit codes: the one table of them. Scripts branch on the numbers; help, manual page and documents print the words.

/// How a command ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    #[default]
    Done = 0,
    /// Usage or configuration error.
    Usage = 1,
    /// Changes pending.
    Pending = 2,
    /// Denied by policy.
    Denied = 3,
    /// Locked, or a conflict.
    Conflict = 4,
    /// The platform failed.
    Remote = 5,
    /// Applied, but failed or not healthy in time.
    Unhealthy = 6,
    /// Partly applied.
    Partial = 7,
    /// A bug of ours.
    Bug = 70,
    Interrupted = 130,
}

impl Exit {
    /// All of them, in order.
    pub const ALL: [Exit; 10] = [
        Exit::Done,
        Exit::Usage,
        Exit::Pending,
        Exit::Denied,
        Exit::Conflict,
        Exit::Remote,
        Exit::Unhealthy,
        Exit::Partial,
        Exit::Bug,
        Exit::Interrupted,
    ];

    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What it means, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done, or nothing to do",
            Exit::Usage => "usage or configuration error",
            Exit::Pending => "changes pending (preview --exit-code, drift, diff --exit-code)",
            Exit::Denied => "denied by policy",
            Exit::Conflict => "locked, or a conflict",
            Exit::Remote => "the cluster failed or refused",
            Exit::Unhealthy => "applied, but failed or not healthy in time",
            Exit::Partial => "partly applied",
            Exit::Bug => "a bug of ours",
            Exit::Interrupted => "interrupted",
        }
    }
}
