//! The conformance suite of the store on real servers, with faults between client and server.
//!
//! `KUSION_LONG_TESTS=1` runs the long forms: every step, 50 writers with 200 commits each, 200 histories on each medium.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[allow(dead_code, reason = "shared with other media, and each uses its part")]
#[path = "../../../kusion-store/tests/it/checker.rs"]
mod checker;
#[path = "../../../kusion-store/tests/it/crash.rs"]
mod crash;
#[path = "../../../kusion-store/tests/it/history.rs"]
mod history;
#[allow(dead_code, reason = "shared with other media, and each uses its part")]
#[path = "../../../kusion-store/tests/it/medium.rs"]
mod medium;
#[path = "../../../kusion-store/tests/it/moving.rs"]
mod moving;
#[path = "../../../kusion-store/tests/it/race.rs"]
mod race;
#[path = "../../../kusion-store/tests/it/sealed.rs"]
mod sealed;

mod faults;
mod histories;
mod killed;
mod objects;
mod pages;
mod proxy;
mod setup;
mod storm;
mod tls;
