//! A C program, compiled by the C compiler here, calls the library; once more under valgrind, where that is installed.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The shared library stands beside this test.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libkcl_c.so")
}

fn ran(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    output
}

#[test]
fn a_c_program_calls_it_from_several_threads_and_leaks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(library().is_file(), "{}", library().display());
    std::fs::copy(library(), folder.path().join("libkcl.so")).unwrap();
    let program = folder.path().join("kcl-test");
    let place = folder.path().display().to_string();
    ran(Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-g", "-o"])
        .arg(&program)
        .arg(here.join("tests/kcl.c"))
        .args([
            format!("-I{}", here.join("include").display()),
            format!("-L{place}"),
            "-lkcl".to_owned(),
            "-lpthread".to_owned(),
            format!("-Wl,-rpath,{place}"),
        ]));
    let output = ran(Command::new(&program).arg("50"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
    if !testenv::installed("valgrind") {
        return;
    }
    let flags = [
        "-q",
        "--error-exitcode=9",
        "--leak-check=full",
        "--show-leak-kinds=definite,indirect",
        "--errors-for-leak-kinds=definite,indirect",
    ];
    // Valgrind sees that a run stands on a stack of its own, and says so on standard error.
    let output = ran(Command::new("valgrind").args(flags).arg(&program).arg("1"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
}
