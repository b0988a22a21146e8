//! What makes the world live: events wake controllers, a queue and timers say which looks next, and when.
//!
//! In: the journal of the store, the clock. Out: reconciles, one at a time, in an order that depends on nothing but the calls.
//! The queue is first in, first out, and holds each (controller, object) once; timers go by time, then by order of setting,
//! and each (controller, object) has one at most. A controller that asks too often at one moment is made to wait a second.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::carry::Told;
use crate::controllers::read::text;
use crate::controllers::{CONTROLLERS, Item};
use crate::index::Index;
use crate::store::{Event, EventKind, ObjectKey, ResourceKey};
use crate::time::Time;
use crate::world::World;

/// Which controller, and which object it is to look at.
type Work = (usize, Item);

/// Queue and timers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drive {
    /// Events up to this revision have woken whom they wake.
    seen: u64,
    queue: VecDeque<Work>,
    queued: BTreeSet<Work>,
    timers: BTreeMap<(Time, u64), Work>,
    timer_of: BTreeMap<Work, (Time, u64)>,
    order: u64,
    /// How often in a row a wish was refused.
    refused: BTreeMap<Work, u32>,
    /// How often each was asked at the moment `moment`.
    moment: Time,
    asked: BTreeMap<Work, u32>,
    pub(crate) index: Index,
    /// The Events that a repetition is counted in.
    pub(crate) told: BTreeMap<Told, ObjectKey>,
    /// How many different messages of one kind there were, and when the first was: too many become one.
    pub(crate) similar: BTreeMap<Told, (u32, Time)>,
}

/// Reconciles of one object at one moment before it must wait.
const OFTEN: u32 = 100;
/// Reconciles at one moment, of all objects together, before [`World::advance`] lets time pass.
const MOST: usize = 10_000_000;

impl Drive {
    fn push(&mut self, work: Work) {
        if self.queued.insert(work.clone()) {
            self.queue.push_back(work);
        }
    }

    fn pop(&mut self) -> Option<Work> {
        let work = self.queue.pop_front()?;
        self.queued.remove(&work);
        Some(work)
    }

    fn set_timer(&mut self, at: Time, work: Work) {
        self.clear_timer(&work);
        self.order += 1;
        let slot = (at, self.order);
        self.timers.insert(slot, work.clone());
        self.timer_of.insert(work, slot);
    }

    fn clear_timer(&mut self, work: &Work) {
        if let Some(slot) = self.timer_of.remove(work) {
            self.timers.remove(&slot);
        }
    }

    fn next_timer(&self, idle_too: bool) -> Option<(Time, u64)> {
        let mut timers = self.timers.iter();
        timers.find(|(_, work)| idle_too || !CONTROLLERS[work.0].idle).map(|(slot, _)| *slot)
    }

    /// A number that is used once.
    pub(crate) fn count(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    fn too_often(&mut self, now: Time, work: &Work) -> bool {
        if self.moment != now {
            self.moment = now;
            self.asked.clear();
        }
        let asked = self.asked.entry(work.clone()).or_default();
        *asked += 1;
        *asked > OFTEN
    }
}

impl World {
    /// Moves the clock by a span, through every timer on the way, in order; a span of zero does what is due now.
    pub fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        for _ in 0..MOST {
            if self.work_once() {
                continue;
            }
            match self.drive.next_timer(true) {
                Some(slot) if slot.0 <= end => self.fire(slot),
                _ => break,
            }
        }
        self.now = self.now.max(end);
    }

    /// Does what is due now, as `advance(0)`, but at most so many reconciles: a rim that shares the world lets requests in
    /// between. True when more is due.
    pub fn work(&mut self, most: usize) -> bool {
        for _ in 0..most {
            if self.work_once() {
                continue;
            }
            match self.drive.next_timer(true) {
                Some(slot) if slot.0 <= self.now => self.fire(slot),
                _ => return false,
            }
        }
        true
    }

    /// Carries out exactly one pending reconcile, or moves the clock to the next timer and carries that out. False when
    /// there is neither.
    pub fn step(&mut self) -> bool {
        if self.work_once() {
            return true;
        }
        let Some(slot) = self.drive.next_timer(true) else { return false };
        self.fire(slot);
        self.work_once();
        true
    }

    /// Whether a reconcile is pending now (timers do not count).
    pub fn is_busy(&mut self) -> bool {
        self.dispatch();
        !self.drive.queue.is_empty()
    }

    /// When something is due next; `None` when the world waits for nothing but requests.
    pub fn next_timer(&self) -> Option<Time> {
        if self.drive.seen < self.store.revision() || !self.drive.queue.is_empty() {
            return Some(self.now);
        }
        self.drive.next_timer(true).map(|(at, _)| at)
    }

    /// Runs until nothing is left to do, or for `max`; returns how much time passed. Housekeeping (expiry of Events, the next
    /// run of a CronJob) is not waited for.
    pub fn settle(&mut self, max: Duration) -> Duration {
        let start = self.now;
        let end = start + max;
        for _ in 0..MOST {
            if self.work_once() {
                continue;
            }
            match self.drive.next_timer(false) {
                Some(due) if due.0 <= end => {
                    // An idle timer before it has its turn first.
                    let first = self.drive.next_timer(true).unwrap_or(due);
                    self.fire(first);
                }
                Some(_) => {
                    self.now = end;
                    break;
                }
                None => break,
            }
        }
        self.now.since(start)
    }

    /// Makes every controller look at every object again: after a restart, queues and timers are found anew.
    pub fn wake_all(&mut self) {
        self.drive.seen = 0;
        for (key, event) in self.store.list(&ResourceKey::new("", "events"), None) {
            self.drive.told.insert(Told::of(&event.value), key.clone());
        }
        for (_, pod) in self.store.list(&ResourceKey::new("", "pods"), None) {
            self.runtime.reserve(text(&pod.value, "/status/podIP"));
        }
    }

    fn work_once(&mut self) -> bool {
        self.dispatch();
        let Some(work) = self.drive.pop() else { return false };
        self.reconcile(work);
        true
    }

    fn fire(&mut self, slot: (Time, u64)) {
        self.now = self.now.max(slot.0);
        if let Some(work) = self.drive.timers.remove(&slot) {
            self.drive.timer_of.remove(&work);
            self.drive.push(work);
        }
    }

    fn reconcile(&mut self, work: Work) {
        if self.drive.too_often(self.now, &work) {
            self.drive.set_timer(self.now + Duration::from_secs(1), work);
            return;
        }
        self.drive.clear_timer(&work);
        let controller = &CONTROLLERS[work.0];
        let outcome = (controller.reconcile)(self.view(), &work.1);
        match self.carry_all(controller.manager, outcome.changes) {
            Ok(()) => {
                self.drive.refused.remove(&work);
                if let Some(at) = outcome.again_at {
                    self.drive.set_timer(at.max(self.now + Duration::from_millis(1)), work);
                }
            }
            Err(refused) => {
                let (change, refusal) = &*refused;
                let answer = (controller.refused)(self.view(), &work.1, change, refusal);
                // What is refused of the answer is left: the next try says it again.
                let _ = self.carry_all(controller.manager, answer.changes);
                let tries = self.drive.refused.entry(work.clone()).or_default();
                *tries = (*tries + 1).min(12);
                let wait = Duration::from_millis(20 << *tries);
                let at = outcome.again_at.map_or(self.now + wait, |at| at.min(self.now + wait));
                self.drive.set_timer(at.max(self.now + Duration::from_millis(1)), work);
            }
        }
    }

    /// Lets the new events wake whom they wake.
    fn dispatch(&mut self) {
        let newest = self.store.revision();
        if self.drive.seen >= newest {
            return;
        }
        let events: Vec<Event> = match self.store.events_after(self.drive.seen) {
            Some(events) => events.cloned().collect(),
            None => {
                self.drive.index = Index::default();
                self.everything()
            }
        };
        self.drive.seen = newest;
        for event in &events {
            self.drive.index.follow(event);
        }
        for event in &events {
            for (at, controller) in CONTROLLERS.iter().enumerate() {
                for item in (controller.wakes)(event, self.view()) {
                    self.drive.push((at, item));
                }
            }
            if event.kind == EventKind::Deleted && event.resource.plural == "events" {
                let told = Told::of(&event.object.value);
                self.drive.similar.remove(&told.of_any_message());
                self.drive.told.remove(&told);
            }
        }
    }

    /// An event for every object there is.
    fn everything(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for resource in self.store.resources() {
            for (key, object) in self.store.list(resource, None) {
                let (resource, key, object) = (resource.clone(), key.clone(), object.clone());
                events.push(Event { kind: EventKind::Added, resource, key, object, before: None });
            }
        }
        events
    }
}
