//! `kcl run --watch`: run again when something changes that the last run read, or looked for and did not find.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use kcl::{Compiler, Disk, Reads};

use crate::run::Job;

/// How often the files are looked at. A look is a few `stat` calls.
const PERIOD: Duration = Duration::from_millis(250);

pub(crate) fn watch(job: &Job) -> ExitCode {
    let (compiler, world) = (Compiler::new(Disk), job.world());
    loop {
        let (_, reads) = job.run(&compiler, &world);
        let seen: Vec<(PathBuf, Stamp)> = watched(&reads).map(|path| (path.clone(), stamp(&path))).collect();
        eprintln!("watching {} files; Ctrl-C ends", reads.files().count() + reads.data_files().count());
        // A file that changed while the program ran was stamped too late: ask for all of them once more.
        compiler.changed(watched(&reads));
        let missed = reads.is_repeatable() && !job.still_valid(&compiler, &reads, &world);
        if !missed {
            compiler.changed(next_change(&seen));
        }
        eprintln!("--- changed, running again");
    }
}

/// Waits until one of the files is another than it was.
pub(crate) fn next_change(seen: &[(PathBuf, Stamp)]) -> Vec<&PathBuf> {
    loop {
        std::thread::sleep(PERIOD);
        let other = seen.iter().filter(|(path, before)| stamp(path) != *before);
        let changed: Vec<&PathBuf> = other.map(|(path, _)| path).collect();
        if !changed.is_empty() {
            return changed;
        }
    }
}

/// What is known of a path without reading it: nothing if it is not there.
pub(crate) type Stamp = Option<(SystemTime, u64)>;

pub(crate) fn stamp(path: &Path) -> Stamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

pub(crate) fn watched(reads: &Reads) -> impl Iterator<Item = PathBuf> {
    let all = reads.files().chain(reads.folders()).chain(reads.absent()).chain(reads.data_files());
    all.map(Path::to_path_buf)
}
