//! The ways in which a value is written by programs: what has to be looked for beside the value itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, Encoding, HEXLOWER, HEXUPPER};

use crate::SHORTEST;

/// A line of a value or an item of a document is looked for by itself if it has so many bytes: shorter ones are words that
/// stand everywhere (`Config`, `localhost`).
const SHORTEST_PART: usize = 8;
/// So many lines or items are looked for.
const MOST_PARTS: usize = 400;
/// Programs break base64 after so many characters.
const WIDTHS: [usize; 2] = [64, 76];

/// Every text that shows a value.
pub(crate) fn forms(value: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    add_value(value, &mut found);
    if let Some(decoded) = decoded(value) {
        add_value(&decoded, &mut found);
        add_parts(&decoded, &mut found);
    }
    add_parts(value, &mut found);
    found.retain(|form| form.len() >= SHORTEST);
    found
}

/// What a value in base64 stands for, if that is a text.
fn decoded(value: &[u8]) -> Option<Vec<u8>> {
    let trimmed = value.trim_ascii();
    let readers = [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD];
    let bytes = readers.iter().find_map(|reader| reader.decode(trimmed).ok())?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let readable = |c: char| !c.is_control() || c.is_whitespace();
    (text.len() >= SHORTEST && text.chars().all(readable)).then_some(bytes)
}

/// The lines of a long text, the texts in a JSON document: a message may quote one.
fn add_parts(value: &[u8], found: &mut BTreeSet<String>) {
    let Ok(text) = std::str::from_utf8(value) else { return };
    let text = text.trim();
    let mut parts: Vec<String> = Vec::new();
    if text.contains('\n') {
        // The first and the last line of a PEM block are the same for everybody.
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
        parts.extend(lines.map(str::to_owned));
    }
    if text.starts_with(['{', '[']) {
        leaves(&serde_json::from_str(text).unwrap_or_default(), &mut parts);
    }
    parts.retain(|part| part.len() >= SHORTEST_PART);
    parts.truncate(MOST_PARTS);
    parts.iter().for_each(|part| add_value(part.as_bytes(), found));
}

fn leaves(value: &serde_json::Value, parts: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => parts.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| leaves(item, parts)),
        serde_json::Value::Object(map) => map.values().for_each(|item| leaves(item, parts)),
        _ => {}
    }
}

fn add_value(value: &[u8], found: &mut BTreeSet<String>) {
    if value.len() < SHORTEST {
        return;
    }
    for encoding in [BASE64, BASE64URL, BASE64_NOPAD, BASE64URL_NOPAD] {
        let whole = encoding.encode(value);
        add_wrapped(&whole, found);
        found.insert(whole);
    }
    for encoding in [BASE64_NOPAD, BASE64URL_NOPAD] {
        found.extend((0..3).filter_map(|before| inside(value, before, &encoding)));
    }
    found.extend([HEXLOWER.encode(value), HEXUPPER.encode(value)]);
    found.extend([percent(value, "%20", true), percent(value, "+", true), percent(value, "%20", false)]);
    let Ok(text) = std::str::from_utf8(value) else { return };
    let trimmed = text.trim();
    for text in [text, trimmed] {
        if text.len() >= SHORTEST {
            found.insert(text.to_owned());
            found.extend(escaped(text));
        }
    }
}

/// Base64 that a program broke into lines.
fn add_wrapped(whole: &str, found: &mut BTreeSet<String>) {
    for width in WIDTHS.into_iter().filter(|width| whole.len() > *width) {
        let lines = whole.as_bytes().chunks(width).take(MOST_PARTS);
        let texts = lines.filter_map(|line| std::str::from_utf8(line).ok());
        found.extend(texts.filter(|line| line.len() >= SHORTEST_PART).map(str::to_owned));
    }
}

/// The characters that a value always has in the base64 of a longer text, where `before` bytes stand before it in its group.
fn inside(value: &[u8], before: usize, encoding: &Encoding) -> Option<String> {
    let mut padded = vec![0; before];
    padded.extend_from_slice(value);
    let text = encoding.encode(&padded);
    let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    text.get(first..end).filter(|core| core.len() >= SHORTEST_PART).map(str::to_owned)
}

/// The text between quotes, as the languages around us write it.
fn escaped(text: &str) -> Vec<String> {
    let json = serde_json::Value::from(text).to_string();
    let json = json[1..json.len() - 1].to_owned();
    // Go writes these as numbers, and so does every Kubernetes server.
    let go = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let ascii = ascii(&json);
    let debug = format!("{text:?}");
    vec![
        debug[1..debug.len() - 1].to_owned(),
        text.replace('\'', "''"),
        text.replace('\'', "'\\''"),
        json.replace('/', "\\/"),
        ascii,
        go,
        json,
    ]
}

/// JSON with ASCII characters only.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

fn percent(value: &[u8], space: &str, upper: bool) -> String {
    let mut out = String::with_capacity(value.len());
    for &byte in value {
        match byte {
            b' ' => out.push_str(space),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ if upper => _ = write!(out, "%{byte:02X}"),
            _ => _ = write!(out, "%{byte:02x}"),
        }
    }
    out
}
