//! Who signed a package: signatures of cosign judged under a policy, and proofs that travel with vendored packages.
//!
//! Bytes in, a signer or a sentence out: registries are asked by `kcl-fetch`, files are read by whoever has them.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod proof;
mod trust;

pub use proof::{Evidence, Proof};
pub use trust::{Signed, Trust};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Returns the digest of bytes as registries write it.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}
