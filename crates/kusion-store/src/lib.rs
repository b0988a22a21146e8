//! State and releases of a stack, as an append-only log under a lease.
//!
//! ```text
//! $KUSION_HOME/state/<project>/<stack>/<workspace>/
//!   log      one checksummed JSON entry per line; begin, outcomes, end of each release
//!   lease    who may write: token, owner, heartbeat
//!   key      the key of secret digests
//!   guard    the file that the operating system locks for the instant of a write
//! ```
//! In: a plan about to run, its outcomes, its end. Out: the state for the planner, the history for people.
//! Invariants: what was acknowledged survives a crash at any write; a torn tail is cut, damage elsewhere is an error;
//! a writer whose lease was taken over can write no more (fencing); nobody writes on a log he has not read
//! (compare-and-swap); the cost of a write follows the change, not the stack; files are 0600, folders 0700.
//!
//! Start reading with [`Store`], [`StackStore`] and [`Session`]. [`SimDisk`] is a disk that can be killed at any write.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod disk;
mod entry;
mod error;
mod fold;
mod lease;
mod line;
mod local;
mod log;
mod session;
mod sim;
mod store;
mod upgrade;

pub use disk::{Disk, Guard};
pub use entry::{Outcome, ReleaseEnd};
pub use error::StoreError;
pub use fold::State;
pub use lease::{Holder, LEASE_TTL_MILLIS, Liveness, Owner};
pub use local::{LocalDisk, local_liveness, local_owner};
pub use session::{ReleaseDraft, Session};
pub use sim::SimDisk;
pub use store::{StackStore, Store};
