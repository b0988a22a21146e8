//! Snapshots on the disk: `__snapshots__/CASE.NAME.json` beside the test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base_diag::Place;
use kcl_test::snapshots::{self, FOLDER, Taken, difference};
use kcl_test::{Case, Ran};

use super::inputs::Inputs;
use super::outputs::Results;
use super::packages::Package;

/// Compares the snapshots of a case with those that are kept, or keeps them.
pub(super) fn compare(inputs: &Inputs, package: &Package, case: &Case, ran: &mut Ran) {
    let folder = package.folder.join(FOLDER);
    let kept = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    if !inputs.update {
        return snapshots::compare(case, ran, kept);
    }
    let file = |taken: &Taken| taken.file_of(&case.name);
    let changed =
        |taken: &&Taken| file(taken).is_some_and(|file| difference(taken, kept(&file).as_deref()).is_some());
    let texts: Vec<(PathBuf, &String)> = (ran.snapshots.iter().filter(changed))
        .filter_map(|taken| Some((folder.join(file(taken)?), &taken.text)))
        .collect();
    if !ran.is_ok() || texts.is_empty() {
        return;
    }
    if let Err(trouble) = base_file::write_all(&texts, base_file::How::Plain) {
        let place = ran.snapshots.first().map_or(Place::None, |taken| taken.place);
        ran.failure = Some(snapshots::failed(format!("the snapshot {trouble}"), String::new(), place));
    }
}

/// The files of the snapshots that were taken, and their folders: tests run again when they change.
pub(super) fn files(packages: &[Package], results: &Results) -> Vec<PathBuf> {
    let folders = packages.iter().map(|package| package.folder.join(FOLDER));
    let taken = results.taken.iter().filter_map(|(number, case, taken)| {
        Some(packages.get(*number)?.folder.join(FOLDER).join(taken.file_of(case)?))
    });
    folders.chain(taken).collect()
}

/// Tells which snapshots no case takes any more; with --update they are removed.
pub(super) fn tell_stale(inputs: &Inputs, packages: &[Package], results: &mut Results) {
    for package in packages {
        let own = results.taken.iter().filter(|(number, ..)| *number == package.number);
        let taken = own.filter_map(|(_, case, taken)| taken.file_of(case)).collect();
        tell_in(inputs, (&package.folder, &package.shown), &taken, results);
    }
    for (folder, shown) in std::mem::take(&mut results.untested) {
        tell_in(inputs, (&folder, &shown), &BTreeSet::new(), results);
    }
}

fn tell_in(
    inputs: &Inputs,
    (folder, package): (&Path, &str),
    taken: &BTreeSet<String>,
    results: &mut Results,
) {
    let folder = folder.join(FOLDER);
    let Ok(entries) = std::fs::read_dir(&folder) else { return };
    // A case that failed may not have come to its snapshots.
    let failed: Vec<String> = results
        .rows
        .iter()
        .filter(|row| row.package == package && !row.error.is_empty())
        .map(|row| format!("{}.", row.name))
        .collect();
    let open = |name: &String| failed.iter().any(|case| name.starts_with(case));
    let mut stale: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".json") && !taken.contains(name) && !open(name))
        .collect();
    stale.sort();
    for name in stale {
        let shown = Path::new(package).join(FOLDER).join(&name).display().to_string();
        if !inputs.update {
            results.notes.push(format!("no case takes the snapshot {shown} any more; --update removes it"));
        } else if let Err(error) = std::fs::remove_file(folder.join(&name)) {
            results.problems.push(format!("{shown} cannot be removed: {error}"));
        }
    }
    if inputs.update {
        // Only if it is empty now; nobody misses it, and nobody minds if it stays.
        let _ = std::fs::remove_dir(&folder);
    }
}
