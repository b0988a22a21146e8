//! The store against crashes, rivals, full disks and damaged files.

#![allow(clippy::unwrap_used)]

mod crash;
mod earlier;
mod history;
mod local;
mod race;
mod setup;
