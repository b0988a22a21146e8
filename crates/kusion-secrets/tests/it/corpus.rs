//! The corpora of the fuzz targets about references and sealed files, replayed.

#[test]
fn corpora() {
    testkit::replay_corpora(testkit::fuzz_secrets::TARGETS);
}
