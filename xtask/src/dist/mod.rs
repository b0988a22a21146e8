//! `cargo xtask dist`: archives of the programs with completions, manual pages and licences, a package of Debian, checksums and a bill
//! of materials. The same commit gives the same bytes.
//!
//! `--quick` packs what tests are made of, for CI; `--built` what is in a folder already. Either form packs twice and compares, then installs, upgrades and removes the result.

mod check;
mod deb;
mod parts;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sha2::{Digest as _, Sha256};

use crate::ChoreResult;
use crate::build::{built, clean, ran, target};
use crate::oracle::root;
use parts::Parts;
use tree::{Tree, gzip};

const USAGE: &str =
    "usage: cargo xtask dist [--quick | --built FOLDER] [--twice] [--debian-root] [--out FOLDER]";

/// A set of programs: the archive's name, its packages, its programs.
type Set = (&'static str, &'static [&'static str], &'static [&'static str]);

const SETS: &[Set] = &[
    ("kcl", &["kcl-cli", "kcl-server"], &["kcl", "kcl-server"]),
    ("kusion", &["kusion-cli"], &["kusion"]),
    ("libkcl", &["kcl-c"], &[]),
];
/// Programs that print their own completions and manual page.
const SPEAKING: [&str; 2] = ["kcl", "kusion"];
const PACKAGES: [&str; 4] = ["kcl-cli", "kcl-server", "kusion-cli", "kcl-c"];

/// What is asked for.
struct Wish {
    quick: bool,
    twice: bool,
    debian_root: bool,
    /// A folder with programs that somebody has built.
    built: Option<PathBuf>,
    out: PathBuf,
}

/// Everything that ends up in packages, and what it is made with.
struct Ground {
    version: String,
    time: u64,
    level: u32,
    /// The folder of the programs.
    built: PathBuf,
    completions: BTreeMap<String, Vec<u8>>,
    manuals: BTreeMap<String, String>,
}

pub(crate) fn main(words: &[String]) -> ChoreResult {
    let wish = wish(words)?;
    let built = match &wish.built {
        Some(folder) => folder.clone(),
        None if wish.quick => quick()?,
        None => release(&target().join("dist"))?,
    };
    let ground = Ground::new(built, wish.quick)?;
    let files = ground.files()?;
    same("packing it again", &files, &ground.files()?)?;
    if wish.twice {
        let other = Ground::new(release(&target().join("dist-2"))?, wish.quick)?;
        same("building it again in another folder", &files, &other.files()?)?;
    }
    if wish.out.exists() {
        fs::remove_dir_all(&wish.out).map_err(|e| format!("{}: {e}", wish.out.display()))?;
    }
    fs::create_dir_all(&wish.out).map_err(|e| format!("{}: {e}", wish.out.display()))?;
    for (name, bytes) in &files {
        fs::write(wish.out.join(name), bytes).map_err(|e| format!("{name}: {e}"))?;
        eprintln!("dist: {name}: {} KiB", bytes.len().div_ceil(1024));
    }
    check::all(&wish.out, &ground, wish.debian_root)?;
    eprintln!(
        "dist: packed twice with the same bytes, installed, upgraded and removed: {}",
        wish.out.display()
    );
    Ok(ExitCode::SUCCESS)
}

fn wish(words: &[String]) -> Result<Wish, String> {
    let mut wish =
        Wish { quick: false, twice: false, debian_root: false, built: None, out: target().join("packages") };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => wish.quick = true,
            "--twice" => wish.twice = true,
            "--debian-root" => wish.debian_root = true,
            "--built" => wish.built = Some(words.next().ok_or(USAGE)?.into()),
            "--out" => wish.out = words.next().ok_or(USAGE)?.into(),
            _ => return Err(USAGE.into()),
        }
    }
    match wish.quick && wish.twice {
        true => Err("--twice builds for a release, --quick does not".into()),
        false => Ok(wish),
    }
}

fn same(what: &str, a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let differs: Vec<&str> =
        a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).map(String::as_str).collect();
    match differs.is_empty() {
        true => Ok(()),
        false => Err(format!("{what} gives other bytes: {}", differs.join(", "))),
    }
}

/// The programs of tests, without what only debuggers read.
fn quick() -> Result<PathBuf, String> {
    let built = built()?;
    let folder = target().join("dist-quick");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for name in ["kcl", "kcl-server", "kusion", "libkcl_c.so"] {
        ran(Command::new("strip").arg("-o").arg(folder.join(name)).arg(built.join(name)))?;
    }
    Ok(folder)
}

/// Builds for a release in a folder of its own; where that is does not get into the programs. Nothing comes out of a cache of
/// compilers: two builds would be one.
fn release(folder: &Path) -> Result<PathBuf, String> {
    let home =
        std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    let home = home.map_err(|_| "neither CARGO_HOME nor HOME is set")?;
    let places = renamed(&home, &root().display().to_string(), &folder.display().to_string());
    let flags = |flag: &str| -> String {
        places.iter().map(|(from, to)| format!("{flag}{from}={to}")).collect::<Vec<_>>().join(" ")
    };
    let mut command = Command::new("cargo");
    clean(&mut command).args(["build", "--release", "--locked"]).current_dir(root());
    for package in PACKAGES {
        command.args(["-p", package]);
    }
    ran(command
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTC_WRAPPER", "")
        .env("RUSTFLAGS", flags("--remap-path-prefix="))
        .env("CFLAGS", flags("-ffile-prefix-map=")))?;
    Ok(folder.join("release"))
}

/// Folders and the names that programs know them by. Both compilers take the last row that fits, so what is inside another
/// folder comes after it.
fn renamed(home: &str, source: &str, target: &str) -> Vec<(String, &'static str)> {
    let mut places =
        vec![(home.to_owned(), "/cargo"), (source.to_owned(), "/source"), (target.to_owned(), "/target")];
    places.sort_by_key(|(folder, _)| folder.len());
    places
}

/// The SHA-256 of bytes, in letters.
fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Ground {
    fn new(built: PathBuf, quick: bool) -> Result<Ground, String> {
        let (mut completions, mut manuals) = (BTreeMap::new(), BTreeMap::new());
        let said = |program: &str, words: &[&str]| ran(Command::new(built.join(program)).args(words));
        for program in SPEAKING {
            for (shell, path) in [
                ("bash", format!("bash-completion/completions/{program}")),
                ("zsh", format!("zsh/vendor-completions/_{program}")),
                ("fish", format!("fish/vendor_completions.d/{program}.fish")),
            ] {
                completions.insert(path, said(program, &["completion", shell])?.into_bytes());
            }
            manuals.insert(program.to_owned(), said(program, &["man"])?);
        }
        // `kcl server` is described there.
        manuals.insert("kcl-server".into(), ".so man1/kcl.1\n".into());
        let time = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(text) => text,
            Err(_) => ran(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))?,
        };
        let time = time.trim().parse().map_err(|_| format!("`{time}` is no time in seconds"))?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Ground { version, time, level: if quick { 1 } else { 9 }, built, completions, manuals })
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.built.join(name);
        fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Every file that is published, by name.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let platform = format!("{}-linux", std::env::consts::ARCH);
        let mut files = BTreeMap::new();
        for set in SETS {
            let name = format!("{}-{}-{platform}", set.0, self.version);
            let tar = self.archive(set)?.below(&name).tar(self.time, "")?;
            files.insert(format!("{name}.tar.gz"), gzip(&tar, self.level)?);
            let bill = Parts::of(set.1)?.bill(set.0, &self.version, self.time)?;
            files.insert(format!("{name}.cdx.json"), bill.into_bytes());
        }
        let name = format!("{}_{}_{}.deb", deb::NAME, self.version, deb::architecture());
        files.insert(name, self.debian(&self.installed()?, &self.version)?);
        let lines = files.iter().map(|(name, bytes)| format!("{}  {name}\n", sum(bytes)));
        let sums: String = lines.collect();
        files.insert("SHA256SUMS".into(), sums.into_bytes());
        Ok(files)
    }

    /// The files of one archive.
    fn archive(&self, (name, packages, programs): &Set) -> Result<Tree, String> {
        let mut tree = Tree::default();
        for program in *programs {
            tree.add_program(&format!("bin/{program}"), self.read(program)?);
            if let Some(page) = self.manuals.get(*program) {
                tree.add(&format!("share/man/man1/{program}.1"), page.as_str());
            }
        }
        let is_ours = |path: &str| {
            programs.iter().any(|program| {
                path.contains(&format!("/{program}")) || path.ends_with(&format!("/_{program}"))
            })
        };
        for (path, text) in self.completions.iter().filter(|(path, _)| is_ours(path)) {
            tree.add(&format!("share/{path}"), text.as_slice());
        }
        if *name == "libkcl" {
            tree.add_program("lib/libkcl.so", self.read("libkcl_c.so")?);
            tree.add("include/kcl.h", source("crates/kcl-c/include/kcl.h")?);
            tree.add("README.md", source("crates/kcl-c/README.md")?);
        } else {
            tree.add("README.md", source(check::PAGE)?);
        }
        tree.add("LICENSE", source("LICENSE")?);
        tree.add("THIRD-PARTY.txt", Parts::of(packages)?.licences());
        Ok(tree)
    }

    /// The files of the package of Debian, where Debian has them.
    fn installed(&self) -> Result<Tree, String> {
        let mut tree = Tree::default();
        for program in SETS.iter().flat_map(|set| set.2) {
            tree.add_program(&format!("usr/bin/{program}"), self.read(program)?);
        }
        for (program, page) in &self.manuals {
            tree.add(&format!("usr/share/man/man1/{program}.1.gz"), gzip(page.as_bytes(), 9)?);
        }
        for (path, text) in &self.completions {
            tree.add(&format!("usr/share/{path}"), text.as_slice());
        }
        let documents = format!("usr/share/doc/{}", deb::NAME);
        let packages: Vec<&str> =
            SETS.iter().filter(|set| !set.2.is_empty()).flat_map(|set| set.1).copied().collect();
        tree.add(&format!("{documents}/copyright"), copyright());
        tree.add(&format!("{documents}/changelog.gz"), gzip(&source("CHANGELOG.md")?, 9)?);
        tree.add(
            &format!("{documents}/THIRD-PARTY.txt.gz"),
            gzip(Parts::of(&packages)?.licences().as_bytes(), 9)?,
        );
        Ok(tree)
    }

    fn debian(&self, tree: &Tree, version: &str) -> Result<Vec<u8>, String> {
        let libc = newest_libc(tree);
        deb::package(tree, &deb::About { version, libc: &libc, time: self.time, level: self.level })
    }
}

fn source(path: &str) -> Result<Vec<u8>, String> {
    fs::read(root().join(path)).map_err(|e| format!("{path}: {e}"))
}

fn copyright() -> String {
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: KusionStack in Rust\n\n\
     Files: *\nCopyright: the authors of KusionStack in Rust\nLicense: Apache-2.0\n On Debian systems, the text of this licence \
     is in /usr/share/common-licenses/Apache-2.0.\n .\n What the programs are made of beside it is in THIRD-PARTY.txt.gz, with \
     its licences.\n"
        .to_owned()
}

/// The newest version of the C library that a program names among its symbols.
fn newest_libc(tree: &Tree) -> String {
    const MARK: &[u8] = b"GLIBC_2.";
    let mut newest = 0;
    for file in tree.0.values().filter(|file| file.bytes.starts_with(b"\x7fELF")) {
        let found = file.bytes.windows(MARK.len()).enumerate().filter(|(_, bytes)| *bytes == MARK);
        for (at, _) in found {
            let digits: Vec<u8> = file.bytes[at + MARK.len()..]
                .iter()
                .copied()
                .take_while(u8::is_ascii_digit)
                .take(3)
                .collect();
            let number = String::from_utf8_lossy(&digits).parse().unwrap_or(0);
            newest = newest.max(number);
        }
    }
    format!("2.{newest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_folder_names_a_file() {
        let name = |home: &str, source: &str, target: &str, file: &str| {
            let places = renamed(home, source, target);
            let (from, to) = places.iter().rfind(|(from, _)| file.starts_with(from)).unwrap();
            format!("{to}{}", &file[from.len()..])
        };
        for target in ["/work/target/dist", "/work/target/dist-2", "/elsewhere"] {
            let file = format!("{target}/out/files.rs");
            assert_eq!(name("/root/.cargo", "/work", target, &file), "/target/out/files.rs");
            assert_eq!(name("/work/home", "/work", target, "/work/home/a.rs"), "/cargo/a.rs");
            assert_eq!(name("/root/.cargo", "/work", target, "/work/src/a.rs"), "/source/src/a.rs");
        }
    }
}
