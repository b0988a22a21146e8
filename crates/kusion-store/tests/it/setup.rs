//! The media of this crate: every function of the conformance suite runs on each.

pub(crate) use crate::medium::*;

/// How many of the steps at which a write can be interrupted are tried: every one.
pub(crate) const STRIDE: &usize = &1;

/// One test function on every medium.
macro_rules! on_every_medium {
    ($($name:ident)*) => {
        mod on_the_simulated_medium {
            $(#[test] fn $name() { super::$name(crate::setup::Medium::sim) })*
        }
        mod on_simulated_objects {
            $(#[test] fn $name() { super::$name(crate::setup::Medium::objects) })*
        }
        mod on_a_local_folder {
            $(#[test] fn $name() { super::$name(crate::setup::Medium::local) })*
        }
    };
}
pub(crate) use on_every_medium;
