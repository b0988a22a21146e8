//! The health rules as data: every case of `fixtures/*.case`, the ten causes of the engine, robustness, and waiting.

#![allow(clippy::unwrap_used)]

mod cases;
mod causes;
mod hidden;
mod robust;
mod waiting;
