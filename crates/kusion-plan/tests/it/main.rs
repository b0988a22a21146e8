//! The planner from Spec to Plan: the test vectors of the product as plans.

mod order;
mod table;
mod world;
