//! `cargo xtask codegen WHAT`: committed files that are generated from an authority. One module per authority.

use crate::ChoreResult;

mod kube;
mod protobuf;

/// Entry point.
pub(crate) fn main(words: &[String]) -> ChoreResult {
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["kube"] => kube::generate(),
        ["protobuf"] => protobuf::generate(),
        _ => Err("usage: cargo xtask codegen kube|protobuf".into()),
    }
}
