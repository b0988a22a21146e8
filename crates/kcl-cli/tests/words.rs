//! What people read when a program is wrong: `words.md` has programs and the text of their errors, to the letter.
//!
//! `UPDATE=1 cargo test -p kcl-cli --test words` writes the texts anew; read the difference before you keep it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// Runs a program that stands in `main.k` and returns what it says on standard error.
fn said(program: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.k"), program).unwrap();
    let mut kcl = Command::new(env!("CARGO_BIN_EXE_kcl"));
    let output = kcl
        .args(["run", "main.k"])
        .current_dir(folder.path())
        .env_remove("KCL_ERROR_FORMAT")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{program}");
    String::from_utf8(output.stderr).unwrap()
}

/// Cuts a page into its code blocks: (language, text).
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let inside = page.split("```").skip(1).step_by(2);
    inside.filter_map(|block| block.split_once('\n')).collect()
}

#[test]
fn errors_read_as_people_write_them() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/words.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let mut new = page.clone();
    let blocks = blocks(&page);
    assert!(blocks.len() > 10 && blocks.len().is_multiple_of(2), "programs and texts come in pairs");
    for pair in blocks.chunks(2) {
        let [("kcl", program), ("text", expected)] = pair else {
            panic!("not a program and its text: {pair:?}")
        };
        let said = said(program);
        if std::env::var_os("UPDATE").is_some() {
            let written = |text: &str| format!("```kcl\n{program}```\n```text\n{text}```");
            new = new.replace(&written(expected), &written(&said));
        } else {
            assert_eq!(said, *expected, "{program}");
        }
    }
    if new != page {
        std::fs::write(&file, new).unwrap();
    }
}
