//! Where a document goes: to standard output, or to a folder, each file whole or not at all.

use std::path::{Path, PathBuf};

/// What was made.
pub(super) enum Output {
    /// One text, and its name in a folder.
    One { name: &'static str, text: String },
    /// Several files.
    Many(Vec<kcl_doc::File>),
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
        let files: Vec<(PathBuf, String)> = match self {
            Output::One { text, .. } if target.extension().is_some_and(|e| e == "json" || e == "md") => {
                vec![(target.to_path_buf(), text)]
            }
            Output::One { name, text } => vec![(target.join(name), text)],
            Output::Many(files) => {
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
        base_file::write_all(&files, base_file::How::Plain).map_err(|trouble| trouble.to_string())?;
        Ok(files.iter().map(|(path, _)| path.display().to_string()).collect())
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
