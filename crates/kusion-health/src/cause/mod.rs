//! Finding the cause: candidates, their rank, and what they make of a verdict.
//!
//! Problem: "minimum replicas unavailable" is no cause; the cause sits in a container state, an event, a quota. In: pods,
//! events, nodes, claims of the snapshot. Out: one ranked sentence with a next step. Invariant: nothing is invented; a
//! sentence is only built from a signal that was seen.

pub(crate) mod container;
pub(crate) mod image;
pub(crate) mod pod;
pub(crate) mod refusal;
pub(crate) mod scheduler;
pub(crate) mod volume;
pub(crate) mod workload;

use crate::context::Context;
use crate::time::Millis;
use crate::verdict::{Grade, Hold, Subject, Verdict};

/// How a cause weighs on the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Failed at once.
    Terminal,
    /// Progressing with this cause, failed after its grace.
    Grace {
        grace: Millis,
        /// An unarmed grace starts the clock but may not run out yet.
        armed: bool,
        /// Without a clock a back-off *means* repeated failure.
        snapshot_fails: bool,
    },
    /// Progressing with this cause until the root's deadline.
    Recover,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Row of the priority table, smallest first.
    pub rank: u8,
    pub reason: String,
    pub sentence: String,
    pub next: Option<String>,
    pub weight: Weight,
    /// Same key = same cause, over pods and over time.
    pub key: String,
    pub subject: Option<Subject>,
    /// Names of objects that the sentence says.
    pub named: Vec<String>,
    /// The sentence says which container it is about.
    pub tells_container: bool,
    pub evidence: Vec<String>,
    pub at: Option<Millis>,
}

impl Cause {
    pub(crate) fn new(rank: u8, reason: &str, sentence: impl Into<String>, weight: Weight) -> Cause {
        let sentence = sentence.into();
        Cause {
            rank,
            reason: reason.to_owned(),
            key: format!("{rank}:{reason}"),
            sentence,
            next: None,
            weight,
            subject: None,
            named: Vec::new(),
            tells_container: false,
            evidence: Vec::new(),
            at: None,
        }
    }

    #[must_use]
    pub(crate) fn next(mut self, next: impl Into<String>) -> Cause {
        self.next = Some(next.into());
        self
    }

    /// Says that the sentence names an object.
    #[must_use]
    pub(crate) fn naming(mut self, name: &str) -> Cause {
        self.named.push(name.to_owned());
        self
    }

    /// Says that the sentence tells which container it is about.
    #[must_use]
    pub(crate) fn of_container(mut self) -> Cause {
        self.tells_container = true;
        self
    }

    /// Whether who reads the sentence knows this object: by its name, or by one that is made from it (a pod's, a claim's).
    pub(crate) fn names(&self, name: &str) -> bool {
        self.named.iter().any(|named| named.contains(name))
    }

    /// Adds the pod to a sentence that does not name it.
    pub(crate) fn add_pod(&mut self, name: &str) {
        if !name.is_empty() && !self.names(name) {
            self.sentence = format!("{} (pod {name})", self.sentence);
            self.named.push(name.to_owned());
        }
    }

    #[must_use]
    pub(crate) fn key(mut self, key: impl Into<String>) -> Cause {
        self.key = key.into();
        self
    }

    #[must_use]
    pub(crate) fn at(mut self, at: Option<Millis>) -> Cause {
        self.at = at;
        self
    }

    /// Does this cause alone make the verdict failed now?
    pub(crate) fn fails(&self, context: &Context<'_>) -> bool {
        match self.weight {
            Weight::Terminal => true,
            Weight::Grace { snapshot_fails, .. } => snapshot_fails && !context.live(),
            Weight::Recover => false,
        }
    }

    fn hold(&self, context: &Context<'_>) -> Option<Hold> {
        let Weight::Grace { grace, armed, .. } = self.weight else { return None };
        context.live().then(|| Hold {
            key: self.key.clone(),
            grace,
            armed,
            then: Grade::Failed,
            reason: self.reason.clone(),
            warning: None,
        })
    }
}

/// Sorts causes: failing ones first, then by table row, then the newest.
pub(crate) fn rank(causes: &mut [Cause], context: &Context<'_>) {
    causes.sort_by(|a, b| {
        let order = |cause: &Cause| (!cause.fails(context), cause.rank);
        order(a).cmp(&order(b)).then(b.at.cmp(&a.at))
    });
}

/// Writes the best cause into a verdict and lifts it to failed if the cause is final.
pub(crate) fn explain(mut verdict: Verdict, mut causes: Vec<Cause>, context: &Context<'_>) -> Verdict {
    rank(&mut causes, context);
    let mut causes = causes.into_iter();
    let Some(best) = causes.next() else { return verdict };
    if best.fails(context) && verdict.verdict == Grade::Progressing {
        verdict.verdict = Grade::Failed;
        verdict.reason.clone_from(&best.reason);
        verdict.hold = None;
    } else if verdict.verdict == Grade::Progressing && verdict.hold.is_none() {
        verdict.hold = best.hold(context);
    }
    verdict.also = causes.filter(|other| other.key != best.key).take(2).map(|other| other.sentence).collect();
    verdict.cause = Some(best.sentence);
    verdict.named = best.named;
    verdict.next = best.next;
    verdict.subject = best.subject;
    verdict.evidence = best.evidence;
    verdict
}

/// The text between two marks, for reading messages of the server.
pub(crate) fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    let (inner, _) = rest.split_once(close)?;
    Some(inner)
}

/// At most `limit` characters, cut at a character and marked.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
