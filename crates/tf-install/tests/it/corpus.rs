//! The corpora of the fuzz targets, replayed: what was found stays found.

use std::path::Path;

#[test]
fn corpora_of_the_fuzz_targets_hold() {
    testkit::replay_corpora(testkit::fuzz_install::TARGETS);
}

#[test]
fn every_corpus_survives_some_thousand_changes() {
    let mut dice = 14_u64;
    let mut roll = |below: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) as usize % below.max(1)
    };
    for (name, target) in testkit::fuzz_install::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let files: Vec<Vec<u8>> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|file| std::fs::read(file.unwrap().path()).unwrap())
            .collect();
        for _ in 0..2_000 {
            let mut bytes = files[roll(files.len())].clone();
            for _ in 0..=roll(4) {
                let at = roll(bytes.len());
                match roll(4) {
                    0 if !bytes.is_empty() => bytes[at] = b"{}[]\"=,.-\n\\\x00\xff~>"[roll(15)],
                    1 if !bytes.is_empty() => bytes[at] ^= 1 << roll(8),
                    2 => bytes.truncate(at),
                    _ => bytes.extend_from_within(at..),
                }
            }
            target(&bytes);
        }
    }
}
