//! The engine as a library: generate, plan, apply, record, roll back.
//!
//! In: a Spec, a store, runtimes, a clock, all injected. Out: plans, reports, history. Every function is one arrow of the
//! road in `docs/design/0002-engine.md`; nothing here knows a platform, prints, or reads the environment.
//!
//! ```text
//! generate ─► Spec ─► make_plan ─► Planned ─► execute ─► Report
//!                        ▲                       │
//!                      State ◄──── Session ◄─────┘
//! ```
//!
//! Start reading with [`make_plan`] and [`execute`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod execute;
mod history;
mod planning;

pub use execute::{Execution, execute};
pub use history::{commit_of, drifted, previous_good, rollback_target};
pub use planning::{PlanAsk, PlanFailure, Planned, make_plan};

pub use kusion_generate as generate;
pub use kusion_model as model;

/// The version that plans and releases carry.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");
