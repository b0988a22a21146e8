//! Links the binary for a fast start on Linux: at a fixed address, and with the C library inside.
//!
//! A position-independent binary of this size has about 15,000 relocations, which the loader applies at every start: they touch 80
//! pages and cost more than a whole `kcl run` of a small program. At a fixed address there are none. Three shared libraries cost as
//! much again; where the static ones are installed they are used instead. (Cargo's own switch for this, `crt-static`, would reach
//! the procedural macros too, which cannot be static.)

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the standard library asks for by name, in the order in which it does.
const ASKED: &[&str] = &["gcc_s", "util", "rt", "pthread", "m", "dl", "c"];
/// What answers instead.
const STATIC: &[&str] = &["libgcc_eh.a", "libgcc.a", "libm.a", "libpthread.a", "libdl.a", "libc.a"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |key: &str| std::env::var(key).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") != "linux"
        || variable("CARGO_CFG_TARGET_ENV") != "gnu"
        || variable("HOST") != variable("TARGET")
    {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let folder = PathBuf::from(variable("OUT_DIR"));
    let found: Option<Vec<PathBuf>> = STATIC.iter().map(|name| find(name)).collect();
    if let Some(libraries) = found
        && write_scripts(&folder, &libraries).is_ok()
    {
        println!("cargo::rustc-link-arg-bins=-static");
        println!("cargo::rustc-link-arg-bins=-L{}", folder.display());
    }
}

/// Asks the C compiler where a library is; it answers with the bare name if it knows none.
fn find(name: &str) -> Option<PathBuf> {
    let answer = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim());
    (path.is_absolute() && path.is_file()).then_some(path)
}

/// Under the name of each shared library a linker script that names the static ones.
fn write_scripts(folder: &Path, libraries: &[PathBuf]) -> std::io::Result<()> {
    let names: Vec<String> = libraries.iter().map(|path| path.display().to_string()).collect();
    for name in ASKED {
        std::fs::write(folder.join(format!("lib{name}.so")), format!("GROUP({})\n", names.join(" ")))?;
    }
    Ok(())
}
