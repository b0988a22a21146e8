//! `cargo xtask record ssa`: what the real server answers to seeded sequences of writes, as fixtures.
//!
//! In: nothing but the generator's seeds. Out: `crates/kube-meaning/fixtures/ssa/<kind>.jsonl`, replayed by the tests of the pure crate.
//! Without controllers: only the writers of a sequence touch its object.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use kube_sequences::live::Live;
use kube_sequences::record::Writer;
use kube_sequences::{Sequence, definition, kinds};
use testenv::{ControlPlane, Options};

use crate::Outcome;

const FOLDER: &str = "../crates/kube-meaning/fixtures/ssa";
const PER_KIND: u64 = 8;

/// Entry point.
pub(crate) fn main(words: &[String]) -> Outcome {
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ssa"] => ssa(),
        _ => Err("usage: cargo xtask record ssa".into()),
    }
}

fn ssa() -> Outcome {
    let options = Options { controllers: false, build: true, ..Options::default() };
    let plane = ControlPlane::start(options).map_err(|error| error.to_string())?;
    let mut live = Live::new(&plane)?;
    let mut codes: BTreeMap<(&str, u16), usize> = BTreeMap::new();
    let mut bytes = 0;
    for (index, kind) in kinds().iter().enumerate() {
        let mut writer = Writer::default();
        for turn in 0..PER_KIND {
            let mut sequence = Sequence::new(turn * kinds().len() as u64 + index as u64);
            writer.begin(&sequence);
            live.run(&mut sequence, |step| {
                writer.step(step);
                *codes.entry((step.request.operation.name(), step.code)).or_default() += 1;
            })?;
        }
        let text = writer.finish();
        bytes += text.len();
        write(&format!("{}.jsonl", kind.kind.to_lowercase()), &text)?;
    }
    write("definition.json", &format!("{:#}\n", definition()))?;
    for ((operation, code), count) in codes {
        println!("{operation:<10} {code} {count:>4}");
    }
    println!("{} sequences, {bytes} bytes", kinds().len() as u64 * PER_KIND);
    Ok(ExitCode::SUCCESS)
}

fn write(name: &str, text: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| format!("creating {}: {error}", folder.display()))?;
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| format!("writing {}: {error}", path.display()))
}
