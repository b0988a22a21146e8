//! The log on anything that keeps named objects and can compare before it puts: object stores, a table, a cluster.
//!
//! ```text
//! <stack>/manifest          which generation counts
//! <stack>/log/<g>/<n>       the records of generation g: one or several lines in each object
//! <stack>/head, lease, kept/<name>
//! ```
//! A record is an object that is created if absent, so two writers never both succeed at one place. Replacing the log writes
//! another generation and then the manifest, in one compare-and-put. Before that the old generation gets a last object that is
//! no record: whoever wanted to append there finds the place taken, and whoever has appended looks at the manifest before he
//! acknowledges, so nothing that was acknowledged is left behind in a generation that no longer counts. A crash
//! leaves that object at the end, and the next writer puts it right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kusion_model::Scope;
use serde::{Deserialize, Serialize};

use crate::backend::{Answer, Backend, HEAD_ONLY, Kept, LeaseSlot, Records, Replacement, Written};
use crate::{Fence, Head, Lease, Plug, StoreError};

/// An answer of a medium of objects.
pub type ObjectAnswer<'a, T> = BoxFuture<'a, Result<T, ObjectError>>;

/// What a medium of objects must promise: a put that is answered is durable and seen by every later get and list.
pub trait Objects: Send + Sync {
    /// Where an object is, for people.
    fn place(&self, name: &str) -> String;

    /// The bytes of an object and its version.
    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>>;

    /// Puts an object if the condition holds; `None` if it does not. Compares and puts in one instant.
    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>>;

    /// The names that begin with a text, in order.
    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>>;

    /// Takes objects away; one that is not there does not matter.
    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()>;

    /// The objects whose names begin with a text and come after another, in order of their names.
    fn get_all<'a>(&'a self, prefix: &'a str, after: &'a str) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        Box::pin(async move {
            let names: Vec<String> =
                self.list(prefix).await?.into_iter().filter(|name| name.as_str() > after).collect();
            let get = |name: String| async move {
                let object = self.get(&name).await?;
                Ok::<_, ObjectError>(object.map(|object| (name, object.bytes)))
            };
            let found: Vec<_> = stream::iter(names).map(get).buffered(AT_ONCE).try_collect().await?;
            Ok(found.into_iter().flatten().collect())
        })
    }
}

/// How many objects are asked for at once.
const AT_ONCE: usize = 16;
/// How often a request that was not answered is made.
const TRIES: u32 = 4;
/// A generation of more objects than this is put together when somebody opens it for writing.
const SCATTERED: usize = 64;
/// What closes a generation begins with this: no record.
const CLOSED: &str = "closed ";

/// An object as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub bytes: Vec<u8>,
    /// Changes whenever the object does.
    pub version: String,
}

/// When an object may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When<'a> {
    Absent,
    /// It still has this version.
    Version(&'a str),
}

/// A request that did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Nobody answered: a put may have happened.
    #[error("no answer: {0}")]
    Unanswered(String),
    /// It has not happened, and will not when it is asked again.
    #[error("{0}")]
    Refused(String),
}

/// The logs of all stacks on a medium of objects.
pub struct ObjectLog<O> {
    objects: O,
    plug: Plug,
    /// The head as we have last seen or put it: another's is not overwritten unseen.
    heads: Mutex<BTreeMap<Scope, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    generation: u32,
    /// Tells two writers of the same generation apart.
    by: String,
}

/// A position: the generation, and how many of its objects.
fn position(generation: u32, objects: usize) -> u64 {
    (u64::from(generation) << 32) | objects as u64
}

impl<O: Objects> ObjectLog<O> {
    /// Keeps logs on a medium.
    pub fn new(objects: O) -> Self {
        Self::with_plug(objects, Plug::default())
    }

    /// The same with a plug that can be pulled, for tests.
    pub fn with_plug(objects: O, plug: Plug) -> Self {
        ObjectLog { objects, plug, heads: Mutex::default() }
    }

    /// The medium below.
    pub fn objects(&self) -> &O {
        &self.objects
    }

    fn name(&self, scope: &Scope, rest: &str) -> String {
        format!("{}/{rest}", folder(scope))
    }

    fn failed(&self, name: &str, error: ObjectError) -> StoreError {
        let place = PathBuf::from(self.objects.place(name));
        match error {
            ObjectError::Unanswered(why) if why.is_empty() => StoreError::Unanswered { place, tries: TRIES },
            ObjectError::Unanswered(why) => StoreError::Unreachable { place, why },
            ObjectError::Refused(why) => StoreError::Refused { place, why },
        }
    }

    fn step(&self, name: &str) -> Result<(), StoreError> {
        self.plug.step().map_err(StoreError::io("write", Path::new(&self.objects.place(name))))
    }

    async fn get(&self, name: &str) -> Result<Option<Object>, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.objects.get(name).await {
                Err(ObjectError::Unanswered(_)) if tries < TRIES => {}
                done => return done.map_err(|error| self.failed(name, error)),
            }
        }
    }

    /// Puts an object; where the answer is lost, looks whether it is there.
    async fn put(&self, name: &str, bytes: &[u8], when: When<'_>) -> Result<Option<String>, StoreError> {
        let room = self.plug.room(bytes.len());
        room.map_err(StoreError::io("write", Path::new(&self.objects.place(name))))?;
        self.step(name)?;
        let (mut unsure, mut tries) = (false, 0);
        loop {
            tries += 1;
            let put = self.objects.put(name, bytes, when).await;
            let put =
                if self.plug.loses_answer() { Err(ObjectError::Unanswered(String::new())) } else { put };
            match put {
                Err(ObjectError::Unanswered(_)) if tries < TRIES => unsure = true,
                Err(error) => return Err(self.failed(name, error)),
                Ok(Some(version)) => {
                    self.step(name)?;
                    return Ok(Some(version));
                }
                Ok(None) if !unsure => return Ok(None),
                Ok(None) => {}
            }
            // What stands there and is what we wanted to put is ours: no two writers put the same bytes.
            match self.get(name).await? {
                Some(found) if found.bytes == bytes => return Ok(Some(found.version)),
                found => {
                    let version = found.as_ref().map(|found| found.version.as_str());
                    let open = match when {
                        When::Absent => version.is_none(),
                        When::Version(wanted) => version == Some(wanted),
                    };
                    if !open {
                        return Ok(None);
                    }
                }
            }
        }
    }

    async fn manifest(&self, scope: &Scope) -> Result<Option<(Manifest, String)>, StoreError> {
        let name = self.name(scope, "manifest");
        let Some(found) = self.get(&name).await? else { return Ok(None) };
        let garbled = || ObjectError::Refused("the manifest is not what was written".to_owned());
        let manifest = serde_json::from_slice(&found.bytes).map_err(|_| self.failed(&name, garbled()))?;
        Ok(Some((manifest, found.version)))
    }

    async fn head(&self, scope: &Scope) -> Result<Kept, StoreError> {
        let Some(found) = self.get(&self.name(scope, "head")).await? else { return Ok(Kept::Absent) };
        self.heads().insert(scope.clone(), found.version);
        Ok(serde_json::from_slice(&found.bytes).map_or(Kept::Garbled, Kept::Head))
    }

    fn heads(&self) -> std::sync::MutexGuard<'_, BTreeMap<Scope, String>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the head. One that is further already stays: a log that is ahead of its head is whole.
    async fn put_head(&self, scope: &Scope, head: &Head) -> Result<(), StoreError> {
        let (name, bytes) = (self.name(scope, "head"), serde_json::to_vec(head).unwrap_or_default());
        for _ in 0..TRIES {
            let known = self.heads().get(scope).cloned();
            let when = known.as_deref().map_or(When::Absent, When::Version);
            if let Some(version) = self.put(&name, &bytes, when).await? {
                self.heads().insert(scope.clone(), version);
                return Ok(());
            }
            match self.head(scope).await? {
                Kept::Head(now) if now.lineage == head.lineage && now.serial > head.serial => return Ok(()),
                Kept::Absent => drop(self.heads().remove(scope)),
                _ => {}
            }
        }
        Err(StoreError::Unanswered { place: self.place(scope), tries: TRIES })
    }

    async fn read(&self, scope: &Scope, from: u64) -> Result<Written, StoreError> {
        let mut manifest = self.manifest(scope).await?;
        loop {
            let head = self.head(scope).await?;
            let Some((Manifest { generation, .. }, _)) = manifest else {
                let leased = self.get(&self.name(scope, "lease")).await?.is_some();
                // A log is made before its lease: what was seen before it tells nothing about a log that came since.
                manifest = self.manifest(scope).await?;
                if manifest.is_none() {
                    return Ok(Written { log: None, head, leased });
                }
                continue;
            };
            if from == HEAD_ONLY {
                let log = Some(Records { end: from, ..Records::default() });
                return Ok(Written { log, head, leased: true });
            }
            let log = self.records(scope, generation, known_of(from, generation)).await?;
            // Somebody may have put another generation in its place and taken this one away meanwhile.
            let now = self.manifest(scope).await?;
            let same = now.as_ref().is_some_and(|(now, _)| now.generation == generation);
            // The first head may have come between the two looks.
            let headless = head == Kept::Absent && log.bounds.len() > 1;
            if same && (!headless || self.head(scope).await? == Kept::Absent) {
                return Ok(Written { log: Some(log), head, leased: true });
            }
            manifest = now;
        }
    }

    async fn records(&self, scope: &Scope, generation: u32, skipped: usize) -> Result<Records, StoreError> {
        let prefix = self.name(scope, &format!("log/{generation:08}/"));
        let after = if skipped == 0 { String::new() } else { record_name(&prefix, skipped - 1) };
        let found =
            self.objects.get_all(&prefix, &after).await.map_err(|error| self.failed(&prefix, error))?;
        let mut records = Records { end: position(generation, skipped), ..Records::default() };
        records.scattered = found.len() > SCATTERED;
        for (at, (name, bytes)) in found.iter().enumerate() {
            // An object that is missing leaves a gap in the serials, which is told as such.
            records.end = position(generation, number_of(name).unwrap_or(skipped + at) + 1);
            if bytes.starts_with(CLOSED.as_bytes()) {
                records.scattered = true;
                continue;
            }
            for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                let start = records.bytes.len();
                records.bytes.extend_from_slice(line);
                records.bounds.push(start..records.bytes.len());
                records.ends.push(records.end);
            }
        }
        Ok(records)
    }

    async fn check(&self, scope: &Scope, fence: &Fence) -> Result<(), StoreError> {
        let lease = self.get(&self.name(scope, "lease")).await?;
        Lease::check(lease.and_then(|lease| serde_json::from_slice(&lease.bytes).ok()).as_ref(), fence)
    }

    async fn append(
        &self,
        scope: &Scope,
        fence: &Fence,
        at: u64,
        record: &str,
        head: &Head,
    ) -> Result<u64, StoreError> {
        self.check(scope, fence).await?;
        let stale = || StoreError::Stale { expected: head.serial.saturating_sub(1) };
        let (generation, count) = parts(at);
        let prefix = self.name(scope, &format!("log/{generation:08}/"));
        let name = record_name(&prefix, count);
        if self.put(&name, record.as_bytes(), When::Absent).await?.is_none() {
            return Err(stale());
        }
        // A generation that no longer counts is swept away, and then every place in it is free.
        let now = self.manifest(scope).await?;
        if now.is_none_or(|(now, _)| now.generation != generation) {
            return Err(stale());
        }
        self.put_head(scope, head).await?;
        Ok(position(generation, count + 1))
    }

    async fn replace(&self, scope: &Scope, fence: &Fence, by: Replacement<'_>) -> Result<u64, StoreError> {
        self.check(scope, fence).await?;
        let stale = || StoreError::Stale { expected: by.head.serial.saturating_sub(1) };
        let (generation, count) = parts(by.at);
        let manifest = self.manifest(scope).await?;
        let fits = manifest.as_ref().map_or(by.at == 0, |(now, _)| now.generation == generation);
        if !fits {
            return Err(stale());
        }
        if let (Some(_), Some(copy)) = (&manifest, by.keep_as) {
            let old = self.records(scope, generation, 0).await?;
            let text: Vec<u8> = old.iter().flat_map(|record| [record, b"\n"].concat()).collect();
            self.put(&self.name(scope, &format!("kept/{copy}")), &text, When::Absent).await?;
        }
        let old = self.name(scope, &format!("log/{generation:08}/"));
        if manifest.is_some() {
            let closed = format!("{CLOSED}{}", uuid::Uuid::new_v4());
            let put = self.put(&record_name(&old, count), closed.as_bytes(), When::Absent).await?;
            put.ok_or_else(stale)?;
        }
        // The head follows: who loses the race for the manifest has not moved it, and a log ahead of its head is whole.
        let end = self.next_generation(scope, manifest.as_ref(), by.records).await?.ok_or_else(stale)?;
        self.put_head(scope, by.head).await?;
        // What is left behind by a crash here is never read again.
        if let Ok(names) = self.objects.list(&old).await {
            let _ = self.objects.remove(&names).await;
        }
        Ok(end)
    }

    /// Writes a generation that nobody has written before, then makes it the one that counts.
    async fn next_generation(
        &self,
        scope: &Scope,
        before: Option<&(Manifest, String)>,
        records: &[String],
    ) -> Result<Option<u64>, StoreError> {
        let mut generation = before.map_or(0, |(manifest, _)| manifest.generation);
        let text = records.join("\n");
        loop {
            generation = generation.saturating_add(1);
            let prefix = self.name(scope, &format!("log/{generation:08}/"));
            // One that a crash has left behind is passed by.
            if self.put(&record_name(&prefix, 0), text.as_bytes(), When::Absent).await?.is_some() {
                break;
            }
            if generation == u32::MAX {
                return Ok(None);
            }
        }
        let manifest = Manifest { generation, by: uuid::Uuid::new_v4().to_string() };
        let when = before.map_or(When::Absent, |(_, version)| When::Version(version));
        let bytes = serde_json::to_vec(&manifest).unwrap_or_default();
        let put = self.put(&self.name(scope, "manifest"), &bytes, when).await?;
        Ok(put.map(|_| position(generation, 1)))
    }
}

/// How many objects of a generation somebody knows who stands at a position.
fn known_of(from: u64, generation: u32) -> usize {
    let (of, count) = parts(from);
    if of == generation { count } else { 0 }
}

fn parts(position: u64) -> (u32, usize) {
    (u32::try_from(position >> 32).unwrap_or(u32::MAX), usize::try_from(position & 0xffff_ffff).unwrap_or(0))
}

fn record_name(prefix: &str, number: usize) -> String {
    format!("{prefix}{number:08}")
}

fn number_of(name: &str) -> Option<usize> {
    name.rsplit('/').next()?.parse().ok()
}

fn folder(scope: &Scope) -> String {
    let Scope { project, stack, workspace } = scope;
    format!("state/{}/{}/{}", safe(project), safe(stack), safe(workspace))
}

/// Makes a name usable in every medium; names are checked where they are read, this only keeps a bug from climbing out.
fn safe(name: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = name.chars().map(|c| if keep(c) { c } else { '_' }).collect();
    if plain.starts_with('.') || plain.is_empty() { format!("_{plain}") } else { plain }
}

impl<O: Objects> Backend for ObjectLog<O> {
    fn place(&self, scope: &Scope) -> PathBuf {
        PathBuf::from(self.objects.place(&folder(scope)))
    }

    fn list(&self) -> Answer<'_, Vec<Scope>> {
        Box::pin(async move {
            let names = self.objects.list("stacks/").await.map_err(|error| self.failed("stacks/", error))?;
            let scope = |name: &String| {
                let mut parts = name.strip_prefix("stacks/")?.split('/').map(str::to_owned);
                Some(Scope { project: parts.next()?, stack: parts.next()?, workspace: parts.next()? })
            };
            Ok(names.iter().filter_map(scope).collect())
        })
    }

    fn read<'a>(&'a self, scope: &'a Scope, from: u64) -> Answer<'a, Written> {
        Box::pin(self.read(scope, from))
    }

    fn create<'a>(&'a self, scope: &'a Scope, first: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            if self.manifest(scope).await?.is_some() {
                return Ok(());
            }
            self.next_generation(scope, None, &[first.to_owned()]).await?;
            let listed = folder(scope).replacen("state/", "stacks/", 1);
            self.put(&listed, b"stack", When::Absent).await.map(|_| ())
        })
    }

    fn append_if<'a>(
        &'a self,
        scope: &'a Scope,
        fence: &'a Fence,
        at: u64,
        record: &'a str,
        head: &'a Head,
    ) -> Answer<'a, u64> {
        Box::pin(self.append(scope, fence, at, record, head))
    }

    fn replace_if<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, by: Replacement<'a>) -> Answer<'a, u64> {
        Box::pin(self.replace(scope, fence, by))
    }

    fn lease<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<LeaseSlot>> {
        Box::pin(async move {
            let found = self.get(&self.name(scope, "lease")).await?;
            Ok(found.map(|found| {
                let lease = serde_json::from_slice(&found.bytes).ok();
                LeaseSlot { version: found.version, lease }
            }))
        })
    }

    fn swap_lease<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
    ) -> Answer<'a, bool> {
        Box::pin(async move {
            let bytes = serde_json::to_vec(lease).unwrap_or_default();
            let when = read.map_or(When::Absent, When::Version);
            Ok(self.put(&self.name(scope, "lease"), &bytes, when).await?.is_some())
        })
    }

    fn kept<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let found = self.get(&self.name(scope, &format!("kept/{name}"))).await?;
            Ok(found.map(|found| found.bytes))
        })
    }

    fn keep<'a>(&'a self, scope: &'a Scope, name: &'a str, bytes: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(async move {
            self.put(&self.name(scope, &format!("kept/{name}")), bytes, When::Absent).await.map(|_| ())
        })
    }
}
