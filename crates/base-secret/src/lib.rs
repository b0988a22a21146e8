//! Secret values, and the one redactor that keeps them out of every text.
//!
//! In: values that must not be read by people. Out: [`SecretValue`], which can be used but not printed, and [`Redactor`],
//! which finds values (plain, in base64, escaped for JSON, YAML, URLs) in texts and replaces them.
//! Invariants: a [`SecretValue`] has neither `Display` nor `Serialize`, and its memory is zeroed when the last copy goes;
//! in a process that installed a redactor, every secret value is known to it from the moment it exists.
//! Deliberately not here: digests and stored forms (`kusion_model::Secret`), and where values come from (`kusion-secrets`).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod children;
mod forms;
mod redactor;

use std::fmt;
use std::sync::Arc;

use zeroize::{Zeroize as _, Zeroizing};

pub use children::{CREDENTIALS, hidden_variables, keep_from_children};
pub use redactor::{Redactor, SHORTEST, SHOWN};

/// A value that can be used but not printed.
#[derive(Clone)]
pub struct SecretValue(Arc<Zeroizing<Vec<u8>>>);

impl SecretValue {
    /// Takes bytes; they are not copied, so nothing of them stays behind.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let value = SecretValue(Arc::new(Zeroizing::new(bytes)));
        if let Some(redactor) = Redactor::installed() {
            redactor.add(&value);
        }
        value
    }

    /// Gives the bytes out, to be sent or computed with.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Gives the value out as a text; `None` if it is none.
    #[must_use]
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Returns whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A key of 32 bytes: it is computed with, and never printed. Unlike a value it is not told to the redactor: nobody types or shows
/// one, and each purpose derives another.
#[derive(Clone)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    /// Takes the bytes of a key.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        SecretKey(bytes)
    }

    /// Reads a key; `None` for bytes of another length.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        <[u8; 32]>::try_from(bytes).ok().map(SecretKey)
    }

    /// Makes a key in the place where it stays.
    ///
    /// # Errors
    /// What kept it from being made.
    pub fn make<E>(fill: impl FnOnce(&mut [u8; 32]) -> Result<(), E>) -> Result<Self, E> {
        let mut key = SecretKey([0; 32]);
        fill(&mut key.0)?;
        Ok(key)
    }

    /// Gives the bytes out, to be computed with.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Takes as long for keys that differ at the beginning as for those that differ at the end.
impl PartialEq for SecretKey {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl Eq for SecretKey {}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHOWN)
    }
}

fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

/// Something outside that hides keys and gives them back: a service, or an identity that only its owner has.
pub trait KeyService: Send + Sync {
    /// What kind it is, as it is recorded beside what it has hidden.
    fn kind(&self) -> &'static str;

    /// What it is, for people.
    fn word(&self) -> String;

    /// Hides a key.
    ///
    /// # Errors
    /// Why not, and what to do about it.
    fn wrap(&self, key: &[u8]) -> Result<Vec<u8>, String>;

    /// Gives back a key that it has hidden.
    ///
    /// # Errors
    /// Why not, and what to do about it.
    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, String>;
}

impl From<String> for SecretValue {
    fn from(text: String) -> Self {
        SecretValue::new(text.into_bytes())
    }
}

/// Takes as long for values that differ at the beginning as for those that differ at the end.
impl PartialEq for SecretValue {
    fn eq(&self, other: &Self) -> bool {
        same(self.expose(), other.expose())
    }
}

impl Eq for SecretValue {}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_used_and_never_printed() {
        let value = SecretValue::from("hunter2".to_owned());
        assert_eq!(format!("{value:?} {:#?}", Some(&value)), "(secret) Some(\n    (secret),\n)");
        assert_eq!((value.expose(), value.expose_text()), (&b"hunter2"[..], Some("hunter2")));
        assert_eq!(value, SecretValue::new(b"hunter2".to_vec()));
        assert_ne!(value, SecretValue::new(b"hunter3".to_vec()));
        assert_eq!(SecretValue::new(vec![0xff]).expose_text(), None);
    }

    #[test]
    fn a_key_is_used_and_never_printed() {
        let key = SecretKey::new([7; 32]);
        assert_eq!(format!("{key:?}"), "(secret)");
        assert_eq!(SecretKey::read(key.expose()).as_ref(), Some(&key));
        assert_ne!(key, SecretKey::new([8; 32]));
        assert_eq!(SecretKey::read(&[7; 31]), None);
        let made = SecretKey::make(|bytes| {
            bytes.fill(7);
            Ok::<(), ()>(())
        });
        assert_eq!(made, Ok(key));
        assert_eq!(SecretKey::make(|_| Err("no")), Err("no"));
    }
}
