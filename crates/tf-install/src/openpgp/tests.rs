//! Keys and signatures that GnuPG made; `SUMS` is what was signed.

use super::*;

const SUMS: &[u8] = include_bytes!("../../tests/keys/SUMS");
const NOW: u64 = 1_800_000_000;

macro_rules! key {
    ($name:literal) => {
        (
            include_str!(concat!("../../tests/keys/", $name, ".asc")),
            &include_bytes!(concat!("../../tests/keys/", $name, ".sig"))[..],
        )
    };
}

#[test]
fn signatures_of_rsa_ed25519_and_a_subkey_hold() {
    for (armor, signature) in [key!("rsa"), key!("ed"), key!("sub"), key!("other")] {
        let signed = verify(&[armor], signature, SUMS, NOW).unwrap();
        assert!(!signed.is_expired);
        // The right key is found among others.
        assert_eq!(verify(&[key!("other").0, "no key", armor], signature, SUMS, NOW).unwrap(), signed);
    }
}

#[test]
fn another_text_key_or_signature_does_not_hold() {
    let (armor, signature) = key!("rsa");
    let error = verify(&[key!("ed").0], signature, SUMS, NOW).unwrap_err();
    assert!(error.contains("key of the signature: "), "{error}");
    assert!(verify(&[armor], signature, b"other", NOW).is_err());
    assert!(verify(&[], signature, SUMS, NOW).unwrap_err().contains("keys that may sign: none"));
    assert!(verify(&[armor], b"", SUMS, NOW).is_err());
    assert!(verify(&[armor], armor.as_bytes(), SUMS, NOW).unwrap_err().contains("no OpenPGP signature"));
    for at in 0..signature.len() {
        let mut damaged = signature.to_vec();
        damaged[at] ^= 1;
        // The unsigned part holds nothing but a hint, and two octets of the hash.
        let holds = verify(&[armor], &damaged, SUMS, NOW).is_ok();
        assert!(!holds || at > 20 && at < signature.len() - 258, "octet {at} may be changed");
        let _ = verify(&[armor], &signature[..at], SUMS, NOW).unwrap_err();
    }
}

#[test]
fn an_expired_key_is_told_and_a_revoked_one_is_refused() {
    let (armor, signature) = key!("old");
    assert!(verify(&[armor], signature, SUMS, NOW).unwrap().is_expired);
    let (armor, signature) = key!("revoked");
    let error = verify(&[armor], signature, SUMS, NOW).unwrap_err();
    assert!(error.contains("is revoked"), "{error}");
}
