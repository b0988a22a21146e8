//! `kcl edit` as a bot meets it: what is written and what is not, links, permissions, batches that fail. (The page is in `pages.rs`.)
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn kcl(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kcl"));
    command.args(words).current_dir(folder).env("NO_COLOR", "1").output().unwrap()
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn read(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap()
}

#[test]
fn one_refused_change_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("a.k", "x = 1\n"), ("b.k", "x = f()\n"), ("c.k", "x = = 1\n")]);
    let batch = r#"[{"op":"set","target":"a.k","path":"x","json":2},{"op":"set","target":"b.k","path":"x.y","json":2},
        {"op":"set","target":"c.k","path":"x","json":2},{"op":"set","target":"none.k","path":"x","json":2}]"#;
    write(dir.path(), &[("batch.json", batch)]);
    let output = kcl(dir.path(), &["edit", "--batch", "batch.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).ends_with("3 of 4 changes were refused: nothing was written\n"), "{}", err(&output));
    assert!(
        err(&output).contains("b.k:1") && err(&output).contains("c.k does not parse"),
        "{}",
        err(&output)
    );
    assert!(output.stdout.is_empty());
    assert_eq!(read(dir.path(), "a.k"), "x = 1\n");
    let output = kcl(dir.path(), &["edit", "--batch", "batch.json", "--keep-going"]);
    assert_eq!((output.status.code(), read(dir.path(), "a.k").as_str()), (Some(1), "x = 2\n"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "no temporary file is left");
}

#[test]
fn a_batch_that_is_none_is_told() {
    let dir = tempfile::tempdir().unwrap();
    for (text, why) in [
        ("", "it is empty"),
        ("3", "neither"),
        ("[3]", "change 1: it is no object"),
        ("[{\"op\":\"set\"}]", "`value`, `text` or `json` is missing"),
        ("[{\"op\":\"set\",\"valeu\":1}]", "no key `valeu`"),
        ("[{\"op\":\"sett\",\"target\":\"a\",\"path\":\"a\"}]", "no op `sett`"),
        ("[{\"op\":\"unset\",\"target\":\"a\",\"path\":\"a[\"}]", "is no path"),
        ("{\"op\":\"unset\"\n", "is no batch"),
    ] {
        write(dir.path(), &[("batch.json", text)]);
        let output = kcl(dir.path(), &["edit", "--batch", "batch.json"]);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(err(&output).contains(why), "{text}: {}", err(&output));
    }
    assert_eq!(kcl(dir.path(), &["edit", "--batch", "nowhere.json"]).status.code(), Some(1));
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_links_do_not_lead_out() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("out/far.k", "x = 1\n"), ("in/near.k", "y = 1\n"), ("in/keep/a.k", "z = 1\n")]);
    fs::set_permissions(dir.path().join("in/near.k"), fs::Permissions::from_mode(0o640)).unwrap();
    assert!(kcl(dir.path(), &["edit", "set", "in", "y=2"]).status.success());
    let mode = fs::metadata(dir.path().join("in/near.k")).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, read(dir.path(), "in/near.k").as_str()), (0o640, "y = 2\n"));
    symlink("keep/a.k", dir.path().join("in/b.k")).unwrap();
    assert!(kcl(dir.path(), &["edit", "set", "in", "z=2"]).status.success());
    assert_eq!(read(dir.path(), "in/keep/a.k"), "z = 2\n");
    assert!(dir.path().join("in/b.k").is_symlink());
    symlink("../out/far.k", dir.path().join("in/link.k")).unwrap();
    for target in ["in", "in/link.k"] {
        let output = kcl(dir.path(), &["edit", "set", target, "x=2"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains("leads out of its folder"), "{}", err(&output));
    }
    assert_eq!(read(dir.path(), "out/far.k"), "x = 1\n");
}

#[test]
fn bytes_around_the_value_stay() {
    let dir = tempfile::tempdir().unwrap();
    let text = "\u{feff}a   =  1 # one\r\n\r\nb = {\r\n\tc=1\r\n}";
    write(dir.path(), &[("main.k", text)]);
    assert!(kcl(dir.path(), &["edit", "set", "main.k", "a=2", "b.c=3", "b.d=4"]).status.success());
    assert_eq!(read(dir.path(), "main.k"), "\u{feff}a   =  2 # one\r\n\r\nb = {\r\n\tc=3\r\n\td = 4\r\n}");
    fs::write(dir.path().join("latin.k"), [b'a', b'=', 0xff]).unwrap();
    let output = kcl(dir.path(), &["edit", "set", "latin.k", "a=2"]);
    assert!(err(&output).contains("is not UTF-8"), "{}", err(&output));
}

#[test]
fn overrides_that_cannot_be_written_back_leave_the_files() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("main.k", "a = b = 1\nc = 1\n")]);
    let output = kcl(dir.path(), &["run", "main.k", "-d", "-O", "c=2", "-O", "a=3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("-O a=3 cannot be written back"), "{}", err(&output));
    assert_eq!(read(dir.path(), "main.k"), "a = b = 1\nc = 1\n");
    // A run has no flag that takes a value as text.
    for (words, flag) in
        [(&["run", "main.k", "-d", "-O", "c=[1"][..], false), (&["edit", "set", "main.k", "c=[1"], true)]
    {
        let output = kcl(dir.path(), words);
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains("with its quotes"), "{}", err(&output));
        assert_eq!(err(&output).contains("; --string takes it as plain text"), flag, "{}", err(&output));
    }
    assert!(kcl(dir.path(), &["run", "main.k", "-O", "c=2"]).status.success());
    assert_eq!(read(dir.path(), "main.k"), "a = b = 1\nc = 1\n");
    assert!(kcl(dir.path(), &["run", "main.k", "-d", "-O", "c=2", "-O", "d.e:{f=1}"]).status.success());
    assert_eq!(read(dir.path(), "main.k"), "a = b = 1\nc = 2\nd = {e.f = 1}\n");
}

#[test]
fn edits_at_the_same_time_are_all_there() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("main.k", "a = 1\n")]);
    let started = |n: i32| {
        let word = format!("v{n}={n}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kcl"));
        match n % 4 {
            0 => command.args(["run", "main.k", "-d", "-O", &word]),
            _ => command.args(["edit", "set", "main.k", &word]),
        };
        command.current_dir(dir.path()).stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let all: Vec<_> = (0..40).map(started).collect();
    assert!(all.into_iter().all(|mut child| child.wait().unwrap().success()));
    let text = read(dir.path(), "main.k");
    let missing: Vec<i32> = (0..40).filter(|n| !text.contains(&format!("v{n} = {n}\n"))).collect();
    assert_eq!((text.lines().count(), missing), (41, vec![]), "{text}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_is_not_written_is_not_told_as_done() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("main.k", "a = 1\n")]);
    let mut permissions = fs::metadata(dir.path().join("main.k")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(dir.path().join("main.k"), permissions).unwrap();
    let output = kcl(dir.path(), &["edit", "set", "main.k", "a=2"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert_eq!(err(&output), "error: main.k cannot be written: it is read-only\n");
    let output = kcl(dir.path(), &["edit", "set", "main.k", "a=2", "--json"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains(r#""status":"failed""#) && !told.contains("replaced"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_target() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(dir.path().join("pipe.k")).status().unwrap().success());
    let output = kcl(dir.path(), &["edit", "get", "pipe.k", "a"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("pipe.k is neither a file nor a folder"), "{}", err(&output));
}
