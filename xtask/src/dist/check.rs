//! What was packed is used: archives are unpacked and their programs run; the package of Debian is installed into a clean root, upgraded
//! and removed, and what users keep stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Ground, SETS, deb, source};
use crate::build::{ran, target};

/// What a user keeps; no package may touch it.
const KEPT: &str = "root/.kusion/kept";
/// The page that says how to install.
pub(super) const PAGE: &str = "docs/book/src/install.md";

pub(super) fn all(out: &Path, ground: &Ground, debian_root: bool) -> Result<(), String> {
    ran(Command::new("sha256sum").args(["--quiet", "-c", "SHA256SUMS"]).current_dir(out))?;
    let scratch = target().join("dist-check");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    }
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    archives(out, ground, &scratch)?;
    page(out, ground, &scratch.join("reader"))?;
    let newer = newer(ground, &scratch)?;
    let name = format!("{}_{}_{}.deb", deb::NAME, ground.version, deb::architecture());
    let root = match debian_root {
        true => Root::debian(scratch.join("debian"))?,
        false => Root::bare(scratch.join("root"))?,
    };
    root.life(&out.join(name), &newer, ground)?;
    fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))
}

/// Unpacks every archive with the system's own tar, and runs what is in it.
fn archives(out: &Path, ground: &Ground, scratch: &Path) -> Result<(), String> {
    for (set, _, programs) in SETS {
        let name = format!("{set}-{}-{}-linux", ground.version, std::env::consts::ARCH);
        ran(Command::new("tar").arg("-xzf").arg(out.join(format!("{name}.tar.gz"))).current_dir(scratch))?;
        let folder = scratch.join(&name);
        for file in ["LICENSE", "README.md", "THIRD-PARTY.txt"] {
            there(&folder.join(file))?;
        }
        for program in *programs {
            ran(Command::new(folder.join("bin").join(program)).arg("--help"))?;
            there(&folder.join(format!("share/man/man1/{program}.1")))?;
        }
        let bill = fs::read_to_string(out.join(format!("{name}.cdx.json"))).map_err(|e| e.to_string())?;
        let bill: serde_json::Value =
            serde_json::from_str(&bill).map_err(|e| format!("{name}.cdx.json: {e}"))?;
        let parts = bill["components"].as_array().map_or(0, Vec::len);
        if parts < 20 {
            return Err(format!("{name}.cdx.json names {parts} parts"));
        }
    }
    Ok(())
}

/// Does what the book's page says, as a reader who has the files in a folder. What asks for `sudo` must at least name a file that
/// is published; what it does is tried in a root of its own.
fn page(out: &Path, ground: &Ground, home: &Path) -> Result<(), String> {
    fs::create_dir_all(home).map_err(|e| format!("{}: {e}", home.display()))?;
    let text = String::from_utf8_lossy(&source(PAGE)?).into_owned();
    let blocks: Vec<&str> =
        text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let ours: Vec<&str> = blocks.into_iter().filter(|block| block.contains("SHA256SUMS")).collect();
    let mut told = String::new();
    for block in &ours {
        let script: String =
            block.lines().filter(|line| !line.starts_with("sudo ")).collect::<Vec<_>>().join("\n");
        let mut shell = Command::new("sh");
        shell
            .args(["-e", "-c", &format!("cd \"$HOME\"; cp \"$0\"/* .; {script}")])
            .arg(out)
            .env("HOME", home);
        told.push_str(&ran(&mut shell)?);
        let named = block.split_whitespace().filter_map(|word| word.strip_prefix("./"));
        for name in named {
            there(&out.join(name))?;
        }
    }
    match ours.len() >= 2 && told.contains(&ground.version) {
        true => Ok(()),
        false => Err(format!("{PAGE}: {} blocks of commands, which said {told:?}", ours.len())),
    }
}

fn there(path: &Path) -> Result<(), String> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > 0 => Ok(()),
        Ok(_) => Err(format!("{} is empty", path.display())),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// A package that is newer, and has lost a file.
fn newer(ground: &Ground, scratch: &Path) -> Result<PathBuf, String> {
    let mut tree = ground.installed()?;
    tree.0.retain(|path, _| !path.ends_with("THIRD-PARTY.txt.gz"));
    let path = scratch.join("newer.deb");
    fs::write(&path, ground.debian(&tree, &format!("{}+newer", ground.version))?)
        .map_err(|e| e.to_string())?;
    Ok(path)
}

/// A system of its own.
struct Root {
    folder: PathBuf,
    /// Whether it is a whole Debian: then its own programs install, and ours run in it alone.
    is_debian: bool,
}

impl Root {
    /// A root with nothing but dpkg's records. The C library stays the host's, so dpkg is told not to look for it.
    fn bare(folder: PathBuf) -> Result<Root, String> {
        for path in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "tmp", "etc"] {
            fs::create_dir_all(folder.join(path)).map_err(|e| e.to_string())?;
        }
        for path in ["var/lib/dpkg/status", "var/lib/dpkg/available"] {
            fs::write(folder.join(path), "").map_err(|e| e.to_string())?;
        }
        Ok(Root { folder, is_debian: false })
    }

    /// A Debian from the mirror, with what is essential and nothing else.
    fn debian(folder: PathBuf) -> Result<Root, String> {
        let mut make = Command::new("mmdebstrap");
        make.args(["--variant=essential", "--mode=root"]);
        // A mirror may lag behind; what it has is signed all the same.
        make.arg("--aptopt=Acquire::Check-Valid-Until \"false\"");
        ran(make.arg("stable").arg(&folder))?;
        Ok(Root { folder, is_debian: true })
    }

    fn dpkg(&self, words: &[&str], package: Option<&Path>) -> Result<String, String> {
        let mut command = Command::new("dpkg");
        match (self.is_debian, package) {
            (true, package) => {
                command = Command::new("chroot");
                command.arg(&self.folder).arg("dpkg").args(words);
                if let Some(package) = package {
                    fs::copy(package, self.folder.join("tmp/package.deb")).map_err(|e| e.to_string())?;
                    command.arg("/tmp/package.deb");
                }
            }
            (false, package) => {
                let root = format!("--root={}", self.folder.display());
                command
                    .args([root.as_str(), "--log=/dev/null", "--ignore-depends=libc6"])
                    .args(words)
                    .args(package);
            }
        }
        ran(&mut command)
    }

    /// Every file that is not dpkg's own.
    fn files(&self) -> Result<BTreeSet<String>, String> {
        let found = ran(Command::new("find")
            .args([
                ".", "(", "-path", "./var", "-o", "-path", "./tmp", "-o", "-path", "./proc", ")", "-prune",
            ])
            .args(["-o", "-type", "f", "-print"])
            .current_dir(&self.folder))?;
        Ok(found.lines().map(|line| line.trim_start_matches("./").to_owned()).collect())
    }

    /// Runs an installed program.
    fn run(&self, words: &[&str]) -> Result<String, String> {
        let (program, rest) = words.split_first().ok_or("no program")?;
        if self.is_debian {
            return ran(Command::new("chroot")
                .arg(&self.folder)
                .arg(format!("/usr/bin/{program}"))
                .args(rest));
        }
        ran(Command::new(self.folder.join("usr/bin").join(program)).args(rest))
    }

    /// Installs a package, upgrades it and removes it.
    fn life(&self, package: &Path, newer: &Path, ground: &Ground) -> Result<(), String> {
        let kept = self.folder.join(KEPT);
        fs::create_dir_all(kept.parent().ok_or("no folder")?).map_err(|e| e.to_string())?;
        fs::write(&kept, "state\n").map_err(|e| e.to_string())?;
        let before = self.files()?;
        self.dpkg(&["-i"], Some(package))?;
        self.is_installed(&ground.version)?;
        let wanted: BTreeSet<String> = ground.installed()?.0.into_keys().collect();
        let added: BTreeSet<String> = self.files()?.difference(&before).cloned().collect();
        if added != wanted {
            return Err(format!("the package installs {added:?}, not {wanted:?}"));
        }
        self.works(&ground.version)?;
        self.dpkg(&["-i"], Some(newer))?;
        self.is_installed(&format!("{}+newer", ground.version))?;
        self.works(&ground.version)?;
        if self.files()?.iter().any(|path| path.ends_with("THIRD-PARTY.txt.gz")) {
            return Err("what the newer package does not have any more is still there".into());
        }
        self.dpkg(&["-P", deb::NAME], None)?;
        match self.files()? == before && fs::read_to_string(&kept).is_ok_and(|text| text == "state\n") {
            true => Ok(()),
            false => Err(format!(
                "removing leaves another root: {:?}",
                self.files()?.symmetric_difference(&before)
            )),
        }
    }

    /// dpkg has it, whole, in this version.
    fn is_installed(&self, version: &str) -> Result<(), String> {
        let told = self.dpkg(&["-s", deb::NAME], None)?;
        let wanted = ["Status: install ok installed".to_owned(), format!("Version: {version}")];
        if let Some(line) = wanted.iter().find(|line| !told.lines().any(|told| told == **line)) {
            return Err(format!("dpkg does not say `{line}`:\n{told}"));
        }
        let changed = self.dpkg(&["-V", deb::NAME], None)?;
        if changed.is_empty() { Ok(()) } else { Err(format!("other files than packed: {changed}")) }
    }

    /// The programs run, and `kcl server` finds its own.
    fn works(&self, version: &str) -> Result<(), String> {
        for program in ["kcl", "kusion"] {
            let told = self.run(&[program, "version"])?;
            if !told.contains(version) {
                return Err(format!("{program} says `{told}`, not {version}"));
            }
        }
        let program = self.folder.join("tmp/main.k");
        fs::write(&program, "a = 1\n").map_err(|e| e.to_string())?;
        let path = if self.is_debian { "/tmp/main.k".to_owned() } else { program.display().to_string() };
        let told = self.run(&["kcl", "run", &path])?;
        let served = self.run(&["kcl", "server", "--help"])?;
        match told == "a: 1\n" && served.contains("--token-file") {
            true => Ok(()),
            false => Err(format!("the installed programs say {told:?} and {served:?}")),
        }
    }
}
