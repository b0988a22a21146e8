//! What the unit tests share with the others: a made-up platform.

#[path = "../tests/it/toy.rs"]
mod toy;

use kusion_model::{Platforms, Spec};
use serde_json::Value;

pub(crate) use toy::{KEY, platforms_with};

pub(crate) fn platforms() -> Platforms {
    platforms_with(Vec::new())
}

pub(crate) fn spec(resources: Value) -> Spec {
    Spec::from_value(resources, &platforms(), &KEY).unwrap()
}
