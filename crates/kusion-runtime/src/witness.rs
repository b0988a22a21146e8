//! A witness on the platform: how far the log of a stack has been written. A folder that was put back to an older copy cannot
//! change what the platform knows.

use futures::future::BoxFuture;
use kusion_model::Head;

use crate::RuntimeError;

/// Where a platform keeps what it knows about one stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WitnessPlace {
    pub namespace: String,
    pub name: String,
}

/// A platform that remembers the head of a log.
pub trait Witness: Send + Sync {
    /// What is known; `None` if it is proved that nothing is.
    fn recall<'a>(&'a self, at: &'a WitnessPlace) -> BoxFuture<'a, Result<Option<Head>, RuntimeError>>;

    /// Remembers a head. Says false where there is no such place (yet).
    fn remember<'a>(
        &'a self,
        at: &'a WitnessPlace,
        head: &'a Head,
    ) -> BoxFuture<'a, Result<bool, RuntimeError>>;

    /// Forgets; nothing to forget is success.
    fn forget<'a>(&'a self, at: &'a WitnessPlace) -> BoxFuture<'a, Result<(), RuntimeError>>;
}
