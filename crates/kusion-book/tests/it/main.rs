//! The book as it is shipped.

mod plots;
mod reference;
mod site;
