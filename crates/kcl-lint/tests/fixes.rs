//! Safe fixes keep what a program means: on every spec, and on generated programs with things to mend in them.
//! `LINT_PROGRAMS=10000` is the long form.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use testkit::generate::Rng;
use testkit::lint::{cluttered, judge};

#[test]
fn fixes_of_generated_programs_never_change_a_value() {
    let programs: u64 = std::env::var("LINT_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut mended = 0;
    for seed in 0..programs {
        let program = testkit::generate::program(seed);
        let text = &program.entries().next().unwrap().text;
        let cluttered = cluttered(text, &mut Rng::new(seed));
        mended += judge(&cluttered).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    }
    assert!(mended as u64 * 2 > programs, "only {mended} findings were mended in {programs} programs");
}

#[test]
fn fixes_of_the_specs_never_change_a_value() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let mut mended = 0;
    let mut wrong = Vec::new();
    for (at, case) in testkit::spec::load(&root).unwrap().into_iter().flat_map(|file| file.cases).enumerate()
    {
        let files = &case.program.files;
        if files.len() != 1 {
            continue;
        }
        let cluttered = cluttered(&files[0].text, &mut Rng::new(at as u64));
        for text in [&files[0].text, &cluttered] {
            match judge(text) {
                Ok(count) => mended += count,
                Err(broken) => wrong.push(broken),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(mended > 1000, "only {mended} findings were mended");
}
