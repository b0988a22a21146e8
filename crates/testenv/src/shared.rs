//! The plane that the tests of one process share, and the rule for tests without one.
//!
//! In: the environment. Out: a plane, or a loud skip.
//! Rule: a plane named by the environment (`cargo xtask testenv run`) is used; else a cached build is started; else,
//! with `KUSION_REQUIRE_TESTENV=1`, it is built first, and failing to is a failure of the test; else the test is skipped.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::{ControlPlane, Error, Options, cache};

/// The variable that names the folder of a running plane.
pub const ENV_PLANE: &str = "KUSION_TESTENV_DIR";

/// The plane of this process's environment, if there is one.
pub fn attached() -> Option<Result<ControlPlane, Error>> {
    std::env::var_os(ENV_PLANE).map(|folder| ControlPlane::attach(Path::new(&folder)))
}

/// The plane all tests of this process share; `None`, said on stderr, when the test is to be skipped.
///
/// # Panics
/// When a plane is required, or cached, and cannot be started: that is a failed test, not a skipped one.
pub fn shared() -> Option<&'static ControlPlane> {
    static PLANE: OnceLock<Option<ControlPlane>> = OnceLock::new();
    // A static is never dropped; the servers end when the process and with it their pipes end.
    PLANE.get_or_init(start).as_ref()
}

/// Whether everything that a test needs must be there: a judge's run has no skipped tests.
pub fn required() -> bool {
    std::env::var_os("KUSION_REQUIRE_TESTENV").is_some_and(|value| value != "0" && !value.is_empty())
}

/// Says aloud that something is skipped, past the test harness's capture.
///
/// # Panics
/// Where nothing may be skipped ([`required`]).
pub fn skip(what: &str) {
    assert!(!required(), "KUSION_REQUIRE_TESTENV=1, but {what}");
    // Nobody listening is no reason to fail.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

/// A pinned program that CI builds; without it the test is skipped aloud, and fails where nothing may be skipped.
pub fn needed(executable: &str) -> Option<PathBuf> {
    let found = cache::program(executable);
    if found.is_none() {
        skip(&format!("{executable} is not built (cargo xtask testenv build {executable})"));
    }
    found
}

/// A pinned program to compare with that CI does not build: without it the test says so and ends, always.
pub fn peer(executable: &str) -> Option<PathBuf> {
    let found = cache::program(executable);
    if found.is_none() {
        no_peer(executable);
    }
    found
}

/// Says aloud that a peer is not here.
pub(crate) fn no_peer(name: &str) {
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: {name} is a peer that is not built here (cargo xtask testenv build {name})"
    );
}

/// Whether a program of the system is there; if not, the test is skipped aloud or fails, as with [`needed`].
pub fn installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).any(|folder| folder.join(program).is_file());
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

fn start() -> Option<ControlPlane> {
    let required = required();
    let plane = match attached() {
        Some(plane) => plane,
        None if required || cache::binary().is_some() => {
            ControlPlane::start(Options { build: required, ..Options::default() })
        }
        None => {
            skip(
                "tests on the real control plane; run `cargo xtask testenv build` once, or set KUSION_REQUIRE_TESTENV=1",
            );
            return None;
        }
    };
    match plane {
        Ok(plane) => Some(plane),
        Err(error) => panic!("the test control plane: {error}"),
    }
}
