//! Packages with tests: the folders that the command line means, and what is in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kcl::{Compiler, Request};
use kcl_test::Suite;

use super::examples::Documented;
use super::inputs::Inputs;
use super::outputs::Results;

/// A package that compiles.
pub(super) struct Package {
    pub(super) number: usize,
    /// Its folder.
    pub(super) folder: PathBuf,
    /// As people name it.
    pub(super) shown: String,
    pub(super) suite: Suite,
}

/// Loads the packages with cases and finds those with examples; what is wrong with the others stands in the results.
pub(super) fn load(inputs: &Inputs, compiler: &Compiler<'_>) -> (Vec<Package>, Vec<Documented>, Results) {
    let mut results = Results::new(std::time::SystemTime::now());
    let (mut words, mut packages, mut documented) = (Vec::new(), Vec::new(), Vec::new());
    for word in &inputs.words {
        match Path::new(word).is_file() {
            true => results.problems.push(format!("{word}: Not a directory: a package is a folder")),
            false => words.push(word.clone()),
        }
    }
    let found = crate::files::find(&words);
    results.problems.extend(found.errors.into_iter().map(|(path, message)| format!("{path} {message}")));
    let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in found.files {
        let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
        folders.entry(folder).or_default().push(file);
    }
    for (folder, files) in folders {
        results.watched.push(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.clone() });
        let texts = match texts(&files) {
            Ok(texts) => texts,
            Err(problem) => {
                results.problems.push(problem);
                continue;
            }
        };
        let place = inputs.request.work_dir.join(&folder);
        let shown = if folder.as_os_str().is_empty() { ".".into() } else { folder.display().to_string() };
        documented.extend(Documented::find(&place, &shown, &texts));
        if !files.iter().any(|file| file.to_string_lossy().ends_with("_test.k")) {
            continue;
        }
        let entries = kcl_test::entries(&place.display().to_string(), &texts);
        match Suite::new(compiler, &Request { entries, ..inputs.request.clone() }) {
            Ok(suite) => packages.push(Package { number: packages.len(), folder: place, shown, suite }),
            Err(wrong) => {
                results.watched.extend(crate::watch::watched(&wrong.reads));
                results.wrong.push(*wrong);
                results.wrong_folders.push(place);
            }
        }
    }
    (packages, documented, results)
}

fn texts(files: &[PathBuf]) -> Result<Vec<(String, String)>, String> {
    let read = |path: &PathBuf| {
        let shown = path.display().to_string();
        let bytes = crate::files::read(path).map_err(|m| format!("{shown} {m}"))?;
        let text = crate::files::text_of(bytes).map_err(|m| format!("{shown} {m}"))?;
        Ok((shown, text))
    };
    files.iter().map(read).collect()
}
