//! The corpus of the fuzz target, replayed: what was found stays found.

#[test]
fn corpora_of_the_fuzz_targets_hold() {
    testkit::replay_corpora(testkit::fuzz_host::TARGETS);
}
