//! Packages inside the binary: the models of `konfig/`. They stand at a path of their own, where nothing real is, and are
//! taken for an import of their name that leads nowhere else.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::Files;

/// Where the embedded packages appear, each in a folder of its name.
const PACKAGES: &str = "/kusion-embedded";

/// Where the embedded models appear.
pub const EMBEDDED_KONFIG: &str = "/kusion-embedded/konfig";

/// Path inside the package and text of each embedded file, in order of the paths.
const KONFIG: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/konfig.rs"));

/// Returns the embedded model files, for writing a copy.
pub fn embedded_konfig() -> impl Iterator<Item = (&'static str, &'static str)> {
    KONFIG.iter().copied()
}

/// The root of an embedded package, if these files have one of that name.
pub(crate) fn package(files: &dyn Files, name: &str) -> Option<PathBuf> {
    let root = Path::new(PACKAGES).join(name);
    files.is_file(&root.join("kcl.mod")).then_some(root)
}

/// The name of the embedded package that stands at a root.
pub(crate) fn name_of(root: &Path) -> Option<&str> {
    root.strip_prefix(PACKAGES).ok()?.to_str()
}

/// The files of the embedded packages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Embedded;

impl Embedded {
    /// Whether a path is theirs.
    pub(crate) fn has(path: &Path) -> bool {
        // Nearly every path is another: its first bytes tell.
        path.as_os_str().as_encoded_bytes().starts_with(PACKAGES.as_bytes()) && path.starts_with(PACKAGES)
    }

    fn text(path: &Path) -> Option<&'static str> {
        let inside = path.strip_prefix(EMBEDDED_KONFIG).ok()?.to_str()?;
        let at = KONFIG.binary_search_by(|(name, _)| Path::new(name).cmp(Path::new(inside))).ok()?;
        Some(KONFIG[at].1)
    }

    /// What stands below a folder: paths relative to it.
    fn below(folder: &Path) -> impl Iterator<Item = &'static Path> {
        let inside = folder.strip_prefix(EMBEDDED_KONFIG).ok().map(Path::to_path_buf);
        KONFIG.iter().filter_map(move |(name, _)| Path::new(*name).strip_prefix(inside.as_ref()?).ok())
    }
}

impl Files for Embedded {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        Embedded::text(path).map(Arc::from).ok_or_else(|| format!("no such file: {}", path.display()))
    }

    fn is_file(&self, path: &Path) -> bool {
        Embedded::text(path).is_some()
    }

    fn is_dir(&self, path: &Path) -> bool {
        Embedded::below(path).any(|below| !below.as_os_str().is_empty())
    }

    fn list(&self, path: &Path) -> Vec<String> {
        let first = |below: &'static Path| below.components().next()?.as_os_str().to_str();
        let mut names: Vec<String> = Embedded::below(path).filter_map(first).map(str::to_owned).collect();
        names.dedup();
        names
    }
}

/// Any files with the embedded packages beside them; [`crate::Disk`] has them already.
pub struct Overlay<'a>(pub &'a dyn Files);

impl Overlay<'_> {
    fn of(&self, path: &Path) -> &dyn Files {
        if Embedded::has(path) { &Embedded } else { self.0 }
    }
}

impl Files for Overlay<'_> {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        self.of(path).read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.of(path).is_file(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.of(path).is_dir(path)
    }

    fn list(&self, path: &Path) -> Vec<String> {
        self.of(path).list(path)
    }

    fn sources(&self, path: &Path) -> Arc<Vec<String>> {
        self.of(path).sources(path)
    }

    fn prove(&self, folder: &Path, sum: &str, packages: Option<&Path>) -> Result<(), String> {
        self.of(folder).prove(folder, sum, packages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryFiles, Request};

    #[test]
    fn models_are_there_and_other_paths_go_below() {
        let below = MemoryFiles::default();
        let overlay = Overlay(&below);
        let root = Path::new(EMBEDDED_KONFIG);
        for (name, text) in embedded_konfig() {
            assert_eq!(overlay.read(&root.join(name)).as_deref(), Ok(text));
            assert!(!text.is_empty() && !name.starts_with("appops"), "{name}");
        }
        assert_eq!(overlay.list(root), ["kcl.mod", "models", "render.k"]);
        assert!(overlay.is_dir(&root.join("models")) && !overlay.is_file(&root.join("models")));
        assert!(!overlay.is_dir(&root.join("render.k")) && !overlay.is_dir(&root.join("appops")));
        assert!(!overlay.is_file(Path::new("/render.k")));
    }

    /// What a program has itself wins; a name that was said to stand elsewhere is not looked for here.
    #[test]
    fn an_own_package_of_that_name_wins() {
        let mut files = MemoryFiles::default();
        files.add("/m/kcl.mod", "");
        let text =
            "import konfig.models.frontend\n\na = frontend.Server {name = \"x\", image = \"y\"}.name\n";
        let run = |files: &MemoryFiles, externals: Vec<(String, PathBuf)>| {
            let request = Request { work_dir: "/m".into(), externals, ..Request::source("/m/main.k", text) };
            crate::Compiler::new(Overlay(files)).run(&request, &crate::NoOutside)
        };
        assert_eq!(run(&files, Vec::new()).yaml, "a: x");
        let elsewhere = run(&files, vec![("konfig".into(), "/nowhere".into())]);
        assert!(elsewhere.diagnostics[0].message().contains("konfig"), "{:?}", elsewhere.diagnostics);
        files.add("/m/konfig/models/frontend/a.k", "schema Server:\n    name: str\n    image: int\n");
        assert!(!run(&files, Vec::new()).is_ok());
    }
}
