//! Tests over recorded answers of a real API server and its worked examples.

#![allow(clippy::unwrap_used)]

mod apply_examples;
mod defaults;
mod hostile;
mod replay;
mod samples;
mod value_traps;
mod world;
