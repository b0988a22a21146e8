//! Which files the words of a command mean, and how one is read and replaced: as the library does it. Standard input is ours.

use std::io::Read;

pub(crate) use kcl::sources::{Found, MAX_BYTES, find, read, replace, text_of, texts, too_large};

/// Reads standard input, at most [`MAX_BYTES`].
///
/// # Errors
/// A sentence that goes on after the name that it has.
pub(crate) fn standard_input() -> Result<Vec<u8>, String> {
    if is_closed() {
        return Err("cannot be read: standard input is closed".to_owned());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

/// Whether nobody gave us a standard input. The runtime has opened `/dev/null` in its place by now, for reading and writing; who
/// means an empty input opens it for reading.
#[cfg(target_os = "linux")]
fn is_closed() -> bool {
    let is_null = std::fs::read_link("/proc/self/fd/0").is_ok_and(|path| path.as_os_str() == "/dev/null");
    let info = if is_null { std::fs::read_to_string("/proc/self/fdinfo/0") } else { return false };
    let flags = info.unwrap_or_default().lines().find_map(|line| {
        let flags = line.strip_prefix("flags:")?.trim();
        u32::from_str_radix(flags, 8).ok()
    });
    flags.is_some_and(|flags| flags & 3 == 2)
}

#[cfg(not(target_os = "linux"))]
fn is_closed() -> bool {
    false
}
