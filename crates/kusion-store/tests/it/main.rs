//! The store against crashes, rivals, full media and damaged files. What every medium must promise is in `crash`, `race` and
//! `history`: each function there runs on each of them.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with other media, and each uses its part")]
mod checker;
mod copies;
mod corpus;
mod crash;
mod damage;
mod earlier;
mod history;
mod linear;
mod local;
#[allow(dead_code, reason = "shared with other media, and each uses its part")]
mod medium;
mod moving;
mod race;
mod rounds;
mod sealed;
mod setup;
mod snapshots;
mod tamper;
