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

use kusion_model::Scope;
use serde::{Deserialize, Serialize};

use crate::backend::{Answer, Backend, HEAD_ONLY, Kept, LeaseSlot, Records, Replacement, Written};
use crate::objects::{Object, ObjectAnswer, ObjectError, Objects, TRIES, When};
use crate::{Fence, Head, Lease, Plug, StoreError};

/// A generation of more objects than this is put together when somebody opens it for writing.
const SCATTERED: usize = 64;
/// What closes a generation begins with this: no record.
const CLOSED: &str = "closed ";

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

    /// Asks what changes nothing until it is answered.
    async fn asked<'a, T>(
        &'a self,
        name: &'a str,
        ask: impl Fn() -> ObjectAnswer<'a, T>,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match ask().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match &error {
                ObjectError::Unanswered(why) if self.objects.again(tries, why).await => {}
                _ => return Err(self.failed(name, error)),
            }
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Object>, StoreError> {
        self.asked(name, || self.objects.get(name)).await
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
                Err(ObjectError::Unanswered(why)) => {
                    if !self.objects.again(tries, &why).await {
                        return Err(self.failed(name, ObjectError::Unanswered(why)));
                    }
                    unsure = true;
                }
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

    /// Refuses a medium that does not compare before it puts: two writers would both succeed, and one be lost without a word.
    async fn prove(&self) -> Result<(), StoreError> {
        let name = format!("probe/{}", uuid::Uuid::new_v4());
        let mut taken = Vec::with_capacity(2);
        for text in ["one", "two"] {
            taken.push(self.put(&name, text.as_bytes(), When::Absent).await?.is_some());
        }
        // What is left of it harms nobody.
        let _ = self.objects.remove(std::slice::from_ref(&name)).await;
        if taken == [true, false] {
            return Ok(());
        }
        let why =
            "it does not compare before it puts (conditional writes), so two writers would undo one another";
        Err(self.failed("", ObjectError::Refused(why.to_owned())))
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
            let known = known_of(from, generation);
            let (log, settled) = self.records(scope, generation, known).await?;
            // Somebody may have put another generation in its place and taken this one away meanwhile.
            let now = if settled { manifest.clone() } else { self.manifest(scope).await? };
            let same = now.as_ref().is_some_and(|(now, _)| now.generation == generation);
            // The first head may have come between the two looks.
            let headless = head == Kept::Absent && log.bounds.len() > 1;
            if same && (!headless || self.head(scope).await? == Kept::Absent) {
                return Ok(Written { log: Some(log), head, leased: true });
            }
            manifest = now;
        }
    }

    /// The records of a generation, and whether it was certainly the one that counts at some moment of this look: it is closed
    /// before another takes its place, and its first object is the first to be taken away.
    async fn records(
        &self,
        scope: &Scope,
        generation: u32,
        skipped: usize,
    ) -> Result<(Records, bool), StoreError> {
        let prefix = self.name(scope, &format!("log/{generation:08}/"));
        let after = if skipped == 0 { String::new() } else { record_name(&prefix, skipped - 1) };
        let found = self.asked(&prefix, || self.objects.get_all(&prefix, &after)).await?;
        let mut records = Records { end: position(generation, skipped), ..Records::default() };
        records.scattered = found.len() > SCATTERED;
        let begins = found.first().and_then(|(name, _)| number_of(name)) == Some(0);
        let mut closed = false;
        for (at, (name, bytes)) in found.iter().enumerate() {
            // An object that is missing leaves a gap in the serials, which is told as such.
            records.end = position(generation, number_of(name).unwrap_or(skipped + at) + 1);
            if bytes.starts_with(CLOSED.as_bytes()) {
                (records.scattered, closed) = (true, true);
                continue;
            }
            for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                let start = records.bytes.len();
                records.bytes.extend_from_slice(line);
                records.bounds.push(start..records.bytes.len());
                records.ends.push(records.end);
            }
        }
        Ok((records, begins && !closed))
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
            let (old, _) = self.records(scope, generation, 0).await?;
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
        if let Ok(names) = self.objects.list(&old).await
            && let Some((first, rest)) = names.split_first()
            && self.objects.remove(std::slice::from_ref(first)).await.is_ok()
        {
            let _ = self.objects.remove(rest).await;
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
            let names = self.asked("stacks/", || self.objects.list("stacks/")).await?;
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
            self.prove().await?;
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
