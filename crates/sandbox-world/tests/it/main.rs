//! The simulated controllers and kubelet, driven by the virtual clock.

#![allow(clippy::unwrap_used)]

mod corpus;
mod ends;
mod failures;
mod real;
mod rig;
mod rollout;
mod workloads;
