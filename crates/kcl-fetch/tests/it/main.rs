//! Packages from real Git repositories and a real registry.
#![allow(clippy::unwrap_used)]

mod cosign;
mod faults;
mod git;
mod lab;
mod registry;
