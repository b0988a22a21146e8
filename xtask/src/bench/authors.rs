//! `cargo xtask bench vet` and `bench test`: small documents against one schema, and cases of one package.

use super::{measure, median, verdict};
use crate::ChoreResult;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Documents of the row, and seconds for them on two cores.
const DOCUMENTS: usize = 10_000;
/// Cases of the row, and seconds for them.
const CASES: usize = 1_000;
const LIMIT: f64 = 1.0;
const SAMPLES: usize = 9;

const SCHEMA: &str = "schema User:\n    name: str\n    age: int = 3\n    tags?: [str]\n    home?: Home\n    check:\n        \
                      0 < age < 120, \"bad age\"\n        len(name) > 2\n\nschema Home:\n    street: str\n    zip: int\n    check:\n        \
                      zip > 9\n";

pub(super) fn vet() -> ChoreResult {
    let one = |i: usize| {
        format!(
            "name: user{i}\nage: {}\ntags: [a, b]\nhome:\n  street: s{i}\n  zip: {}\n",
            i % 90 + 1,
            1000 + i
        )
    };
    let documents: Vec<String> = (0..DOCUMENTS).map(one).collect();
    let files = [("user.k", SCHEMA.to_owned()), ("many.yaml", documents.join("---\n"))];
    row("vet", &files, &["vet", "many.yaml", "user.k"], &format!("{DOCUMENTS} documents"))
}

pub(super) fn test() -> ChoreResult {
    let case =
        |i: usize| format!("test_{i} = lambda {{\n    a = double({i})\n    assert a == {}\n}}\n", 2 * i);
    let cases: String = (0..CASES).map(case).collect();
    let lambda = "double = lambda x: int -> int {\n    x * 2\n}\n";
    let files = [("double_test.k", format!("{lambda}{cases}"))];
    row("test", &files, &["test"], &format!("{CASES} cases"))
}

fn row(name: &str, files: &[(&str, String)], words: &[&str], what: &str) -> ChoreResult {
    let base: PathBuf = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    let folder = base.join(format!("kcl-bench-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let measured = samples(&folder, files, words);
    let _ = std::fs::remove_dir_all(&folder);
    let (wall, cpu, peak) = measured?;
    let pass = wall <= LIMIT;
    println!("{what}: {wall:.2} s (limit {LIMIT}), {cpu:.2} s CPU, {} MB: {}", peak / 1024, verdict(pass));
    Ok(if pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn samples(folder: &Path, files: &[(&str, String)], words: &[&str]) -> Result<(f64, f64, u64), String> {
    for (path, text) in files {
        std::fs::write(folder.join(path), text).map_err(|e| format!("{path}: {e}"))?;
    }
    let (mut walls, mut cpus, mut peak) = (Vec::new(), Vec::new(), 0);
    for _ in 0..SAMPLES {
        let begun = Instant::now();
        let sample = measure::whole_process(folder, words)?;
        walls.push(begun.elapsed().as_secs_f64());
        cpus.push(sample.cpu);
        peak = peak.max(sample.peak_kib);
    }
    Ok((median(&mut walls), median(&mut cpus), peak))
}
