//! Which packages and programs the words of the command line mean.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use kcl::{Disk, Request};

use crate::files::{self, Found};

/// What is judged at once.
pub(super) struct Unit {
    /// How it is loaded. Files of the unit itself are read when its turn comes.
    pub(super) request: Request,
    /// Files of a package, with the paths as people see them; those of a program are named by its settings.
    pub(super) files: Vec<PathBuf>,
    /// Files that are loaded before them and judged elsewhere: the package of a test file.
    pub(super) beside: Vec<PathBuf>,
    /// The files that this unit reports about, by absolute path, with the paths as people see them.
    pub(super) owned: Vec<(PathBuf, String)>,
    /// Whether nobody imports it.
    pub(super) is_program: bool,
}

/// All of them, in order.
#[derive(Default)]
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    /// Links that were not followed.
    pub(super) notes: Vec<String>,
    /// Paths that cannot be read, with the reason.
    pub(super) errors: Vec<(String, String)>,
}

/// Finds the units.
pub(super) fn find(words: &[String]) -> Units {
    let mut found = Units::default();
    let (alone, folders): (Vec<String>, Vec<String>) =
        words.iter().cloned().partition(|w| Path::new(w).is_file());
    let mut in_folders = if folders.is_empty() { Found::default() } else { files::find(&folders) };
    let packages = in_folders.folders();
    found.notes = in_folders.notes;
    found.errors = in_folders.errors;
    let mut taken: HashSet<PathBuf> = HashSet::new();
    for file in files::find(&alone).files {
        let beside = if is_test(&file) { package_around(&file) } else { Vec::new() };
        found.package(vec![file], beside, true, &mut taken);
    }
    // Programs first: a file that a program lists is judged as a part of it.
    let wanted: BTreeMap<PathBuf, String> =
        packages.values().flatten().map(|file| (absolute(file), file.display().to_string())).collect();
    for folder in packages.keys() {
        found.program(folder, &wanted, &mut taken);
    }
    for files in packages.into_values() {
        let free: Vec<PathBuf> = files.into_iter().filter(|file| !taken.contains(&absolute(file))).collect();
        // What a package does not contain is judged alone; its tests see it, and count as readers of its private names.
        let (apart, mut package): (Vec<PathBuf>, Vec<PathBuf>) =
            free.into_iter().partition(|file| is_private(file));
        package.sort_by_key(|file| is_test(file));
        if !package.is_empty() {
            let is_program = package.iter().all(|file| is_test(file));
            found.package(package, Vec::new(), is_program, &mut taken);
        }
        for file in apart {
            found.package(vec![file], Vec::new(), true, &mut taken);
        }
    }
    found
}

fn name_of(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_private(file: &Path) -> bool {
    name_of(file).starts_with('_')
}

pub(super) fn is_test(file: &Path) -> bool {
    !is_private(file) && kcl_test::is_test_file(&name_of(file))
}

/// The files of the package that a test file belongs to.
fn package_around(test: &Path) -> Vec<PathBuf> {
    let folder = test.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.display().to_string();
    let mut package = files::find(std::slice::from_ref(&folder)).files;
    package.retain(|file| !is_private(file) && !is_test(file));
    package
}

/// The path from the root, without `.` and `..`.
pub(super) fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_path_buf())
}

fn request(work_dir: PathBuf) -> Request {
    Request { work_dir, vendor: kcl::package_folder(), ..Request::default() }
}

impl Units {
    fn package(
        &mut self,
        files: Vec<PathBuf>,
        beside: Vec<PathBuf>,
        is_program: bool,
        taken: &mut HashSet<PathBuf>,
    ) {
        let paths: Vec<PathBuf> = files.iter().map(|file| absolute(file)).collect();
        let folder = paths.first().and_then(|path| path.parent()).map(Path::to_path_buf).unwrap_or_default();
        taken.extend(paths.iter().cloned());
        let owned =
            paths.into_iter().zip(&files).map(|(path, file)| (path, file.display().to_string())).collect();
        self.units.push(Unit { request: request(folder), files, beside, owned, is_program });
    }

    /// The program of a folder whose kcl.yaml lists files.
    fn program(&mut self, folder: &Path, wanted: &BTreeMap<PathBuf, String>, taken: &mut HashSet<PathBuf>) {
        let path = folder.join("kcl.yaml");
        let Ok(text) = std::fs::read_to_string(&path) else { return };
        let folder = absolute(folder);
        let mut request = request(folder.clone());
        let mut settings = kcl::Settings::default();
        let shown = path.display().to_string();
        if let Err(error) = settings.add(&text, &shown, &folder, &mut request) {
            self.errors.push((shown, error.to_string()));
            return;
        }
        if request.entries.is_empty() {
            return;
        }
        // What is only for the output does not matter here.
        request.overrides.clear();
        request.selectors.clear();
        // What a stack takes from elsewhere may need a package that is not here.
        let listed = kcl::entry_files(&request, &Disk).into_iter().flatten().map(|path| absolute(&path));
        let owned: Vec<(PathBuf, String)> = listed
            .filter_map(|path| wanted.get_key_value(&path).filter(|(path, _)| !taken.contains(*path)))
            .map(|(path, shown)| (path.clone(), shown.clone()))
            .collect();
        taken.extend(owned.iter().map(|(path, _)| path.clone()));
        self.units.push(Unit { request, files: Vec::new(), beside: Vec::new(), owned, is_program: true });
    }
}
