//! The executor: carries a Plan out, exactly, and can be killed at any moment.
//!
//! In: a plan, the secrets of its Spec, the runtimes, an open session of the store. Out: events while it runs, outcomes
//! in the store, a report at the end. Invariants: it takes no decision (every action, order and conflict is in the
//! plan); what it is about to do is on disk before the first write; steps start only when everything before them has
//! been applied or is ready, as the edge asks; after a cancel nothing new starts and everything in flight is recorded.
//!
//! The walk never waits for the store: a keeper beside it commits what came of the steps in groups.
//! It is one future over a bounded set of others and asks an injected [`Clock`] for the time, so it runs on any async
//! runtime. Start reading with [`apply`]. Its tests are in `crates/kusion/tests`: the executor on the sandbox's world, killed
//! at every write, with and without faults.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cancel;
mod clock;
mod event;
mod executor;
mod health;
mod keeper;
mod old;
mod outputs;
mod parts;
mod report;
mod resolve;
mod rest;
mod retry;
mod step;
mod walk;

pub use cancel::CancelToken;
pub use clock::Clock;
pub use event::{Event, EventKind};
pub use executor::{ApplyError, ApplyInput, FailurePolicy, Options, apply, begin, carry_out};
pub use health::{Doubt, Health, HealthOutcome, HealthTarget, HealthVerdict, NoHealth};
pub use report::{Report, StepEnd};
pub use retry::RetryPolicy;
