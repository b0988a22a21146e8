//! The store against crashes, rivals, full disks and damaged files.

mod crash;
mod history;
mod local;
mod race;
mod setup;
