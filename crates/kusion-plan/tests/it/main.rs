//! The planner from Spec to Plan: the test vectors of the product as plans.

#![allow(clippy::unwrap_used)]

mod identity;
mod order;
mod replaced;
mod table;
mod toy;
mod world;
