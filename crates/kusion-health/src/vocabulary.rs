//! Words controllers use in `phase` and `state`, and reasons that will not go away.
//!
//! In: a word or a reason. Out: what it means. Invariant: words not listed mean nothing; polarity is never guessed.

use crate::verdict::Grade;

const HEALTHY: &[&str] = &[
    "ready",
    "running",
    "active",
    "bound",
    "available",
    "healthy",
    "succeeded",
    "success",
    "successful",
    "complete",
    "completed",
    "deployed",
    "installed",
    "provisioned",
    "created",
    "established",
    "operational",
    "synced",
    "initialized",
    "green",
    "ok",
    "compliant",
    "exists",
    "issued",
    "connected",
];
const PROGRESSING: &[&str] = &[
    "pending",
    "progressing",
    "creating",
    "provisioning",
    "initializing",
    "installing",
    "deploying",
    "updating",
    "upgrading",
    "restarting",
    "reconciling",
    "submitted",
    "scheduling",
    "scheduled",
    "starting",
    "deleting",
    "terminating",
    "inprogress",
    "expanding",
    "yellow",
    "promoting",
    "finalising",
    "new",
];
const FAILED: &[&str] = &[
    "failed",
    "failure",
    "error",
    "degraded",
    "invalid",
    "rejected",
    "unhealthy",
    "red",
    "lost",
    "crashed",
    "configerror",
    "noncompliant",
    "submissionfailed",
    "canceled",
    "cancelled",
    "aborted",
    "timeout",
];
const SUSPENDED: &[&str] = &["paused", "suspended", "stopped", "hibernated", "disabled"];
const UNKNOWN: &[&str] = &["unknown", "none", ""];

/// What a phase word means, whatever its case and separators.
pub(crate) fn phase(word: &str) -> Option<Grade> {
    let plain: String =
        word.chars().filter(|ch| !matches!(ch, ' ' | '_' | '-')).flat_map(char::to_lowercase).collect();
    let listed = |list: &[&str]| list.contains(&plain.as_str());
    if listed(HEALTHY) {
        return Some(Grade::Healthy);
    }
    if listed(PROGRESSING) || plain.starts_with("scaling") || plain.starts_with("waiting") {
        return Some(Grade::Progressing);
    }
    if listed(FAILED) {
        return Some(Grade::Failed);
    }
    if listed(SUSPENDED) {
        return Some(Grade::Suspended);
    }
    listed(UNKNOWN).then_some(Grade::Unknown)
}

const DOOM: &[&str] = &[
    "Invalid",
    "ValidationFailed",
    "ConfigError",
    "BadRequest",
    "Unauthorized",
    "Forbidden",
    "AccessDenied",
    "AuthenticationFailed",
    "QuotaExceeded",
    "UnsupportedVersion",
    "BuildFailed",
    "InstallFailed",
    "UpgradeFailed",
    "RetriesExceeded",
    "ArtifactFailed",
    "HealthCheckFailed",
];

/// Ready=False for one of these reasons needs a person: no grace.
pub(crate) fn is_doom(reason: &str, message: &str) -> bool {
    if reason.contains("DependencyNotReady") {
        return false;
    }
    DOOM.iter().any(|word| reason.contains(word) || has_word(message, word))
}

/// In running text only the whole word counts: `InvalidParameter` names an error, `Invalidated 3 caches` does not.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|ch: char| !ch.is_ascii_alphanumeric()).any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_read_whatever_their_case() {
        for (word, state) in [
            ("Running", Grade::Healthy),
            ("GREEN", Grade::Healthy),
            ("InProgress", Grade::Progressing),
            ("WaitingForDisk", Grade::Progressing),
            ("ScalingUp", Grade::Progressing),
            ("SUBMISSION_FAILED", Grade::Failed),
            ("Hibernated", Grade::Suspended),
            ("", Grade::Unknown),
        ] {
            assert_eq!(phase(word), Some(state), "{word}");
        }
        assert_eq!(phase("Frobnicating"), None);
    }

    #[test]
    fn doom_is_a_reason_no_waiting_cures() {
        assert!(is_doom("InvalidSpec", ""));
        assert!(is_doom("ReconcileError", "AccessDenied: no rights"));
        assert!(is_doom("InstallFailed", ""));
        assert!(!is_doom("DependencyNotReady", "Invalid for now"));
        assert!(!is_doom("Creating", "Invalidated the cache"));
    }
}
