//! What is shown: plans, progress, endings, tables, failures; as text, as a live picture or as JSON. Nothing here decides.

pub(crate) mod blame;
pub(crate) mod board;
pub(crate) mod company;
pub(crate) mod debug;
pub(crate) mod ending;
pub(crate) mod failure;
pub(crate) mod output;
pub(crate) mod plan_view;
pub(crate) mod preview;
pub(crate) mod progress;
pub(crate) mod refused;
pub(crate) mod screen;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod unchanged;
pub(crate) mod wrap;
pub(crate) mod yaml;
