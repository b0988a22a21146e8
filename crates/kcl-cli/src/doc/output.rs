//! Where a document goes: to standard output, or to a folder, each file whole or not at all.
//!
//! Where several files are made, a hidden one lists them, one path on each line: what an earlier run made and this one
//! does not is removed, and nothing else is.

use std::path::{Component, Path, PathBuf};

/// What was made.
pub(super) enum Output {
    /// One text, and its name in a folder.
    One { name: &'static str, text: String },
    /// Several files, and the name of their list; each format has its own.
    Many { list: &'static str, files: Vec<kcl_doc::File> },
}

impl Output {
    /// Prints the text.
    pub(super) fn print(self) -> Result<Vec<String>, String> {
        let Output::One { text, .. } = self else {
            return Err("several files cannot be printed: name a folder with --target".to_owned());
        };
        crate::say::result(&text).map(|()| Vec::new())
    }

    /// Writes to a folder, or one text to a file of its name; returns the paths.
    pub(super) fn write(self, target: &Path) -> Result<Vec<String>, String> {
        let list = match self {
            Output::Many { list, .. } => Some(target.join(list)),
            Output::One { .. } => None,
        };
        let mut files: Vec<(PathBuf, String)> = match self {
            Output::One { text, .. } if target.extension().is_some_and(|e| e == "json" || e == "md") => {
                vec![(target.to_path_buf(), text)]
            }
            Output::One { name, text } => vec![(target.join(name), text)],
            Output::Many { files, .. } => {
                files.into_iter().map(|file| (target.join(&file.path), file.text)).collect()
            }
        };
        let inside = |path: &Path| path.strip_prefix(target).is_ok_and(|rest| !rest.as_os_str().is_empty());
        let is_folder = files.iter().any(|(path, _)| inside(path));
        if let Some(file) = target.ancestors().find(|path| path.is_file()).filter(|_| is_folder) {
            return Err(format!("{} is a file: name a folder with --target", file.display()));
        }
        if let Some((path, _)) = files.iter().find(|(path, text)| is_strange(path, text)) {
            let path = path.display();
            return Err(format!("{path} is there, and `kcl doc` has not written it: name another folder"));
        }
        let made: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        let mut earlier = Vec::new();
        if let Some(list) = list {
            earlier = listed(target, &list);
            let names = files.iter().filter_map(|(path, _)| path.strip_prefix(target).ok());
            let names = names.map(|name| format!("{}\n", name.display())).collect();
            files.push((list, names));
        }
        base_file::write_all(&files, base_file::How::Plain).map_err(|trouble| trouble.to_string())?;
        for path in earlier.iter().filter(|path| files.iter().all(|(made, _)| made != *path)) {
            remove(target, path);
        }
        Ok(made)
    }
}

/// What an earlier run made there, by its list; a line that leads out of the folder is none of ours.
fn listed(target: &Path, list: &Path) -> Vec<PathBuf> {
    let lines = std::fs::read_to_string(list).unwrap_or_default();
    let inside = |name: &&Path| name.components().all(|part| matches!(part, Component::Normal(_)));
    let names = lines.lines().filter(|line| !line.is_empty()).map(Path::new);
    names.filter(inside).map(|name| target.join(name)).collect()
}

/// Removes a file and the folders that it leaves empty. One that cannot be removed is a stale page, no failure.
fn remove(target: &Path, path: &Path) {
    let linked = path.ancestors().take_while(|at| *at != target).skip(1).any(Path::is_symlink);
    if linked || std::fs::remove_file(path).is_err() {
        return;
    }
    for folder in path.ancestors().skip(1).take_while(|at| *at != target) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Whether somebody's own README would be lost: what we write begins with the same line each time.
fn is_strange(path: &Path, text: &str) -> bool {
    let is_readme = path.file_name().is_some_and(|name| name == "README.md");
    let old = if is_readme { std::fs::read(path).ok() } else { None };
    old.is_some_and(|old| {
        !old.is_empty() && !old.starts_with(text.lines().next().unwrap_or_default().as_bytes())
    })
}
