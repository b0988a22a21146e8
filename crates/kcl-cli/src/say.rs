//! What is said to people. Whoever reads us may stop early (`kcl doc --test | head -1`): that ends the telling, never the program.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use base_secret::Redactor;

/// Whether something that was to be said is lost: a disk is full.
static LOST: AtomicBool = AtomicBool::new(false);

/// Returns true if the command must not end with success: not everything was written.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes to standard output; the first failure is told.
pub(crate) fn out(text: Arguments<'_>) {
    let Err(error) = std::io::stdout().write_fmt(text) else { return };
    if error.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
        err(format_args!("error: cannot write to standard output: {error}\n"));
    }
}

/// Writes a whole result to standard output: data, which no redactor changes.
///
/// # Errors
/// Why it cannot be written; a reader who has stopped is none.
pub(crate) fn result(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error, without the secrets that this process knows; if nobody listens there, nobody is told.
pub(crate) fn err(text: Arguments<'_>) {
    let text = text.to_string();
    let _ = std::io::stderr().write_all(Redactor::clean_for_process(&text).as_bytes());
}

// The macros of the standard library panic when the reader is gone.
macro_rules! print {
    ($($text:tt)*) => { crate::say::out(format_args!($($text)*)) };
}
macro_rules! println {
    ($($text:tt)*) => { crate::say::out(format_args!("{}\n", format_args!($($text)*))) };
}
macro_rules! eprint {
    ($($text:tt)*) => { crate::say::err(format_args!($($text)*)) };
}
macro_rules! eprintln {
    ($($text:tt)*) => { crate::say::err(format_args!("{}\n", format_args!($($text)*))) };
}
