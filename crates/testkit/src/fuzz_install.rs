//! What the fuzz targets of installing providers do with a heap of bytes: lock files, CLI configurations, constraints,
//! signatures.
//!
//! In: any bytes. Out: nothing; a panic is a finding, and so is a text that is read, written and read differently.

use std::path::PathBuf;

use tf_install::{Address, CliConfig, Constraints, Lock, OPENTOFU, Platform, Surroundings, Version, openpgp};

/// Name and body of every target.
pub const TARGETS: &[crate::FuzzTarget] = &[
    ("tf_lock", tf_lock),
    ("tf_config", tf_config),
    ("tf_constraints", tf_constraints),
    ("tf_signature", tf_signature),
];

/// A lock file that is read is written so that it is read the same, and written the same the second time.
pub fn tf_lock(bytes: &[u8]) {
    let Ok(lock) = Lock::parse(&String::from_utf8_lossy(bytes)) else { return };
    let text = lock.to_text();
    let again = Lock::parse(&text).expect("what was written can be read");
    assert_eq!(again, lock);
    assert_eq!(again.to_text(), text);
}

/// A CLI configuration always gets an answer, and its tokens are never shown.
pub fn tf_config(bytes: &[u8]) {
    let around = Surroundings { variable: &|name| Some(name.to_owned()), folder: PathBuf::from("/w") };
    let mut config = CliConfig::default();
    if config.read(&String::from_utf8_lossy(bytes), &around).is_err() {
        return;
    }
    let address = Address::parse("random", OPENTOFU).expect("an address");
    config.methods_of(&address);
    config.override_of(&address);
    config.service(OPENTOFU, "providers.v1");
    if let Some(token) = config.token("app.example.org", &|_| None)
        && let Some(text) = token.expose_text().filter(|text| text.len() > 8)
    {
        // Everything else of the text may be shown: the token must stand nowhere else.
        let shown = format!("{config:?}");
        let elsewhere = String::from_utf8_lossy(bytes).matches(text).count() > 1;
        assert!(elsewhere || !shown.contains(text), "a token is shown");
    }
}

/// Constraints, versions, addresses and platforms: what is read has one normal form, and order is total.
pub fn tf_constraints(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(constraints) = Constraints::parse(&text) {
        let normal = constraints.to_string();
        assert_eq!(Constraints::parse(&normal).expect("a normal form"), constraints);
        for term in text.split(',') {
            let Ok(version) = Version::parse(term.trim().trim_start_matches(['<', '>', '=', '!', '~', ' ']))
            else {
                continue;
            };
            assert_eq!(Version::parse(&version.to_string()).as_ref(), Ok(&version));
            assert!(Constraints::exactly(&version).allow(&version));
            constraints.allow(&version);
        }
    }
    if let Ok(address) = Address::parse(&text, OPENTOFU) {
        assert_eq!(Address::parse(&address.to_string(), "").as_ref(), Ok(&address));
        assert!(!address.to_string().contains(".."));
    }
    if let Ok(platform) = Platform::parse(&text) {
        assert_eq!(Platform::parse(&platform.to_string()).as_ref(), Ok(&platform));
    }
}

/// A signature by nobody holds never; the first line tells whether the bytes are a key or a signature.
pub fn tf_signature(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert!(openpgp::verify(&[&text], bytes, b"text", 1_800_000_000).is_err());
}
