//! Where programs come from: spec files, the generator, folders.

use super::Wish;
use std::path::{Path, PathBuf};
use testkit::{Program, SourceText};

/// A program with a name for reports.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) program: Program,
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Spec files whose very subject is that the wheel is wrong, or another one: they are not held against it.
pub(super) const MEANT: &[&str] = &["reference/differences", "reference/edition-013", "std/divergences"];

/// Lists all programs that were asked for; generated ones are made while iterating.
pub(super) fn all(wish: &Wish) -> Result<Box<dyn Iterator<Item = Named>>, String> {
    let mut fixed = Vec::new();
    if wish.spec {
        for file in testkit::spec::load(&root().join("spec"))? {
            if MEANT.contains(&file.name.as_str()) {
                continue;
            }
            for case in file.cases {
                fixed.push(Named { name: format!("{} > {}", file.name, case.name), program: case.program });
            }
        }
    }
    for folder in &wish.folders {
        gather(folder, &mut fixed)?;
    }
    fixed.retain(|named| named.name.contains(&wish.filter));
    let (seed, count) = (wish.seed, wish.generated);
    let generated = (seed..seed + count)
        .map(|seed| Named { name: format!("seed-{seed}"), program: testkit::generate::program(seed) });
    let named = |kind: &'static str, count: u64, make: Box<dyn Fn(u64) -> Program>| {
        (seed..seed + count).map(move |seed| Named { name: format!("{kind}-{seed}"), program: make(seed) })
    };
    let corpus = if wish.mutated > 0 { corpus()? } else { Vec::new() };
    let mutated =
        named("mutated", wish.mutated, Box::new(move |seed| testkit::mutate::program(&corpus, seed)));
    let calls = named("calls", wish.calls, Box::new(testkit::library_calls::program));
    let faulty = named("faulty", wish.faulty, Box::new(testkit::faulty::program));
    let idioms = named("idioms", wish.idioms, Box::new(testkit::idioms::program));
    let random = generated.chain(mutated).chain(calls).chain(faulty).chain(idioms);
    Ok(Box::new(fixed.into_iter().chain(random)))
}

/// What is mutated: the programs of all spec files, those about the wheel's mistakes left out, and some generated ones.
fn corpus() -> Result<Vec<Program>, String> {
    const GENERATED: u64 = 400;
    let files = testkit::spec::load(&root().join("spec"))?;
    let kept = files.into_iter().filter(|file| !MEANT.contains(&file.name.as_str()));
    let mut programs: Vec<Program> = kept.flat_map(|file| file.cases).map(|case| case.program).collect();
    let seeds = (1..=GENERATED).filter(|seed| testkit::generate::is_meant_to_evaluate(*seed));
    programs.extend(seeds.map(testkit::generate::program));
    Ok(programs)
}

/// Every `*.k` file is a program; a sub-folder with files is one program of several, run with the words of its file `flags`.
fn gather(folder: &Path, out: &mut Vec<Named>) -> Result<(), String> {
    let problem = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(problem)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            let mut files = Vec::new();
            tree(&path, &path, &mut files)?;
            let words = std::fs::read_to_string(path.join("flags")).unwrap_or_default();
            files.retain(|file| file.path != "flags");
            let flags = testkit::Flags::parse(words.split_whitespace())?;
            let program = Program { files, flags };
            out.push(Named { name: path.display().to_string(), program });
        } else if path.extension().is_some_and(|e| e == "k") {
            let text = std::fs::read_to_string(&path).map_err(problem)?;
            out.push(Named { name: path.display().to_string(), program: Program::single(text) });
        }
    }
    Ok(())
}

fn tree(root: &Path, folder: &Path, out: &mut Vec<SourceText>) -> Result<(), String> {
    let problem = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(problem)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            tree(root, &path, out)?;
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(problem)?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let entry = !name.contains('/') && name.ends_with(".k");
        out.push(SourceText { path: name, text, entry });
    }
    Ok(())
}
