//! Tests over recorded answers of a real API server and its worked examples.

mod apply_examples;
mod defaults;
mod hostile;
mod replay;
mod value_traps;
mod world;
