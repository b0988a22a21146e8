//! The examples of docs/rpc.md: each `console` block is run, and what it prints is compared to the letter.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn the_examples_of_the_page_print_what_it_says() {
    let page = include_str!("../../../docs/rpc.md");
    let folder = tempfile::tempdir().unwrap();
    // `kcl server` starts kcl-server; here a script does.
    let script = folder.path().join("kcl");
    std::fs::write(&script, format!("#!/bin/sh\nshift\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_kcl-server")))
        .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for part in format!("\n{block}").split("\n$ ").skip(1) {
            let (command, wanted) = part.split_once('\n').unwrap();
            let output = Command::new("sh")
                .args(["-c", command])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), wanted.trim_end(), "{command}");
            count += 1;
        }
    }
    assert!(count >= 3);
}
