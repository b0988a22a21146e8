//! What judges the crates of Terraform providers: random values, and the fuzz targets of their readers.

mod fuzz;
mod random;

pub use fuzz::{TARGETS, state, types, values, values_json};
pub use random::{Sample, sample};
