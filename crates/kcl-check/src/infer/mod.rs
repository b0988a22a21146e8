//! Inference: the type of every expression, and the mistakes inside it.

mod call;
mod comp;
pub(crate) mod config;
mod expr;
mod lambda;
pub(crate) mod ops;
