//! What judges the language: Markdown specs, verdicts, and five sources of random programs: a generator of whole programs,
//! mutations of the specs, unusual library calls, idioms of models, and programs about one mistake.
//!
//! In: text under `spec/`, or a seed. Out: [`Program`]s, and [`Verdict`]s about them that can be compared.
//! Who runs a program is left open ([`Runner`]): our façade and the black-box oracle are judged by the same rules.
//!
//! Invariant: without the feature `ours` nothing here depends on the language crates, so that every one of them may use it in
//! its tests.
#![cfg_attr(test, allow(clippy::unwrap_used))]
// What is picked is a reference to a text: the lint's advice does not compile.
#![allow(clippy::explicit_auto_deref)]

pub mod faulty;
#[cfg(feature = "format")]
pub mod format;
#[cfg(feature = "ours")]
pub mod fuzz;
#[cfg(feature = "host")]
pub mod fuzz_host;
#[cfg(feature = "install")]
pub mod fuzz_install;
#[cfg(feature = "kube")]
pub mod fuzz_kube;
#[cfg(feature = "secrets")]
pub mod fuzz_secrets;
#[cfg(feature = "state")]
pub mod fuzz_state;
pub mod generate;
pub mod idioms;
pub mod library_calls;
#[cfg(feature = "ours")]
pub mod lint;
pub mod mutate;
#[cfg(feature = "ours")]
pub mod ours;
pub mod pages;
pub mod program;
#[cfg(feature = "rpc")]
pub mod rpc;
pub mod spec;
#[cfg(feature = "terraform")]
pub mod terraform;
pub mod verdict;

/// A fuzz target: its name, and what it does with a heap of bytes.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// Replays the corpora of fuzz targets (`fuzz/corpus/NAME`): what was found stays found.
///
/// # Panics
/// If a target does, or a corpus is missing or empty.
pub fn replay_corpora(targets: &[FuzzTarget]) {
    for (name, target) in targets {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut count = 0;
        for file in files {
            let path = file.unwrap_or_else(|e| panic!("{}: {e}", folder.display())).path();
            target(&std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
            count += 1;
        }
        assert!(count > 0, "{} is empty", folder.display());
    }
}

pub use program::{Flags, Program, SourceText};
pub use verdict::{Fault, Output, Verdict};

/// Someone who can run a program.
pub trait Runner {
    /// Runs the program and says what came out.
    fn run(&mut self, program: &Program) -> Verdict;
}

impl<F: FnMut(&Program) -> Verdict> Runner for F {
    fn run(&mut self, program: &Program) -> Verdict {
        self(program)
    }
}
