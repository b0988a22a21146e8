//! The pages of the commands, run and compared to the letter (durations are not). How a page is read: `testkit::pages`.
//! `UPDATE=1 cargo test -p kcl-cli --test pages` writes the outputs anew; read the difference.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use testkit::pages::{self, Shell};

struct Kcl;

impl Shell for Kcl {
    fn run(&mut self, folder: &Path, command: &str) -> String {
        let bin = Path::new(env!("CARGO_BIN_EXE_kcl")).parent().unwrap().display().to_string();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(folder)
            .env("PATH", path)
            .env("HOME", folder.join("home"))
            .env_remove("KCL_PKG_PATH")
            .env("NO_COLOR", "1")
            .env_remove("KCL_ERROR_FORMAT")
            .output()
            .unwrap();
        // Where the folder is, nobody needs to know.
        let text = String::from_utf8(output.stdout).unwrap().replace(&folder.display().to_string(), "/…");
        steady(&text)
    }
}

/// The text without what differs from run to run.
fn steady(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(" (") {
        let (before, after) = rest.split_at(at + 2);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        out.push_str(before);
        rest = match after[digits..].starts_with("ms)") && digits > 0 {
            true => {
                out.push('1');
                &after[digits..]
            }
            false => after,
        };
    }
    out.push_str(rest);
    out
}

fn compare(name: &str, at_least: usize) {
    pages::compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name), at_least, &mut Kcl);
}

#[test]
fn vet() {
    compare("vet.md", 10);
}

#[test]
fn edit() {
    compare("edit.md", 20);
}

#[test]
fn packages() {
    compare("mod.md", 12);
}

#[test]
fn test() {
    compare("test.md", 10);
}

#[test]
fn krm() {
    compare("krm.md", 5);
}

#[test]
fn import() {
    compare("import.md", 7);
}

#[test]
fn list() {
    compare("list.md", 9);
}
