//! The boundary to a platform: what the engine asks of Kubernetes, of Terraform providers, of a simulated world.
//!
//! In: questions about many resources at once, or one write. Out: facts, proposals, or an error that knows whether it is
//! worth trying again. Invariants: a runtime never decides an action; `apply` is idempotent; what is secret in what it
//! returns is sealed, and never part of an error text.
//!
//! The trait returns boxed futures, so that a simulated world can answer at once and deterministically while a client
//! waits on sockets. [`Runtimes`] picks the runtime of a resource by type and cluster.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod ask;
mod error;
mod select;
mod witness;

use std::time::Duration;

use futures::future::BoxFuture;
use kusion_model::{Observed, Proposal, ResourceKey, ResourceType};
use std::collections::BTreeMap;

pub use ask::{Applied, DeleteAsk, Deleted, DryRun, IdentifyAsk, ObserveAsk, ProposeAsk, WriteAsk};
pub use error::{ErrorKind, Party, RuntimeError};
pub use select::{NoRuntime, Runtimes};
pub use witness::Witness;

/// A platform.
pub trait Runtime: Send + Sync {
    /// Says which object each key means, one answer per question, in the same order: two keys with one answer are two ways to
    /// write the same object (a namespace left out, another version of its kind).
    fn identify<'a>(
        &'a self,
        asks: &'a [IdentifyAsk<'a>],
    ) -> BoxFuture<'a, Result<Vec<String>, RuntimeError>>;

    /// Reads many objects with as few requests as the platform allows. What is absent from the answer is proved not to exist
    /// (also if the platform proves to have no such kind). An error means that nothing is known.
    fn observe<'a>(
        &'a self,
        asks: &'a [ObserveAsk<'a>],
    ) -> BoxFuture<'a, Result<BTreeMap<ResourceKey, Observed>, RuntimeError>>;

    /// Says what applying would do, one answer per question, in the same order. Decides locally where it can and asks
    /// the platform (dry run) only about what changes. Asked once for each wave of the graph; questions come in dependency order.
    fn propose<'a>(
        &'a self,
        asks: &'a [ProposeAsk<'a>],
    ) -> BoxFuture<'a, Vec<Result<Proposal, RuntimeError>>>;

    /// Creates or updates one object so that it has the wanted attributes. Idempotent.
    fn apply<'a>(&'a self, ask: WriteAsk<'a>) -> BoxFuture<'a, Result<Applied, RuntimeError>>;

    /// Asks for the end of one object and returns at once. Not existing is success, once it is proved.
    fn delete<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>>;

    /// Proves that an object which a look did not show is gone, before it is forgotten; deletes nothing. A platform whose looks are
    /// proof enough has nothing to add.
    fn prove_gone<'a>(&'a self, _ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(std::future::ready(Ok(Deleted::Gone)))
    }

    /// Gives one object up and leaves it in place: the mark of its owner goes, and what we own in it is nobody's. Not existing is
    /// success.
    fn release<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<(), RuntimeError>>;

    /// Waits until the object with this uid is gone, or the time is over; the answer then says what holds it.
    fn wait_gone<'a>(
        &'a self,
        ask: DeleteAsk<'a>,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Deleted, RuntimeError>>;
}

/// What selects a runtime.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuntimeKey {
    pub kind: ResourceType,
    pub cluster: std::sync::Arc<str>,
}
