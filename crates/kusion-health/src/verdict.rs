//! What a judgement says: state, reason, message, cause, next step.
//!
//! In: filled by the kind rules and the cause finder. Out: a value with a fixed JSON form. Invariant: `reason` is a stable
//! CamelCase key; everything meant for people is in `message`, `cause` and `next`.

use crate::time::Millis;
use serde_json::{Value, json};

/// The six verdicts, ordered from best to worst for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    Healthy,
    Suspended,
    Terminating,
    Progressing,
    Unknown,
    Failed,
}

impl Grade {
    /// All of them, the best first.
    pub const ALL: [Grade; 6] = [
        Grade::Healthy,
        Grade::Suspended,
        Grade::Terminating,
        Grade::Progressing,
        Grade::Unknown,
        Grade::Failed,
    ];

    /// What it means for whoever waits.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Grade::Healthy => "does what it is there for",
            Grade::Suspended => "is held back on purpose; counts as good",
            Grade::Terminating => "is being deleted",
            Grade::Progressing => "is on its way; an apply waits",
            Grade::Unknown => "cannot be told: it may not be read, or the cluster does not answer",
            Grade::Failed => "will not become healthy by itself; the cause is told",
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Grade::Healthy => "healthy",
            Grade::Suspended => "suspended",
            Grade::Terminating => "terminating",
            Grade::Progressing => "progressing",
            Grade::Unknown => "unknown",
            Grade::Failed => "failed",
        }
    }

    /// Waiting ends well here: healthy, or held back on purpose.
    pub fn is_good(self) -> bool {
        matches!(self, Grade::Healthy | Grade::Suspended)
    }
}

impl std::fmt::Display for Grade {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A verdict that changes by itself if its evidence stays: the waiter keeps the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Names the evidence, so that flicker between two faces of one cause does not restart the clock.
    pub key: String,
    pub grace: Millis,
    /// Only an armed hold may run out; an unarmed one still starts the clock (a crash loop before its third restart).
    pub armed: bool,
    /// What it becomes.
    pub then: Grade,
    pub reason: String,
    pub warning: Option<String>,
}

/// The object (and container) a cause speaks of: where to fetch logs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Subject {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub container: Option<String>,
}

/// The result of judging one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub verdict: Grade,
    pub reason: String,
    pub message: String,
    pub cause: Option<String>,
    /// Names of objects that the cause says.
    pub named: Vec<String>,
    pub next: Option<String>,
    /// Up to two further causes.
    pub also: Vec<String>,
    /// Termination messages and the like, newest last.
    pub evidence: Vec<String>,
    /// May accompany any verdict, healthy included.
    pub warnings: Vec<String>,
    pub subject: Option<Subject>,
    pub hold: Option<Hold>,
    /// Container restarts below this object; a settled root must not gain any.
    pub restarts: i64,
}

impl Verdict {
    pub fn new(verdict: Grade, reason: impl Into<String>, message: impl Into<String>) -> Verdict {
        Verdict {
            verdict,
            reason: reason.into(),
            message: message.into(),
            cause: None,
            named: Vec::new(),
            next: None,
            also: Vec::new(),
            evidence: Vec::new(),
            warnings: Vec::new(),
            subject: None,
            hold: None,
            restarts: 0,
        }
    }

    /// Whether this good verdict cannot turn bad by itself: nothing runs below the object.
    pub fn is_lasting(&self) -> bool {
        matches!(self.reason.as_str(), "NothingToWatch" | "Exists" | "Complete" | "Completed")
    }

    pub fn healthy(reason: impl Into<String>, message: impl Into<String>) -> Verdict {
        Verdict::new(Grade::Healthy, reason, message)
    }

    pub fn progressing(reason: impl Into<String>, message: impl Into<String>) -> Verdict {
        Verdict::new(Grade::Progressing, reason, message)
    }

    pub fn failed(reason: impl Into<String>, message: impl Into<String>) -> Verdict {
        Verdict::new(Grade::Failed, reason, message)
    }

    pub fn unknown(reason: impl Into<String>, message: impl Into<String>) -> Verdict {
        Verdict::new(Grade::Unknown, reason, message)
    }

    pub fn suspended(reason: impl Into<String>, message: impl Into<String>) -> Verdict {
        Verdict::new(Grade::Suspended, reason, message)
    }

    pub fn terminating(reason: impl Into<String>, message: impl Into<String>) -> Verdict {
        Verdict::new(Grade::Terminating, reason, message)
    }

    /// Sets the cause; an empty sentence sets nothing.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Verdict {
        let cause = cause.into();
        if !cause.trim().is_empty() {
            self.cause = Some(cause);
            self.named.clear();
        }
        self
    }

    /// Says that the cause names an object.
    #[must_use]
    pub(crate) fn naming(mut self, name: &str) -> Verdict {
        self.named.push(name.to_owned());
        self
    }

    #[must_use]
    pub fn then(mut self, next: impl Into<String>) -> Verdict {
        self.next = Some(next.into());
        self
    }

    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Verdict {
        self.warnings.push(warning.into());
        self
    }

    /// Adds a remark to the message.
    #[must_use]
    pub fn note(mut self, note: &str) -> Verdict {
        if !self.message.is_empty() {
            self.message.push_str("; ");
        }
        self.message.push_str(note);
        self
    }

    /// Fails by itself when the evidence stays for `grace`.
    #[must_use]
    pub fn fails_after(mut self, grace: Millis) -> Verdict {
        self.hold = Some(Hold {
            key: self.reason.clone(),
            grace,
            armed: true,
            then: Grade::Failed,
            reason: self.reason.clone(),
            warning: None,
        });
        self
    }

    /// Counts as healthy, with a warning, when nothing changes for `grace`.
    #[must_use]
    pub fn heals_after(mut self, grace: Millis, reason: &str, warning: &str) -> Verdict {
        self.hold = Some(Hold {
            key: self.reason.clone(),
            grace,
            armed: true,
            then: Grade::Healthy,
            reason: reason.to_owned(),
            warning: Some(warning.to_owned()),
        });
        self
    }

    /// The message with its warnings, for one line of output.
    pub fn full_message(&self) -> String {
        let mut text = self.message.clone();
        for warning in &self.warnings {
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str("warning: ");
            text.push_str(warning);
        }
        text
    }

    /// The row `kusion health -o json` prints.
    pub fn to_json(&self, id: &str) -> Value {
        json!({
            "id": id,
            "verdict": self.verdict.as_str(),
            "reason": self.reason,
            "message": self.full_message(),
            "cause": self.cause,
            "next": self.next,
        })
    }
}

/// The worst state of a group; an empty group is healthy.
pub fn worst(states: impl IntoIterator<Item = Grade>) -> Grade {
    states.into_iter().max().unwrap_or(Grade::Healthy)
}

/// `1 pod`, `2 pods`.
pub(crate) fn count(n: i64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_of_a_group_follows_the_reference_order() {
        use Grade::*;
        assert_eq!(worst([Healthy, Suspended]), Suspended);
        assert_eq!(worst([Terminating, Progressing]), Progressing);
        assert_eq!(worst([Unknown, Progressing, Terminating]), Unknown);
        assert_eq!(worst([Failed, Unknown]), Failed);
        assert_eq!(worst([]), Healthy);
    }

    #[test]
    fn json_form_has_exactly_the_agreed_keys() {
        let row = Verdict::healthy("Ready", "1 of 1").warn("restarted").to_json("v1:Pod:a:b");
        let keys: Vec<_> = row.as_object().expect("a mapping").keys().cloned().collect();
        assert_eq!(keys, ["id", "verdict", "reason", "message", "cause", "next"]);
        assert_eq!(row["message"], "1 of 1; warning: restarted");
        assert!(row["cause"].is_null());
    }
}
