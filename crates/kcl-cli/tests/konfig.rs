//! Every stack of `konfig/appops` evaluates to its golden file. `UPDATE=1` writes them.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn stacks(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for project in std::fs::read_dir(root).unwrap().flatten() {
        for stack in std::fs::read_dir(project.path()).into_iter().flatten().flatten() {
            if stack.path().join("stack.yaml").is_file() {
                found.push(stack.path());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn stacks_evaluate_to_their_golden_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../konfig/appops");
    let stacks = stacks(&root);
    assert!(stacks.len() >= 5, "found only {stacks:?}");
    for stack in stacks {
        let output = Command::new(env!("CARGO_BIN_EXE_kcl")).arg("run").current_dir(&stack).output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{}: {err}", stack.display());
        let golden = stack.join("ci-test/stdout.golden.yaml");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
            std::fs::write(&golden, &out).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(out, expected, "{}: run with UPDATE=1 and read the diff", stack.display());
    }
}
