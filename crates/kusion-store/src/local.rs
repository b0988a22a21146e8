//! The log in a folder of this machine.
//!
//! ```text
//! HOME/state/<project>/<stack>/<workspace>/
//!   log      one record per line
//!   head     how far it has been written
//!   lease    who may write
//!   key      the key of secret digests
//!   guard    the file that the operating system locks for the instant of a write
//! ```
//! Reads need no right but to read. Writes happen on a thread of their own, so that nobody who waits for the disk holds up
//! others; each is one instant under the guard, in which the lease is compared.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, mpsc};

use futures::channel::oneshot;
use kusion_model::{Scope, sha256_hex};

use crate::backend::{Answer, Backend, Kept, LeaseSlot, Records, Replacement, Written};
use crate::{Fence, Head, Lease, Plug, StoreError};

/// A folder of this machine; files are 0600, folders 0700.
#[derive(Clone)]
pub struct LocalFolder {
    root: PathBuf,
    plug: Plug,
    writer: Arc<OnceLock<mpsc::Sender<Job>>>,
}

type Job = Box<dyn FnOnce() + Send>;

/// The length of the file `head`, filled up with spaces.
const HEAD_LEN: usize = 256;
/// How often a head that cannot be read is looked at before it counts as damaged.
const HEAD_LOOKS: u32 = 3;

impl LocalFolder {
    /// Keeps the state of all stacks under a home; nothing is read or written yet.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self::with_plug(home, Plug::default())
    }

    /// The same with a plug that can be pulled, for tests.
    pub fn with_plug(home: impl Into<PathBuf>, plug: Plug) -> Self {
        LocalFolder { root: home.into().join("state"), plug, writer: Arc::default() }
    }

    fn stack(&self, scope: &Scope) -> Folder {
        Folder { dir: self.place(scope), plug: self.plug.clone() }
    }

    /// Does some work on the thread of this folder.
    fn write<T: Send + 'static>(
        &self,
        scope: &Scope,
        work: impl FnOnce(&Folder) -> Result<T, StoreError> + Send + 'static,
    ) -> Answer<'_, T> {
        let (tell, told) = oneshot::channel();
        let folder = self.stack(scope);
        let dir = folder.dir.clone();
        let writer = self.writer.get_or_init(start);
        let job: Job = Box::new(move || {
            // Nobody listens any more if the run was cancelled; the write has happened all the same.
            let _ = tell.send(work(&folder));
        });
        let sent = writer.send(job);
        Box::pin(async move {
            let lost = || StoreError::io("write", &dir)(io::Error::other("the writing thread has ended"));
            sent.map_err(|_| lost())?;
            told.await.map_err(|_| lost())?
        })
    }
}

/// Starts the thread; it ends with the last folder that uses it.
fn start() -> mpsc::Sender<Job> {
    let (jobs, todo) = mpsc::channel::<Job>();
    std::thread::spawn(move || todo.into_iter().for_each(|job| job()));
    jobs
}

impl Backend for LocalFolder {
    fn place(&self, scope: &Scope) -> PathBuf {
        self.root.join(safe(&scope.project)).join(safe(&scope.stack)).join(safe(&scope.workspace))
    }

    fn list(&self) -> Answer<'_, Vec<Scope>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for project in names(&self.root)? {
                for stack in names(&self.root.join(&project))? {
                    for workspace in names(&self.root.join(&project).join(&stack))? {
                        let (project, stack) = (project.clone(), stack.clone());
                        found.push(Scope { project, stack, workspace });
                    }
                }
            }
            Ok(found)
        })
    }

    fn read<'a>(&'a self, scope: &'a Scope, from: u64) -> Answer<'a, Written> {
        Box::pin(async move { self.stack(scope).read(from) })
    }

    fn create<'a>(&'a self, scope: &'a Scope, first: &'a str) -> Answer<'a, ()> {
        let line = format!("{first}\n");
        self.write(scope, move |folder| {
            folder.make()?;
            let _guard = folder.guard()?;
            let path = folder.file("log");
            if path.exists() { Ok(()) } else { folder.replace("log", line.as_bytes()) }
        })
    }

    fn append_if<'a>(
        &'a self,
        scope: &'a Scope,
        fence: &'a Fence,
        at: u64,
        records: &'a [String],
        head: &'a Head,
    ) -> Answer<'a, u64> {
        let (fence, text, head) = (fence.clone(), lines(records), head.clone());
        self.write(scope, move |folder| folder.append(&fence, at, &text, &head))
    }

    fn replace_if<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, by: Replacement<'a>) -> Answer<'a, u64> {
        let Replacement { at, records, head, keep_as } = by;
        let (fence, text, head) = (fence.clone(), lines(records), head.clone());
        let copy = keep_as.map(str::to_owned);
        self.write(scope, move |folder| {
            folder.make()?;
            let _guard = folder.guard()?;
            folder.check(&fence, at, &head)?;
            if let Some(copy) = copy {
                folder.keep_log_as(&copy)?;
            }
            folder.put_head(&head)?;
            folder.replace("log", text.as_bytes())?;
            Ok(text.len() as u64)
        })
    }

    fn lease<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<LeaseSlot>> {
        Box::pin(async move { self.stack(scope).lease() })
    }

    fn swap_lease<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
    ) -> Answer<'a, bool> {
        let (read, lease) = (read.map(str::to_owned), lease.clone());
        self.write(scope, move |folder| {
            if read.is_none() {
                folder.make()?;
            }
            let _guard = folder.guard()?;
            if folder.lease()?.map(|slot| slot.version) != read {
                return Ok(false);
            }
            folder.replace("lease", &serde_json::to_vec(&lease).unwrap_or_default())?;
            Ok(true)
        })
    }

    fn kept<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        Box::pin(async move { self.stack(scope).get(name) })
    }

    fn keep<'a>(&'a self, scope: &'a Scope, name: &'a str, bytes: &'a [u8]) -> Answer<'a, ()> {
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        self.write(scope, move |folder| {
            folder.make()?;
            let _guard = folder.guard()?;
            if folder.file(&name).exists() { Ok(()) } else { folder.replace(&name, &bytes) }
        })
    }
}

/// The folder of one stack.
struct Folder {
    dir: PathBuf,
    plug: Plug,
}

impl Folder {
    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.file(name);
        absent_is_none(fs::read(&path)).map_err(StoreError::io("read", &path))
    }

    fn make(&self) -> Result<(), StoreError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        self.plug
            .step()
            .and_then(|()| builder.create(&self.dir))
            .map_err(StoreError::io("make the folder", &self.dir))
    }

    /// Waits for the exclusive right to write here. Held for instants only; given back when the file is closed.
    fn guard(&self) -> Result<File, StoreError> {
        let path = self.file("guard");
        let open = || {
            let file = private(OpenOptions::new().write(true).create(true).truncate(false)).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(StoreError::io("lock", &path))
    }

    fn read(&self, from: u64) -> Result<Written, StoreError> {
        let head = self.head()?;
        let path = self.file("log");
        let read = || {
            let Some(mut file) = absent_is_none(File::open(&path))? else { return Ok(None) };
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        let bytes = read().map_err(StoreError::io("read", &path))?;
        let log = bytes.map(|bytes| split(bytes, from));
        Ok(Written { log, head, leased: self.file("lease").exists() })
    }

    fn lease(&self) -> Result<Option<LeaseSlot>, StoreError> {
        Ok(self.get("lease")?.map(|bytes| LeaseSlot {
            version: sha256_hex(&bytes),
            lease: serde_json::from_slice(&bytes).ok(),
        }))
    }

    /// Refuses a writer that holds another lease or knows another end.
    fn check(&self, fence: &Fence, at: u64, head: &Head) -> Result<(), StoreError> {
        Lease::check(self.lease()?.and_then(|slot| slot.lease).as_ref(), fence)?;
        let path = self.file("log");
        let found = absent_is_none(fs::metadata(&path)).map_err(StoreError::io("measure", &path))?;
        if found.map_or(0, |found| found.len()) == at {
            return Ok(());
        }
        Err(StoreError::Stale { expected: head.serial.saturating_sub(1) })
    }

    fn append(&self, fence: &Fence, at: u64, text: &str, head: &Head) -> Result<u64, StoreError> {
        let _guard = self.guard()?;
        self.check(fence, at, head)?;
        let path = self.file("log");
        let added = self.add(&path, text.as_bytes()).map_err(StoreError::io("write", &path));
        if let Err(error) = added.and_then(|()| self.put_head(head)) {
            // A piece of a line may be there. Cut it, so that the next line does not continue it; if even that fails, the
            // length differs and every later write is refused until the log is opened anew.
            let _ = self.cut(&path, at);
            return Err(error);
        }
        Ok(at + text.len() as u64)
    }

    fn add(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = private(OpenOptions::new().append(true).create(true)).open(path)?;
        let (first, second) = bytes.split_at(bytes.len() / 2);
        self.plug.step()?;
        file.write_all(first)?;
        self.plug.room(bytes.len())?;
        self.plug.step()?;
        file.write_all(second)?;
        file.sync_data()?;
        self.plug.step()
    }

    fn cut(&self, path: &Path, at: u64) -> io::Result<()> {
        self.plug.step()?;
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(at)?;
        file.sync_all()
    }

    fn head(&self) -> Result<Kept, StoreError> {
        for _ in 0..HEAD_LOOKS {
            let Some(bytes) = self.get("head")? else { return Ok(Kept::Absent) };
            if let Ok(head) = serde_json::from_slice(&bytes) {
                return Ok(Kept::Head(head));
            }
            // Somebody may be writing it this very moment.
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(Kept::Garbled)
    }

    /// Writes the head over the old one, of the same length and within one sector of the medium. Nobody waits for the medium: a
    /// machine that loses power may come back with an older head, and a log that is ahead of its head is whole.
    fn put_head(&self, head: &Head) -> Result<(), StoreError> {
        let mut bytes = serde_json::to_vec(head).unwrap_or_default();
        bytes.resize(bytes.len().max(HEAD_LEN), b' ');
        let path = self.file("head");
        let fits = fs::metadata(&path).is_ok_and(|old| old.len() == bytes.len() as u64);
        if !fits || bytes.len() > HEAD_LEN {
            return self.replace("head", &bytes);
        }
        let write = || {
            self.plug.room(bytes.len())?;
            self.plug.step()?;
            OpenOptions::new().write(true).open(&path)?.write_all(&bytes)?;
            self.plug.step()
        };
        write().map_err(StoreError::io("write", &path))
    }

    fn keep_log_as(&self, name: &str) -> Result<(), StoreError> {
        match self.get("log")? {
            Some(bytes) if !self.file(name).exists() => self.replace(name, &bytes),
            _ => Ok(()),
        }
    }

    /// Puts new contents in place of the old, all or nothing, also in a crash.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.file(name);
        let temp = self.file(&format!(".{name}.{}.new", std::process::id()));
        let write = || {
            self.plug.room(bytes.len())?;
            self.plug.step()?;
            let mut file = private(OpenOptions::new().write(true).create(true).truncate(true)).open(&temp)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            self.plug.step()?;
            fs::rename(&temp, &path)?;
            // The new name is durable only when the folder is.
            File::open(&self.dir)?.sync_all()?;
            self.plug.step()
        };
        write().map_err(StoreError::io("write", &path))
    }
}

/// Splits lines; what has no end is the last record all the same.
fn split(bytes: Vec<u8>, from: u64) -> Records {
    let mut records = Records { end: from + bytes.len() as u64, ..Records::default() };
    let (mut start, mut rest) = (0, bytes.as_slice());
    // Reading from memory does not fail; this looks for line ends many bytes at a time.
    while let Ok(length @ 1..) = rest.skip_until(b'\n') {
        let end = start + length;
        records.unfinished = bytes[end - 1] != b'\n';
        records.bounds.push(start..end - usize::from(!records.unfinished));
        records.ends.push(from + end as u64);
        start = end;
    }
    records.bytes = bytes;
    records
}

/// Lists the names in a folder in order; empty if it does not exist.
fn names(path: &Path) -> Result<Vec<String>, StoreError> {
    let list = || {
        let Some(folder) = absent_is_none(fs::read_dir(path))? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for item in folder {
            names.push(item?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    };
    list().map_err(StoreError::io("list", path))
}

/// Makes a name usable as a folder: names are checked where they are read, this only keeps a bug from climbing out.
fn safe(name: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let cleaned: String = name.chars().map(|c| if keep(c) { c } else { '_' }).collect();
    if cleaned.starts_with('.') || cleaned.is_empty() { format!("_{cleaned}") } else { cleaned }
}

fn lines(records: &[String]) -> String {
    records.iter().flat_map(|record| [record.as_str(), "\n"]).collect()
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
