//! A proof: what a registry said about a signed package, kept so that nobody has to ask it again.
//!
//! A signature is about the digest of a manifest, the manifest names the digest of a layer, the layer holds the files, and the files
//! have a sum. A proof has all of them as they were found. Nothing in it is believed: every step is computed again.

use std::io::Read;

use data_encoding::BASE64;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use kcl_mod::{Limits, sum, unpack_layer};
use serde_json::{Value, json};

use crate::digest;
use crate::trust::{Signed, Trust, of_bundle, of_layer};

/// A signature as a registry keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// A layer below the tag `sha256-….sig`: its annotations, and the payload that they are about.
    Layer(Value, String),
    /// A bundle of sigstore.
    Bundle(String),
}

impl Evidence {
    /// Reads the signature; none if it is none.
    pub fn signed(&self) -> Option<Signed> {
        match self {
            Evidence::Layer(annotations, payload) => of_layer(annotations, payload.clone().into_bytes()),
            Evidence::Bundle(bundle) => of_bundle(bundle.as_bytes()),
        }
    }
}

/// What proves that a content was signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The manifest that was signed.
    pub manifest: String,
    /// The signatures that were found.
    pub evidence: Vec<Evidence>,
    /// The archive that the manifest names.
    pub layer: Vec<u8>,
}

impl Proof {
    /// Says who signed the content of a sum.
    ///
    /// # Errors
    /// A sentence about what proves nothing.
    pub fn signer(&self, trust: &Trust, wanted: &str) -> Result<String, String> {
        let found: Vec<Signed> = self.evidence.iter().filter_map(Evidence::signed).collect();
        let who = trust.signer(&digest(self.manifest.as_bytes()), &found)?;
        let manifest: Value = serde_json::from_str(&self.manifest).unwrap_or_default();
        let named = manifest.pointer("/layers/0/digest").and_then(Value::as_str);
        if named != Some(&digest(&self.layer)) || sum(&unpack_layer(&self.layer)?) != wanted {
            return Err("what was signed is another content".to_owned());
        }
        Ok(who)
    }

    /// Writes a proof.
    pub fn write(&self) -> String {
        let evidence = self.evidence.iter().map(|one| match one {
            Evidence::Layer(annotations, payload) => json!({"annotations": annotations, "payload": payload}),
            Evidence::Bundle(bundle) => json!({ "bundle": bundle }),
        });
        let evidence: Vec<Value> = evidence.collect();
        let mut zipped = Vec::new();
        // What is read from memory and written to memory does not fail.
        let _ = GzEncoder::new(self.layer.as_slice(), Compression::default()).read_to_end(&mut zipped);
        let told =
            json!({"manifest": self.manifest, "signatures": evidence, "layer": BASE64.encode(&zipped)});
        format!("{told:#}\n")
    }

    /// Reads a proof.
    ///
    /// # Errors
    /// A sentence about a text that is none.
    pub fn read(text: &str) -> Result<Proof, String> {
        let wrong = || "this is no proof of a signature".to_owned();
        let told: Value = serde_json::from_str(text).map_err(|_| wrong())?;
        let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
        let one = |value: &Value| match text(value, "bundle") {
            Some(bundle) => Some(Evidence::Bundle(bundle)),
            None => Some(Evidence::Layer(value.get("annotations")?.clone(), text(value, "payload")?)),
        };
        let evidence = told.get("signatures").and_then(Value::as_array).ok_or_else(wrong)?;
        let zipped = text(&told, "layer").and_then(|layer| BASE64.decode(layer.as_bytes()).ok());
        let mut layer = Vec::new();
        let unzipped = GzDecoder::new(zipped.ok_or_else(wrong)?.as_slice())
            .take(2 * Limits::default().bytes)
            .read_to_end(&mut layer);
        unzipped.map_err(|_| wrong())?;
        let manifest = text(&told, "manifest").ok_or_else(wrong)?;
        Ok(Proof { manifest, evidence: evidence.iter().filter_map(one).collect(), layer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cosign's own program signed, as a registry kept it.
    const WEB: &str = include_str!("../tests/web.proof");

    fn trust(key: &str) -> Trust {
        let table: toml::Table = "[signatures]\nkeys = [\"web.pub\"]\n".parse().unwrap();
        Trust::new(&kcl_mod::Policy::read(&table).unwrap(), &|_| Ok(key.to_owned())).unwrap()
    }

    #[test]
    fn every_step_of_a_proof_is_computed_again() {
        let (own, stranger) =
            (trust(include_str!("../tests/web.pub")), trust(include_str!("../tests/stranger.pub")));
        let proof = Proof::read(WEB).unwrap();
        let sum = sum(&unpack_layer(&proof.layer).unwrap());
        assert!(proof.signer(&own, &sum).unwrap().starts_with("key "));
        assert_eq!(Proof::read(&proof.write()).unwrap(), proof);
        let refused = |proof: &Proof, trust: &Trust, sum: &str, why: &str| {
            let told = proof.signer(trust, sum).unwrap_err();
            assert!(told.contains(why), "{told}");
        };
        refused(&proof, &stranger, &sum, "a key that kcl.mod does not name");
        refused(&proof, &own, "h1:another", "another content");
        let other = kcl_mod::Content::new([("kcl.mod".to_owned(), b"[package]\n".to_vec())]).unwrap();
        let (layer, weight) = (kcl_mod::pack(&other).unwrap(), kcl_mod::sum(&other));
        refused(&Proof { layer: layer.clone(), ..proof.clone() }, &own, &weight, "another content");
        // A manifest that names the other layer is not the one that was signed.
        let named = serde_json::from_str::<Value>(&proof.manifest).unwrap()["layers"][0]["digest"].clone();
        let manifest = proof.manifest.replace(named.as_str().unwrap(), &digest(&layer));
        refused(&Proof { layer, manifest, ..proof.clone() }, &own, &weight, "about something else");
        refused(&Proof { evidence: Vec::new(), ..proof }, &own, &sum, "not signed");
    }

    #[test]
    fn what_is_no_proof_is_told() {
        for text in ["", "{}", "[1]", "{\"manifest\": \"{}\", \"signatures\": [], \"layer\": \"AAAA\"}"] {
            assert!(Proof::read(text).unwrap_err().contains("no proof"), "{text}");
        }
    }
}
