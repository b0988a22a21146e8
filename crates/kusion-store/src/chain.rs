//! One record of the log: `hash previous json`. The hash covers the rest, the previous one is that of the record before it, so
//! the last hash stands for the whole log.

use kusion_model::sha256_hex;

use crate::damage::Fault;

/// Half of a SHA-256: nobody finds a second record for it, by accident or on purpose.
const HASH_LEN: usize = 32;

/// What the first record follows from.
pub(crate) const NOTHING: &str = "00000000000000000000000000000000";

/// A record whose hash fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) hash: &'a str,
    pub(crate) prev: &'a str,
    pub(crate) json: &'a str,
}

/// Returns the text of a record that follows from another.
pub(crate) fn write(prev: &str, json: &str) -> String {
    let body = format!("{prev} {json}");
    format!("{} {body}", hash(&body))
}

/// Reads a record.
pub(crate) fn read(bytes: &[u8]) -> Result<Record<'_>, Fault> {
    if !bytes.is_empty() && bytes.iter().all(|&byte| byte == 0) {
        return Err(Fault::Zeros);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::Hash)?;
    let (sum, body) = text.split_once(' ').ok_or(Fault::Hash)?;
    let (prev, json) = body.split_once(' ').ok_or(Fault::Hash)?;
    if hash(body) == sum { Ok(Record { hash: sum, prev, json }) } else { Err(Fault::Hash) }
}

/// Returns the hash in front of a record that was just written.
pub(crate) fn hash_of(record: &str) -> String {
    record.split(' ').next().unwrap_or_default().to_owned()
}

fn hash(body: &str) -> String {
    sha256_hex(body.as_bytes())[..HASH_LEN].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_noticed() {
        let record = write(NOTHING, r#"{"entry":"end","text":"a b"}"#);
        let read_back = read(record.as_bytes()).unwrap();
        assert_eq!((read_back.prev, read_back.json), (NOTHING, r#"{"entry":"end","text":"a b"}"#));
        for at in 0..record.len() * 8 {
            let mut bytes = record.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(read(&bytes).is_err(), "bit {at}");
        }
    }
}
