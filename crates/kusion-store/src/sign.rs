//! Signatures of what leaves a store to be read by others: Ed25519, by a key of the stack that no rotation changes.
//!
//! Whoever has the public key can check a signature with tools of his own; nobody can make one without the keys of the stack.

use data_encoding::BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::{StackStore, StoreError};

/// What stands before the 32 bytes of a public Ed25519 key in its DER form (RFC 8410).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The public key of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

/// A signature, and the key that checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    pub signature: [u8; 64],
    pub key: PublicKey,
}

impl PublicKey {
    /// Its PEM text, as every tool reads it.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let text = BASE64.encode(&[SPKI.as_slice(), &self.0].concat());
        format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
    }

    /// Reads its PEM text.
    #[must_use]
    pub fn from_pem(text: &str) -> Option<Self> {
        let inner = text.trim().strip_prefix("-----BEGIN PUBLIC KEY-----")?;
        let inner = inner.strip_suffix("-----END PUBLIC KEY-----")?;
        let joined: String = inner.split_whitespace().collect();
        let bytes = BASE64.decode(joined.as_bytes()).ok()?;
        <[u8; 32]>::try_from(bytes.strip_prefix(&SPKI)?).ok().map(PublicKey)
    }

    /// What people compare: the SHA-256 of its DER form, in hexadecimal.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        kusion_model::sha256_hex(&[SPKI.as_slice(), &self.0].concat())
    }

    /// Whether a signature of some bytes was made with the private half.
    #[must_use]
    pub fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(bytes, signature).is_ok()
    }
}

impl StackStore {
    /// Signs some bytes with the key of the stack.
    ///
    /// # Errors
    /// Keys that cannot be had.
    pub async fn sign(&self, bytes: &[u8]) -> Result<Signed, StoreError> {
        let seed = self.keys().await?.signing();
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose())
            .map_err(|error| StoreError::NoRandom { why: error.to_string() })?;
        let key = <[u8; 32]>::try_from(pair.public_key().as_ref());
        let signature = <[u8; 64]>::try_from(pair.sign(bytes).as_ref());
        match (key, signature) {
            (Ok(key), Ok(signature)) => Ok(Signed { signature, key: PublicKey(key) }),
            _ => Err(StoreError::NoRandom { why: "the signature has another length".to_owned() }),
        }
    }

    /// The public key of the stack.
    ///
    /// # Errors
    /// Keys that cannot be had.
    pub async fn public_key(&self) -> Result<PublicKey, StoreError> {
        self.sign(b"").await.map(|signed| signed.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_and_read_as_pem() {
        let key = PublicKey([7; 32]);
        assert_eq!(PublicKey::from_pem(&key.to_pem()), Some(key));
        for wrong in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"] {
            assert_eq!(PublicKey::from_pem(wrong), None);
        }
        assert!(!key.verifies(b"", &[0; 64]));
    }
}
