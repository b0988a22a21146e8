//! Backslashes in double quotes.

use super::scanner::Scanner;
use super::token::{Mark, failure};
use crate::node::YamlError;

/// Takes one escape sequence.
pub(super) fn escaped(scanner: &mut Scanner<'_>, out: &mut String, start: Mark) -> Result<(), YamlError> {
    let context = Some(("while parsing a quoted scalar", start));
    let backslash = scanner.mark;
    scanner.skip();
    let digits = match scanner.byte(0) {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        letter => {
            let Some(c) = simple(letter) else {
                return Err(failure("found unknown escape character", backslash, context));
            };
            out.push(c);
            scanner.skip();
            return Ok(());
        }
    };
    scanner.skip();
    let from = scanner.mark.index;
    let text = scanner.text.get(from..from + digits).filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()));
    let Some(code) = text.and_then(|t| u32::from_str_radix(t, 16).ok()) else {
        return Err(failure("did not find expected hexadecimal number", scanner.mark, context));
    };
    let Some(c) = char::from_u32(code) else {
        return Err(failure("found invalid Unicode character escape code", scanner.mark, context));
    };
    out.push(c);
    for _ in 0..digits {
        scanner.skip();
    }
    Ok(())
}

fn simple(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\x0B',
        b'f' => '\x0C',
        b'r' => '\r',
        b'e' => '\x1B',
        b' ' => ' ',
        b'"' => '"',
        b'/' => '/',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
