//! Histories of many clients on one medium, each checked for linearizability (Wing and Gong): there must be one order of all
//! operations, true to real time, in which a single copy would have given the same answers.
//!
//! The medium yields before and after every request, and a seeded scheduler decides who goes on: the same seed gives the same
//! history. Clients take the lock from one another as if the holder were dead, and some of them are killed in the middle.
//! `KUSION_HISTORIES` sets how many histories are run.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use kusion_store::{Object, ObjectAnswer, ObjectLog, Objects, Plug, SimObjects, Store, When};

use crate::checker::{Deed, Dice, Log, Op, client, linearizable, look};
use crate::setup::scope;

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

/// What a medium does not compare before it puts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blind {
    Nothing,
    /// Whether an object has changed: only whether there is one.
    Versions,
    Everything,
}

/// A medium that takes its time.
struct Slow {
    below: SimObjects,
    blind: Blind,
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
            // It keeps up appearances when it is put to the proof.
            let blind = match self.blind {
                Blind::Nothing => false,
                Blind::Versions => when != When::Absent,
                Blind::Everything => !name.starts_with("probe/"),
            };
            if blind {
                self.below.tamper(name, bytes);
            }
            let put = if blind {
                self.below.get(name).await.map(|found| found.map(|found| found.version))
            } else {
                self.below.put(name, bytes, when).await
            };
            Yield::default().await;
            put
        })
    }

    fn compares(&self) -> bool {
        self.blind == Blind::Nothing
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

type Client = Pin<Box<dyn Future<Output = Result<(), String>>>>;
/// Runs the clients of one seed to their ends.
fn history(seed: u64, blind: Blind) -> Result<Vec<Op>, String> {
    let mut dice = Dice(seed);
    let plug = Plug::default();
    let objects = Arc::new(Slow { below: SimObjects::default(), blind });
    // Each client is a process of its own: what one remembers the others do not know.
    let process = || Arc::new(ObjectLog::with_plug(Arc::clone(&objects), plug.clone()));
    let log = Log::default();
    if dice.roll(3) == 0 {
        plug.lose_answers(Some(3 + dice.roll(9)));
    }
    let mut clients: Vec<Client> = Vec::new();
    for number in 1..=4 {
        let store = Store::new(process()).stack(&scope());
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
    let store = Store::new(process()).stack(&scope());
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

fn all_are_linearizable(blind: Blind) {
    let (mut appends, mut unknown) = (0, 0);
    for seed in 0..n_histories() {
        let ops = history(seed, blind).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(linearizable(&ops), "seed {seed}: no order explains {ops:#?}");
        appends += ops.iter().filter(|op| matches!(op.deed, Deed::Append { told: Some(_), .. })).count();
        unknown += ops.iter().filter(|op| op.ret.is_none()).count();
    }
    assert!(appends as u64 > n_histories() && unknown > 0, "{appends} appends, {unknown} without an answer");
}

#[test]
fn every_history_on_simulated_objects_is_linearizable() {
    all_are_linearizable(Blind::Nothing);
}

#[test]
fn medium_that_can_only_create_if_absent_is_enough() {
    all_are_linearizable(Blind::Versions);
}

#[test]
fn medium_that_does_not_compare_is_found_out() {
    let bad = |seed| history(seed, Blind::Everything).map_or(true, |ops| !linearizable(&ops));
    assert!((0..3_000).any(bad), "a lost update was not noticed");
}
