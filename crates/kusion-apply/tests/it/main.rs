//! The executor on a small simulated platform: kills, races, faults, order, secrets.

mod kill;
mod lab;
mod policy;
mod race;
mod secrets;
mod walk;
mod world;
