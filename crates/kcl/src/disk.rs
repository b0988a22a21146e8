//! The real disk, clock and environment.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use kcl_eval::Outside;
use kcl_seal::{Broken, Seals};
use kcl_std::{FileAnswer, FileOp, Reason};

use crate::embedded::Embedded;
use crate::files::{Files, normalise};
use crate::sources;

/// Returns the folder in which `kcl mod` keeps packages: `$KCL_PKG_PATH`, or `.kcl/kpm` in the home folder.
pub fn package_folder() -> Option<PathBuf> {
    let given = std::env::var_os("KCL_PKG_PATH").filter(|path| !path.is_empty()).map(PathBuf::from);
    given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".kcl/kpm")))
}

/// Source files on the disk, with the embedded packages beside them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

fn unreadable(path: &Path, why: &str) -> String {
    format!("{} {why}", path.display())
}

impl Files for Disk {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        if Embedded::has(path) {
            return Embedded.read(path);
        }
        sources::read_shared(path).map_err(|why| unreadable(path, &why))
    }

    fn is_file(&self, path: &Path) -> bool {
        if Embedded::has(path) { Embedded.is_file(path) } else { path.is_file() }
    }

    fn is_dir(&self, path: &Path) -> bool {
        if Embedded::has(path) { Embedded.is_dir(path) } else { path.is_dir() }
    }

    fn list(&self, path: &Path) -> Vec<String> {
        if Embedded::has(path) {
            return Embedded.list(path);
        }
        let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().into_string().ok()).collect()
    }

    fn sources(&self, path: &Path) -> Arc<Vec<String>> {
        if Embedded::has(path) {
            return Embedded.sources(path);
        }
        let folder = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        // The folder itself tells most kinds: a question about each file would cost as much as reading it.
        let is_file = |entry: &std::fs::DirEntry| match entry.file_type() {
            Ok(kind) if !kind.is_symlink() => kind.is_file(),
            _ => entry.path().is_file(),
        };
        let source = |entry: std::fs::DirEntry| {
            let name = entry.file_name();
            let wanted = name.as_encoded_bytes().ends_with(b".k") && is_file(&entry);
            if wanted { name.into_string().ok() } else { None }
        };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(source).collect();
        names.sort_unstable();
        Arc::new(names)
    }

    fn read_all(&self, paths: &[PathBuf]) -> Vec<Result<Arc<str>, String>> {
        let several = paths.first().filter(|first| paths.len() > 1 && !Embedded::has(first));
        match several.and_then(|first| sources::Folder::of(first)) {
            Some(folder) => {
                let read = |path: &PathBuf| folder.read_shared(path).map_err(|why| unreadable(path, &why));
                paths.iter().map(read).collect()
            }
            None => paths.iter().map(|path| self.read(path)).collect(),
        }
    }

    fn prove(&self, folder: &Path, sum: &str, packages: Option<&Path>) -> Result<(), String> {
        Seals::of(packages).prove(folder, sum).map_err(|broken| match broken {
            Broken::Unreadable(why) => why,
            Broken::Changed { found } => {
                format!("{} was changed: its sum is {found}, kcl.mod.lock says {sum}", folder.display())
            }
        })
    }
}

/// What `kcl run` lets a program touch: files below its folders, the environment, the clock.
#[derive(Clone, Debug)]
pub struct DiskOutside {
    roots: Vec<PathBuf>,
    /// The modules of the programs that run here. It only grows: programs run side by side.
    entered: Arc<Mutex<Vec<PathBuf>>>,
    /// Allow files anywhere.
    pub allow_all_files: bool,
}

impl DiskOutside {
    /// Makes a world whose files are those below a folder, and below the modules of the programs that run in it.
    pub fn new(work_dir: &Path) -> Self {
        DiskOutside { roots: vec![work_dir.to_path_buf()], entered: Arc::default(), allow_all_files: false }
    }

    /// Adds a folder.
    pub fn allow(&mut self, root: &Path) {
        self.roots.push(root.to_path_buf());
    }

    /// Returns the path if it leads to an allowed place. It is not normalised: `missing/../x` is for the system to refuse.
    fn permit(&self, path: &Path) -> Result<PathBuf, Reason> {
        let absolute = match self.roots.first() {
            Some(root) if !path.is_absolute() => root.join(path),
            _ => path.to_path_buf(),
        };
        let place = real_place(&absolute);
        let below = |root: &PathBuf| {
            let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.clone());
            place.as_ref().is_some_and(|place| place.starts_with(root))
        };
        let entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        if self.allow_all_files || self.roots.iter().chain(entered.iter()).any(below) {
            return Ok(absolute);
        }
        Err(Reason::OutOfBounds { path: path.display().to_string() })
    }
}

/// Where a path leads. Links are followed as far as it exists, so that a link inside a root cannot lead out of it, not even to
/// what is still to be made; a link that leads nowhere has no place.
fn real_place(path: &Path) -> Option<PathBuf> {
    for ancestor in path.ancestors() {
        if let Ok(found) = std::fs::canonicalize(ancestor) {
            return Some(normalise(&found.join(path.strip_prefix(ancestor).ok()?)));
        }
        if std::fs::symlink_metadata(ancestor).is_ok_and(|found| found.is_symlink()) {
            return None;
        }
    }
    Some(normalise(path))
}

impl Outside for DiskOutside {
    fn enter(&self, modules: &[&Path]) {
        let mut entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        for root in modules {
            if !entered.iter().any(|known| known == root) {
                entered.push(root.to_path_buf());
            }
        }
    }

    fn read_file(&self, path: &Path) -> Result<Vec<u8>, Reason> {
        Ok(std::fs::read(self.permit(path)?)?)
    }

    fn write_file(&self, path: &Path, data: &[u8], append: bool) -> Result<(), Reason> {
        use std::io::Write;
        let path = self.permit(path)?;
        let mut options = std::fs::OpenOptions::new();
        options.create(true).write(true).append(append).truncate(!append);
        let mut file = options.open(path)?;
        Ok(file.write_all(data)?)
    }

    fn file_op(&self, op: FileOp<'_>) -> Result<FileAnswer, Reason> {
        Ok(match op {
            FileOp::Exists(path) => FileAnswer::Bool(self.permit(path)?.exists()),
            FileOp::Size(path) => FileAnswer::Size(std::fs::metadata(self.permit(path)?)?.len()),
            FileOp::Mkdir(path, exists_ok) => {
                let path = self.permit(path)?;
                // Folders above it are made, too: of `../out/../in/new` also `out`.
                for above in path.ancestors().take_while(|above| !above.exists()) {
                    self.permit(above)?;
                }
                match std::fs::create_dir_all(&path) {
                    Err(e) if exists_ok && e.kind() == std::io::ErrorKind::AlreadyExists => {}
                    other => other?,
                }
                FileAnswer::Done
            }
            FileOp::Delete(path) => {
                let path = self.permit(path)?;
                if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) }?;
                FileAnswer::Done
            }
            FileOp::Copy(from, to) => {
                std::fs::copy(self.permit(from)?, self.permit(to)?)?;
                FileAnswer::Done
            }
            FileOp::Move(from, to) => {
                std::fs::rename(self.permit(from)?, self.permit(to)?)?;
                FileAnswer::Done
            }
            FileOp::Glob(pattern) => FileAnswer::Paths(self.glob(pattern)?),
            FileOp::Absolute(path) if path.as_os_str().is_empty() => {
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path is empty").into());
            }
            FileOp::Absolute(path) => FileAnswer::Paths(vec![std::fs::canonicalize(self.permit(path)?)?]),
        })
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn now(&self) -> (i64, u32, i32) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (now.as_secs() as i64, now.subsec_nanos(), 0)
    }

    fn random(&self) -> Result<[u8; 16], Reason> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|e| std::io::Error::other(e.to_string()))?;
        Ok(bytes)
    }
}

impl DiskOutside {
    // Patterns of one level per component; `**` stands for any number of folders.
    fn glob(&self, pattern: &str) -> Result<Vec<PathBuf>, Reason> {
        let pattern = Path::new(pattern);
        let mut found = vec![PathBuf::new()];
        for part in pattern.components().filter(|part| !matches!(part, Component::CurDir)) {
            let text = part.as_os_str().to_string_lossy();
            if !text.contains(['*', '?']) {
                found.iter_mut().for_each(|at| at.push(part));
                continue;
            }
            let mut next = Vec::new();
            for at in &found {
                let mut names = Disk.list(&self.permit(at)?);
                names.sort();
                next.extend(names.iter().filter(|n| crate::entries::matches(&text, n)).map(|n| at.join(n)));
            }
            found = next;
        }
        Ok(found.into_iter().filter(|p| self.permit(p).is_ok_and(|p| p.exists())).collect())
    }
}
