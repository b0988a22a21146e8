//! A text that a flag names.

use std::io::Read as _;

use crate::views::failure::Failure;

/// Reads a file, or standard input for `-`; bytes that are no text become marks rather than an end.
pub(crate) fn read_text(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = match file {
        "-" => std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ()),
        _ => std::fs::read(file).map(|read| bytes = read),
    };
    read.map_err(|error| {
        let next = "name a file that is there, or `-` for standard input";
        Failure::usage(format!("{file} cannot be read")).cause(error.to_string()).place(file).next(next)
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
