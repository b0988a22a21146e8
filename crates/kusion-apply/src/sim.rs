//! A clock that jumps, and a driver for futures that wait on it: hours of retries in microseconds, the same every time.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::BoxFuture;
use kusion_model::Timestamp;

use crate::Clock;

/// A virtual clock; clones share the time.
#[derive(Clone)]
pub struct SimClock {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    now: u64,
    n_timers: u64,
    timers: BTreeMap<(u64, u64), Waker>,
}

impl SimClock {
    /// Returns a clock that stands at `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let inner = Inner { now: now.millis, n_timers: 0, timers: BTreeMap::new() };
        SimClock { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Jumps to the next timer; false if nobody waits for the time.
    pub fn advance(&self) -> bool {
        let Some(((at, _), waker)) = self.lock().timers.pop_first() else { return false };
        let mut inner = self.lock();
        inner.now = inner.now.max(at);
        drop(inner);
        waker.wake();
        true
    }

    /// Runs a future to its end, jumping in time whenever it waits. `None` if it waits for something else for ever.
    pub fn run<F: Future>(&self, future: F) -> Option<F::Output> {
        self.run_unless(future, &|| false)
    }

    /// Like [`run`](Self::run), but drops the future in the middle as soon as it waits and `killed` says so.
    pub fn run_unless<F: Future>(&self, future: F, killed: &dyn Fn() -> bool) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Some(output);
            }
            if killed() || !self.advance() {
                return None;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.lock().now)
    }

    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        let until = self.now().millis + u64::try_from(how_long.as_millis()).unwrap_or(u64::MAX / 2);
        let mut timer = None;
        Box::pin(futures::future::poll_fn(move |context| {
            let mut inner = clock.lock();
            if inner.now >= until {
                return Poll::Ready(());
            }
            let key = *timer.get_or_insert_with(|| {
                inner.n_timers += 1;
                (until, inner.n_timers)
            });
            inner.timers.insert(key, context.waker().clone());
            Poll::Pending
        }))
    }
}
