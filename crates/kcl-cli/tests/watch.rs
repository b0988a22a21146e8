//! `kcl test --watch` and `kcl run --watch`: what changes is run again, until somebody ends it.
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use support::write;

/// A command that goes on, and the lines that it prints.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn start(folder: &Path, words: &[&str]) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kcl"))
            .args(words)
            .current_dir(folder)
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (send, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Running { child, lines }
    }

    /// Waits for a line.
    fn says(&self, wanted: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        let mut said = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if line.contains(wanted) {
                return;
            }
            said.push(line);
        }
        panic!("it does not say {wanted:?}: {said:#?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn cases_run_again_when_a_file_they_read_changes_or_a_new_one_appears() {
    let folder = tempfile::tempdir().unwrap();
    let test = "test_a = lambda {\n    assert a == 1\n}\n";
    write(folder.path(), &[("a.k", "a = 1\n"), ("a_test.k", test)]);
    let running = Running::start(folder.path(), &["test", "--watch"]);
    running.says("PASS: 1/1");
    write(folder.path(), &[("a.k", "a = 22\n")]);
    running.says("FAIL: 1/1");
    write(folder.path(), &[("a.k", "a = 1  # again\n")]);
    running.says("PASS: 1/1");
    write(folder.path(), &[("b_test.k", "test_b = lambda {\n    assert True\n}\n")]);
    running.says("PASS: 2/2");
    // What does not compile is told, and mended.
    write(folder.path(), &[("a.k", "a = (\n")]);
    std::thread::sleep(Duration::from_millis(600));
    write(folder.path(), &[("a.k", "a = 1\n")]);
    running.says("PASS: 2/2");
}

#[test]
fn cases_run_again_when_a_snapshot_changes_or_a_new_package_appears() {
    let folder = tempfile::tempdir().unwrap();
    let (test, kept) = ("test_a = lambda {\n    snapshot(\"s\", 1)\n}\n", "p/__snapshots__/test_a.s.json");
    write(folder.path(), &[("p/a_test.k", test)]);
    let running = Running::start(folder.path(), &["test", "--watch", "./..."]);
    running.says("FAIL: 1/1");
    write(folder.path(), &[(kept, "1\n")]);
    running.says("PASS: 1/1");
    write(folder.path(), &[(kept, "22\n")]);
    running.says("FAIL: 1/1");
    write(folder.path(), &[(kept, "1\n"), ("new/b_test.k", "test_b = lambda {\n    assert True\n}\n")]);
    running.says("PASS: 2/2");
}

#[test]
fn a_report_in_the_watched_folder_is_no_change() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("a_test.k", "test_a = lambda {\n    assert True\n}\n")]);
    let running =
        Running::start(folder.path(), &["test", "--watch", "--junit", "out.xml", "--lcov", "out.info"]);
    running.says("PASS: 1/1");
    // The file was there when the run began, or it appeared with it: once more is fine, again and again is not.
    std::thread::sleep(Duration::from_secs(3));
    let runs = running.lines.try_iter().filter(|line| line.contains("PASS: 1/1")).count();
    assert!(runs <= 1, "{runs} runs more, and nothing changed");
    write(folder.path(), &[("a_test.k", "test_a = lambda {\n    assert False\n}\n")]);
    running.says("FAIL: 1/1");
}

#[test]
fn a_program_runs_again_when_what_it_reads_changes() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("main.k", "import lib\nb = lib.a\n"), ("lib/a.k", "a = 1\n"), ("kcl.mod", "")]);
    let running = Running::start(folder.path(), &["run", "main.k", "--watch"]);
    running.says("b: 1");
    write(folder.path(), &[("lib/a.k", "a = 23\n")]);
    running.says("b: 23");
}
