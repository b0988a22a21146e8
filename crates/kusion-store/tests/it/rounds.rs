//! How many requests of a run are waited for one after the other: on a medium that is far away, that is what state costs.
//!
//! The medium answers when the clock ticks, and the clock ticks when nobody can go on: what is asked at once takes one tick.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use kusion_model::Phase;
use kusion_store::{
    Choose, Liveness, Object, ObjectAnswer, ObjectLog, Objects, SimObjects, Store, StoreError, When,
};

use crate::setup::{at, end, owner, plan, recorded, scope};

#[derive(Clone)]
struct Far {
    below: SimObjects,
    clock: Arc<AtomicU64>,
    asks_for_each: bool,
}

impl Far {
    fn later<'a, T: Send + 'a>(
        &'a self,
        ask: impl FnOnce(&'a SimObjects) -> ObjectAnswer<'a, T> + Send + 'a,
    ) -> ObjectAnswer<'a, T> {
        Box::pin(async move {
            let asked = self.clock.load(Ordering::Relaxed);
            let ticks = |_: &mut Context<'_>| match self.clock.load(Ordering::Relaxed) > asked {
                true => Poll::Ready(()),
                false => Poll::Pending,
            };
            poll_fn(ticks).await;
            ask(&self.below).await
        })
    }

    /// What comes of something, and how many ticks it takes.
    fn ticks<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> (T, u64) {
        let (mut work, begun) = (pin!(work), self.clock.load(Ordering::Relaxed));
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
                return (done.unwrap(), self.clock.load(Ordering::Relaxed) - begun);
            }
            self.clock.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Objects for Far {
    fn place(&self, name: &str) -> String {
        self.below.place(name)
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        self.later(move |below| below.get(name))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        self.later(move |below| below.put(name, bytes, when))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        self.later(move |below| below.list(prefix))
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        self.later(move |below| below.remove(names))
    }

    fn get_chosen<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        choose: &'a Choose<'a>,
    ) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        if !self.asks_for_each {
            return self.later(move |below| below.get_chosen(prefix, after, choose));
        }
        Box::pin(async move {
            let names: Vec<String> =
                self.list(prefix).await?.into_iter().filter(|name| name.as_str() > after).collect();
            let gets = choose(&names)
                .into_iter()
                .map(|name| async move { Ok((name.clone(), self.get(&name).await?.unwrap().bytes)) });
            futures::future::try_join_all(gets).await
        })
    }

    fn asks_for_each(&self) -> bool {
        self.asks_for_each
    }
}

#[test]
fn little_is_waited_for_around_the_walk() {
    for (asks_for_each, lock) in [(false, 3), (true, 4)] {
        let far = Far { below: SimObjects::default(), clock: Arc::default(), asks_for_each };
        // Each run is a process of its own.
        let store = || Store::new(Arc::new(ObjectLog::new(far.clone()))).stack(&scope());
        let (session, _) = far.ticks(store().acquire(owner("li"), at(0), &|_| Liveness::Dead));
        far.ticks(session.close(at(1)));
        let (mut session, locking) = far.ticks(store().acquire(owner("li"), at(2), &|_| Liveness::Dead));
        let plan = plan(session.state(), Vec::new());
        let (no, beginning) = far.ticks(session.begin(&plan, Default::default(), at(3)));
        let (outcomes, ended) = (vec![recorded("b", no)], end(Phase::Succeeded));
        let ((), ending) = far.ticks(session.end(no, outcomes, ended));
        let ((), closing) = far.ticks(session.close(at(4)));
        assert_eq!((locking, beginning, ending, closing), (lock, 2, 2, 1), "{asks_for_each}");
    }
}
