//! Tests with programs that are no providers, and with real ones.
#![allow(clippy::unwrap_used)]

mod faults;
mod real;
