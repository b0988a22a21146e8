//! The world behind a lock: requests go in one at a time, the pump lets controllers and timers work between them.
//!
//! Holding the lock is short (microseconds for a read, a write, one turn of the controllers), so an async caller may take it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sandbox_world::{Answer, Polled, Request, StreamId, World};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::keep::Keeper;

/// Longest sleep of the pump when the world waits for nothing.
const IDLE: Duration = Duration::from_secs(1);
/// Reconciles in one turn of the pump.
const AT_ONCE: usize = 50;

/// A world that runs on the wall clock. Cheap to clone; the last clone ends it.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<Running>,
    /// Something was written or is due: the pump looks.
    work: Notify,
    /// Streams may have something to say.
    news: Notify,
}

struct Running {
    world: World,
    keeper: Option<Keeper>,
    /// The time at which `world.now()` was right. Tokio's clock: a test that pauses it makes hours pass in no time.
    at: Instant,
}

impl Host {
    /// Runs a world from now on. Must be called inside a Tokio runtime, which ends the pump with itself.
    pub fn start(world: World, keeper: Option<Keeper>) -> Host {
        let state = Mutex::new(Running { world, keeper, at: Instant::now() });
        let host = Host { inner: Arc::new(Inner { state, work: Notify::new(), news: Notify::new() }) };
        tokio::spawn(pump(Arc::downgrade(&host.inner)));
        host
    }

    /// Answers one request.
    pub fn handle(&self, request: &Request<'_>) -> Answer {
        let mut state = self.inner.lock();
        state.catch_up();
        let before = state.world.revision();
        let answer = state.world.handle(request);
        let changed = state.world.revision() != before;
        if changed {
            state.keep();
        }
        drop(state);
        if changed {
            self.inner.work.notify_one();
            self.inner.news.notify_waiters();
        }
        answer
    }

    /// Looks at the world, or changes it, out of the API (bootstrap, faults, tests).
    pub fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let mut state = self.inner.lock();
        state.catch_up();
        let out = act(&mut state.world);
        state.keep();
        drop(state);
        self.inner.work.notify_one();
        self.inner.news.notify_waiters();
        out
    }

    /// The next bytes of a stream; waits until there are some or it ends.
    pub(crate) async fn next(&self, stream: StreamId) -> Polled {
        loop {
            let news = self.inner.news.notified();
            tokio::pin!(news);
            // Registered before looking, so that nothing is missed in between.
            news.as_mut().enable();
            let polled = self.inner.lock().world.poll(stream);
            if !polled.bytes.is_empty() || polled.ended || polled.broken {
                return polled;
            }
            // Bookmarks and deadlines of watches come by the clock.
            let _ = tokio::time::timeout(IDLE, news).await;
        }
    }

    pub(crate) fn close(&self, stream: StreamId) {
        self.inner.lock().world.close(stream);
    }
}

impl Inner {
    /// A panic elsewhere leaves a world that is still consistent: every write is one insertion.
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Brings the world's clock to the wall clock's time; what was due in between happens on the way.
    fn catch_up(&mut self) {
        let passed = self.at.elapsed();
        // Whole milliseconds: the rest is kept for the next time.
        let passed = Duration::from_millis(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        self.at += passed;
        self.world.tick(passed);
    }

    fn keep(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.append(&self.world);
        }
    }

    /// Lets what is due happen, a piece at a time so that requests get in between; returns how long nothing will be.
    fn turn(&mut self) -> (bool, Duration) {
        self.catch_up();
        let before = self.world.revision();
        self.world.work(AT_ONCE);
        let changed = self.world.revision() != before;
        if changed {
            self.keep();
        }
        let rest = self.world.next_timer().map_or(IDLE, |due| due.since(self.world.now()));
        (changed, rest.clamp(Duration::from_millis(1), IDLE))
    }
}

async fn pump(inner: std::sync::Weak<Inner>) {
    loop {
        let Some(host) = inner.upgrade() else { return };
        let (changed, rest) = host.lock().turn();
        if changed {
            host.news.notify_waiters();
        }
        let work = host.work.notified();
        tokio::pin!(work);
        let _ = tokio::time::timeout(rest, work).await;
    }
}
