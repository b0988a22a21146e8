//! Values of Terraform providers, judged by tables of bytes that the reference wrote.
#![allow(clippy::unwrap_used)]

mod conversion;
mod limits;
mod numbers;
mod random;
mod vectors;
