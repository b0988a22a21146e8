//! Time, injected.

use std::time::Duration;

use futures::future::BoxFuture;
use kusion_model::Timestamp;

/// A clock that can also wait.
pub trait Clock: Send + Sync {
    /// Returns the time.
    fn now(&self) -> Timestamp;

    /// Returns the time since some moment, by a clock that nobody sets and that never goes back.
    fn elapsed(&self) -> Duration;

    /// Waits.
    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()>;
}
