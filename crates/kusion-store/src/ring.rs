//! The ring: the keys of a stack, locked by another key.
//!
//! ```text
//! key file | passphrase | service | command ──▶ wrapping key ──opens──▶ ring { digest key, data key } ──opens──▶ records
//! ```
//! The digest key never changes, so that a secret does not look changed; each rotation makes another data key. The ring stands
//! in the first record of its log, so that both change in one instant, and beside it for a log that has lost its first record.

use std::fmt;
use std::sync::Arc;

use base_secret::SecretKey;
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use kusion_model::{DigestKey, Scope, sha256, sha256_hex};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::StoreError;
use crate::chain;
use crate::damage::{Damage, Fault};
use crate::entry::{Entry, SEALED};
use crate::log;
use crate::seal::{ALGORITHM, Bound, Envelope, random, random_key, seal, seal_dense};

/// The keys of a stack, as they are kept: of no use without what locks them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ring {
    /// Grows with every rotation.
    pub(crate) number: u64,
    /// The name of the data key.
    pub(crate) key: String,
    pub(crate) slot: Slot,
    /// Tells a wrong wrapping key from a ring that was changed.
    pub(crate) check: String,
    wrapped: String,
}

/// How to come by the wrapping key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub(crate) enum Slot {
    /// From a key file of this name.
    File { name: String },
    /// From a passphrase, by argon2id.
    Passphrase { salt: String, memory: u32, passes: u32, lanes: u32 },
    /// From a command that has wrapped it and can unwrap it.
    Command { given: String },
    /// From a service of this kind that has wrapped it and can unwrap it.
    Service { kind: String, given: String },
}

impl Slot {
    /// What opens it, for people.
    pub(crate) fn word(&self) -> String {
        match self {
            Slot::File { name } => format!("the key file `{name}`"),
            Slot::Passphrase { .. } => "a passphrase".to_owned(),
            Slot::Command { .. } => "a command".to_owned(),
            Slot::Service { kind, .. } => match kind.as_str() {
                "age" => "an age identity (--key age:FILE)".to_owned(),
                "vault-transit" => "a key of Vault (--key vault-transit:MOUNT/KEY)".to_owned(),
                "aws-kms" => "a key of AWS KMS (--key aws-kms:KEY)".to_owned(),
                other => format!("the key service `{other}`"),
            },
        }
    }
}

/// The keys of a stack, open. Clones share them; the memory is zeroed when the last goes.
#[derive(Clone)]
pub struct Keys(Arc<Held>);

struct Held {
    digest: SecretKey,
    data: SecretKey,
    ring: Ring,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.0.ring.key)
    }
}

impl Keys {
    /// Keys of which the digest key is known or not, locked by a wrapping key.
    pub(crate) fn new(
        digest: &SecretKey,
        number: u64,
        slot: Slot,
        wrapping: &SecretKey,
        scope: &Scope,
    ) -> Result<Self, StoreError> {
        let (digest, data) = (digest.clone(), random_key()?);
        let key = HEXLOWER.encode(&random::<8>()?);
        let both = Zeroizing::new([digest.expose().as_slice(), data.expose()].concat());
        let wrapped = seal(wrapping, &key, &ring_of(scope, number), &both)?;
        let ring = Ring { number, key, slot, check: check(wrapping), wrapped };
        Ok(Keys(Arc::new(Held { digest, data, ring })))
    }

    /// Opens a ring by its wrapping key.
    pub(crate) fn open(ring: &Ring, wrapping: &SecretKey, scope: &Scope) -> Result<Self, Damage> {
        if ring.check != check(wrapping) {
            return Err(Damage::WrongKey { needs: ring.slot.word() });
        }
        let garbled = || Damage::Garbled { line: 1, what: Fault::Seal };
        let envelope = Envelope::read(ring.wrapped.as_bytes()).map_err(|_| garbled())?;
        let opened = envelope.open(wrapping, &ring.key, &ring_of(scope, ring.number));
        let both = Zeroizing::new(opened.map_err(|_| garbled())?);
        let (digest, data) = both.split_at_checked(32).ok_or_else(garbled)?;
        let array = |bytes: &[u8]| SecretKey::read(bytes).ok_or_else(garbled);
        Ok(Keys(Arc::new(Held { digest: array(digest)?, data: array(data)?, ring: ring.clone() })))
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.0.ring
    }

    pub(crate) fn digest_key(&self) -> &SecretKey {
        &self.0.digest
    }

    pub(crate) fn digest(&self) -> DigestKey {
        DigestKey::from(self.0.digest.clone())
    }

    /// What tells these keys from those of another stack, through all rotations.
    pub(crate) fn mark(&self) -> String {
        check(&self.0.digest)
    }

    /// What the signatures of the stack are made with; no rotation changes it.
    pub(crate) fn signing(&self) -> SecretKey {
        derived(b"kusion signature\0", &self.0.digest)
    }

    /// Seals the value of a secret, for as long as there are digests of it: no rotation makes it unreadable.
    pub(crate) fn seal_secret(&self, scope: &Scope, name: &str, bytes: &[u8]) -> Result<String, StoreError> {
        seal(&derived(b"kusion vault\0", &self.0.digest), VAULT, &secret_of(scope, name), bytes)
    }

    pub(crate) fn open_secret(&self, scope: &Scope, name: &str, sealed: &str) -> Option<Vec<u8>> {
        let key = derived(b"kusion vault\0", &self.0.digest);
        Envelope::read(sealed.as_bytes()).ok()?.open(&key, VAULT, &secret_of(scope, name)).ok()
    }

    pub(crate) fn seal(&self, bound: &Bound<'_>, bytes: &[u8]) -> Result<String, StoreError> {
        seal_dense(&self.0.data, &self.0.ring.key, bound, bytes)
    }

    pub(crate) fn unseal(&self, bound: &Bound<'_>, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
        let envelope = Envelope::read(bytes)?;
        if envelope.serial != bound.serial {
            return Err(Fault::Seal);
        }
        envelope.open(&self.0.data, &self.0.ring.key, bound)
    }

    /// Opens a record of a log, whatever number it says it has.
    pub(crate) fn unseal_record(&self, scope: &Scope, lineage: &str, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
        let envelope = Envelope::read(without_preamble(bytes))?;
        let bound = |serial| Bound { what: "record", scope, lineage, serial };
        match envelope.open(&self.0.data, &self.0.ring.key, &bound(envelope.serial)) {
            Err(Fault::Seal) => {
                // Told from a flipped byte: the whole record of another place, with a number that is not its own.
                let near =
                    envelope.serial.saturating_sub(LOOK_FOR)..=envelope.serial.saturating_add(LOOK_FOR);
                let opens =
                    |serial: &u64| envelope.open(&self.0.data, &self.0.ring.key, &bound(*serial)).is_ok();
                Err(near.into_iter().find(opens).map_or(Fault::Seal, |serial| Fault::Moved { serial }))
            }
            opened => opened,
        }
    }

    /// Seals the records of a log, with their numbers.
    pub(crate) fn seal_log(
        &self,
        scope: &Scope,
        lineage: &str,
        records: &[String],
        entries: &[Entry],
    ) -> Result<Vec<String>, StoreError> {
        let mut sealed = Vec::with_capacity(records.len());
        for (record, entry) in records.iter().zip(entries) {
            let bound = Bound { what: "record", scope, lineage, serial: entry.serial() };
            let text = self.seal(&bound, record.as_bytes())?;
            sealed.push(if matches!(entry, Entry::Header { .. }) {
                format!("{text} {}", self.preamble(scope, lineage))
            } else {
                text
            });
        }
        Ok(sealed)
    }

    fn preamble(&self, scope: &Scope, lineage: &str) -> String {
        let preamble = Preamble {
            entry: "header".to_owned(),
            format: SEALED,
            lineage: lineage.to_owned(),
            scope: scope.clone(),
            ring: self.0.ring.clone(),
        };
        serde_json::to_string(&preamble).unwrap_or_default()
    }

    /// The first record of a new log.
    pub(crate) fn first(&self, scope: &Scope, lineage: &str, header: &Entry) -> Result<String, StoreError> {
        let record = chain::write(chain::NOTHING, &log::json(header));
        let sealed = self.seal_log(scope, lineage, &[record], std::slice::from_ref(header))?;
        Ok(sealed.into_iter().next().unwrap_or_default())
    }
}

/// The name of the key of old secrets.
const VAULT: &str = "vault";

/// How far around its number a record that does not open is looked for.
const LOOK_FOR: u64 = 64;

/// What stands in clear behind the first record of a sealed log. Earlier engines read as much as the format from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Preamble {
    entry: String,
    format: u32,
    pub(crate) lineage: String,
    pub(crate) scope: Scope,
    pub(crate) ring: Ring,
}

impl Preamble {
    /// Reads that of a sealed log; `None` if the log is in clear.
    pub(crate) fn read(first: &[u8]) -> Option<Result<Self, Damage>> {
        if !first.starts_with(ALGORITHM.as_bytes()) {
            return None;
        }
        let Some(start) = first.iter().position(|&byte| byte == b'{') else {
            let header = Envelope::read(first).is_ok_and(|envelope| envelope.serial > 0);
            let damage =
                if header { Damage::NoHeader } else { Damage::Garbled { line: 1, what: Fault::Seal } };
            return Some(Err(damage));
        };
        let garbled = |_| Damage::Garbled { line: 1, what: Fault::Seal };
        Some(serde_json::from_slice(&first[start..]).map_err(garbled))
    }
}

/// The sealed part of a record.
fn without_preamble(bytes: &[u8]) -> &[u8] {
    // Only the first has more than that.
    let first = bytes.strip_prefix(ALGORITHM.as_bytes()).is_some_and(|rest| rest.starts_with(b" 0 "));
    let end = if first { bytes.windows(2).position(|pair| pair == b" {") } else { None };
    end.map_or(bytes, |end| &bytes[..end])
}

fn secret_of<'a>(scope: &'a Scope, name: &'a str) -> Bound<'a> {
    Bound { what: "secret", scope, lineage: name, serial: 0 }
}

fn ring_of(scope: &Scope, number: u64) -> Bound<'_> {
    Bound { what: "ring", scope, lineage: "", serial: number }
}

/// A value by which a key is known again, and from which it cannot be found.
fn check(key: &SecretKey) -> String {
    let mut text = Zeroizing::new(b"kusion key check\0".to_vec());
    text.extend_from_slice(key.expose());
    sha256_hex(&text)[..16].to_owned()
}

/// The mark of keys whose digest key is this file.
pub(crate) fn mark_of(file: &SecretKey) -> String {
    check(file)
}

/// The wrapping key of a key file: not the file itself, which makes digests too.
pub(crate) fn wrapping_of(file: &SecretKey) -> SecretKey {
    derived(b"kusion wrapping key\0", file)
}

/// Another key for another purpose.
fn derived(purpose: &[u8], from: &SecretKey) -> SecretKey {
    let mut text = Zeroizing::new(purpose.to_vec());
    text.extend_from_slice(from.expose());
    SecretKey::new(sha256(&text))
}

pub(crate) fn to_text(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

pub(crate) fn from_text(text: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text.as_bytes()).ok()
}
