//! Installing against a registry and mirrors that speak the real protocol over TLS, with real signatures.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod corpus;
mod faults;
mod lab;
mod mirrors;
mod server;
mod sign;
mod site;
mod tofu;
mod works;
