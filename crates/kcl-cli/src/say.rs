//! What is said to people. Whoever reads us may stop early (`kcl doc --test | head -1`): that ends the telling, never the program.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

use crate::EXIT_WRONG;

/// Writes to standard output; a disk that is full ends the command with an error.
pub(crate) fn out(text: Arguments<'_>) {
    match std::io::stdout().write_fmt(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            err(format_args!("error: cannot write to standard output: {error}\n"));
            std::process::exit(i32::from(EXIT_WRONG));
        }
        _ => {}
    }
}

/// Writes to standard error; if nobody listens there, nobody is told.
pub(crate) fn err(text: Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(text);
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
