//! The data folder: a snapshot and the changes since, so that a killed sandbox comes back as it was.
//!
//! `world.json` is the whole world at one revision, replaced by rename; `changes` has one line per event after it, with a
//! checksum. A torn last line is cut off. A change is in the file before its answer is sent; the file is not synced for each
//! (a sandbox survives its process, not a power cut).

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use sandbox_world::World;

/// Changes after which a new snapshot is worth its price.
const COMPACT_AFTER: usize = 50_000;

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("the sandbox's folder {path} cannot be used: {error}")]
    Folder { path: PathBuf, error: std::io::Error },
    #[error("{path} is not a sandbox's snapshot: {reason}; `kusion sandbox reset` begins anew")]
    Snapshot { path: PathBuf, reason: String },
}

/// Writes what changes.
pub struct Keeper {
    folder: PathBuf,
    file: Option<File>,
    /// The newest revision that is in the file.
    kept: u64,
    lines: usize,
}

impl Keeper {
    /// Opens a folder; returns the world that is in it, at the time it was left, or `fresh()` when there is none.
    pub fn open(folder: &Path, fresh: impl FnOnce() -> World) -> Result<(World, Keeper), KeepError> {
        let failed = |error| KeepError::Folder { path: folder.to_owned(), error };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join("world.json");
        let world = match std::fs::read(&path) {
            Ok(bytes) => {
                let mut world = World::restore(&bytes)
                    .map_err(|reason| KeepError::Snapshot { path: path.clone(), reason })?;
                replay(&folder.join("changes"), &mut world);
                world
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => fresh(),
            Err(error) => return Err(failed(error)),
        };
        let mut keeper = Keeper { folder: folder.to_owned(), file: None, kept: world.revision(), lines: 0 };
        keeper.snapshot(&world).map_err(failed)?;
        Ok((world, keeper))
    }

    /// Writes the events since the last time. A disk that fails makes the sandbox forget, not fail.
    pub(crate) fn append(&mut self, world: &World) {
        if world.revision() == self.kept {
            return;
        }
        let complete = self.write_events(world);
        if complete.is_err() || self.lines > COMPACT_AFTER {
            // Nothing else can be done if this fails too; the next change tries again.
            let _ = self.snapshot(world);
        }
    }

    fn write_events(&mut self, world: &World) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Err(std::io::ErrorKind::NotFound.into()) };
        let Some(events) = world.view().store.events_after(self.kept) else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        let mut text = Vec::new();
        for event in events {
            let line = World::event_line(event);
            writeln!(text, "{:08x} {line}", checksum(line.as_bytes()))?;
            self.lines += 1;
        }
        file.write_all(&text)?;
        self.kept = world.revision();
        Ok(())
    }

    fn snapshot(&mut self, world: &World) -> std::io::Result<()> {
        let (path, fresh) = (self.folder.join("world.json"), self.folder.join("world.json.new"));
        let mut file = private(&fresh)?;
        file.write_all(&world.snapshot())?;
        file.sync_all()?;
        // Order matters: lines that the snapshot has already are skipped by revision when they are read again.
        std::fs::rename(&fresh, &path)?;
        self.file = Some(private(&self.folder.join("changes"))?);
        self.kept = world.revision();
        self.lines = 0;
        Ok(())
    }
}

fn private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Writes a whole file that only its owner may read, by rename: a reader sees the old one or the new one.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let fresh = path.with_extension("new");
    private(&fresh)?.write_all(bytes)?;
    std::fs::rename(&fresh, path)
}

fn replay(path: &Path, world: &mut World) {
    let Ok(file) = File::open(path) else { return };
    for line in BufReader::new(file).lines() {
        let Ok(line) = line else { return };
        let Some((sum, event)) = line.split_once(' ') else { return };
        if u32::from_str_radix(sum, 16).ok() != Some(checksum(event.as_bytes())) || !world.replay_line(event)
        {
            return;
        }
    }
}

/// FNV-1a: enough to tell a torn line.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
