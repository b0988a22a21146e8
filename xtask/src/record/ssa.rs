//! Seeded sequences of writes by three managers, and what the server made of them.

use std::collections::BTreeMap;

use kube_sequences::live::Live;
use kube_sequences::record::Writer;
use kube_sequences::{Sequence, definition, kinds};
use testenv::ControlPlane;

use super::write;

const PER_KIND: u64 = 3;
/// Seeds on which `cargo xtask ssa-diff` once found the model wrong.
const FOUND: [u64; 64] = [
    32, 84, 85, 90, 107, 112, 132, 137, 139, 143, 145, 159, 169, 205, 259, 299, 325, 339, 396, 482, 532, 543,
    574, 575, 657, 753, 757, 824, 834, 879, 892, 949, 1004, 1006, 1029, 1109, 1115, 1572, 1663, 1684, 1892,
    1905, 2022, 2233, 2329, 2509, 2874, 2875, 2909, 10112, 20124, 20552, 20572, 20696, 20746, 20899, 21058,
    21422, 22209, 22236, 22426, 22519, 22856, 22879,
];

pub(super) fn record(plane: &ControlPlane) -> Result<(), String> {
    let mut live = Live::new(plane)?;
    let mut codes: BTreeMap<(&str, u16), usize> = BTreeMap::new();
    let (mut sequences, mut bytes) = (0, 0);
    for (index, kind) in kinds().iter().enumerate() {
        let mut writer = Writer::default();
        let count = kinds().len() as u64;
        let first = (0..PER_KIND).map(|turn| turn * count + index as u64);
        let found =
            FOUND.into_iter().filter(|seed| seed % count == index as u64 && *seed >= PER_KIND * count);
        for seed in first.chain(found) {
            sequences += 1;
            let mut sequence = Sequence::new(seed);
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
    println!("{sequences} sequences, {bytes} bytes");
    Ok(())
}
