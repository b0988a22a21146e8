//! A witness on the platform: how far the log of a stack has been written. A folder that was put back to an older copy cannot
//! change what the platform knows.

use futures::future::BoxFuture;
use kusion_model::Head;

use crate::RuntimeError;

/// A place on a platform that remembers the head of one stack's log.
pub trait Witness: Send + Sync {
    /// Where it is, for people.
    fn place(&self) -> String;

    /// What is known; `None` if it is proved that nothing is.
    fn recall(&self) -> BoxFuture<'_, Result<Option<Head>, RuntimeError>>;

    /// Remembers a head. Says false where there is no such place (yet).
    fn remember<'a>(&'a self, head: &'a Head) -> BoxFuture<'a, Result<bool, RuntimeError>>;

    /// Forgets; nothing to forget is success.
    fn forget(&self) -> BoxFuture<'_, Result<(), RuntimeError>>;
}
