//! One sealed thing: `x1 <serial> <key> <nonce, ciphertext and tag>`.
//!
//! The associated data is everything that says what and where it is: the algorithm, the key, the kind of thing, the stack, the
//! history and the serial. A record that is flipped, moved, taken from another history or relabelled with another algorithm
//! does not open. Number and key stand in front in clear, so that a log can be listed without its key.

use base_secret::SecretKey;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use data_encoding::BASE64URL_NOPAD;
use kusion_model::Scope;

use crate::StoreError;
use crate::damage::Fault;

/// XChaCha20-Poly1305: nonces are so long that random ones never meet.
pub(crate) const ALGORITHM: &str = "x1";
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
    let nonce: [u8; NONCE_LEN] = random()?;
    let aad = associated(ALGORITHM, name, bound);
    let sealed = XChaCha20Poly1305::new(key.expose().into())
        .encrypt(&XNonce::from(nonce), Payload { msg: bytes, aad: &aad })
        .map_err(|_| StoreError::NoRandom { why: "the cipher refuses the text".to_owned() })?;
    let mut text = format!("{ALGORITHM} {} {name} ", bound.serial);
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
        if !text.starts_with(ALGORITHM) && crate::chain::read(bytes).is_ok() {
            return Err(Fault::Clear);
        }
        let mut parts = text.splitn(4, ' ');
        let mut next = || parts.next().ok_or(Fault::Seal);
        let (algorithm, serial, key, payload) = (next()?, next()?, next()?, next()?);
        let serial = serial.parse().map_err(|_| Fault::Seal)?;
        if algorithm != ALGORITHM {
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
        XChaCha20Poly1305::new(key.expose().into())
            .decrypt(&XNonce::from(nonce), Payload { msg, aad: &aad })
            .map_err(|_| Fault::Seal)
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
}
