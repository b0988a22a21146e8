//! The header of a file of age, and its armour.

use data_encoding::{BASE64, BASE64_NOPAD};
use ring::hmac;

use base_secret::SecretKey;

use super::AgeFault;

const FIRST: &str = "age-encryption.org/v1";
const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";
/// How long a line of base64 is.
const COLUMNS: usize = 64;
/// More recipients are a mistake.
const MOST: usize = 1_000;

/// Who can open a file, and what proves that nobody changed that.
#[derive(Default)]
pub(super) struct Header {
    stanzas: Vec<(Vec<String>, Vec<u8>)>,
    /// The text that the proof is about.
    text: String,
    proof: Vec<u8>,
}

impl Header {
    /// Adds a recipient.
    pub(super) fn add_x25519(&mut self, share: &[u8; 32], body: &[u8]) {
        let words = vec!["X25519".to_owned(), BASE64_NOPAD.encode(share)];
        self.stanzas.push((words, body.to_vec()));
    }

    /// Writes it, with its proof.
    pub(super) fn sealed(&self, key: &SecretKey) -> Vec<u8> {
        let mut text = format!("{FIRST}\n");
        for (words, body) in &self.stanzas {
            text.push_str(&format!("-> {}\n", words.join(" ")));
            let body = BASE64_NOPAD.encode(body);
            // The last line is shorter than a full one, and may be empty.
            let mut rest = body.as_str();
            while rest.len() >= COLUMNS {
                let (line, more) = rest.split_at(COLUMNS);
                text.push_str(&format!("{line}\n"));
                rest = more;
            }
            text.push_str(&format!("{rest}\n"));
        }
        text.push_str("---");
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose());
        let proof = BASE64_NOPAD.encode(hmac::sign(&key, text.as_bytes()).as_ref());
        format!("{text} {proof}\n").into_bytes()
    }

    /// Reads it; returns what follows.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), AgeFault> {
        let mut header = Header::default();
        let mut rest = bytes;
        if line(&mut rest)? != FIRST {
            return Err(AgeFault::NotAge);
        }
        loop {
            let begin = rest;
            let first = line(&mut rest)?;
            if let Some(proof) = first.strip_prefix("--- ") {
                let end = bytes.len() - begin.len() + 3;
                header.text = String::from_utf8_lossy(&bytes[..end]).into_owned();
                header.proof = BASE64_NOPAD.decode(proof.as_bytes()).map_err(|_| AgeFault::NotAge)?;
                return Ok((header, rest));
            }
            let words = first.strip_prefix("-> ").ok_or(AgeFault::NotAge)?;
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            if header.stanzas.len() >= MOST || words.iter().any(String::is_empty) {
                return Err(AgeFault::NotAge);
            }
            let mut body = String::new();
            loop {
                let next = line(&mut rest)?;
                body.push_str(next);
                match next.len() {
                    COLUMNS => {}
                    0..COLUMNS => break,
                    _ => return Err(AgeFault::NotAge),
                }
            }
            let body = BASE64_NOPAD.decode(body.as_bytes()).map_err(|_| AgeFault::NotAge)?;
            header.stanzas.push((words, body));
        }
    }

    /// The recipients that have an X25519 key.
    pub(super) fn x25519(&self) -> impl Iterator<Item = ([u8; 32], &[u8])> {
        self.stanzas.iter().filter_map(|(words, body)| {
            let [kind, share] = words.as_slice() else { return None };
            let share = BASE64_NOPAD.decode(share.as_bytes()).ok().filter(|_| kind == "X25519")?;
            Some((<[u8; 32]>::try_from(share.as_slice()).ok()?, body.as_slice()))
        })
    }

    /// Whether it is what was written with the file's key.
    pub(super) fn is_sealed_by(&self, key: &SecretKey) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose());
        hmac::verify(&key, self.text.as_bytes(), &self.proof).is_ok()
    }
}

/// Takes a line of plain characters off the front.
fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a str, AgeFault> {
    let end = rest.iter().position(|&byte| byte == b'\n').ok_or(AgeFault::Cut)?;
    let (first, more) = rest.split_at(end);
    *rest = &more[1..];
    let printable = first.iter().all(|byte| (b' '..=b'~').contains(byte));
    std::str::from_utf8(first).ok().filter(|_| printable).ok_or(AgeFault::NotAge)
}

/// Puts bytes into armour.
pub(super) fn armoured(bytes: &[u8]) -> String {
    let text = BASE64.encode(bytes);
    let mut out = format!("{BEGIN}\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(COLUMNS));
        out.push_str(&format!("{line}\n"));
        rest = more;
    }
    out.push_str(&format!("{END}\n"));
    out
}

/// Takes the armour off, if there is one.
pub(super) fn without_armour(bytes: &[u8]) -> Result<Vec<u8>, AgeFault> {
    let Some(text) = std::str::from_utf8(bytes).ok().map(str::trim).filter(|text| text.starts_with(BEGIN))
    else {
        return Ok(bytes.to_vec());
    };
    let inner = text.strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END)).ok_or(AgeFault::Cut)?;
    let joined: String = inner.lines().map(str::trim_end).collect();
    BASE64.decode(joined.as_bytes()).map_err(|_| AgeFault::Changed)
}
