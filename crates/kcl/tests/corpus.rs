//! Replays the corpora of the fuzz targets: a finding stays found. Spec programs and generated ones go through the parser too.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_corpus_file_passes_its_target() {
    for (name, target) in testkit::fuzz::TARGETS {
        let folder = root().join("fuzz/corpus").join(name);
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        assert!(!paths.is_empty(), "{name} has no corpus");
        for path in paths {
            let bytes = std::fs::read(&path).expect("a corpus file can be read");
            let outcome = std::panic::catch_unwind(|| target(&bytes));
            assert!(outcome.is_ok(), "{name} fails on {}", path.display());
        }
    }
}

#[test]
fn spec_and_generated_programs_survive_the_round_trip() {
    for file in testkit::spec::load(&root().join("spec")).expect("spec files parse") {
        for text in file.cases.iter().flat_map(|case| &case.program.files) {
            testkit::fuzz::parser(text.text.as_bytes());
        }
    }
    for seed in 0..2000 {
        for file in &testkit::generate::program(seed).files {
            testkit::fuzz::parser(file.text.as_bytes());
        }
    }
}
