//! The protobuf numbers of the sandbox, asked from the Go types of the pinned Kubernetes modules by reflection.
//!
//! In: `xtask/testenv/numbers/main.go`, run with the go.mod and go.sum of kubebox; the types that `kubernetes.tsv` names. Out:
//! `crates/sandbox-world/src/api/protobuf.tsv`: those types and the messages that stand inline in them. Facts only, sorted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::ChoreResult;

const TABLE: &str = "../crates/sandbox-world/src/api/protobuf.tsv";
const TYPES: &str = include_str!("../../../crates/kube-meaning/src/tables/kubernetes.tsv");
const SOURCES: [(&str, &str); 3] = [
    ("main.go", include_str!("../../testenv/numbers/main.go")),
    ("go.mod", include_str!("../../testenv/kubebox/go.mod")),
    ("go.sum", include_str!("../../testenv/kubebox/go.sum")),
];

/// Writes the table.
pub(crate) fn generate() -> ChoreResult {
    let text = table(&numbers(&[])?);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    std::fs::write(&path, &text).map_err(|error| format!("writing {}: {error}", path.display()))?;
    println!("{}: {} types", path.display(), text.lines().count());
    Ok(ExitCode::SUCCESS)
}

/// All numbers that the Go types have.
fn numbers(environment: &[(&str, &str)]) -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("kusion-numbers-{}", std::process::id()));
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(said)?;
    for (name, text) in SOURCES {
        std::fs::write(folder.join(name), text).map_err(said)?;
    }
    let mut command = Command::new("go");
    command.args(["run", "-mod=mod", "."]).current_dir(&folder).envs(environment.iter().copied());
    let output = command.output().map_err(|error| format!("starting `go` (is Go 1.26 installed?): {error}"));
    // A folder that stays behind in the temporary folder harms nobody.
    let _ = std::fs::remove_dir_all(&folder);
    let output = output?;
    if !output.status.success() {
        return Err(format!("`go run` failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// The lines of the types that are served, and of what stands inline in them.
fn table(numbers: &str) -> String {
    let lines: BTreeMap<&str, &str> = numbers.lines().filter_map(|line| line.split_once('\t')).collect();
    let served = TYPES.lines().filter_map(|line| line.strip_prefix("T\t")?.split('\t').next());
    let mut kept = BTreeSet::new();
    let mut todo: Vec<&str> = served.filter(|name| lines.contains_key(name)).collect();
    while let Some(name) = todo.pop() {
        if kept.insert(name) {
            let words = lines.get(name).copied().unwrap_or_default();
            todo.extend(words.split(' ').filter_map(|word| Some(word.split_once('>')?.1)));
        }
    }
    let line = |name: &&str| lines.get(name).copied().filter(|words| !words.is_empty());
    kept.iter().filter_map(|name| Some(format!("{name}\t{}\n", line(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_numbers_are_those_of_the_go_types() {
        // Nothing is fetched: the modules are there once the control plane was built.
        let numbers = match numbers(&[("GOPROXY", "off")]) {
            Ok(numbers) => numbers,
            Err(error) => {
                let what = format!("protobuf numbers; run `cargo xtask testenv build` once: {error}");
                return testenv::skip(&what);
            }
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
        let committed = std::fs::read_to_string(path).expect("the table is committed");
        assert_eq!(committed, table(&numbers), "run `cargo xtask codegen protobuf`");
    }

    #[test]
    fn inline_messages_come_with_the_types_that_hold_them() {
        let lines = "io.k8s.api.core.v1.Probe\t1>a.b.Handler 2=x\na.b.Handler\t1=exec\nc.d.Other\t1=y\n";
        assert_eq!(table(lines), "a.b.Handler\t1=exec\nio.k8s.api.core.v1.Probe\t1>a.b.Handler 2=x\n");
    }
}
