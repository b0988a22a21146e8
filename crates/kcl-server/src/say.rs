//! What is said to people: standard error and the texts of refusals, without the secrets that this process knows (its own token,
//! credentials of registries). What a method answers is data, which no redactor changes.

use std::io::Write;

use base_secret::Redactor;

/// From now on every secret value is known, and what panics say is clean, too.
pub(crate) fn install() {
    Redactor::install_for_program(|text| err(text.trim_end()));
}

/// Writes a line to standard error; if nobody listens there, nobody is told.
pub(crate) fn err(text: &str) {
    let _ = std::io::stderr().write_all(format!("{}\n", clean(text.to_owned())).as_bytes());
}

/// Takes the secrets of this process out of a text.
pub(crate) fn clean(text: String) -> String {
    match Redactor::clean_for_process(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(cleaned) => cleaned,
    }
}
