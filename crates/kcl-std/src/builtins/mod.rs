//! Functions that are there without an import.
//!
//! Through a value of type any almost everything can reach them; what the reference answers with Undefined they answer
//! with Undefined, except where the ledger wants an error.

pub(crate) mod convert;
pub(crate) mod number;
pub(crate) mod program;
pub(crate) mod radix;
pub(crate) mod sequence;
