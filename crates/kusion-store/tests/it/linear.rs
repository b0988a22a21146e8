//! Histories of many clients on one medium, each checked for linearizability (Wing and Gong): there must be one order of all
//! operations, true to real time, in which a single copy would have given the same answers.
//!
//! The medium yields before and after every request, and a seeded scheduler decides who goes on: the same seed gives the same
//! history. Clients take the lock from one another as if the holder were dead, and some of them are killed in the middle.
//! `KUSION_HISTORIES` sets how many histories are run.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use kusion_store::{
    Liveness, Object, ObjectAnswer, ObjectLog, Objects, Plug, ReleaseDraft, SimObjects, StackStore, Store,
    When,
};

use crate::setup::{at, owner, plan, scope};

/// What a client did.
#[derive(Clone, Debug, PartialEq)]
enum Deed {
    /// Wrote a release with this message, and was told its number.
    Append { value: u32, told: Option<u64> },
    /// Read all messages.
    Read { seen: Vec<u32> },
}

/// An operation between its call and its return; without one it may happen at any time, or never.
#[derive(Clone, Debug)]
struct Op {
    deed: Deed,
    call: usize,
    ret: Option<usize>,
}

/// Whether one order explains all answers.
fn linearizable(ops: &[Op]) -> bool {
    let reads = ops.iter().filter_map(|op| match &op.deed {
        Deed::Read { seen } => Some(seen.as_slice()),
        Deed::Append { .. } => None,
    });
    let search = Search { ops, longest: reads.max_by_key(|seen| seen.len()).unwrap_or_default() };
    search.from(0, &mut Vec::new(), &mut HashSet::new())
}

struct Search<'a> {
    ops: &'a [Op],
    /// The list only grows: at every moment it is the beginning of this, or goes on from it.
    longest: &'a [u32],
}

impl Search<'_> {
    fn from(&self, done: u64, list: &mut Vec<u32>, seen: &mut HashSet<(u64, Vec<u32>)>) -> bool {
        let ops = self.ops;
        let open = |at: &usize| done & (1 << at) == 0;
        let Some(first_return) = (0..ops.len()).filter(open).filter_map(|at| ops[at].ret).min() else {
            return true;
        };
        let both = list.len().min(self.longest.len());
        if list[..both] != self.longest[..both] || !seen.insert((done, list.clone())) {
            return false;
        }
        // Whoever was called after another had returned comes after it.
        (0..ops.len()).filter(open).filter(|&at| ops[at].call < first_return).any(|at| {
            let next = done | (1 << at);
            match &ops[at].deed {
                Deed::Read { seen: answer } => answer == list && self.from(next, list, seen),
                Deed::Append { value, told } => {
                    let fits = told.is_none_or(|told| told == list.len() as u64 + 1);
                    list.push(*value);
                    let explained = fits && self.from(next, list, seen);
                    list.pop();
                    explained
                }
            }
        })
    }
}

/// Goes on at the second look.
#[derive(Default)]
struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A medium that takes its time; a broken one does not compare before it puts.
struct Slow {
    below: SimObjects,
    broken: bool,
}

impl Objects for Slow {
    fn place(&self, name: &str) -> String {
        self.below.place(name)
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        Box::pin(async move {
            Yield::default().await;
            let found = self.below.get(name).await;
            Yield::default().await;
            found
        })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        Box::pin(async move {
            Yield::default().await;
            if self.broken {
                self.below.tamper(name, bytes);
            }
            let put = if self.broken {
                self.below.get(name).await.map(|found| found.map(|found| found.version))
            } else {
                self.below.put(name, bytes, when).await
            };
            Yield::default().await;
            put
        })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        Box::pin(async move {
            Yield::default().await;
            let names = self.below.list(prefix).await;
            Yield::default().await;
            names
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        Box::pin(async move {
            Yield::default().await;
            self.below.remove(names).await
        })
    }
}

/// Numbers that look random (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

type Client = Pin<Box<dyn Future<Output = Result<(), String>>>>;
type Log = Arc<Mutex<(usize, Vec<Op>)>>;

fn call(log: &Log, deed: Deed) -> usize {
    let mut log = log.lock().unwrap();
    log.0 += 1;
    let call = log.0;
    log.1.push(Op { deed, call, ret: None });
    log.1.len() - 1
}

fn ret(log: &Log, op: usize, deed: Deed) {
    let mut log = log.lock().unwrap();
    log.0 += 1;
    let at = log.0;
    log.1[op] = Op { deed, ret: Some(at), ..log.1[op].clone() };
}

async fn look(store: &StackStore, log: &Log) -> Result<(), String> {
    let op = call(log, Deed::Read { seen: Vec::new() });
    let state = store.read().await.map_err(|error| format!("a read fails: {error}"))?;
    let message = |release: &kusion_model::Release| release.message.as_ref()?.parse().ok();
    ret(log, op, Deed::Read { seen: state.releases.values().filter_map(message).collect() });
    Ok(())
}

/// One client: appends, reads, folds, rotates. A failed read answers nothing; a failed append may have happened.
async fn client(store: StackStore, log: Log, number: u32, mut dice: Dice) -> Result<(), String> {
    for turn in 0..3 {
        if dice.roll(3) == 0 {
            look(&store, &log).await?;
            continue;
        }
        let value = number * 10 + turn;
        let Ok(mut session) = store.acquire(owner(&format!("u{number}")), at(0), &|_| Liveness::Dead).await
        else {
            continue;
        };
        let op = call(&log, Deed::Append { value, told: None });
        let draft = ReleaseDraft { message: Some(value.to_string()), ..ReleaseDraft::default() };
        let plan = plan(session.state(), Vec::new());
        if let Ok(no) = session.begin(&plan, draft, at(1)).await {
            ret(&log, op, Deed::Append { value, told: Some(no.0) });
        }
        if dice.roll(4) == 0 {
            let _ = session.compact(1).await;
        }
        if dice.roll(4) == 0 {
            let alive = |_: &kusion_store::Owner| Liveness::Dead;
            let claim = kusion_store::Claim {
                owner: owner("r"),
                now: at(2),
                elapsed: Default::default(),
                alive: &alive,
            };
            let _ = store.rotate(&claim, None).await;
        }
    }
    Ok(())
}

/// Runs the clients of one seed to their ends.
fn history(seed: u64, broken: bool) -> Result<Vec<Op>, String> {
    let mut dice = Dice(seed);
    let plug = Plug::default();
    let objects = Slow { below: SimObjects::default(), broken };
    let backend = Arc::new(ObjectLog::with_plug(objects, plug.clone()));
    let log = Log::default();
    if dice.roll(3) == 0 {
        plug.lose_answers(Some(3 + dice.roll(9)));
    }
    let mut clients: Vec<Client> = Vec::new();
    for number in 1..=4 {
        let store = Store::new(backend.clone()).stack(&scope());
        clients.push(Box::pin(client(store, log.clone(), number, Dice(dice.roll(u64::MAX)))));
    }
    let mut context = Context::from_waker(Waker::noop());
    let mut steps = 0;
    while !clients.is_empty() {
        steps += 1;
        if steps > 200_000 {
            return Err("it does not end".to_owned());
        }
        let at = usize::try_from(dice.roll(clients.len() as u64)).unwrap();
        // Some are killed in the middle; what they were doing may have happened.
        if dice.roll(400) == 0 {
            drop(clients.remove(at));
        } else if let Poll::Ready(ended) = clients[at].as_mut().poll(&mut context) {
            ended?;
            drop(clients.remove(at));
        }
    }
    // Whoever looks at the end sees what everybody was told.
    plug.lose_answers(None);
    let store = Store::new(backend).stack(&scope());
    let mut last = Box::pin(look(&store, &log));
    for step in 0.. {
        if step > 10_000 {
            return Err("the last look does not end".to_owned());
        }
        if let Poll::Ready(ended) = last.as_mut().poll(&mut context) {
            ended?;
            break;
        }
    }
    drop(last);
    let ops = log.lock().unwrap().1.clone();
    // A read that was killed has no answer to explain.
    Ok(ops.into_iter().filter(|op| op.ret.is_some() || matches!(op.deed, Deed::Append { .. })).collect())
}

fn n_histories() -> u64 {
    std::env::var("KUSION_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

#[test]
fn every_history_on_simulated_objects_is_linearizable() {
    let (mut appends, mut unknown) = (0, 0);
    for seed in 0..n_histories() {
        let ops = history(seed, false).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(linearizable(&ops), "seed {seed}: no order explains {ops:#?}");
        appends += ops.iter().filter(|op| matches!(op.deed, Deed::Append { told: Some(_), .. })).count();
        unknown += ops.iter().filter(|op| op.ret.is_none()).count();
    }
    assert!(appends as u64 > n_histories() && unknown > 0, "{appends} appends, {unknown} without an answer");
}

#[test]
fn medium_that_does_not_compare_is_found_out() {
    let bad = |seed| history(seed, true).map_or(true, |ops| !linearizable(&ops));
    assert!((0..3_000).any(bad), "a lost update was not noticed");
}

#[test]
fn checker_tells_good_histories_from_bad_ones() {
    let append = |value, told, call, ret| Op { deed: Deed::Append { value, told }, call, ret };
    let read =
        |seen: &[u32], call, ret| Op { deed: Deed::Read { seen: seen.to_vec() }, call, ret: Some(ret) };
    let first = append(1, Some(1), 1, Some(2));
    assert!(linearizable(&[first.clone(), append(2, Some(2), 3, Some(4)), read(&[1, 2], 5, 6)]));
    assert!(!linearizable(&[first.clone(), read(&[], 3, 4)]), "a stale read");
    assert!(linearizable(&[first.clone(), read(&[], 1, 4)]), "at the same time both are right");
    assert!(!linearizable(&[first.clone(), append(2, Some(1), 3, Some(4))]), "a number used twice");
    assert!(
        !linearizable(&[first.clone(), append(2, Some(2), 3, Some(4)), read(&[1], 5, 6)]),
        "a lost update"
    );
    let unsure = append(2, None, 3, None);
    assert!(
        linearizable(&[first.clone(), unsure.clone(), read(&[1], 5, 6), read(&[1, 2], 7, 8)]),
        "it came late"
    );
    assert!(!linearizable(&[first, unsure, read(&[1, 2], 5, 6), read(&[1], 7, 8)]), "and does not go again");
}
