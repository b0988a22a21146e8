//! `cargo xtask bindings [python|node|go]`: builds the C library and what stands on it, installs each artefact into an empty
//! environment, runs its tests with its own test runner, and the example of its README.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::ChoreResult;
use crate::oracle::root;

/// A language: its name, and what builds and judges it.
type Language = (&'static str, fn(&Place) -> Result<(), String>);

const LANGUAGES: &[Language] = &[("python", python), ("node", node), ("go", go)];

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
        return Err(format!("usage: cargo xtask bindings [python] [node] [go], not `{word}`"));
    }
    let root = root();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let place = Place { out: target.join("bindings"), built: target.join("debug"), root };
    fs::create_dir_all(&place.out).map_err(|e| format!("{}: {e}", place.out.display()))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    ran(Command::new(cargo).args(["build", "-p", "kcl-c", "-p", "kcl-server"]).current_dir(&place.root))?;
    for (name, judge) in
        LANGUAGES.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|w| w == name))
    {
        judge(&place).map_err(|message| format!("{name}: {message}"))?;
        eprintln!("bindings: {name}: ok");
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a command; its output is told only if it fails.
fn ran(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        Ok(out.into_owned())
    } else {
        Err(format!("{command:?}: {}\n{out}{err}", output.status))
    }
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

fn python(place: &Place) -> Result<(), String> {
    let source = place.root.join("bindings/python");
    let tools = place.out.join("python-tools");
    if !tools.join("bin/maturin").exists() {
        ran(Command::new("python3").args(["-m", "venv"]).arg(&tools))?;
        ran(Command::new(tools.join("bin/pip")).args(["-q", "install", "maturin>=1.7,<2", "cffi>=1.16"]))?;
    }
    let wheels = place.out.join("wheels");
    fresh(&wheels)?;
    ran(Command::new(tools.join("bin/maturin"))
        .args(["build", "--profile", "dev", "--compatibility", "linux", "-i"])
        .arg(tools.join("bin/python"))
        .arg("--out")
        .arg(&wheels)
        .current_dir(&source))?;
    let wheel = only_file(&wheels, "whl")?;
    let empty = place.out.join("python-empty");
    fresh(&empty)?;
    ran(Command::new("python3").args(["-m", "venv"]).arg(&empty))?;
    ran(Command::new(empty.join("bin/pip")).args(["-q", "install"]).arg(&wheel))?;
    let (code, wanted) = example(&source.join("README.md"), "python")?;
    // The example runs with the wheel alone; the test runner comes afterwards.
    same(
        &wanted,
        &ran(Command::new(empty.join("bin/python")).args(["-I", "-c", &code]).current_dir(&place.out))?,
    )?;
    ran(Command::new(empty.join("bin/pip")).args(["-q", "install", "pytest"]))?;
    let tests = source.join("tests");
    ran(Command::new(empty.join("bin/pytest"))
        .args(["-q", "-p", "no:cacheprovider"])
        .arg(&tests)
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
    copy(&place.built.join("libkcl_c.so"), &build.join("libkcl.so"))?;
    let headers = place.out.join("node-headers");
    if !headers.join("node_modules/node-api-headers/include").exists() {
        fresh(&headers)?;
        ran(Command::new("npm")
            .args(["install", "--silent", "--no-save", "node-api-headers@1.9.0"])
            .current_dir(&headers))?;
    }
    ran(Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-DNAPI_VERSION=8",
            "-Wl,-rpath,$ORIGIN",
            "-o",
        ])
        .arg(build.join("kcl.node"))
        .arg(source.join("src/addon.c"))
        .arg(format!("-I{}", headers.join("node_modules/node-api-headers/include").display()))
        .arg(format!("-I{}", place.root.join("crates/kcl-c/include").display()))
        .arg(format!("-L{}", build.display()))
        .arg("-lkcl"))?;
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
