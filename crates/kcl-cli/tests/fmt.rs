//! `kcl fmt` as a user meets it: the commands of its page, folders, bad files, links, what is written.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{err, kcl, out, write};

#[test]
fn the_commands_of_the_page_print_what_it_says() {
    let page = include_str!("../../../docs/fmt.md");
    let fence = |info: &str| page.split(info).nth(1).unwrap().split("```").next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("main.k", fence("```kcl\n"))]);
    let bin = Path::new(env!("CARGO_BIN_EXE_kcl")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut commands = 0;
    for block in fence("```console\n").split("$ ").skip(1) {
        let (command, expected) = block.split_once('\n').unwrap();
        let output = Command::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(dir.path())
            .envs([("PATH", path.as_str()), ("NO_COLOR", "1")])
            .output()
            .unwrap();
        // A shell applies the redirection to the last command of a pipe, which is ours.
        assert_eq!(out(&output), expected, "{command}");
        commands += 1;
    }
    assert_eq!(commands, 7);
}

#[test]
fn a_folder_is_flat_and_dots_are_deep() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["a.k", "_b_test.k", "in/c.k", "in/.hidden/d.k", "vendor/x/e.k", "in/no.txt"];
    write(dir.path(), &files.map(|path| (path, "a=1\n")));
    assert_eq!(out(&kcl(dir.path(), &["fmt", "--check"])), "_b_test.k\na.k\n");
    let deep = "_b_test.k\na.k\nin/.hidden/d.k\nin/c.k\nvendor/x/e.k\n";
    assert_eq!(out(&kcl(dir.path(), &["fmt", "--check", "./..."])), deep);
    assert_eq!(out(&kcl(dir.path(), &["fmt", "--check", "..."])), deep);
    assert_eq!(out(&kcl(dir.path(), &["fmt", "in/...", "in", "in/c.k"])), "in/.hidden/d.k\nin/c.k\n");
    let done = kcl(dir.path(), &["fmt", "...", "in/no.txt"]);
    assert_eq!(out(&done), "_b_test.k\na.k\nin/no.txt\nvendor/x/e.k\n");
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(kcl(dir.path(), &["fmt", "--check", "..."]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(dir.path().join("vendor/x/e.k")).unwrap(), "a = 1\n");
}

#[test]
fn bad_files_stay_and_the_others_are_formatted() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("bad.k", "a = = 1\nb=2\n"), ("good.k", "\u{feff}a=1\r\n")]);
    fs::write(dir.path().join("latin.k"), [b'a', b'=', 0xff]).unwrap();
    fs::File::create(dir.path().join("large.k")).unwrap().set_len((64 << 20) + 1).unwrap();
    let output = kcl(dir.path(), &["fmt", ".", "nowhere.k"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(out(&output), "good.k\n");
    for said in [
        "error: nowhere.k does not exist",
        "--> bad.k:1:5",
        "error: latin.k is not UTF-8 text: the first wrong byte is number 3, on line 1",
        "error: large.k is larger than 64 MiB",
    ] {
        assert!(err(&output).contains(said), "{said}: {}", err(&output));
    }
    assert_eq!(fs::read_to_string(dir.path().join("bad.k")).unwrap(), "a = = 1\nb=2\n");
    assert_eq!(fs::read_to_string(dir.path().join("good.k")).unwrap(), "a = 1\n");
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "nothing is left behind: {names:?}");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("out.k", "a=1\n"), ("tree/own.k", "a=1\n"), ("tree/in/x.k", "a=1\n")]);
    let tree = dir.path().join("tree");
    symlink("../out.k", tree.join("link.k")).unwrap();
    symlink("..", tree.join("up")).unwrap();
    symlink("own.k", tree.join("twin.k")).unwrap();
    symlink("nowhere", tree.join("gone.k")).unwrap();
    fs::set_permissions(tree.join("own.k"), fs::Permissions::from_mode(0o640)).unwrap();
    let output = kcl(dir.path(), &["fmt", "tree/..."]);
    assert_eq!((out(&output), output.status.code()), ("tree/in/x.k\ntree/own.k\n", Some(0)));
    assert!(err(&output).contains("warning: tree/link.k leads out of the folder"), "{}", err(&output));
    assert!(err(&output).contains("warning: tree/up leads out of the folder"), "{}", err(&output));
    assert_eq!(fs::read_to_string(dir.path().join("out.k")).unwrap(), "a=1\n");
    assert!(tree.join("twin.k").is_symlink());
    assert_eq!(fs::metadata(tree.join("own.k")).unwrap().permissions().mode() & 0o777, 0o640);
    // A link that is named is meant: the file behind it is written, the link stays.
    kcl(dir.path(), &["fmt", "tree/link.k"]);
    assert!(tree.join("link.k").is_symlink());
    assert_eq!(fs::read_to_string(dir.path().join("out.k")).unwrap(), "a = 1\n");
}

#[test]
fn many_files_are_reported_in_order() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..200 {
        write(dir.path(), &[(format!("{i:03}.k").as_str(), "a=1\n")]);
    }
    let expected: String = (0..200).map(|i| format!("{i:03}.k\n")).collect();
    assert_eq!(out(&kcl(dir.path(), &["fmt", "--check", "--jobs", "4", "."])), expected);
    assert_eq!(out(&kcl(dir.path(), &["fmt", "--jobs", "4", "."])), expected);
    assert_eq!(out(&kcl(dir.path(), &["fmt", "."])), "");
}

#[test]
fn wrong_calls_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (words, said) in [
        (&["fmt", "--chek"][..], "did you mean --check"),
        (&["fmt", "-", "a.k"], "`-` stands alone"),
        (&["fmt", "--stdin-filename", "a.k"], "add `-`"),
        (&["fmt", "--jobs", "0"], "write a number from 1 to 256"),
        (&["fmt", "--error-format", "loud"], "is not an error format"),
    ] {
        let output = kcl(dir.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(err(&output).contains(said), "{words:?}: {}", err(&output));
        assert_eq!(out(&output), "");
    }
}
