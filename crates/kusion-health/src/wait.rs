//! Waiting as a pure state machine: verdicts and a clock in, an outcome out.
//!
//! Problem: a verdict is a moment; waiting needs graces that run out, good news that must hold, and a deadline. In: one
//! verdict per step with the caller's clock. Out: go on, done, failed or timed out. Invariant: only the clock given to
//! `step` is read; object timestamps never decide about deadlines.

use crate::deletion;
use crate::envelope::judge;
use crate::profile::Profile;
use crate::snapshot::Snapshot;
use crate::time::Millis;
use crate::verdict::{Grade, Verdict};
use crate::view::View;
use serde_json::Value;
use std::collections::BTreeMap;

/// Evidence that is away for less than this is still the same evidence.
const FLICKER: Millis = 30_000;
/// An accepted delete must set the deletion timestamp within this time.
const DELETE_ACCEPTED: Millis = 10_000;

/// What a wait says after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// Go on; `stuck` when nothing has changed for long.
    Waiting {
        verdict: Verdict,
        stuck: bool,
    },
    /// Healthy or suspended, and settled.
    Done(Verdict),
    Failed(Verdict),
    /// Not healthy in time; the verdict says where it stands.
    TimedOut(Verdict),
}

impl WaitOutcome {
    pub fn verdict(&self) -> &Verdict {
        match self {
            WaitOutcome::Waiting { verdict, .. } => verdict,
            WaitOutcome::Done(verdict) | WaitOutcome::Failed(verdict) | WaitOutcome::TimedOut(verdict) => {
                verdict
            }
        }
    }

    pub fn is_over(&self) -> bool {
        !matches!(self, WaitOutcome::Waiting { .. })
    }
}

/// Waits for one root. Make it when the apply of the root has ended.
#[derive(Clone, Debug)]
pub struct Waiter {
    deadline: Millis,
    settle: Millis,
    stuck: Millis,
    stale: Millis,
    /// Since when the verdict is good, and with how many restarts.
    good: Option<(Millis, i64)>,
    /// Evidence → since when it is there, and since when it is missing again.
    holds: BTreeMap<String, (Millis, Option<Millis>)>,
    shape: Option<(Grade, String, String, Option<String>)>,
    changed: Millis,
    lost: Option<Millis>,
    wake: Option<Millis>,
}

impl Waiter {
    pub fn new(object: &Value, profile: &Profile, now: Millis) -> Waiter {
        Waiter {
            deadline: now + profile.deadline_for(object),
            settle: profile.settle,
            stuck: profile.stuck,
            stale: profile.stale,
            good: None,
            holds: BTreeMap::new(),
            shape: None,
            changed: now,
            lost: None,
            wake: None,
        }
    }

    /// Replaces the deadline of the profile, for a user's own timeout.
    pub fn set_deadline(&mut self, deadline: Millis) {
        self.deadline = deadline;
    }

    pub fn deadline(&self) -> Millis {
        self.deadline
    }

    /// The next moment at which time alone can change the outcome: no polling is needed before it.
    pub fn wake(&self) -> Millis {
        self.wake.map_or(self.deadline, |wake| wake.min(self.deadline))
    }

    /// Takes the newest verdict.
    pub fn step(&mut self, verdict: Verdict, now: Millis) -> WaitOutcome {
        self.lost = None;
        self.wake = None;
        self.note_change(&verdict, now);
        let verdict = self.run_out(verdict, now);
        match verdict.verdict {
            Grade::Failed => return WaitOutcome::Failed(verdict),
            Grade::Healthy | Grade::Suspended => return self.good_step(verdict, now),
            _ => self.good = None,
        }
        if now >= self.deadline {
            return self.too_late(verdict);
        }
        let quiet = now - self.changed >= self.stuck;
        if !quiet {
            self.wake_at(self.changed + self.stuck);
        }
        WaitOutcome::Waiting {
            verdict,
            stuck: quiet && self.shape.as_ref().is_some_and(|shape| shape.0 != Grade::Terminating),
        }
    }

    /// The watch is lost: the last verdict goes stale, then unknown.
    pub fn lose(&mut self, last: Verdict, now: Millis) -> WaitOutcome {
        let since = *self.lost.get_or_insert(now);
        self.good = None;
        if now >= self.deadline {
            return self.too_late(last);
        }
        let verdict = if now - since >= self.stale {
            Verdict::unknown("WatchLost", "the server has not been heard for long")
                .because("the watch was lost")
        } else {
            self.wake = Some(since + self.stale);
            last.note("stale, the watch was lost")
        };
        WaitOutcome::Waiting { verdict, stuck: false }
    }

    fn note_change(&mut self, verdict: &Verdict, now: Millis) {
        let shape = (verdict.verdict, verdict.reason.clone(), verdict.message.clone(), verdict.cause.clone());
        if self.shape.as_ref() != Some(&shape) {
            self.shape = Some(shape);
            self.changed = now;
        }
    }

    /// Lets a grace run out.
    fn run_out(&mut self, mut verdict: Verdict, now: Millis) -> Verdict {
        let key = verdict.hold.as_ref().map(|hold| hold.key.clone());
        self.holds.retain(|known, (_, missing)| {
            // steps may be minutes apart: only a step that did not see the evidence starts its absence
            *missing = if Some(known) == key.as_ref() { None } else { missing.or(Some(now)) };
            missing.is_none_or(|since| now - since <= FLICKER)
        });
        let Some(hold) = verdict.hold.take() else { return verdict };
        let (first, _) = self.holds.entry(hold.key.clone()).or_insert((now, None));
        let ends = *first + hold.grace;
        if !hold.armed {
            verdict.hold = Some(hold);
            return verdict;
        }
        if now < ends {
            self.wake_at(ends);
            verdict.hold = Some(hold);
            return verdict;
        }
        verdict.verdict = hold.then;
        verdict.reason = hold.reason;
        if let Some(warning) = hold.warning {
            verdict.warnings.push(warning);
            verdict.cause = None;
            verdict.next = None;
        }
        verdict
    }

    fn good_step(&mut self, verdict: Verdict, now: Millis) -> WaitOutcome {
        // what cannot flap need not settle
        let final_word = verdict.is_lasting();
        let restarts = verdict.restarts;
        let (since, before) = *self.good.get_or_insert((now, restarts));
        let since = if restarts > before { now } else { since };
        self.good = Some((since, restarts));
        if final_word || now - since >= self.settle {
            return WaitOutcome::Done(verdict);
        }
        self.wake_at(since + self.settle);
        WaitOutcome::Waiting { verdict, stuck: false }
    }

    fn too_late(&self, verdict: Verdict) -> WaitOutcome {
        match verdict.verdict {
            Grade::Unknown => WaitOutcome::Failed(verdict),
            Grade::Healthy | Grade::Suspended => WaitOutcome::Done(verdict),
            _ => WaitOutcome::TimedOut(verdict),
        }
    }

    fn wake_at(&mut self, at: Millis) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }
}

/// What waiting for a deletion says after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    Waiting(Verdict),
    /// Gone; `recreated` when another object has the name now.
    Done {
        recreated: Option<String>,
    },
    Failed(Verdict),
}

/// Waits until one object is gone.
#[derive(Clone, Debug)]
pub struct DeleteWaiter {
    uid: String,
    started: Millis,
    deadline: Millis,
}

impl DeleteWaiter {
    pub fn new(object: &Value, profile: &Profile, now: Millis) -> DeleteWaiter {
        let uid = View(object).uid().to_owned();
        DeleteWaiter { uid, started: now, deadline: now + profile.delete_deadline_for(object) }
    }

    pub fn set_deadline(&mut self, deadline: Millis) {
        self.deadline = deadline;
    }

    /// Takes what is seen under the object's name now.
    pub fn step(
        &self,
        seen: Option<&Value>,
        snapshot: &Snapshot,
        profile: &Profile,
        now: Millis,
    ) -> DeleteOutcome {
        let Some(object) = seen else { return DeleteOutcome::Done { recreated: None } };
        let view = View(object);
        if !self.uid.is_empty() && view.stored() && view.uid() != self.uid {
            return DeleteOutcome::Done { recreated: Some(recreator(view)) };
        }
        if view.get("/metadata/deletionTimestamp").is_none() {
            if now - self.started < DELETE_ACCEPTED {
                return DeleteOutcome::Waiting(Verdict::terminating("Deleting", "the delete was accepted"));
            }
            let verdict = Verdict::failed("DeleteIgnored", "the delete was accepted, but the object stays")
                .because("an aggregated API or a webhook ignores the delete");
            return DeleteOutcome::Failed(verdict);
        }
        let mut verdict = judge(object, snapshot, profile, Some(now));
        verdict.reason = reason(view, now).to_owned();
        if now >= self.deadline {
            verdict.verdict = Grade::Failed;
            verdict.reason = "StuckDeleting".to_owned();
            return DeleteOutcome::Failed(verdict);
        }
        DeleteOutcome::Waiting(verdict)
    }
}

fn reason(view: View<'_>, now: Millis) -> &'static str {
    let finalizers = deletion::finalizers(view);
    if finalizers.iter().any(|name| *name != "foregroundDeletion") {
        return "Finalizer";
    }
    if !finalizers.is_empty() {
        return "Dependents";
    }
    let end = crate::time::parse(view.str("/metadata/deletionTimestamp"));
    match end {
        Some(end) if view.kind() == "Pod" && now > end + 30_000 => "KubeletSilent",
        _ => "Grace",
    }
}

/// Who made the new object of the same name.
fn recreator(view: View<'_>) -> String {
    let owner = view
        .items("/metadata/ownerReferences")
        .next()
        .map(|owner| format!("{}/{}", owner.str("/kind"), owner.str("/name")));
    let manager = view.items("/metadata/managedFields").next().map(|entry| entry.str("/manager").to_owned());
    let who = owner
        .or(manager)
        .filter(|who| !who.is_empty() && who != "/")
        .unwrap_or_else(|| "somebody".to_owned());
    format!("it was created again by {who}")
}
