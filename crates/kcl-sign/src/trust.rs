//! Signatures of cosign: whether somebody that the policy trusts has signed a manifest.
//!
//! Both forms are read: the tag `sha256-….sig` with simple signing payloads, and bundles that refer to the manifest. A signature counts
//! if it was made with a key of the policy, or with the key of a certificate whose owner the policy names and whose chain ends at one of
//! its roots. Without a record of the time of signing, certificates are judged at the beginning of their own validity.

use data_encoding::BASE64;
use kcl_mod::{Identity, Policy};
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use serde_json::Value;
use sha2::{Digest, Sha256};
use x509_parser::prelude::*;

/// Certificates in a chain.
const MAX_CHAIN: usize = 5;
/// What a signer says by signing a manifest; the same key may say other things about it, such as what was found in it.
const SIGNED: [&str; 2] = ["cosign container image signature", "https://sigstore.dev/cosign/sign/v1"];
/// Who knew the owner of a certificate: the old and the new way of writing it down.
const ISSUER: [&str; 2] = ["1.3.6.1.4.1.57264.1.1", "1.3.6.1.4.1.57264.1.8"];

/// A policy with its keys and roots read.
pub struct Trust {
    /// Keys (as SubjectPublicKeyInfo) with what they are called.
    keys: Vec<(String, Vec<u8>)>,
    identities: Vec<Identity>,
    roots: Vec<Vec<u8>>,
}

/// A signature as it was found.
pub struct Signed {
    /// What was signed.
    pub message: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
    /// The certificate of the signer and those behind it, the signer's first; none if a key signed.
    pub chain: Vec<Vec<u8>>,
    /// The digest that the message is about.
    pub about: String,
}

impl Trust {
    /// Reads keys and roots; `load` gives the text of a file that the policy names.
    ///
    /// # Errors
    /// A file that cannot be read, or holds no key or certificate.
    pub fn new(policy: &Policy, load: &dyn Fn(&str) -> Result<String, String>) -> Result<Trust, String> {
        let mut trust = Trust { keys: Vec::new(), identities: policy.identities.clone(), roots: Vec::new() };
        for name in &policy.keys {
            let inline = name.contains("-----BEGIN");
            let text = if inline { name.clone() } else { load(name)? };
            let shown = if inline { "a key in kcl.mod" } else { name.as_str() };
            let found = pem(&text, "PUBLIC KEY");
            let [key] = found.as_slice() else {
                return Err(format!(
                    "{shown} is not a public key: one block of PEM, `PUBLIC KEY`, is expected"
                ));
            };
            algorithm(key).ok_or_else(|| format!("{shown} is a key of a kind that is not known here"))?;
            let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(key)[..8]);
            trust.keys.push((format!("key {digest}"), key.clone()));
        }
        for name in &policy.roots {
            let found = pem(&load(name)?, "CERTIFICATE");
            if found.is_empty() {
                return Err(format!("{name} has no certificate"));
            }
            trust.roots.extend(found);
        }
        Ok(trust)
    }

    /// Says who has signed a digest.
    ///
    /// # Errors
    /// Why nobody counts.
    pub fn signer(&self, digest: &str, found: &[Signed]) -> Result<String, String> {
        let mut reasons: Vec<String> = Vec::new();
        for signed in found {
            let reason = match signed.about == digest {
                true => match self.accept(signed) {
                    Ok(who) => return Ok(who),
                    Err(reason) => reason,
                },
                false => "a signature is about something else".to_owned(),
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Err(if found.is_empty() { "it is not signed".to_owned() } else { reasons.join("; ") })
    }

    fn accept(&self, signed: &Signed) -> Result<String, String> {
        let Some(leaf) = signed.chain.first() else {
            let good = self.keys.iter().find(|(_, key)| holds(key, &signed.message, &signed.signature));
            return good
                .map(|(name, _)| name.clone())
                .ok_or_else(|| "it is signed by a key that kcl.mod does not name".to_owned());
        };
        let broken = || "the certificate of its signer cannot be read".to_owned();
        let (_, certificate) = X509Certificate::from_der(leaf).map_err(|_| broken())?;
        if !holds(certificate.public_key().raw, &signed.message, &signed.signature) {
            return Err("its signature is not one of its certificate".to_owned());
        }
        self.vouched(&certificate, &signed.chain[1..])?;
        let (subjects, issuer) = owner(&certificate);
        let known = self.identities.iter().find(|identity| {
            subjects.contains(&identity.subject)
                && identity.issuer.as_ref().is_none_or(|wanted| issuer.as_ref() == Some(wanted))
        });
        let told = || {
            let issuer = issuer.as_deref().unwrap_or("nobody");
            format!("it is signed by {} (known to {issuer}), whom kcl.mod does not name", subjects.join(", "))
        };
        known.map(|identity| format!("identity {}", identity.subject)).ok_or_else(told)
    }

    /// Follows a certificate to a root.
    fn vouched(&self, leaf: &X509Certificate<'_>, between: &[Vec<u8>]) -> Result<(), String> {
        let at = leaf.validity().not_before;
        let signs = leaf.extended_key_usage().ok().flatten().is_some_and(|usage| usage.value.code_signing);
        if !signs {
            return Err("the certificate of its signer is not one for signing".to_owned());
        }
        let read = |der: &'_ [u8]| {
            X509Certificate::from_der(der).ok().map(|(_, certificate)| certificate.issuer().as_raw().to_vec())
        };
        let mut child: Vec<u8> = leaf.as_raw().to_vec();
        for _ in 0..MAX_CHAIN {
            let Some(issuer) = read(&child) else { break };
            let parent_of =
                |all: &[Vec<u8>]| all.iter().find(|der| is_parent(der, &issuer, &child, at)).cloned();
            if parent_of(&self.roots).is_some() {
                return Ok(());
            }
            match parent_of(between) {
                Some(parent) if parent != child => child = parent,
                _ => break,
            }
        }
        Err("nobody that kcl.mod trusts vouches for the certificate of its signer".to_owned())
    }
}

fn is_parent(der: &[u8], issuer: &[u8], child: &[u8], at: ASN1Time) -> bool {
    let (Ok((_, parent)), Ok((_, child))) =
        (X509Certificate::from_der(der), X509Certificate::from_der(child))
    else {
        return false;
    };
    let authority = parent.basic_constraints().ok().flatten().is_some_and(|basic| basic.value.ca);
    parent.subject().as_raw() == issuer
        && authority
        && parent.validity().is_valid_at(at)
        && holds(parent.public_key().raw, child.tbs_certificate.as_ref(), &child.signature_value.data)
}

/// Who a certificate belongs to, and who knew them.
fn owner(certificate: &X509Certificate<'_>) -> (Vec<String>, Option<String>) {
    let names = certificate.subject_alternative_name().ok().flatten();
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::RFC822Name(text) | GeneralName::URI(text) | GeneralName::DNSName(text) => {
            Some((*text).to_owned())
        }
        _ => None,
    };
    let subjects =
        names.map_or_else(Vec::new, |names| names.value.general_names.iter().filter_map(text).collect());
    let issuer = certificate
        .extensions()
        .iter()
        .find(|extension| ISSUER.contains(&extension.oid.to_id_string().as_str()));
    let issuer = issuer.and_then(|extension| {
        // The new way has a header of DER before the text; a text never begins with one.
        let bytes = match extension.value {
            [0x0c, length, rest @ ..] if usize::from(*length) == rest.len() && *length < 0x80 => rest,
            bytes => bytes,
        };
        String::from_utf8(bytes.to_vec()).ok()
    });
    (subjects, issuer)
}

/// How a key (SubjectPublicKeyInfo) verifies, and its bare bytes.
fn algorithm(spki: &[u8]) -> Option<(&'static dyn VerificationAlgorithm, Vec<u8>)> {
    let (rest, info) = SubjectPublicKeyInfo::from_der(spki).ok()?;
    let bytes = info.subject_public_key.data.to_vec();
    let kind = info.algorithm.algorithm.to_id_string();
    let curve =
        info.algorithm.parameters.as_ref().and_then(|p| p.as_oid().ok()).map(|oid| oid.to_id_string());
    let algorithm: &'static dyn VerificationAlgorithm = match (kind.as_str(), curve.as_deref()) {
        ("1.2.840.10045.2.1", Some("1.2.840.10045.3.1.7")) => &signature::ECDSA_P256_SHA256_ASN1,
        ("1.2.840.10045.2.1", Some("1.3.132.0.34")) => &signature::ECDSA_P384_SHA384_ASN1,
        ("1.2.840.113549.1.1.1", _) => &signature::RSA_PKCS1_2048_8192_SHA256,
        ("1.3.101.112", _) => &signature::ED25519,
        _ => return None,
    };
    rest.is_empty().then_some((algorithm, bytes))
}

fn holds(spki: &[u8], message: &[u8], signature: &[u8]) -> bool {
    algorithm(spki)
        .is_some_and(|(how, key)| UnparsedPublicKey::new(how, key).verify(message, signature).is_ok())
}

/// The blocks of a PEM text with a label.
fn pem(text: &str, label: &str) -> Vec<Vec<u8>> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(&begin) {
        let Some((body, after)) = after.split_once(&end) else { break };
        let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        found.extend(BASE64.decode(body.as_bytes()).ok());
        rest = after;
    }
    found
}

/// A layer of the tag `sha256-….sig`: its annotations, and the payload that they are about.
pub(crate) fn of_layer(annotations: &Value, payload: Vec<u8>) -> Option<Signed> {
    let note = |key: &str| annotations.get(key).and_then(Value::as_str);
    let signature = BASE64.decode(note("dev.cosignproject.cosign/signature")?.as_bytes()).ok()?;
    let mut chain =
        note("dev.sigstore.cosign/certificate").map_or_else(Vec::new, |text| pem(text, "CERTIFICATE"));
    chain.extend(note("dev.sigstore.cosign/chain").map_or_else(Vec::new, |text| pem(text, "CERTIFICATE")));
    let told: Value = serde_json::from_slice(&payload).ok()?;
    says_signed(&told, "/critical/type")?;
    let about = told.pointer("/critical/image/docker-manifest-digest").and_then(Value::as_str)?.to_owned();
    Some(Signed { message: payload, signature, chain, about })
}

fn says_signed(told: &Value, place: &str) -> Option<()> {
    told.pointer(place).and_then(Value::as_str).filter(|kind| SIGNED.contains(kind)).map(|_| ())
}

/// A bundle of sigstore: an envelope (DSSE) around a statement about the digest.
pub(crate) fn of_bundle(bundle: &[u8]) -> Option<Signed> {
    let bundle: Value = serde_json::from_slice(bundle).ok()?;
    let text = |path: &str| bundle.pointer(path).and_then(Value::as_str);
    let payload = BASE64.decode(text("/dsseEnvelope/payload")?.as_bytes()).ok()?;
    let kind = text("/dsseEnvelope/payloadType")?;
    let signature = BASE64.decode(text("/dsseEnvelope/signatures/0/sig")?.as_bytes()).ok()?;
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend_from_slice(&payload);
    let told: Value = serde_json::from_slice(&payload).ok()?;
    says_signed(&told, "/predicateType")?;
    let about = format!("sha256:{}", told.pointer("/subject/0/digest/sha256").and_then(Value::as_str)?);
    let decode = |value: &Value| BASE64.decode(value.as_str()?.as_bytes()).ok();
    let material = "/verificationMaterial";
    let mut chain: Vec<Vec<u8>> =
        bundle.pointer(&format!("{material}/certificate/rawBytes")).and_then(decode).into_iter().collect();
    if let Some(Value::Array(all)) = bundle.pointer(&format!("{material}/x509CertificateChain/certificates"))
    {
        chain.extend(all.iter().filter_map(|one| decode(one.get("rawBytes")?)));
    }
    Some(Signed { message, signature, chain, about })
}
