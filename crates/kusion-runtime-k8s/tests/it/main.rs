//! The runtime on a real control plane (skipped loudly where there is none).

#![allow(clippy::unwrap_used)]

mod conflict;
mod cost;
mod health;
mod lab;
mod life;
mod noise;
