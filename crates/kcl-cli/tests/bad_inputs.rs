//! What every command does with input that cannot be right: it says what and where, ends with 1, and changes nothing.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{err, kcl, out, write};

/// The commands; `@` is the bad thing: a folder of source, or with `@.k` a file in it.
const SOURCE: &[&str] = &[
    "fmt @",
    "fmt @/...",
    "fmt @/bad.k",
    "fmt --check @",
    "fmt --diff @",
    "lint @",
    "lint --fix @/...",
    "lint --unsafe-fixes @/bad.k",
    "lint --format sarif @",
    "vet good.json @",
    "vet --fill good.json @/bad.k",
    "test @",
    "test --update --coverage @/...",
    "doc @",
    "doc @ --format html --target site",
    "doc @ --format openapi --target openapi.json",
    "doc --test @",
    "run @/bad.k",
    "run @/bad.k -o out.yaml",
    "edit set @ a=1",
    "edit rename @ a=b",
    "list schemas @/bad.k",
    "list options @/bad.k",
];

/// Commands of data; `@` is the file.
const DATA: &[&str] =
    &["vet @ good.k", "vet good.json @ good.k", "vet --fill @ good.k", "vet --json @ good.k"];

/// A folder with one good package, one good document, and something outside of it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            ("work/good.k", "schema Good:\n    a: int\n"),
            ("work/good.json", "{\"a\": 1}\n"),
            ("outside/secret.k", "secret   =  1\n"),
        ],
    );
    folder
}

/// Every file below a folder with its content, links as what they say.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut next = vec![folder.to_path_buf()];
    while let Some(folder) = next.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                found.insert(path.clone(), fs::read_link(path).unwrap().display().to_string().into_bytes());
            } else if path.is_dir() {
                found.insert(path.clone(), b"folder".to_vec());
                next.push(path);
            } else if !path.is_file() {
                found.insert(path.clone(), b"pipe".to_vec());
            } else if path.metadata().unwrap().len() > 1 << 20 {
                found.insert(path.clone(), path.metadata().unwrap().len().to_string().into_bytes());
            } else {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

fn judge(command: &str, output: &Output, says: &[&str]) {
    let all =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "kcl {command}\n{all}");
    assert!(!all.contains("panicked") && !all.contains("internal error"), "kcl {command}\n{all}");
    assert!(says.iter().any(|words| all.contains(words)), "kcl {command} does not say {says:?}\n{all}");
}

/// Runs the commands on something bad that is made in the folder `bad`.
fn try_all(commands: &[&str], make: impl Fn(&Path), at: &str, says: &[&str]) {
    let folder = folder();
    let work = folder.path().join("work");
    fs::create_dir(work.join("bad")).unwrap();
    make(&work.join("bad"));
    let before = tree(folder.path());
    for command in commands {
        let command = command.replace('@', at);
        let words: Vec<&str> = command.split(' ').collect();
        let output = kcl(&work, &words);
        judge(&command, &output, says);
        assert_eq!(tree(folder.path()), before, "kcl {command} has changed something");
    }
}

#[test]
fn a_file_that_does_not_parse() {
    let make = |bad: &Path| {
        fs::write(bad.join("bad.k"), "a = (1\nschema S:\n    x:   int\n").unwrap();
        fs::write(bad.join("bad_test.k"), "test_a = lambda {\n").unwrap();
    };
    try_all(SOURCE, make, "bad", &["E1001", "does not parse", "InvalidSyntax"]);
}

#[test]
fn text_that_is_not_utf8() {
    let make = |bad: &Path| fs::write(bad.join("bad.k"), b"a = \"\xff\"\n").unwrap();
    try_all(SOURCE, make, "bad", &["bad.k is not UTF-8 text: the first wrong byte is number 6, on line 1"]);
    let make = |bad: &Path| fs::write(bad.join("bad.json"), b"{\"a\": \"\xff\"}").unwrap();
    try_all(DATA, make, "bad/bad.json", &["bad.json is not UTF-8 text: the first wrong byte is number 8"]);
}

#[test]
fn a_file_of_100_megabytes() {
    let large = |path: PathBuf| fs::File::create(path).unwrap().set_len(100 << 20).unwrap();
    let says = &["is larger than 64 MiB"];
    try_all(SOURCE, |bad| large(bad.join("bad.k")), "bad", says);
    try_all(DATA, |bad| large(bad.join("bad.json")), "bad/bad.json", says);
}

/// Who opens a pipe waits for its writer: commands that replace files do not even open it.
#[test]
fn a_pipe() {
    let make = |bad: &Path| {
        assert!(Command::new("mkfifo").arg(bad.join("bad.k")).status().unwrap().success());
    };
    let commands = ["fmt @", "fmt --check @", "lint @", "lint --fix @", "lint --format json @"];
    try_all(&commands, make, "bad/bad.k", &["bad/bad.k is a pipe or a device, not a file"]);
}

#[test]
fn a_folder_that_cannot_be_read() {
    // A link that leads to itself: not even the superuser, who may read everything, can read that.
    let make = |bad: &Path| symlink("loop", bad.join("loop")).unwrap();
    let commands: Vec<&str> = SOURCE.iter().copied().filter(|command| !command.starts_with("run")).collect();
    try_all(&commands, make, "bad/loop", &["cannot be read", "Cannot find the kcl file"]);
    try_all(DATA, make, "bad/loop/bad.json", &["cannot be read"]);
}

#[test]
fn data_that_is_none() {
    let make = |bad: &Path| fs::write(bad.join("bad.json"), "{\"a\": 1,}").unwrap();
    try_all(DATA, make, "bad/bad.json", &["bad.json", "E1001"]);
    try_all(DATA, |_| {}, "bad/missing.json", &["missing.json does not exist"]);
    try_all(&["vet @ good.k"], |_| {}, "bad", &["there is no data"]);
}

/// A link out of the tree is told and left alone; what it leads to is neither read into a report nor written.
#[test]
fn a_link_that_leads_out() {
    let folder = folder();
    let work = folder.path().join("work");
    write(&work, &[("bad/a.k", "schema A:\n    \"\"\"An A.\"\"\"\n    a: int\n")]);
    symlink("../../outside/secret.k", work.join("bad/link.k")).unwrap();
    symlink("../../outside", work.join("bad/sub")).unwrap();
    let before = tree(&folder.path().join("outside"));
    for command in [
        "fmt bad/...",
        "lint --unsafe-fixes bad/...",
        "doc bad --format html --target site",
        "doc --test bad",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let output = kcl(&work, &words);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", err(&output));
        assert!(err(&output).contains("link.k leads out of the folder"), "{command}: {}", err(&output));
        assert!(!out(&output).contains("secret"), "{command}");
        assert_eq!(tree(&folder.path().join("outside")), before, "{command}");
    }
    for page in tree(&work.join("site")).into_values() {
        assert!(
            !String::from_utf8_lossy(&page).contains("secret   ="),
            "the site shows a file outside of the folder"
        );
    }
    let output = kcl(&work, &["edit", "set", "bad/link.k", "secret=2"]);
    judge("edit set", &output, &["leads out of its folder"]);
    assert_eq!(tree(&folder.path().join("outside")), before);
}

fn shell(folder: &Path, command: &str) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_kcl")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-c", command]).current_dir(folder).env("PATH", path).env("NO_COLOR", "1").output().unwrap()
}

#[test]
fn standard_input_that_is_closed_or_empty() {
    let folder = folder();
    let work = folder.path().join("work");
    for command in
        ["kcl fmt - <&-", "kcl vet - good.k <&-", "kcl edit --batch - <&-", "kcl edit --batch - < /dev/null"]
    {
        let output = shell(&work, command);
        let said = format!("{}{}", out(&output), err(&output));
        assert!(!said.contains("panicked"), "{command}: {said}");
        assert_eq!(output.status.code(), Some(1), "{command}: {said}");
        let closed = command.ends_with("<&-") && cfg!(target_os = "linux");
        assert_eq!(said.contains("standard input is closed"), closed, "{command}: {said}");
    }
    // Nothing is a text, but no document and no batch.
    assert_eq!(shell(&work, "kcl fmt - < /dev/null").status.code(), Some(0));
}

/// Whoever reads us may go away: that is no error, and never a panic. A full disk is one.
#[test]
fn a_reader_that_is_gone_and_a_disk_that_is_full() {
    let folder = folder();
    let work = folder.path().join("work");
    write(&work, &[("odd.k", "a   =   1\n"), ("good_test.k", "test_a = lambda {\n    assert False\n}\n")]);
    let commands = [
        "kcl --help",
        "kcl explain",
        "kcl explain E1001",
        "kcl completion bash",
        "kcl run odd.k",
        "kcl fmt --diff odd.k",
        "kcl fmt --help",
        "kcl lint",
        "kcl lint --format sarif",
        "kcl vet good.json good.k",
        "kcl test",
        "kcl test --json",
        "kcl doc",
        "kcl doc --test",
        "kcl doc --format openapi",
        "kcl edit get odd.k a",
    ];
    for command in commands {
        let gone =
            shell(&work, &format!("set -o pipefail; ({command} 2>&1; echo $? > code) | true; cat code"));
        assert!(["0\n", "1\n"].contains(&out(&gone)), "{command} ends with {}", out(&gone));
        let full = shell(&work, &format!("{command} > /dev/full"));
        assert_eq!(full.status.code(), Some(1), "{command}: {}", err(&full));
        assert!(!err(&full).contains("panicked"), "{command}: {}", err(&full));
    }
}

/// No file may grow: what was there stays, nothing half-written is left, and nobody says that it was done.
#[test]
fn a_disk_that_takes_nothing_more() {
    let folder = folder();
    let work = folder.path().join("work");
    let test = "test_a = lambda {\n    snapshot(\"a\", 1)\n}\n";
    write(
        &work,
        &[
            ("odd/odd.k", "import   math\na   =   1\n"),
            ("t/a_test.k", test),
            ("t/lib.k", "b = 1\n"),
            ("t/__snapshots__/test_a.old.json", "1\n"),
        ],
    );
    let before = tree(folder.path());
    for command in [
        "kcl fmt odd",
        "kcl lint --fix odd",
        "kcl test --update t",
        "kcl test --junit out.xml t",
        "kcl test --lcov out.info t",
        "kcl doc --target out",
        "kcl doc --format html --target out",
        "kcl doc --format openapi --target out.json",
    ] {
        let output = shell(&work, &format!("trap '' XFSZ; ulimit -f 0; {command}"));
        let said = format!("{}{}", out(&output), err(&output));
        assert_eq!(output.status.code(), Some(1), "{command}: {said}");
        assert!(said.contains("cannot be written") && !said.contains("mended"), "{command}: {said}");
        assert_eq!(tree(folder.path()), before, "{command}: {said}");
    }
}

/// Standard output by its name is standard output, also where a file stands behind it.
#[test]
fn reports_to_standard_output() {
    let folder = folder();
    let work = folder.path().join("work");
    write(&work, &[("good_test.k", "test_a = lambda {\n    assert True\n}\n")]);
    let ran = shell(&work, "(echo before; kcl test --junit /dev/stdout; echo after) > all.txt");
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    let all = fs::read_to_string(work.join("all.txt")).unwrap();
    assert!(all.starts_with("before\n<?xml ") && all.ends_with("PASS: 1/1\nafter\n"), "{all}");
}

/// Where an error names a flag, the command has it.
#[test]
fn budgets_can_be_set_where_programs_run() {
    let folder = tempfile::tempdir().unwrap();
    let endless = "f = lambda n: int -> int {\n    f(n + 1)\n}\n";
    let files = [
        ("a.k", "schema S:\n    a: int\n    check:\n        sum([x for x in range(1000)]) > a\n"),
        ("a.json", "{\"a\": 1}"),
        ("t/f.k", endless),
        ("t/f_test.k", "test_f = lambda {\n    f(1)\n}\n"),
    ];
    write(folder.path(), &files);
    let said = |words: &[&str]| {
        let output = kcl(folder.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        format!("{}{}", out(&output), err(&output))
    };
    assert!(said(&["vet", "a.json", "a.k", "--max-steps", "100"]).contains("raise it with --max-steps"));
    assert!(said(&["test", "t", "--max-depth", "100"]).contains("nesting (100); if it is meant to be"));
    assert!(said(&["test", "t"]).contains("nesting (8000), which is as large as it can be"));
}

/// Names are bytes on this system; ours are texts.
#[test]
fn names_that_are_not_utf8() {
    let folder = folder();
    let work = folder.path().join("work");
    fs::create_dir(work.join("n")).unwrap();
    let made = shell(&work, "printf '_a = 1\\n' > $'n/b\\xff.k'");
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    for command in
        ["kcl lint n", "kcl lint n/*", "kcl fmt n/*", "kcl vet n/* good.k", "kcl doc n", "kcl test n"]
    {
        let output = shell(&work, command);
        let said = format!("{}{}", out(&output), err(&output));
        let is_told = said.contains("is not UTF-8 text") || said.contains("Cannot find the kcl file");
        // A folder without tests has nothing to run.
        let quiet = command == "kcl test n" && output.status.code() == Some(0);
        assert!(quiet || is_told && output.status.code() == Some(1), "{command}: {said}");
    }
}
