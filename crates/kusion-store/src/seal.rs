//! One sealed thing: `x1 <serial> <key> <nonce, ciphertext and tag>`; `x2` if the text was made smaller first.
//!
//! The associated data is everything that says what and where it is: the algorithm, the key, the kind of thing, the stack, the
//! history and the serial. A record that is flipped, moved, taken from another history or relabelled with another algorithm
//! does not open. Number and key stand in front in clear, so that a log can be listed without its key.

use std::io::{Read as _, Write as _};

use base_secret::SecretKey;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use data_encoding::BASE64URL_NOPAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use kusion_model::Scope;

use crate::StoreError;
use crate::damage::Fault;

/// XChaCha20-Poly1305: nonces are so long that random ones never meet.
pub(crate) const ALGORITHM: &str = "x1";
/// The same over a deflated text.
const DENSE: &str = "x2";
/// Shorter texts stay as they are: making them smaller costs more than it saves.
const DENSE_FROM: usize = 16 * 1024;
/// What a dense text may unfold to; a record of a million resources is smaller.
const MOST: u64 = 1 << 30;
const NONCE_LEN: usize = 24;

/// What a sealed thing is and where it belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    /// `record`, `ring`, `plan`, `secret`.
    pub(crate) what: &'a str,
    pub(crate) scope: &'a Scope,
    pub(crate) lineage: &'a str,
    pub(crate) serial: u64,
}

/// A sealed thing, taken apart and not yet opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    pub(crate) algorithm: &'a str,
    pub(crate) serial: u64,
    pub(crate) key: &'a str,
    payload: &'a str,
}

/// Fills an array by the random source of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::NoRandom { why: error.to_string() })?;
    Ok(bytes)
}

/// A new key.
pub(crate) fn random_key() -> Result<SecretKey, StoreError> {
    SecretKey::make(|bytes| getrandom::fill(bytes))
        .map_err(|error| StoreError::NoRandom { why: error.to_string() })
}

fn associated(algorithm: &str, key: &str, bound: &Bound<'_>) -> Vec<u8> {
    let Scope { project, stack, workspace } = bound.scope;
    let serial = bound.serial.to_string();
    let parts =
        ["kusion", algorithm, key, bound.what, project, stack, workspace, bound.lineage, serial.as_str()];
    // Names hold no zero byte, so no two lists of parts give the same bytes.
    parts.join("\0").into_bytes()
}

/// Seals some bytes under a key with a name.
pub(crate) fn seal(
    key: &SecretKey,
    name: &str,
    bound: &Bound<'_>,
    bytes: &[u8],
) -> Result<String, StoreError> {
    seal_as(ALGORITHM, key, name, bound, bytes)
}

/// The same for what may be long and holds no secret in clear: its length says how alike its parts are.
pub(crate) fn seal_dense(
    key: &SecretKey,
    name: &str,
    bound: &Bound<'_>,
    bytes: &[u8],
) -> Result<String, StoreError> {
    match folded(bytes) {
        Some(folded) => seal_as(DENSE, key, name, bound, &folded),
        None => seal(key, name, bound, bytes),
    }
}

/// A long text made smaller; `None` if that is not worth it.
fn folded(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() < DENSE_FROM {
        return None;
    }
    let mut folding = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    folding.write_all(bytes).ok()?;
    folding.finish().ok().filter(|folded| folded.len() < bytes.len())
}

fn unfolded(bytes: &[u8], most: u64) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::new();
    let read = DeflateDecoder::new(bytes).take(most + 1).read_to_end(&mut text);
    if read.is_ok() && text.len() as u64 <= most { Ok(text) } else { Err(Fault::Seal) }
}

fn seal_as(
    algorithm: &str,
    key: &SecretKey,
    name: &str,
    bound: &Bound<'_>,
    bytes: &[u8],
) -> Result<String, StoreError> {
    let nonce: [u8; NONCE_LEN] = random()?;
    let aad = associated(algorithm, name, bound);
    let sealed = XChaCha20Poly1305::new(key.expose().into())
        .encrypt(&XNonce::from(nonce), Payload { msg: bytes, aad: &aad })
        .map_err(|_| StoreError::NoRandom { why: "the cipher refuses the text".to_owned() })?;
    let mut text = format!("{algorithm} {} {name} ", bound.serial);
    text.reserve(BASE64URL_NOPAD.encode_len(NONCE_LEN + sealed.len()));
    BASE64URL_NOPAD.encode_append(&[nonce.as_slice(), &sealed].concat(), &mut text);
    Ok(text)
}

impl<'a> Envelope<'a> {
    /// Takes a sealed thing apart.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        if !bytes.is_empty() && bytes.iter().all(|&byte| byte == 0) {
            return Err(Fault::Zeros);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Fault::Seal)?;
        // A record in clear begins with its hash, never with the algorithm: what does is not hashed for nothing.
        if ![ALGORITHM, DENSE].iter().any(|known| text.starts_with(known))
            && crate::chain::read(bytes).is_ok()
        {
            return Err(Fault::Clear);
        }
        let mut parts = text.splitn(4, ' ');
        let mut next = || parts.next().ok_or(Fault::Seal);
        let (algorithm, serial, key, payload) = (next()?, next()?, next()?, next()?);
        let serial = serial.parse().map_err(|_| Fault::Seal)?;
        if ![ALGORITHM, DENSE].contains(&algorithm) {
            return Err(Fault::Algorithm);
        }
        Ok(Envelope { algorithm, serial, key, payload })
    }

    /// Opens it; whatever it is bound to must fit.
    pub(crate) fn open(&self, key: &SecretKey, name: &str, bound: &Bound<'_>) -> Result<Vec<u8>, Fault> {
        if self.key != name {
            return Err(Fault::OtherKey);
        }
        let bytes = BASE64URL_NOPAD.decode(self.payload.as_bytes()).map_err(|_| Fault::Seal)?;
        let (nonce, msg) = bytes.split_at_checked(NONCE_LEN).ok_or(Fault::Seal)?;
        let nonce = <[u8; NONCE_LEN]>::try_from(nonce).map_err(|_| Fault::Seal)?;
        let aad = associated(self.algorithm, name, bound);
        let text = XChaCha20Poly1305::new(key.expose().into())
            .decrypt(&XNonce::from(nonce), Payload { msg, aad: &aad })
            .map_err(|_| Fault::Seal)?;
        if self.algorithm == DENSE { unfolded(&text, MOST) } else { Ok(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_opens_that_was_changed_moved_or_relabelled() {
        let scope = Scope { project: "p".into(), stack: "s".into(), workspace: "w".into() };
        let bound = Bound { what: "record", scope: &scope, lineage: "l", serial: 7 };
        let key = SecretKey::new([5; 32]);
        let text = seal(&key, "k", &bound, b"canary").unwrap();
        let open = |text: &str, bound: &Bound<'_>| {
            Envelope::read(text.as_bytes()).and_then(|it| it.open(&key, "k", bound))
        };
        assert_eq!(open(&text, &bound).unwrap(), b"canary");
        assert_ne!(text, seal(&key, "k", &bound, b"canary").unwrap(), "no nonce is used twice");
        let other = Scope { stack: "t".into(), ..scope.clone() };
        for moved in [
            Bound { serial: 8, ..bound },
            Bound { lineage: "m", ..bound },
            Bound { what: "plan", ..bound },
            Bound { scope: &other, ..bound },
        ] {
            assert_eq!(open(&text, &moved), Err(Fault::Seal), "{moved:?}");
        }
        assert_eq!(open(&text.replacen("x1", "x0", 1), &bound), Err(Fault::Algorithm));
        assert_eq!(open(&text.replacen(" k ", " j ", 1), &bound), Err(Fault::OtherKey));
        // The label itself is bound: an engine that knew both would refuse the other one too.
        let relabelled = Envelope { algorithm: "x0", ..Envelope::read(text.as_bytes()).unwrap() };
        assert_eq!(relabelled.open(&key, "k", &bound), Err(Fault::Seal));
        for at in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[at / 8] ^= 1 << (at % 8);
            let opened = Envelope::read(&bytes).and_then(|it| {
                let here = Bound { serial: it.serial, ..bound };
                it.open(&key, "k", &here)
            });
            assert!(opened.is_err(), "bit {at}");
        }
    }

    #[test]
    fn a_long_text_is_made_smaller_and_comes_back_whole() {
        let scope = Scope { project: "p".into(), stack: "s".into(), workspace: "w".into() };
        let bound = Bound { what: "record", scope: &scope, lineage: "l", serial: 7 };
        let key = SecretKey::new([5; 32]);
        let long = r#"{"apiVersion":"v1","kind":"ConfigMap"},"#.repeat(1000).into_bytes();
        let text = seal_dense(&key, "k", &bound, &long).unwrap();
        assert!(text.starts_with("x2 7 k ") && text.len() * 20 < long.len(), "{}", text.len());
        let open = |text: &str| Envelope::read(text.as_bytes()).and_then(|it| it.open(&key, "k", &bound));
        assert_eq!(open(&text).unwrap(), long);
        assert_eq!(open(&text.replacen("x2", "x1", 1)), Err(Fault::Seal), "the label is bound");
        // What is short, or cannot be made smaller, is sealed as it is.
        let random: Vec<u8> = (0..DENSE_FROM / 32).flat_map(|_| random::<32>().unwrap()).collect();
        for plain in [b"short".as_slice(), &random] {
            let text = seal_dense(&key, "k", &bound, plain).unwrap();
            assert!(text.starts_with("x1 "));
            assert_eq!(open(&text).unwrap(), plain);
        }
    }

    #[test]
    fn a_dense_text_that_is_cut_or_never_ends_is_refused() {
        let zeros = vec![0; 1 << 20];
        let dense = folded(&zeros).unwrap();
        assert_eq!(unfolded(&dense, 1 << 20).unwrap(), zeros);
        assert_eq!(unfolded(&dense, (1 << 20) - 1), Err(Fault::Seal), "longer than it may be");
        assert_eq!(unfolded(&dense[..dense.len() / 2], MOST), Err(Fault::Seal), "cut in the middle");
    }
}
