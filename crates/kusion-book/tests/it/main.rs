//! The book as it is shipped.

#![allow(clippy::unwrap_used)]

mod plots;
mod reference;
mod site;
