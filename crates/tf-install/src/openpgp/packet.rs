//! Packets of OpenPGP: armour, frames, keys, signatures. Every length is checked against what is there.

use data_encoding::BASE64;
use ring::signature::{
    ED25519, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::KeyId;

/// Longest key or signature.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Packets of one key or signature.
const MAX_PACKETS: usize = 2_000;
/// The curve of Ed25519, as an object identifier.
const ED25519_OID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];

/// Takes the bytes out of an armoured key.
pub(super) fn armored(text: &str) -> Result<Vec<u8>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("a key is longer than {MAX_BYTES} bytes"));
    }
    let mut lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "-----BEGIN PGP PUBLIC KEY BLOCK-----")
        .skip(1);
    // Headers end with an empty line.
    let headers = lines.by_ref().take_while(|line| !line.is_empty()).all(|line| line.contains(": "));
    let body: String =
        lines.take_while(|line| !line.starts_with('=') && !line.starts_with("-----")).collect();
    if body.is_empty() || !headers {
        return Err("a key is no armoured public key".to_owned());
    }
    BASE64.decode(body.as_bytes()).map_err(|e| format!("a key is damaged: {e}"))
}

/// Splits bytes into packets: tag and body.
pub(super) fn packets(mut bytes: &[u8]) -> Result<Vec<(u8, &[u8])>, String> {
    let cut = || "a packet is cut off".to_owned();
    let mut found = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        if first & 0x80 == 0 || found.len() == MAX_PACKETS {
            return Err("what is there are no packets".to_owned());
        }
        let (tag, length, rest) = if first & 0x40 != 0 {
            let (length, rest) = new_length(rest).ok_or_else(cut)?;
            (first & 0x3f, length, rest)
        } else {
            let octets = match first & 3 {
                3 => return Err("a packet has no length".to_owned()),
                n => 1 << n,
            };
            let (length, rest) = number(rest, octets).ok_or_else(cut)?;
            ((first >> 2) & 0xf, length, rest)
        };
        let (body, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        found.push((tag, body));
        bytes = rest;
    }
    if found.is_empty() { Err("it is empty".to_owned()) } else { Ok(found) }
}

fn number(bytes: &[u8], octets: usize) -> Option<(usize, &[u8])> {
    let (head, rest) = bytes.split_at_checked(octets)?;
    Some((head.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest))
}

/// The length of a packet or subpacket in one, two or five octets; lengths in parts are not for keys and signatures.
fn new_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    match first {
        0..192 => Some((usize::from(first), rest)),
        192..224 => {
            let (&second, rest) = rest.split_first()?;
            Some((((usize::from(first) - 192) << 8 | usize::from(second)) + 192, rest))
        }
        255 => number(rest, 4),
        _ => None,
    }
}

/// A number of many octets, without leading zeros: there is one way to write it.
fn mpi(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (bits, rest) = number(bytes, 2)?;
    let (number, rest) = rest.split_at_checked(bits.div_ceil(8))?;
    let exact = number.first().is_none_or(|first| bits == number.len() * 8 - first.leading_zeros() as usize);
    exact.then_some((number, rest))
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Ed25519([u8; 32]),
}

/// A public key.
pub(super) struct Key {
    pub(super) id: KeyId,
    created: u64,
    material: Material,
    body: Vec<u8>,
}

impl Key {
    pub(super) fn parse(body: &[u8]) -> Result<Key, String> {
        let cut = || "a key is cut off".to_owned();
        let (head, rest) = body.split_at_checked(6).ok_or_else(cut)?;
        if head[0] != 4 {
            return Err(format!("a key of version {} is not understood", head[0]));
        }
        let material = match head[5] {
            1 | 3 => {
                let (n, rest) = mpi(rest).ok_or_else(cut)?;
                let (e, _) = mpi(rest).ok_or_else(cut)?;
                Material::Rsa { n: n.to_vec(), e: e.to_vec() }
            }
            22 => {
                let (length, rest) = number(rest, 1).ok_or_else(cut)?;
                let (oid, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
                let (point, _) = mpi(rest).ok_or_else(cut)?;
                let point = point.strip_prefix(&[0x40]).and_then(|point| point.try_into().ok());
                Material::Ed25519(
                    point
                        .filter(|_| oid == ED25519_OID)
                        .ok_or("a key is on a curve that is not understood")?,
                )
            }
            27 => Material::Ed25519(rest.try_into().map_err(|_| cut())?),
            other => {
                return Err(format!("a key of algorithm {other} is not understood: RSA and Ed25519 are"));
            }
        };
        let mut key = Key {
            id: KeyId(0),
            created: u64::from(u32::from_be_bytes([head[1], head[2], head[3], head[4]])),
            material,
            body: body.to_vec(),
        };
        let fingerprint: [u8; 20] = Sha1::digest(key.framed()).into();
        key.id = fingerprint.last_chunk().map_or(KeyId(0), |last| KeyId(u64::from_be_bytes(*last)));
        Ok(key)
    }

    /// The key as it is signed and fingerprinted.
    pub(super) fn framed(&self) -> Vec<u8> {
        let mut out = vec![0x99];
        out.extend(u16::try_from(self.body.len()).unwrap_or(u16::MAX).to_be_bytes());
        out.extend(&self.body);
        out
    }
}

/// A signature.
pub(super) struct Signature {
    pub(super) kind: u8,
    algorithm: u8,
    hash: u8,
    /// Everything that is hashed of the signature itself.
    head: Vec<u8>,
    /// Subpackets that are signed, then those that are not.
    signed: Vec<(u8, Vec<u8>)>,
    loose: Vec<(u8, Vec<u8>)>,
    material: Vec<u8>,
}

/// Kinds of subpackets that are understood; others must not be critical.
const KNOWN: &[u8] =
    &[2, 3, 4, 5, 6, 7, 9, 11, 16, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 32, 33, 34, 35, 39];

impl Signature {
    pub(super) fn parse(body: &[u8]) -> Result<Signature, String> {
        let cut = || "a signature is cut off".to_owned();
        let (fixed, rest) = body.split_at_checked(4).ok_or_else(cut)?;
        if fixed[0] != 4 {
            return Err(format!("a signature of version {} is not understood", fixed[0]));
        }
        let (length, rest) = number(rest, 2).ok_or_else(cut)?;
        let (signed, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        let (loose_length, rest) = number(rest, 2).ok_or_else(cut)?;
        let (loose, rest) = rest.split_at_checked(loose_length).ok_or_else(cut)?;
        let (_, material) = rest.split_at_checked(2).ok_or_else(cut)?;
        Ok(Signature {
            kind: fixed[1],
            algorithm: fixed[2],
            hash: fixed[3],
            head: body[..6 + length].to_vec(),
            signed: subpackets(signed, true)?,
            loose: subpackets(loose, false)?,
            material: material.to_vec(),
        })
    }

    fn signed(&self, kind: u8) -> Option<&[u8]> {
        self.signed.iter().rev().find(|(of, _)| *of == kind).map(|(_, body)| body.as_slice())
    }

    fn seconds(&self, kind: u8) -> Option<u64> {
        Some(u64::from(u32::from_be_bytes(self.signed(kind)?.try_into().ok()?)))
    }

    pub(super) fn created(&self) -> Option<u64> {
        self.seconds(2)
    }

    /// When the signature ends.
    pub(super) fn expires(&self) -> Option<u64> {
        self.seconds(3).filter(|after| *after > 0).map(|after| self.created().unwrap_or(0) + after)
    }

    /// When the key that it is about ends.
    pub(super) fn key_expires(&self, key: &Key) -> Option<u64> {
        self.seconds(9).filter(|after| *after > 0).map(|after| key.created + after)
    }

    /// Whether the key that it is about may sign data, if it says so.
    pub(super) fn may_sign(&self) -> Option<bool> {
        self.signed(27).map(|flags| flags.first().is_some_and(|flags| flags & 2 != 0))
    }

    /// A signature inside, by which a subkey answers.
    pub(super) fn embedded(&self) -> Option<&[u8]> {
        self.signed.iter().chain(&self.loose).find(|(kind, _)| *kind == 32).map(|(_, body)| body.as_slice())
    }

    /// Which key says that it has signed. A hint: what holds is decided by arithmetic.
    pub(super) fn issuer(&self) -> Option<KeyId> {
        self.signed.iter().chain(&self.loose).find_map(|(kind, body)| match (kind, body.as_slice()) {
            (16, body) => Some(KeyId(u64::from_be_bytes(body.try_into().ok()?))),
            (33, [4, fingerprint @ ..]) if fingerprint.len() == 20 => {
                Some(KeyId(u64::from_be_bytes(*fingerprint.last_chunk()?)))
            }
            _ => None,
        })
    }

    /// Whether a key has made it over some parts. SHA-1 counts only where a key speaks about itself.
    pub(super) fn holds(&self, key: &Key, parts: &[&[u8]], about_keys: bool) -> bool {
        let mut message: Vec<u8> = parts.concat();
        message.extend(&self.head);
        message.extend([4, 0xff]);
        message.extend(u32::try_from(self.head.len()).unwrap_or(u32::MAX).to_be_bytes());
        match (&key.material, self.algorithm) {
            (Material::Rsa { n, e }, 1 | 3) => {
                let how = match self.hash {
                    8 => &RSA_PKCS1_2048_8192_SHA256,
                    9 => &RSA_PKCS1_2048_8192_SHA384,
                    10 => &RSA_PKCS1_2048_8192_SHA512,
                    2 if about_keys => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
                    _ => return false,
                };
                let Some((number, _)) = mpi(&self.material) else { return false };
                let width = n.len();
                let padded = padded(number, width);
                padded.is_some_and(|signature| {
                    RsaPublicKeyComponents { n, e }.verify(how, &message, &signature).is_ok()
                })
            }
            (Material::Ed25519(point), 22 | 27) => {
                let digest = match self.hash {
                    8 => Sha256::digest(&message).to_vec(),
                    9 => Sha384::digest(&message).to_vec(),
                    10 => Sha512::digest(&message).to_vec(),
                    _ => return false,
                };
                let signature =
                    if self.algorithm == 27 { Some(self.material.clone()) } else { self.edwards() };
                signature.is_some_and(|signature| {
                    UnparsedPublicKey::new(&ED25519, point).verify(&digest, &signature).is_ok()
                })
            }
            _ => false,
        }
    }

    /// Two numbers of at most 32 octets as one signature of 64.
    fn edwards(&self) -> Option<Vec<u8>> {
        let (r, rest) = mpi(&self.material)?;
        let (s, _) = mpi(rest)?;
        let mut out = padded(r, 32)?;
        out.extend(padded(s, 32)?);
        Some(out)
    }
}

fn padded(number: &[u8], width: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; width.checked_sub(number.len())?];
    out.extend(number);
    Some(out)
}

fn subpackets(mut bytes: &[u8], signed: bool) -> Result<Vec<(u8, Vec<u8>)>, String> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let cut = || "a signature is cut off".to_owned();
        let (length, rest) = new_length(bytes).ok_or_else(cut)?;
        let (body, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        let (&kind, body) = body.split_first().ok_or_else(cut)?;
        if signed && kind & 0x80 != 0 && !KNOWN.contains(&(kind & 0x7f)) {
            return Err(format!("a signature asks for something that is not understood ({})", kind & 0x7f));
        }
        found.push((kind & 0x7f, body.to_vec()));
        bytes = rest;
    }
    Ok(found)
}
