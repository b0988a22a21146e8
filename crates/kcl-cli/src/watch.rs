//! `kcl run --watch`: run again when a source file changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use crate::run::Job;

/// How often the files are looked at. A look is a few `stat` calls.
const PERIOD: Duration = Duration::from_millis(250);

pub(crate) fn watch(job: &Job) -> ExitCode {
    let mut seen = snapshot(&job.watched());
    job.run();
    eprintln!("watching {} files; Ctrl-C ends", seen.len());
    loop {
        std::thread::sleep(PERIOD);
        let now = snapshot(&job.watched());
        if now != seen {
            seen = now;
            eprintln!("--- changed, running again");
            job.run();
        }
    }
}

fn snapshot(folders: &[PathBuf]) -> BTreeMap<PathBuf, SystemTime> {
    let mut found = BTreeMap::new();
    for folder in folders {
        collect(folder, &mut found, 0);
    }
    found
}

/// Folders below the watched ones are followed this deep.
const MAX_DEPTH: u32 = 16;

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, SystemTime>, depth: u32) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() && depth < MAX_DEPTH {
            collect(&path, found, depth + 1);
        } else if path.extension().is_some_and(|e| e == "k" || e == "yaml" || e == "mod")
            && let Ok(time) = meta.modified()
        {
            found.insert(path, time);
        }
    }
}
