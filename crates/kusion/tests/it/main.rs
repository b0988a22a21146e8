//! The engine on the sandbox's world, in process and in virtual time: the real Kubernetes runtime, real requests, no sockets.
#![allow(clippy::unwrap_used)]

mod causes;
mod chain;
mod clusters;
mod forge;
mod healthy;
mod homes;
mod identity;
mod import;
mod kill;
mod lab;
mod liar;
mod lies;
mod objects;
mod owner;
mod policy;
mod race;
mod renamed;
mod road;
mod rollout;
mod scaled;
mod secrets;
mod served;
mod shared;
mod terraform;
mod toy;
mod walk;
mod wire;
mod witness;
