//! `cargo xtask bindings [c] [python] [node] [go]`: builds what other languages use, installs each artefact into an empty environment,
//! runs the example of its README there, and its tests with its own test runner. (The C library's tests are `cargo test -p kcl-c`.)

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::ChoreResult;
use crate::build::{built, clean, ran, target};
use crate::oracle::root;

/// A language: its name, and what builds and judges it.
type Language = (&'static str, fn(&Place) -> Result<(), String>);

const LANGUAGES: &[Language] = &[("c", c), ("python", python), ("node", node), ("go", go)];

/// Where things are.
struct Place {
    root: PathBuf,
    /// What is built, and the environments.
    out: PathBuf,
    /// The folder of the binaries.
    built: PathBuf,
}

pub(crate) fn main(words: &[String]) -> ChoreResult {
    if let Some(word) = words.iter().find(|word| !LANGUAGES.iter().any(|(name, _)| name == word)) {
        return Err(format!("usage: cargo xtask bindings [c] [python] [node] [go], not `{word}`"));
    }
    let out = target().join("bindings");
    fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let built = built()?;
    let place = Place { root: root(), out, built };
    for (name, judge) in
        LANGUAGES.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|w| w == name))
    {
        let begun = Instant::now();
        judge(&place).map_err(|message| format!("{name}: {message}"))?;
        eprintln!("bindings: {name}: ok in {:.1} s", begun.elapsed().as_secs_f64());
    }
    Ok(ExitCode::SUCCESS)
}

fn fresh(folder: &Path) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(told)?;
    }
    fs::create_dir_all(folder).map_err(told)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(|_| ()).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

/// The first example of a README, and what it prints.
fn example(readme: &Path, language: &str) -> Result<(String, String), String> {
    let text = fs::read_to_string(readme).map_err(|e| format!("{}: {e}", readme.display()))?;
    let block = |start: &str, from: usize| -> Option<(String, usize)> {
        let begin = from + text.get(from..)?.find(&format!("```{start}\n"))? + start.len() + 4;
        let end = begin + text.get(begin..)?.find("\n```")?;
        Some((format!("{}\n", text.get(begin..end)?), end))
    };
    let found = block(language, 0).and_then(|(code, end)| Some((code, block("yaml", end)?.0)));
    found.ok_or_else(|| format!("{} has no example with its output", readme.display()))
}

fn same(wanted: &str, printed: &str) -> Result<(), String> {
    match wanted == printed {
        true => Ok(()),
        false => Err(format!("the example of the README prints\n{printed}and not\n{wanted}")),
    }
}

/// The library and its header in a folder of their own, as a package installs them; a program that sees nothing else.
fn c(place: &Place) -> Result<(), String> {
    let prefix = place.out.join("c-empty");
    for folder in ["include", "lib"] {
        fresh(&prefix.join(folder))?;
    }
    let source = place.root.join("crates/kcl-c");
    copy(&source.join("include/kcl.h"), &prefix.join("include/kcl.h"))?;
    copy(&place.built.join("libkcl_c.so"), &prefix.join("lib/libkcl.so"))?;
    let (code, wanted) = example(&source.join("README.md"), "c")?;
    let program = prefix.join("example");
    fs::write(prefix.join("example.c"), code).map_err(|e| format!("example.c: {e}"))?;
    ran(Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-Iinclude", "-Llib", "-Wl,-rpath,$ORIGIN/lib"])
        .args(["-o", "example", "example.c", "-lkcl"])
        .current_dir(&prefix))?;
    same(&wanted, &ran(&mut Command::new(&program))?)?;
    let flags =
        ["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"];
    same(&wanted, &ran(Command::new("valgrind").args(flags).arg(&program))?)
}

fn python(place: &Place) -> Result<(), String> {
    let source = place.root.join("bindings/python");
    let tools = place.out.join("python-tools");
    let pip = |environment: &Path| {
        let mut command = Command::new(environment.join("bin/pip"));
        command.args(["install", "-q", "--disable-pip-version-check"]);
        command
    };
    if !tools.join("bin/mypy").exists() {
        ran(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&tools))?;
        ran(pip(&tools).args(["maturin>=1.7,<2", "mypy>=1.10,<2", "pytest>=8,<10"]))?;
    }
    let wheels = place.out.join("wheels");
    fresh(&wheels)?;
    ran(clean(&mut Command::new(tools.join("bin/maturin")))
        .args(["build", "--locked", "--profile", "dev", "--compatibility", "linux", "--out"])
        .arg(&wheels)
        .current_dir(&source))?;
    let wheel = only_file(&wheels, "whl")?;
    if !wheel.to_string_lossy().contains("-cp39-abi3-") {
        return Err(format!("{} is not for every Python from 3.9 on", wheel.display()));
    }
    let empty = place.out.join("python-empty");
    ran(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&empty))?;
    ran(pip(&empty).args(["--no-index"]).arg(&wheel))?;
    let (code, wanted) = example(&source.join("README.md"), "python")?;
    let python = empty.join("bin/python");
    // The example runs with the wheel alone.
    same(&wanted, &ran(Command::new(&python).args(["-I", "-c", &code]).current_dir(&place.out))?)?;
    // The test runner stands beside it: the environment stays empty.
    let packages = ran(Command::new(tools.join("bin/python"))
        .args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'), end='')"]))?;
    ran(Command::new(&python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(source.join("tests"))
        .env("PYTHONPATH", packages)
        .current_dir(&place.out))?;
    // The types are those that a user's own checker sees.
    ran(pip(&tools).args(["--no-index", "--no-deps", "--force-reinstall"]).arg(&wheel))?;
    ran(Command::new(tools.join("bin/mypy"))
        .args(["--strict", "--no-incremental"])
        .arg(source.join("tests"))
        .current_dir(&place.out))
    .map(|_| ())
}

fn only_file(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut found =
        entries.flatten().map(|e| e.path()).filter(|path| path.extension().is_some_and(|e| e == ending));
    found.next().ok_or_else(|| format!("there is no .{ending} in {}", folder.display()))
}

fn node(place: &Place) -> Result<(), String> {
    let source = place.root.join("bindings/node");
    let build = source.join("build");
    fresh(&build)?;
    // An addon cannot be a test, so `built` leaves it out; beside the chores it has the features that all tests have.
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    ran(clean(&mut cargo)
        .args(["build", "--locked", "-p", "xtask", "-p", "kcl-node"])
        .current_dir(&place.root))?;
    copy(&place.built.join("libkcl_node.so"), &build.join("kcl.node"))?;
    ran(Command::new("node").args(["--test", "test/"]).current_dir(&source))?;
    let packed = place.out.join("npm");
    fresh(&packed)?;
    ran(Command::new("npm")
        .args(["pack", "--silent", "--pack-destination"])
        .arg(&packed)
        .current_dir(&source))?;
    let archive = only_file(&packed, "tgz")?;
    let empty = place.out.join("node-empty");
    fresh(&empty)?;
    ran(Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund"])
        .arg(&archive)
        .current_dir(&empty))?;
    let (code, wanted) = example(&source.join("README.md"), "js")?;
    same(&wanted, &ran(Command::new("node").args(["-e", &code]).current_dir(&empty))?)
}

fn go(place: &Place) -> Result<(), String> {
    let source = place.root.join("bindings/go");
    let server = place.built.join("kcl-server");
    let command = |folder: &Path| {
        let mut command = Command::new("go");
        command
            .current_dir(folder)
            .env("KCL_SERVER", &server)
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod")
            .env("CGO_ENABLED", "0");
        command
    };
    ran(command(&source).args(["vet", "./..."]))?;
    ran(command(&source).args(["test", "-count=1", "./..."]))?;
    let empty = place.out.join("go-empty");
    fresh(&empty)?;
    let (code, wanted) = example(&source.join("README.md"), "go")?;
    let module = format!(
        "module example\n\ngo 1.25\n\nrequire kusionstack.io/kcl v0.0.0\n\nreplace kusionstack.io/kcl => {}\n",
        source.display()
    );
    for (name, text) in [("go.mod", &module), ("main.go", &code)] {
        fs::write(empty.join(name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    same(&wanted, &ran(command(&empty).args(["run", "."]))?)
}
