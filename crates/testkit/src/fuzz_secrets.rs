//! What the fuzz targets of sealed files do with a heap of bytes: files of age, files of SOPS.
//!
//! In: any bytes. Out: nothing; a panic is a finding, and so is a file that opens although it was changed.

use std::sync::LazyLock;

use kusion_secrets::age::{self, Identity, Recipient};
use kusion_secrets::sops;

/// Name and body of every target.
pub const TARGETS: &[crate::FuzzTarget] = &[("age", age), ("sops", sops)];

/// The identity of the fixtures of kusion-secrets: of nothing else.
static IDENTITIES: LazyLock<Vec<Identity>> = LazyLock::new(|| {
    let text = "AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6";
    Identity::parse(text).into_iter().collect()
});

/// Any bytes as a file of age and as keys: always an answer; what opens is what its own recipient can seal again.
pub fn age(bytes: &[u8]) {
    if let Ok(plain) = age::decrypt(bytes, &IDENTITIES) {
        let recipients: Vec<Recipient> = IDENTITIES.iter().map(Identity::recipient).collect();
        let again = age::encrypt(&plain, &recipients).map(|text| age::decrypt(text.as_bytes(), &IDENTITIES));
        assert_eq!(again.ok().and_then(Result::ok).as_deref(), Some(&*plain));
    }
    let text = String::from_utf8_lossy(bytes);
    if let Some(recipient) = Recipient::parse(text.trim()) {
        assert_eq!(recipient.to_string(), text.trim());
    }
    if let Some(identity) = Identity::parse(text.trim()) {
        assert_eq!(*identity.to_text(), text.trim());
    }
}

/// Any text as a file of SOPS: always an answer, and never one that still has the envelope in it.
pub fn sops(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let limits = base_yaml::Limits { depth: 32, nodes: 10_000, strict_keys: true, ..Default::default() };
    let Ok(documents) = base_yaml::parse_documents(&text, &limits) else { return };
    for tree in &documents {
        if let Ok(opened) = sops::decrypt(tree, &IDENTITIES) {
            assert!(!format!("{opened:?}").contains("ENC[AES256_GCM"), "{opened:?}");
        }
    }
}
