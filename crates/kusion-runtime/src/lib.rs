//! The trait between engine and platforms.
