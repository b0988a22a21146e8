//! The pure planner: from what is wanted, recorded and live to an immutable [`Plan`](kusion_model::Plan).
//!
//! In: a Spec, the platforms' knowledge, the prior state, live objects, and the runtimes' proposals. Out: a Plan, or
//! the list of everything wrong with the Spec. Invariants: no I/O, no platform, no clock; same input, same bytes;
//! every edge is respected by the order of steps; a recorded dependency orders a delete but never forbids it.
//!
//! The road, one function per arrow:
//! 1. [`prepare`]: graph and lint (duplicate ids with both places, cycles with every edge named);
//! 2. [`unite`]: ids that mean one object are one resource, and its record follows the id in use;
//! 3. [`Filling`]: references that can be known before the apply, wave by wave;
//! 4. (the runtimes propose, wave by wave)
//! 5. [`plan`]: the action table, field origins, order.
//!
//! [`three_way`] is the structural comparison for runtimes without a better one; [`moved_since`] tells whether a saved
//! plan still says the truth; [`rollback_spec`] turns recorded state back into a Spec.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod action;
mod diff;
mod fill;
mod identity;
mod lint;
mod moved;
mod order;
mod planner;
mod prepare;
mod rollback;
#[cfg(test)]
mod testing;

pub use diff::three_way;
pub use fill::{FillInput, Filling, OtherStacks, waves};
pub use identity::{Identities, United, unite};
pub use lint::{Problem, Via, wrong_extensions};
pub use moved::{Moved, moved_since};
pub use planner::{PlanInput, conflicts, plan, plan_take_over, strangers};
pub use prepare::{Dependency, Prepared, prepare};
pub use rollback::{recorded_spec, rollback_spec};
