//! Tests with programs that are no providers, with real ones, and with one that fails on request.
#![allow(clippy::unwrap_used)]

mod corpus;
mod faults;
mod kit;
mod lab;
mod real;
mod struck;
