//! The executor on a small simulated platform: kills, races, faults, order, secrets.

#![allow(clippy::unwrap_used)]

mod kill;
mod lab;
mod policy;
mod race;
mod secrets;
mod walk;
mod world;
