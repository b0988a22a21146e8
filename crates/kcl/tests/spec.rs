//! Every program of `spec/**/*.md` is a test.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    testkit::spec::run_as_tests(&root, testkit::ours::run)
}
