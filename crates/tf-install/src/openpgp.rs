//! Detached OpenPGP signatures, as registries sign their lists of sums: version 4 keys and signatures, RSA and Ed25519.
//!
//! The arithmetic is that of `ring`, which TLS needs anyway; here are only the packets around it (RFC 4880, RFC 9580).
//! A key counts if it vouches for itself; a subkey if its key vouches for it and it for its key; neither if revoked.

mod packet;
#[cfg(test)]
mod tests;

use std::fmt;

use packet::{Key, Signature, armored, packets};

pub(crate) use packet::MAX_BYTES;

/// The last eight bytes of a key's fingerprint, as people write them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyId(u64);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", self.0)
    }
}

/// A signature that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signed {
    /// The key that signed; a subkey's own id where one did.
    pub key: KeyId,
    /// Whether the key's time is over.
    pub is_expired: bool,
}

/// Kinds of signatures.
const BINARY: u8 = 0x00;
const CERTIFICATIONS: std::ops::RangeInclusive<u8> = 0x10..=0x13;
const SUBKEY_BINDING: u8 = 0x18;
const PRIMARY_BINDING: u8 = 0x19;
const KEY_REVOCATION: u8 = 0x20;
const SUBKEY_REVOCATION: u8 = 0x28;
/// Tags of packets.
const SIGNATURE: u8 = 2;
const PUBLIC_KEY: u8 = 6;
const USER_ID: u8 = 13;
const PUBLIC_SUBKEY: u8 = 14;
const USER_ATTRIBUTE: u8 = 17;

/// A key that may sign data.
struct Signer {
    key: Key,
    /// Seconds since 1970.
    expires: Option<u64>,
}

/// Checks that one of some armoured keys has made a detached signature of a text. `now` is in seconds since 1970.
///
/// # Errors
/// A sentence with the keys that were offered and the key that the signature names.
pub fn verify(keys: &[&str], signature: &[u8], text: &[u8], now: u64) -> Result<Signed, String> {
    let mut signers = Vec::new();
    let mut unusable = Vec::new();
    for armor in keys {
        match signers_of(armor) {
            Ok(found) => signers.extend(found),
            Err(why) => unusable.push(why),
        }
    }
    let mut named = Vec::new();
    for packet in packets(signature).map_err(|e| format!("it is no OpenPGP signature: {e}"))? {
        let (SIGNATURE, body) = packet else { return Err("it is no detached OpenPGP signature".to_owned()) };
        let signature = Signature::parse(body)?;
        if signature.kind != BINARY || signature.expires().is_some_and(|at| at <= now) {
            return Err("it is a signature of another kind, or its time is over".to_owned());
        }
        named.extend(signature.issuer().map(|id| id.to_string()));
        for signer in &signers {
            let fits = signature.issuer().is_none_or(|id| id == signer.key.id);
            if fits && signature.holds(&signer.key, &[text], false) {
                return Ok(Signed {
                    key: signer.key.id,
                    is_expired: signer.expires.is_some_and(|at| at <= now),
                });
            }
        }
    }
    let list = |ids: &[String]| if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
    let offered: Vec<String> = signers.iter().map(|signer| signer.key.id.to_string()).collect();
    let rest =
        if unusable.is_empty() { String::new() } else { format!("; not usable: {}", unusable.join("; ")) };
    Err(format!("keys that may sign: {}; key of the signature: {}{rest}", list(&offered), list(&named)))
}

/// The keys of one armoured key that may sign data.
fn signers_of(armor: &str) -> Result<Vec<Signer>, String> {
    let bytes = armored(armor)?;
    let packets = packets(&bytes)?;
    let mut packets = packets.into_iter().peekable();
    let Some((PUBLIC_KEY, body)) = packets.next() else {
        return Err("it begins with no public key".to_owned());
    };
    let primary = Key::parse(body)?;
    let mut found = Vec::new();
    let mut own: Option<Signature> = None;
    // What the signatures that follow are about: the key itself, a user, or a subkey.
    let mut about: (u8, &[u8]) = (PUBLIC_KEY, body);
    let mut revoked = false;
    let mut subkey: Option<Subkey> = None;
    for (tag, body) in packets {
        match tag {
            USER_ID | USER_ATTRIBUTE => about = (tag, body),
            PUBLIC_SUBKEY => {
                found.extend(subkey.take().and_then(Subkey::signer));
                subkey = Key::parse(body).ok().map(|key| Subkey { key, binding: None, revoked: false });
                about = (tag, body);
            }
            SIGNATURE => {
                // A signature that is not understood vouches for nothing.
                let Ok(signature) = Signature::parse(body) else { continue };
                match (about.0, &mut subkey) {
                    (PUBLIC_SUBKEY, Some(subkey)) => subkey.read(signature, &primary),
                    (PUBLIC_SUBKEY, None) => {}
                    (USER_ID, _) if CERTIFICATIONS.contains(&signature.kind) => {
                        let user = user_text(about.1);
                        if signature.holds(&primary, &[&primary.framed(), &user], true) {
                            newest(&mut own, signature);
                        }
                    }
                    (PUBLIC_KEY, _) if signature.kind == KEY_REVOCATION => {
                        revoked |= signature.holds(&primary, &[&primary.framed()], true);
                    }
                    _ => {}
                }
            }
            PUBLIC_KEY => return Err("one block holds several keys".to_owned()),
            _ => {}
        }
    }
    found.extend(subkey.take().and_then(Subkey::signer));
    let own = own.ok_or_else(|| format!("the key {} does not vouch for itself", primary.id))?;
    if revoked {
        return Err(format!("the key {} is revoked", primary.id));
    }
    let expires = own.key_expires(&primary);
    if own.may_sign().unwrap_or(true) {
        found.push(Signer { key: primary, expires });
    }
    // A subkey does not outlive its key.
    for signer in &mut found {
        signer.expires = [signer.expires, expires].into_iter().flatten().min();
    }
    Ok(found)
}

struct Subkey {
    key: Key,
    binding: Option<Signature>,
    revoked: bool,
}

impl Subkey {
    fn read(&mut self, signature: Signature, primary: &Key) {
        let both = [&primary.framed()[..], &self.key.framed()[..]];
        match signature.kind {
            SUBKEY_REVOCATION => self.revoked |= signature.holds(primary, &both, true),
            SUBKEY_BINDING if signature.holds(primary, &both, true) => {
                let back = signature.embedded().and_then(|body| Signature::parse(body).ok());
                let back =
                    back.filter(|back| back.kind == PRIMARY_BINDING && back.holds(&self.key, &both, true));
                if signature.may_sign() == Some(true) && back.is_some() {
                    newest(&mut self.binding, signature);
                }
            }
            _ => {}
        }
    }

    fn signer(self) -> Option<Signer> {
        let binding = self.binding.filter(|_| !self.revoked)?;
        Some(Signer { expires: binding.key_expires(&self.key), key: self.key })
    }
}

fn newest(kept: &mut Option<Signature>, signature: Signature) {
    if kept.as_ref().is_none_or(|kept| kept.created() <= signature.created()) {
        *kept = Some(signature);
    }
}

/// A user's name as it is signed.
fn user_text(body: &[u8]) -> Vec<u8> {
    let mut out = vec![0xb4];
    out.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(body);
    out
}
