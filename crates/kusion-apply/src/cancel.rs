//! Asking a running apply to stop: nothing new starts, what is in flight ends and is recorded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// Shared between the signal handler and the executor.
#[derive(Clone, Default)]
pub struct CancelToken {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    /// Everybody who waits.
    wakers: Mutex<Vec<Waker>>,
}

impl CancelToken {
    fn wakers(&self) -> std::sync::MutexGuard<'_, Vec<Waker>> {
        self.inner.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the end.
    pub fn cancel(&self) {
        self.inner.cancelled.store(true, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *self.wakers());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Returns whether the end was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the end is asked for.
    pub async fn cancelled(&self) {
        futures::future::poll_fn(|context| {
            let mut wakers = self.wakers();
            if !wakers.iter().any(|one| one.will_wake(context.waker())) {
                wakers.push(context.waker().clone());
            }
            if self.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
