//! Seeded random sequences of Kubernetes writes: what several managers do to one object, one after the other.
//!
//! Problem: our meaning of server-side apply, updates and patches must be the server's, not our reading of a document.
//! In: a seed. Out: requests, each chosen with the live object in view; run on a real server ([`live`]) and written down
//! ([`record`]), or compared with a model of the server.
//! Invariant: the same seed and the same answers give the same requests.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod kinds;
pub mod live;
pub mod model;
pub mod normal;
pub mod record;
mod request;
mod rng;
mod samples;
mod sequence;

pub use kinds::{Kind, definition, kinds};
pub use request::{Operation, Request};
pub use samples::{Places, samples};
pub use sequence::{MANAGERS, Sequence};
