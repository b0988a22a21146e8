//! The fuzz targets of the Kubernetes half as plain tests: what was found stays found, and some inputs nobody has seen.

use std::path::{Path, PathBuf};

use testkit::fuzz_kube::TARGETS;

#[test]
fn every_corpus_file_passes_its_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let folder = root.join(name);
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "{name} has no corpus");
        for path in paths {
            let bytes = std::fs::read(&path).unwrap();
            let outcome = std::panic::catch_unwind(|| target(&bytes));
            assert!(outcome.is_ok(), "{name} fails on {}", path.display());
        }
    }
}

/// `KUSION_FUZZ_CASES` for more.
#[test]
fn random_choices_pass_every_target() {
    let cases = std::env::var("KUSION_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let only = std::env::var("KUSION_FUZZ_TARGET").ok();
    for (name, target) in TARGETS.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name))
    {
        let fails = |seed: &u64| std::panic::catch_unwind(|| target(&random(*seed))).is_err();
        let failed: Vec<u64> = (0..cases).filter(fails).collect();
        assert!(failed.is_empty(), "{name} fails on seeds {failed:?}");
    }
}

fn random(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let length = 16 + next() % 400;
    (0..length).map(|_| (next() >> 32) as u8).collect()
}
