//! Files that `sops` has encrypted: each value by itself, with a digest over all of them.
//!
//! In: the tree of a YAML or JSON file, and identities. Out: the same tree with its values. Invariant: nothing is given out
//! unless the digest over all values is the one that was sealed with them: values that were changed, moved, removed or added
//! are told. The data key is opened by an age identity; key services of SOPS are reached with its own program (`command`).

use std::fmt;

use aes_gcm::aead::consts::U32;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, Nonce};
use base_yaml::{Data, MapEntry, Node};
use data_encoding::{BASE64, HEXUPPER};
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use crate::age::{self, AgeFault, Identity};
use crate::file::{entry, refusal};
use crate::{Refusal, SecretError};

/// AES-256-GCM with the nonces of 32 bytes that SOPS has.
type Cipher = AesGcm<Aes256, U32>;

/// What the digest begins with if it is about encrypted values only; SOPS has it so.
const ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b,
    0x97, 0x5b, 0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

/// Why a file does not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SopsFault {
    /// It has no `sops`, or something is missing there.
    NotSops(&'static str),
    /// It has no age recipient.
    NoAge,
    Age(AgeFault),
    /// A value was changed since it was encrypted, or put in another place.
    Value(String),
    /// Values were added, removed or exchanged.
    Digest,
}

impl fmt::Display for SopsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SopsFault::NotSops(what) => write!(f, "it is no file of SOPS: {what}"),
            SopsFault::NoAge => f.write_str("its key is locked for no age recipient"),
            SopsFault::Age(fault) => write!(f, "its key cannot be opened: {fault}"),
            SopsFault::Value(path) => {
                write!(f, "`{path}` was changed since it was encrypted, or put in another place")
            }
            SopsFault::Digest => {
                f.write_str("values were added, removed or exchanged since it was encrypted")
            }
        }
    }
}

impl SopsFault {
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            SopsFault::Age(fault) => refusal(*fault),
            SopsFault::NoAge => Refusal::Denied,
            _ => Refusal::Unusable,
        }
    }
}

impl From<SopsFault> for SecretError {
    fn from(fault: SopsFault) -> Self {
        SecretError::new(fault.refusal(), fault.to_string())
    }
}

/// Opens a file.
///
/// # Errors
/// Why it does not open; nothing of it is given out then.
pub fn decrypt(tree: &Node, identities: &[Identity]) -> Result<Node, SopsFault> {
    let Data::Map(entries) = &tree.value else { return Err(SopsFault::NotSops("it is no mapping")) };
    let about = entry(tree, "sops").ok_or(SopsFault::NotSops("`sops` is missing"))?;
    let key = data_key(about, identities)?;
    let only_encrypted =
        matches!(entry(about, "mac_only_encrypted").map(|node| &node.value), Some(Data::Bool(true)));
    let mut opening = Opening { cipher: Cipher::new((&*key).into()), digest: Sha512::new(), only_encrypted };
    if only_encrypted {
        opening.digest.update(ONLY_ENCRYPTED);
    }
    let mut opened = Vec::new();
    for MapEntry { key, value, .. } in entries.iter().filter(|entry| entry.key != "sops") {
        let mut path = vec![key.clone()];
        opened.push((key, opening.open(value, &mut path)?));
    }
    let digest = HEXUPPER.encode(&opening.digest.clone().finalize());
    let (Some(mac), Some(when)) = (text(about, "mac"), text(about, "lastmodified")) else {
        return Err(SopsFault::NotSops("`sops.mac` or `sops.lastmodified` is missing"));
    };
    let sealed = opening.value(mac, when).ok_or(SopsFault::Digest)?;
    if sealed.0.as_slice() != digest.as_bytes() {
        return Err(SopsFault::Digest);
    }
    let mut tree = tree.clone();
    if let Data::Map(entries) = &mut tree.value {
        entries.retain(|entry| entry.key != "sops");
        for (entry, (_, value)) in entries.iter_mut().zip(opened) {
            entry.value = value;
        }
    }
    Ok(tree)
}

fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    match &entry(node, key)?.value {
        Data::Str(text) => Some(text),
        _ => None,
    }
}

/// The key of the values, from the first of its age envelopes that opens.
fn data_key(about: &Node, identities: &[Identity]) -> Result<Zeroizing<[u8; 32]>, SopsFault> {
    let Some(Data::List(envelopes)) = entry(about, "age").map(|node| &node.value) else {
        return Err(SopsFault::NoAge);
    };
    let mut fault = SopsFault::NoAge;
    for envelope in envelopes.iter().filter_map(|node| text(node, "enc")) {
        match age::decrypt(envelope.as_bytes(), identities) {
            Ok(key) => {
                let key = <[u8; 32]>::try_from(key.as_slice()).map(Zeroizing::new);
                return key.map_err(|_| SopsFault::NotSops("its key is none"));
            }
            Err(found) => fault = SopsFault::Age(found),
        }
    }
    Err(fault)
}

struct Opening {
    cipher: Cipher,
    digest: Sha512,
    only_encrypted: bool,
}

impl Opening {
    /// Opens everything below a node. Items of a list have the path of the list.
    fn open(&mut self, node: &Node, path: &mut Vec<String>) -> Result<Node, SopsFault> {
        let value = match &node.value {
            Data::Map(entries) => {
                let mut opened = entries.clone();
                for entry in &mut opened {
                    path.push(entry.key.clone());
                    entry.value = self.open(&entry.value, path)?;
                    path.pop();
                }
                Data::Map(opened)
            }
            Data::List(items) => {
                let opened = items.iter().map(|item| self.open(item, path));
                Data::List(opened.collect::<Result<_, _>>()?)
            }
            Data::Null => Data::Null,
            Data::Str(text) if text.starts_with("ENC[") => {
                let place = format!("{}:", path.join(":"));
                let (plain, kind) =
                    self.value(text, &place).ok_or_else(|| SopsFault::Value(path.join(".")))?;
                self.digest.update(plain.as_slice());
                typed(&plain, &kind).ok_or_else(|| SopsFault::Value(path.join(".")))?
            }
            plain => {
                if !self.only_encrypted {
                    self.digest.update(in_clear(plain).as_bytes());
                }
                plain.clone()
            }
        };
        Ok(Node { value, ..node.clone() })
    }

    /// `ENC[AES256_GCM,data:…,iv:…,tag:…,type:str]`, bound to its place: the bytes, and what they are.
    fn value(&self, text: &str, place: &str) -> Option<(Zeroizing<Vec<u8>>, String)> {
        let parts = text.strip_prefix("ENC[AES256_GCM,")?.strip_suffix(']')?;
        let part = |name: &str| parts.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix(':'));
        let bytes = |name: &str| BASE64.decode(part(name)?.as_bytes()).ok();
        let (mut sealed, nonce, tag) = (bytes("data")?, bytes("iv")?, bytes("tag")?);
        let nonce = <[u8; 32]>::try_from(nonce.as_slice()).ok()?;
        if tag.len() != 16 {
            return None;
        }
        sealed.extend_from_slice(&tag);
        let payload = Payload { msg: &sealed, aad: place.as_bytes() };
        let plain = self.cipher.decrypt(&Nonce::<U32>::from(nonce), payload).ok()?;
        Some((Zeroizing::new(plain), part("type")?.to_owned()))
    }
}

/// A decrypted value as what it was.
fn typed(plain: &[u8], kind: &str) -> Option<Data> {
    let text = std::str::from_utf8(plain).ok()?;
    Some(match kind {
        "str" | "bytes" => Data::Str(text.to_owned()),
        "int" => text.parse().map(Data::Int).unwrap_or_else(|_| Data::Str(text.to_owned())),
        "float" => Data::Float(text.parse().ok()?),
        "bool" => Data::Bool(text.eq_ignore_ascii_case("true")),
        _ => return None,
    })
}

/// A value that is not encrypted, as the digest takes it.
fn in_clear(value: &Data) -> String {
    match value {
        Data::Str(text) => text.clone(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(true) => "True".to_owned(),
        Data::Bool(false) => "False".to_owned(),
        Data::Null | Data::List(_) | Data::Map(_) => String::new(),
    }
}
