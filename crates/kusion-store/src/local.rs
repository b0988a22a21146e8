//! The disk of this machine, and its processes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::{Disk, Guard, Liveness, Owner};

/// Files of this machine, 0600 in folders 0700.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

struct FileGuard {
    /// The lock lives as long as the open file.
    _file: File,
}

impl Guard for FileGuard {}

impl Disk for LocalDisk {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        absent_is_none(fs::read(path))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(absent_is_none(fs::metadata(path))?.map_or(0, |meta| meta.len()))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = private(OpenOptions::new().append(true).create(true)).open(path)?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temp = temp_name(path);
        let mut file = private(OpenOptions::new().write(true).create(true).truncate(true)).open(&temp)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temp, path)?;
        // The new name is durable only when the folder is.
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(len)?;
        file.sync_all()
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let Some(folder) = absent_is_none(fs::read_dir(path))? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for item in folder {
            names.push(item?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn guard(&self, path: &Path) -> io::Result<Box<dyn Guard>> {
        let file = private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
        file.lock()?;
        Ok(Box::new(FileGuard { _file: file }))
    }
}

fn absent_is_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn temp_name(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

/// Describes this process as the owner of a lease.
#[must_use]
pub fn local_owner(user: &str, host: &str, command: &str) -> Owner {
    let pid = std::process::id();
    Owner {
        user: user.to_owned(),
        host: host.to_owned(),
        pid,
        started: start_time(pid).unwrap_or(0),
        command: command.to_owned(),
    }
}

/// Tells whether the owner of a lease still runs, if it is on the machine called `host`.
#[must_use]
pub fn local_liveness(host: &str, owner: &Owner) -> Liveness {
    if owner.host != host || !Path::new("/proc/self").exists() {
        return Liveness::Unknown;
    }
    match start_time(owner.pid) {
        None => Liveness::Dead,
        Some(started) if owner.started != 0 && started != owner.started => Liveness::Dead,
        Some(_) => Liveness::Alive,
    }
}

/// Returns when a process started, in ticks since boot: field 22 of its stat, counted behind the name in parentheses.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    // A zombie has ended, whatever its table entry says.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
