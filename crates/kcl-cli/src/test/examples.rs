//! Examples in docstrings: `kcl doc --test` for one package, reported beside its cases.

use std::path::{Path, PathBuf};
use std::time::Instant;

use kcl::Request;
use kcl_test::WrongPackage;
use kcl_test::report::Row;

use super::inputs::Inputs;
use super::outputs::Results;
use crate::doc::examples::tried;
use crate::doc::module::{Module, Problems};

/// The package of a folder, if one of its texts may hold examples.
pub(super) struct Documented {
    folder: PathBuf,
    shown: String,
    files: Vec<PathBuf>,
}

impl Documented {
    /// Looks for the title of a section; most packages have none and cost nothing more.
    pub(super) fn find(folder: &Path, shown: &str, texts: &[(String, String)]) -> Option<Documented> {
        let own = texts.iter().filter(|(path, _)| !path.ends_with("_test.k"));
        let has = own.clone().any(|(_, text)| text.lines().any(|line| is_title(line.trim())));
        has.then(|| Documented {
            folder: folder.to_path_buf(),
            shown: shown.to_owned(),
            files: own.map(|(path, _)| PathBuf::from(path)).collect(),
        })
    }
}

fn is_title(line: &str) -> bool {
    line == "Examples" || line == "Example"
}

/// Runs the examples of packages.
pub(super) fn run(inputs: &Inputs, packages: &[Documented], results: &mut Results) {
    let here = &inputs.request.work_dir;
    for package in packages {
        if inputs.fail_fast && results.has_failed() {
            return;
        }
        let module = match Module::package(here, &package.folder, package.files.clone()) {
            Ok(module) => module,
            // What does not compile was told with the cases.
            Err(_) if results.is_wrong(&package.folder) => continue,
            Err(Problems::Call(message)) => {
                results.problems.push(message);
                continue;
            }
            Err(Problems::Source(all)) => {
                results.wrong.extend(all.into_iter().map(|(diagnostics, sources)| {
                    let wrong = WrongPackage { diagnostics, sources, reads: Default::default() };
                    (package.shown.clone(), wrong)
                }));
                continue;
            }
        };
        let around =
            Request { entries: Vec::new(), cover: false, plugins: Vec::new(), ..inputs.request.clone() };
        let wanted = |name: &str| inputs.filter.as_ref().is_none_or(|filter| filter.is_match(name));
        let started = Instant::now();
        let tried = tried(&module, &around, wanted);
        let each = started.elapsed() / u32::try_from(tried.len().max(1)).unwrap_or(u32::MAX);
        for (case, outcome) in tried {
            let mut sources = outcome.sources.clone();
            sources.show_from(here.display().to_string());
            let file = module.root.join(case.file);
            results.examples.push(Row {
                name: format!("example {}", case.name),
                package: package.shown.clone(),
                file: file.strip_prefix(here).unwrap_or(&file).display().to_string(),
                line: case.line,
                duration: each,
                log: outcome.log.clone(),
                error: match outcome.is_ok() {
                    true => String::new(),
                    false => {
                        let (all, full) = (&outcome.diagnostics, crate::run::ErrorFormat::Full);
                        crate::run::render_in(all, &sources, full, super::outputs::colour())
                    }
                },
                is_broken: false,
            });
        }
    }
}
