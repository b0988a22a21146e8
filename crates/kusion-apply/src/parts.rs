//! Who waits for whom: the parts of the steps, and the edges of the plan between them.
//!
//! A step is one part, or two if an old object goes beside what it makes. The planner has decided the order; here edges are
//! only counted down.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{ResourceKey, Step, Wait};

/// A part of a step, by the step's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// What it makes or changes; or all of it, if the resource goes.
    New(usize),
    /// The end of the object that it replaces, and of those that were left behind.
    Old(usize),
}

pub(crate) struct Parts {
    /// Per step: who waits for it, and for what.
    waiters: Vec<Vec<(Part, Wait)>>,
    /// How many edges are still open, of what has not begun.
    open: BTreeMap<Part, usize>,
    ready: BTreeSet<Part>,
    /// Per step: whether an old object is a part of its own.
    has_old: Vec<bool>,
    /// Old objects that are not gone.
    old: BTreeSet<usize>,
}

impl Parts {
    pub(crate) fn new(steps: &[&Step]) -> Self {
        let index: BTreeMap<&ResourceKey, usize> = steps.iter().map(|step| &step.key).zip(0..).collect();
        let mut waiters = vec![Vec::new(); steps.len()];
        let (mut open, mut old) = (BTreeMap::new(), BTreeSet::new());
        let mut wait = |part: Part, on: usize, wait: Wait| {
            waiters[on].push((part, wait));
            *open.entry(part).or_insert(0) += 1;
        };
        for (at, step) in steps.iter().enumerate() {
            let new = step.after.iter().map(|edge| (Part::New(at), edge));
            let gone = step.old_after.iter().map(|edge| (Part::Old(at), edge));
            for (part, edge) in new.chain(gone) {
                if let Some(&on) = index.get(&edge.on) {
                    wait(part, on, edge.wait);
                }
            }
            match step.has_old() {
                true if step.old_goes_first() => wait(Part::New(at), at, Wait::Gone),
                true => wait(Part::Old(at), at, Wait::Ready),
                false => continue,
            }
            old.insert(at);
        }
        let all = (0..steps.len()).map(Part::New).chain(old.iter().map(|&at| Part::Old(at)));
        let ready = all.filter(|part| !open.contains_key(part)).collect();
        let has_old = steps.iter().map(|step| step.has_old()).collect();
        Parts { waiters, open, ready, has_old, old }
    }

    /// The next part that may begin.
    pub(crate) fn next(&mut self) -> Option<Part> {
        self.ready.pop_first()
    }

    /// Takes a part out of those that may begin; tells whether it was one.
    pub(crate) fn take(&mut self, part: Part) -> bool {
        self.ready.remove(&part)
    }

    /// Whether nothing may begin now.
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty()
    }

    /// Whether only its own old object keeps a step from making the new one.
    pub(crate) fn waits_for_old_only(&self, at: usize) -> bool {
        self.open.get(&Part::New(at)) == Some(&1)
    }

    pub(crate) fn health_is_awaited(&self, at: usize) -> bool {
        self.waiters_of(at).any(|(_, wait)| wait == Wait::Ready)
    }

    /// Whether it had an old object that is gone.
    pub(crate) fn old_is_gone(&self, at: usize) -> bool {
        self.has_old(at) && !self.old.contains(&at)
    }

    pub(crate) fn old_are_gone(&self) -> bool {
        self.old.is_empty()
    }

    /// Lets those go on who waited for this much; `None` says that the whole resource has gone. Ready includes applied, but
    /// each edge is counted once.
    pub(crate) fn reached(&mut self, at: usize, reached: Option<Wait>) {
        if reached == Some(Wait::Gone) {
            self.old.remove(&at);
        }
        let hit = self.behind(at, |wait| reached.is_none_or(|reached| reached == wait));
        for part in hit {
            let Some(open) = self.open.get_mut(&part) else { continue };
            *open -= 1;
            if *open == 0 {
                self.open.remove(&part);
                self.ready.insert(part);
            }
        }
    }

    /// Gives a part up; tells whether it was waiting.
    pub(crate) fn give_up(&mut self, part: Part) -> bool {
        let was_open = self.open.remove(&part).is_some();
        self.ready.remove(&part) || was_open
    }

    /// What cannot begin if nothing new comes of a step.
    pub(crate) fn behind_new(&self, at: usize) -> Vec<Part> {
        let has_old = self.has_old(at);
        self.behind(at, |wait| wait != Wait::Gone || !has_old)
    }

    /// What cannot begin if the old object of a step stays.
    pub(crate) fn behind_old(&self, at: usize) -> Vec<Part> {
        self.behind(at, |wait| wait == Wait::Gone)
    }

    fn behind(&self, at: usize, is_hit: impl Fn(Wait) -> bool) -> Vec<Part> {
        self.waiters_of(at).filter(|(_, wait)| is_hit(*wait)).map(|(part, _)| part).collect()
    }

    /// Nobody waits for what is left as it is, which has a place behind the steps.
    fn waiters_of(&self, at: usize) -> impl Iterator<Item = (Part, Wait)> + '_ {
        self.waiters.get(at).into_iter().flatten().copied()
    }

    fn has_old(&self, at: usize) -> bool {
        self.has_old.get(at).copied().unwrap_or_default()
    }
}
