//! The pages of the commands: their files are written into a folder, their commands run there, and what they print is compared to
//! the letter (durations are not).
//!
//! A block with a path after its language is a file; a `console` block has commands after `$` and their output. A `##` heading
//! begins with an empty folder. `UPDATE=1 cargo test -p kcl-cli --test pages` writes the outputs anew; read the difference.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// One command and what it printed, errors where they come.
fn shell(folder: &Path, command: &str) -> String {
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

/// Runs the commands of a block and returns the block as it should be.
fn console(folder: &Path, block: &str) -> String {
    let mut out = String::new();
    for part in format!("\n{block}").split("\n$ ").skip(1) {
        let command = part.lines().next().unwrap();
        let said = shell(folder, command);
        let end = if said.is_empty() || said.ends_with('\n') { "" } else { "\n" };
        out.push_str(&format!("$ {command}\n{said}{end}"));
    }
    out
}

/// Runs a page and returns it as it should be, with the number of its commands.
fn run(page: &str) -> (String, usize) {
    let mut folder = tempfile::tempdir().unwrap();
    let mut out = String::new();
    let mut commands = 0;
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 0 {
            if part.contains("\n## ") {
                folder = tempfile::tempdir().unwrap();
            }
            out.push_str(part);
            continue;
        }
        let (info, block) = part.split_once('\n').unwrap();
        let block = match info.split_once(' ') {
            Some((_, path)) => {
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, block).unwrap();
                block.to_owned()
            }
            None if info == "console" => {
                commands += block.matches("$ ").count();
                console(folder.path(), block)
            }
            None => block.to_owned(),
        };
        out.push_str(&format!("```{info}\n{block}```"));
    }
    (out, commands)
}

fn compare(name: &str, at_least: usize) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let page = fs::read_to_string(&file).unwrap();
    let (new, commands) = run(&page);
    assert!(commands >= at_least, "{name} has only {commands} commands");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, new).unwrap();
    } else {
        assert_eq!(new, page);
    }
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
