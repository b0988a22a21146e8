//! State on shared media: S3 and what speaks it, Google Cloud Storage, Azure Blob, PostgreSQL, Kubernetes.
//!
//! In: the address of a backend ([`Address`]), credentials from where each service keeps them. Out: a [`kusion_store::Backend`].
//! Each medium is only the five calls of [`kusion_store::Objects`]; the log, the lease and everything they promise is
//! `kusion_store::ObjectLog`, the same on all. Invariants: a put compares and writes in one step on the server; an answer that
//! did not come is never taken for success or failure; no credential stands in an address that is shown, or in an error.
//!
//! Requests run on a thread of their own ([`Rim`]), so that whoever waits needs no runtime. Start reading with [`open`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod aws_files;
mod cloud;
mod kubernetes;
mod login;
mod open;
mod pg_login;
mod pg_tls;
mod postgres;
mod rim;
mod web;

pub use address::{Address, AddressError, fuzz_address};
pub use aws_files::{AwsProfile, profile_in};
pub use cloud::Cloud;
pub use kubernetes::Cluster;
pub use login::login_source;
pub use open::{OpenError, Surroundings, objects, open};
pub use pg_login::password_in;
pub use postgres::Postgres;
pub use rim::{OnSignal, Patience, Rim, Signal};
pub use web::{FetchError, fetch};
