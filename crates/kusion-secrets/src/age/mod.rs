//! Files of `age` (age-encryption.org/v1) for X25519 recipients: what a team keeps in a repository, and the lock of a state.
//!
//! In: bytes, plain or armoured, and identities. Out: what was encrypted, or which of the ways it cannot be opened.
//! Invariants: nothing is given out before its authenticity is proved; sizes are bounded by `LARGEST`. Passphrases and plugins
//! of `age` are not here: a program asks for those (`command`).

mod bech32;
mod format;

use std::fmt;
use std::path::Path;

use base_secret::SecretKey;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use ring::hkdf;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};
use zeroize::Zeroizing;

use crate::{LARGEST, Refusal, SecretError};
use format::Header;

/// What a file of `age` is encrypted in pieces of.
const CHUNK: usize = 64 * 1024;
const TAG: usize = 16;

/// A private key: `AGE-SECRET-KEY-1…`.
pub struct Identity(SecretKey);

/// A public key: `age1…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient([u8; 32]);

/// Why something of age cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeFault {
    /// It does not look like what it should be.
    NotAge,
    /// It is larger than a secret may be.
    TooLarge,
    /// None of the identities is a recipient.
    NoIdentity,
    /// It was changed since it was encrypted.
    Changed,
    /// It ends too early, or goes on behind its end.
    Cut,
    NoRandom,
}

impl fmt::Display for AgeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgeFault::NotAge => "it is no file of age, version 1",
            AgeFault::TooLarge => "it is larger than 1 MiB",
            AgeFault::NoIdentity => "it is encrypted for none of the identities",
            AgeFault::Changed => "it was changed since it was encrypted",
            AgeFault::Cut => "it is cut, or something was put behind its end",
            AgeFault::NoRandom => "this machine has no random numbers",
        })
    }
}

impl Identity {
    /// Makes a new one.
    ///
    /// # Errors
    /// No random numbers.
    pub fn generate() -> Result<Self, AgeFault> {
        let key = SecretKey::make(|bytes| getrandom::fill(bytes));
        key.map(Identity).map_err(|_| AgeFault::NoRandom)
    }

    /// Reads `AGE-SECRET-KEY-1…`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = bech32::decode("AGE-SECRET-KEY-", text)?;
        SecretKey::read(&bytes).map(Identity)
    }

    /// Its text, to be written into a file that only its owner reads.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(bech32::encode("AGE-SECRET-KEY-", self.0.expose()))
    }

    /// Its public key.
    #[must_use]
    pub fn recipient(&self) -> Recipient {
        Recipient(x25519(*self.0.expose(), X25519_BASEPOINT_BYTES))
    }
}

impl Recipient {
    /// Reads `age1…`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = bech32::decode("age", text)?;
        <[u8; 32]>::try_from(bytes.as_slice()).ok().map(Recipient)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bech32::encode("age", &self.0))
    }
}

/// Reads a file of identities, as `age-keygen` writes it.
///
/// # Errors
/// A file that cannot be read, that others can read, or that holds none.
pub fn identities(file: &Path) -> Result<Vec<Identity>, SecretError> {
    let shown = file.display();
    let text = crate::file::read_private(file)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let found: Vec<Identity> = lines.filter_map(Identity::parse).collect();
    if found.is_empty() {
        let message = format!("{shown} holds no identity of age (AGE-SECRET-KEY-1…)");
        return Err(SecretError::new(Refusal::Unusable, message).next("age-keygen -o FILE makes one"));
    }
    Ok(found)
}

/// A key out of another one.
fn derived(secret: &[u8], salt: &[u8], info: &[u8]) -> SecretKey {
    struct Len;
    impl hkdf::KeyType for Len {
        fn len(&self) -> usize {
            32
        }
    }
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    let made = SecretKey::make(|key| prk.expand(&[info], Len)?.fill(key));
    // 32 bytes of output are always to be had from SHA-256.
    made.unwrap_or(SecretKey::new([0; 32]))
}

fn cipher(key: &SecretKey) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(key.expose().into())
}

/// The key that a recipient's stanza is wrapped with; `None` for a share that gives nothing (RFC 7748 §6.1).
fn wrapping(shared: &SecretKey, share: &[u8; 32], recipient: &Recipient) -> Option<SecretKey> {
    if shared.expose().iter().all(|&byte| byte == 0) {
        return None;
    }
    let salt = [share.as_slice(), &recipient.0].concat();
    Some(derived(shared.expose(), &salt, b"age-encryption.org/v1/X25519"))
}

/// Encrypts for some recipients, armoured.
///
/// # Errors
/// No random numbers.
pub fn encrypt(plain: &[u8], recipients: &[Recipient]) -> Result<String, AgeFault> {
    let mut random = Zeroizing::new([0; 16 + 16]);
    getrandom::fill(random.as_mut_slice()).map_err(|_| AgeFault::NoRandom)?;
    let (file_key, nonce) = random.split_at(16);
    let mut header = Header::default();
    for recipient in recipients {
        let ephemeral = Identity::generate()?;
        let share = ephemeral.recipient().0;
        let shared = SecretKey::new(x25519(*ephemeral.0.expose(), recipient.0));
        let key = wrapping(&shared, &share, recipient).ok_or(AgeFault::NotAge)?;
        let body = cipher(&key).encrypt(&Nonce::default(), file_key).map_err(|_| AgeFault::NotAge)?;
        header.add_x25519(&share, &body);
    }
    let mut out = header.sealed(&derived(file_key, b"", b"header"));
    out.extend_from_slice(nonce);
    let cipher = cipher(&derived(file_key, nonce, b"payload"));
    let mut chunks = plain.chunks(CHUNK).peekable();
    let mut at = 0;
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let last = chunks.peek().is_none();
        let sealed = cipher.encrypt(&nonce_of(at, last), chunk).map_err(|_| AgeFault::TooLarge)?;
        out.extend_from_slice(&sealed);
        if last {
            return Ok(format::armoured(&out));
        }
        at += 1;
    }
}

/// Opens a file, armoured or not, with one of some identities.
///
/// # Errors
/// Why it does not open.
pub fn decrypt(bytes: &[u8], identities: &[Identity]) -> Result<Zeroizing<Vec<u8>>, AgeFault> {
    if bytes.len() > 2 * LARGEST {
        return Err(AgeFault::TooLarge);
    }
    let plain = format::without_armour(bytes)?;
    let (header, payload) = Header::read(&plain)?;
    let file_key = header.x25519().find_map(|(share, body)| {
        identities.iter().find_map(|identity| {
            let shared = SecretKey::new(x25519(*identity.0.expose(), share));
            let key = wrapping(&shared, &share, &identity.recipient())?;
            let opened = cipher(&key).decrypt(&Nonce::default(), body).ok().map(Zeroizing::new)?;
            (opened.len() == 16).then_some(opened)
        })
    });
    let file_key = file_key.ok_or(AgeFault::NoIdentity)?;
    if !header.is_sealed_by(&derived(&file_key, b"", b"header")) {
        return Err(AgeFault::Changed);
    }
    let (nonce, payload) = payload.split_at_checked(16).ok_or(AgeFault::Cut)?;
    open(payload, &derived(&file_key, nonce, b"payload"))
}

/// Opens the pieces of a payload; the last one says that it is the last.
fn open(payload: &[u8], key: &SecretKey) -> Result<Zeroizing<Vec<u8>>, AgeFault> {
    let cipher = cipher(key);
    let mut plain = Zeroizing::new(Vec::with_capacity(payload.len()));
    let mut chunks = payload.chunks(CHUNK + TAG).peekable();
    let mut at = 0;
    loop {
        let chunk = chunks.next().ok_or(AgeFault::Cut)?;
        let last = chunks.peek().is_none();
        let Ok(piece) = cipher.decrypt(&nonce_of(at, last), chunk).map(Zeroizing::new) else {
            // A whole piece that is not the last one tells that the rest was cut off.
            let whole = cipher.decrypt(&nonce_of(at, !last), chunk).is_ok();
            return Err(if whole { AgeFault::Cut } else { AgeFault::Changed });
        };
        if last && piece.is_empty() && at > 0 {
            return Err(AgeFault::Cut);
        }
        plain.extend_from_slice(&piece);
        if last {
            return Ok(plain);
        }
        at += 1;
    }
}

fn nonce_of(at: u64, last: bool) -> Nonce {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&at.to_be_bytes());
    nonce[11] = u8::from(last);
    Nonce::from(nonce)
}

#[cfg(test)]
mod tests;
