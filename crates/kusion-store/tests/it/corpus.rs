//! The corpora of the fuzz targets, replayed: what was found stays found.

#[test]
fn corpora_of_the_fuzz_targets_hold() {
    testkit::replay_corpora(testkit::fuzz_state::TARGETS);
}

#[test]
fn a_thousand_flipped_bytes_of_a_sealed_state_are_told_or_harmless() {
    let mut dice = 14_u64;
    for _ in 0..1_000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        testkit::fuzz_state::sealed(&(dice >> 32).to_be_bytes()[4..]);
    }
}
