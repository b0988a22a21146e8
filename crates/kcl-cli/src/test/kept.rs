//! Snapshots on the disk: `__snapshots__/CASE.NAME.json` beside the test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base_diag::{Code, Diagnostic, Place};
use kcl_test::snapshots::{FOLDER, Taken, difference};
use kcl_test::{Case, Failure, Ran};

use super::inputs::Inputs;
use super::outputs::Results;
use super::packages::Package;

/// Compares the snapshots of a case with those that are kept, or keeps them.
pub(super) fn compare(inputs: &Inputs, package: &Package, case: &Case, ran: &mut Ran) {
    if !ran.is_ok() {
        return;
    }
    for taken in &ran.snapshots {
        let Some(path) = path(package, case, taken) else { continue };
        let kept = std::fs::read_to_string(&path).ok();
        let Some(diff) = difference(taken, kept.as_deref()) else { continue };
        let (message, help, diff) = if inputs.update {
            let file = [(path, &taken.text)];
            let Err(trouble) = base_file::write_all(&file, base_file::How::Plain) else { continue };
            (format!("the snapshot {trouble}"), "", String::new())
        } else if kept.is_some() {
            let message = format!("the snapshot `{}` is another than the one that is kept", taken.name);
            (message, "`kcl test --update` keeps the new one", diff)
        } else {
            let message = format!("the snapshot `{}` is not kept yet", taken.name);
            (message, "`kcl test --update` keeps it", diff)
        };
        let diagnostic =
            Diagnostic::error(Code::EVALUATION, "snapshot-differs", Place::None, message).with_help(help);
        ran.failure = Some(Failure { diagnostic, diff });
        return;
    }
}

fn path(package: &Package, case: &Case, taken: &Taken) -> Option<PathBuf> {
    Some(package.folder.join(FOLDER).join(format!("{}.{}", case.name, taken.file_name()?)))
}

/// Tells which snapshots no case takes any more; with --update they are removed.
pub(super) fn tell_stale(inputs: &Inputs, package: &Package, results: &mut Results) {
    let folder = package.folder.join(FOLDER);
    let Ok(entries) = std::fs::read_dir(&folder) else { return };
    let taken: BTreeSet<String> = results
        .taken
        .iter()
        .filter(|(number, ..)| *number == package.number)
        .filter_map(|(_, case, taken)| Some(format!("{case}.{}", taken.file_name()?)))
        .collect();
    let mut stale: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".json") && !taken.contains(name))
        .collect();
    stale.sort();
    for name in stale {
        let shown = Path::new(&package.shown).join(FOLDER).join(&name).display().to_string();
        if !inputs.update {
            results.notes.push(format!("no case takes the snapshot {shown} any more; --update removes it"));
        } else if let Err(error) = std::fs::remove_file(folder.join(&name)) {
            results.problems.push(format!("{shown} cannot be removed: {error}"));
        }
    }
}
