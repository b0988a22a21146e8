//! The book as it is shipped.

mod reference;
mod site;
