//! Seeded sequences of writes by three managers, and what the server made of them.

use std::collections::BTreeMap;

use kube_sequences::live::Live;
use kube_sequences::record::Writer;
use kube_sequences::{Sequence, definition, kinds};
use testenv::ControlPlane;

use super::write;

const PER_KIND: u64 = 8;

pub(super) fn record(plane: &ControlPlane) -> Result<(), String> {
    let mut live = Live::new(plane)?;
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
        write(&format!("ssa/{}.jsonl", kind.kind.to_lowercase()), &text)?;
    }
    write("ssa/definition.json", &format!("{:#}\n", definition()))?;
    for ((operation, code), count) in codes {
        println!("{operation:<10} {code} {count:>4}");
    }
    println!("{} sequences, {bytes} bytes", kinds().len() as u64 * PER_KIND);
    Ok(())
}
