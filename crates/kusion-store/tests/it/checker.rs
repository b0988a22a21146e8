//! Clients that write down what they did, and whether one order of all they did explains every answer (Wing and Gong).

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use kusion_store::{Liveness, ReleaseDraft, StackStore};

use crate::setup::{at, owner, plan};

/// What a client did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deed {
    /// Wrote a release with this message, and was told its number.
    Append { value: u32, told: Option<u64> },
    /// Read all messages.
    Read { seen: Vec<u32> },
}

/// An operation between its call and its return; without one it may happen at any time, or never.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) deed: Deed,
    pub(crate) call: usize,
    pub(crate) ret: Option<usize>,
}

/// Whether one order explains all answers.
pub(crate) fn linearizable(ops: &[Op]) -> bool {
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

/// Numbers that look random (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

pub(crate) type Log = Arc<Mutex<(usize, Vec<Op>)>>;

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

pub(crate) async fn look(store: &StackStore, log: &Log) -> Result<(), String> {
    let op = call(log, Deed::Read { seen: Vec::new() });
    let state = store.read().await.map_err(|error| format!("a read fails: {error}"))?;
    let message = |release: &kusion_model::Release| release.message.as_ref()?.parse().ok();
    ret(log, op, Deed::Read { seen: state.releases.values().filter_map(message).collect() });
    Ok(())
}

/// One client: appends, reads, folds, rotates. A failed read answers nothing; a failed append may have happened.
pub(crate) async fn client(store: StackStore, log: Log, number: u32, mut dice: Dice) -> Result<(), String> {
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
            let _ = session.heartbeat(at(1)).await;
        }
        if dice.roll(4) == 0 {
            let _ = session.compact(1).await;
        }
        if dice.roll(2) == 0 {
            let _ = session.close(at(2)).await;
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
