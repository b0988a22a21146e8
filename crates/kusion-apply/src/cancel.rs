//! Asking a running apply to stop: nothing new starts, what is in flight ends and is recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures::task::AtomicWaker;

/// Shared between the signal handler and the executor.
#[derive(Clone, Default)]
pub struct CancelToken {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    waker: AtomicWaker,
}

impl CancelToken {
    /// Asks for the end.
    pub fn cancel(&self) {
        self.inner.cancelled.store(true, Ordering::SeqCst);
        self.inner.waker.wake();
    }

    /// Returns whether the end was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the end is asked for.
    pub async fn cancelled(&self) {
        futures::future::poll_fn(|context| {
            self.inner.waker.register(context.waker());
            if self.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
