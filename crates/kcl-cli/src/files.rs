//! Which files the words of a command mean, and how one is read and replaced: as the library does it.

pub(crate) use kcl::sources::{Found, MAX_BYTES, find, read, replace, text_of, texts, too_large};
