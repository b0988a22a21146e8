//! Is this object healthy, and if not, why?
//!
//! Problem: after an apply an engine must say of every object whether it is healthy, still moving, failed or undecidable, with
//! the cause in one sentence and the next step. In: a [`Snapshot`] of objects (roots, dependents, pods, events), a [`Profile`]
//! of graces, a clock or none. Out: a [`Verdict`] per object, and a [`Waiter`] that keeps the clock over time. Invariant:
//! pure (no file, clock, network), total (no input panics), and nothing is invented: a cause quotes a signal that was seen.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cause;
#[cfg(feature = "cel")]
mod cel_rules;
mod condition;
mod context;
mod cron;
mod custom;
mod deletion;
mod dependents;
mod envelope;
mod finalizer;
mod generic;
mod id;
mod kinds;
mod mask;
mod profile;
mod rules;
mod snapshot;
mod table;
mod time;
mod verdict;
mod view;
mod vocabulary;
mod wait;

pub use dependents::{dependents, is_dependent};
pub use envelope::{judge, judge_absent, judge_all, judge_forbidden, judge_input, judge_no_kind, judge_with};
pub use id::object_id;
pub use kinds::has_rule;
pub use profile::Profile;
pub use rules::{ANNOTATION as RULE_ANNOTATION, Rules};
pub use snapshot::{Snapshot, flatten};
pub use time::{Millis, parse as parse_time};
pub use verdict::{Grade, Hold, Subject, Verdict, worst};
pub use wait::{DeleteOutcome, DeleteWaiter, WaitOutcome, Waiter};
