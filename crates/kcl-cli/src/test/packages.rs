//! Packages with tests: the folders that the command line means, and what is in them.

use std::path::{Path, PathBuf};

use kcl::Compiler;
use kcl_test::Suite;

use super::examples::Documented;
use super::inputs::Inputs;
use super::outputs::Results;
use crate::files;

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
    let mut found = files::find(&words);
    let folders = found.folders();
    results.problems.extend(found.errors.into_iter().map(|(path, message)| format!("{path} {message}")));
    // A package may appear in any of them; what is hidden changes all the time and holds none.
    let hidden = |path: &Path| path.components().any(|part| is_hidden(part.as_os_str()));
    results.watched.extend(found.looked.into_iter().filter(|folder| !hidden(folder)));
    for (folder, files) in folders {
        let texts = match files::texts(&files) {
            Ok(texts) => texts,
            Err(problem) => {
                results.problems.push(problem);
                continue;
            }
        };
        let place = inputs.request.work_dir.join(&folder);
        let shown = if folder.as_os_str().is_empty() { ".".into() } else { folder.display().to_string() };
        documented.extend(Documented::find(&place, &shown, &texts));
        if !texts.iter().any(|(path, _)| kcl_test::is_test_file(path)) {
            results.untested.push((place, shown));
            continue;
        }
        let request = kcl_test::request(&inputs.request, &place.display().to_string(), &texts);
        match Suite::new(compiler, &request) {
            Ok(suite) => packages.push(Package { number: packages.len(), folder: place, shown, suite }),
            Err(wrong) => {
                results.watched.extend(crate::watch::watched(&wrong.reads));
                results.wrong.push((shown, *wrong));
                results.wrong_folders.push(place);
            }
        }
    }
    (packages, documented, results)
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".") && name != b"." && name != b".."
}
