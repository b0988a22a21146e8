//! What the fuzz targets of the Kubernetes half do with a heap of bytes: patches, selectors, field paths, managedFields,
//! protobuf bodies, whole worlds, and secrets.
//!
//! In: any bytes. Out: nothing; a panic is a finding. A byte is a choice (`feed::Feed`): nearly every input is a
//! well-formed request with an object that nearly fits its schema, because a fuzzer that must first invent JSON finds
//! nothing. Bytes that run out choose the first of everything.

mod feed;
mod secrets;
mod sets;
mod text;
mod world;
mod writes;

pub use secrets::secrets;
pub use sets::{field_paths, managed_fields};
pub use text::{kube_selectors, protobuf};
pub use world::world;
pub use writes::patches;

/// Name and body of every target.
pub const TARGETS: &[crate::FuzzTarget] = &[
    ("patches", patches),
    ("kube_selectors", kube_selectors),
    ("field_paths", field_paths),
    ("managed_fields", managed_fields),
    ("protobuf", protobuf),
    ("world", world),
    ("secrets", secrets),
];
