//! The corpus of the fuzz target `rpc`, and small changes of it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

#[test]
fn the_corpus_and_its_neighbours_are_decoded_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rpc");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let seed = std::fs::read(entry.unwrap().path()).unwrap();
        kcl_api::judge_bytes(&seed);
        for at in 0..seed.len() {
            kcl_api::judge_bytes(&seed[..at]);
            for bit in 0..8 {
                let mut changed = seed.clone();
                changed[at] ^= 1 << bit;
                kcl_api::judge_bytes(&changed);
            }
        }
        count += 1;
    }
    assert!(count > 20);
}
