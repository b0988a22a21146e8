//! The checker from outside: the typed specs, shared packages, editions, large inputs.

mod program;
mod shared;
mod size;
mod specs;
