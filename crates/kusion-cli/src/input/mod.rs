//! What a command is given: flags, the stack and its state, clusters, what is wanted, consent.

pub(crate) mod backend;
pub(crate) mod chosen;
pub(crate) mod cluster;
pub(crate) mod consent;
pub(crate) mod flags;
pub(crate) mod hush;
pub(crate) mod locks;
pub(crate) mod meter;
pub(crate) mod planned;
pub(crate) mod providers;
pub(crate) mod recall;
pub(crate) mod sight;
pub(crate) mod text;
pub(crate) mod who;
