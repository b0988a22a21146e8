//! The log on anything that keeps named objects and makes a name only once: object stores, a table, a cluster.
//!
//! ```text
//! <stack>/log/<g>/<n>       the records of generation g, one or several lines in each object; the highest generation counts
//! <stack>/log/<g>/pack-<n>  a copy of the objects 1 to n-1 in one, for media that are asked for each object
//! <stack>/swept/<g>         generation g is taken away, so its places are free and mean nothing
//! <stack>/lease/<n>         who may write; the highest number counts
//! <stack>/head, kept/<name>
//! stacks/<stack>            says that there is such a stack; made before its log, and anew by whoever takes the lease
//! ```
//! A record is an object that is created if absent, so two writers never both succeed at one place. Replacing the log closes
//! the generation with an object that is no record, at the place where the next record would be, and then creates the first
//! object of the next generation, which holds all its records: that put is the instant of the change. Old generations are
//! taken away, but never the highest; so whoever has created one looks whether it is the highest now, and whoever has appended
//! looks whether his generation was swept before he acknowledges. Nothing that must exclude another rests on more than
//! create-if-absent; only the head, which is a hint that may lag, is compared and put.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use futures::future::{join, join3, ready};
use kusion_model::Scope;

use crate::backend::{Answer, Backend, HEAD_ONLY, Kept, LeaseSlot, Look, Records, Replacement, Written};
use crate::object_head::Seen;
use crate::object_pack::Behinds;
use crate::objects::{Objects, When};
use crate::{Fence, Head, Lease, Plug, StoreError};

/// A generation of more objects than this is put together when somebody opens it for writing.
const SCATTERED: usize = 64;
/// What closes a generation begins with this: no record.
pub(crate) const CLOSED: &str = "closed ";
/// What takes the place of a former holder's next record begins with this: no record either.
pub(crate) const HELD: &str = "held ";

/// The lease that we have put last, and its number.
pub(crate) type Held = BTreeMap<Scope, (Lease, u64)>;

/// The logs of all stacks on a medium of objects.
pub struct ObjectLog<O> {
    pub(crate) objects: O,
    pub(crate) plug: Plug,
    /// The head as we have last seen or put it: another's is not overwritten unseen.
    pub(crate) heads: Mutex<BTreeMap<Scope, Seen>>,
    pub(crate) held: Mutex<Held>,
    pub(crate) behind: Mutex<Behinds>,
    /// The stacks whose packs are passed by.
    pub(crate) distrusted: Mutex<BTreeSet<Scope>>,
}

/// A position: the generation, and how many of its objects.
pub(crate) fn position(generation: u32, objects: usize) -> u64 {
    (u64::from(generation) << 32) | objects as u64
}

pub(crate) fn parts(position: u64) -> (u32, usize) {
    (u32::try_from(position >> 32).unwrap_or(u32::MAX), usize::try_from(position & 0xffff_ffff).unwrap_or(0))
}

/// What the name of an object of a log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) generation: u32,
    /// How many objects come before it, or are in it if it is a pack.
    pub(crate) number: usize,
    pub(crate) pack: bool,
}

impl Spot {
    fn of(name: &str) -> Option<Spot> {
        let mut parts = name.rsplit('/');
        let (last, generation) = (parts.next()?, parts.next()?.parse().ok()?);
        let (number, pack) = match last.strip_prefix("pack-") {
            Some(number) => (number, true),
            None => (last, false),
        };
        Some(Spot { generation, number: number.parse().ok()?, pack })
    }
}

/// Of all objects of a log, those that tell what stands behind a position, with the help of packs or without.
fn telling(names: &[String], from: u64, with_packs: bool) -> Vec<String> {
    let spots: Vec<(Spot, &String)> = names.iter().filter_map(|name| Some((Spot::of(name)?, name))).collect();
    let Some(top) = spots.iter().map(|(spot, _)| spot.generation).max() else { return Vec::new() };
    let skipped = known_of(from, top);
    let own = |spot: &Spot| spot.generation == top;
    let packs = spots.iter().filter(|(spot, _)| own(spot) && spot.pack && skipped == 0 && with_packs);
    let packed = packs.map(|(spot, _)| spot.number).max().unwrap_or(0);
    let tells = |spot: &Spot| match spot.pack {
        true => spot.number == packed && packed > 0,
        false => spot.number >= skipped && (spot.number == 0 || spot.number >= packed),
    };
    spots.into_iter().filter(|(spot, _)| own(spot) && tells(spot)).map(|(_, name)| name.clone()).collect()
}

impl<O: Objects> ObjectLog<O> {
    /// Keeps logs on a medium.
    pub fn new(objects: O) -> Self {
        Self::with_plug(objects, Plug::default())
    }

    /// The same with a plug that can be pulled, for tests.
    pub fn with_plug(objects: O, plug: Plug) -> Self {
        let (heads, held, behind) = (Mutex::default(), Mutex::default(), Mutex::default());
        ObjectLog { objects, plug, heads, held, behind, distrusted: Mutex::default() }
    }

    /// The medium below.
    pub fn objects(&self) -> &O {
        &self.objects
    }

    pub(crate) fn name(&self, scope: &Scope, rest: &str) -> String {
        format!("{}/{rest}", folder(scope))
    }

    pub(crate) fn stack_place(&self, scope: &Scope) -> PathBuf {
        PathBuf::from(self.objects.place(&folder(scope)))
    }

    pub(crate) fn record_name(&self, scope: &Scope, generation: u32, number: usize) -> String {
        self.name(scope, &format!("log/{generation:08}/{number:08}"))
    }

    async fn read(&self, scope: &Scope, from: u64) -> Result<Written, StoreError> {
        loop {
            let head = self.head(scope).await?;
            if from == HEAD_ONLY {
                return Ok(Written { log: None, head, leased: true });
            }
            let Some(log) = self.records(scope, from).await? else {
                // A log is made before its lease: one that came between the two looks is not gone.
                let leased = self.was_leased(scope).await?;
                if leased && !self.names(&self.name(scope, "log/")).await?.is_empty() {
                    continue;
                }
                return Ok(Written { log: None, head, leased });
            };
            // The first head may have come between the two looks.
            let headless = head == Kept::Absent && log.bounds.len() > 1;
            if !headless || self.head(scope).await? == Kept::Absent {
                return Ok(Written { log: Some(log), head, leased: true });
            }
        }
    }

    /// Head and records at once; where that leaves a question, in order.
    async fn glance(&self, scope: &Scope) -> Result<Written, StoreError> {
        let (head, log) = join(self.head(scope), self.records(scope, 0)).await;
        match (head?, log?) {
            (head, Some(log)) if head != Kept::Absent || log.bounds.len() <= 1 => {
                Ok(Written { log: Some(log), head, leased: true })
            }
            _ => self.read(scope, 0).await,
        }
    }

    /// What is written behind a position, by somebody who holds the lease: there is a log.
    pub(crate) async fn look(&self, scope: &Scope, from: u64) -> Result<Written, StoreError> {
        let (head, log) = join(self.head(scope), self.records(scope, from)).await;
        Ok(Written { log: log?, head: head?, leased: true })
    }

    /// The records behind a position, as they were at one moment; `None` if there is no log.
    pub(crate) async fn records(&self, scope: &Scope, from: u64) -> Result<Option<Records>, StoreError> {
        let prefix = self.name(scope, "log/");
        let (generation, known) = parts(from);
        let after = if known == 0 { String::new() } else { self.record_name(scope, generation, known - 1) };
        let with_packs = !self.is_distrusted(scope);
        let choose = |names: &[String]| telling(names, from, with_packs);
        let found = self.asked(&prefix, || self.objects.get_chosen(&prefix, &after, &choose)).await?;
        if found.is_empty() && from == 0 {
            return Ok(None);
        }
        let found = in_order(found);
        if from == 0 {
            self.note_read(scope, &found);
        }
        Ok(Some(together(from, found.iter().map(|(spot, bytes)| (*spot, bytes.as_slice())))))
    }

    async fn append(
        &self,
        scope: &Scope,
        fence: &Fence,
        at: u64,
        records: &[String],
        head: &Head,
    ) -> Result<u64, StoreError> {
        let (generation, count) = parts(at);
        let text = records.join("\n");
        let made = self.make(&self.record_name(scope, generation, count), text.as_bytes()).await?;
        if !made || self.is_swept_or_told(scope, generation, head).await? {
            // Whoever takes the lease takes our place, too.
            self.check(scope, fence).await?;
            return Err(StoreError::Stale { expected: head.serial.saturating_sub(1) });
        }
        self.note_appended(scope, at, &text);
        Ok(position(generation, count + 1))
    }

    async fn replace(&self, scope: &Scope, fence: &Fence, by: Replacement<'_>) -> Result<u64, StoreError> {
        self.check(scope, fence).await?;
        let stale = || StoreError::Stale { expected: by.head.serial.saturating_sub(1) };
        let (generation, count) = parts(by.at);
        if by.at > 0 {
            if let Some(copy) = by.keep_as {
                let text = self.everything(scope).await?;
                self.make(&self.name(scope, &format!("kept/{copy}")), &text).await?;
            }
            let closed = format!("{CLOSED}{}", uuid::Uuid::new_v4());
            if !self.make(&self.record_name(scope, generation, count), closed.as_bytes()).await? {
                return Err(stale());
            }
        }
        let next = match by.at {
            0 => self.first_generation(scope, by.records).await?,
            _ => self.next_generation(scope, generation, by.records).await?,
        };
        let next = next.ok_or_else(stale)?;
        // The head follows: who loses the race has not moved it, and a log ahead of its head is whole.
        self.put_head(scope, by.head, next).await?;
        self.sweep(scope, next).await;
        self.note_replaced(scope, position(next, 1));
        Ok(position(next, 1))
    }

    /// Creates a log where none is; `None` if there is one.
    async fn first_generation(&self, scope: &Scope, records: &[String]) -> Result<Option<u32>, StoreError> {
        let (log, swept) = (self.name(scope, "log/"), self.name(scope, "swept/"));
        let (log, proved, swept) = join3(self.names(&log), self.prove(), self.names(&swept)).await;
        if !log?.is_empty() {
            return Ok(None);
        }
        proved?;
        // Where a log was removed from outside, the numbers that were swept are not used again.
        let swept = swept?;
        let last = swept.iter().filter_map(|name| number_of(name)).max().unwrap_or(0);
        // A stack that is named and has no log yet is an empty one; a log that nobody names would be overlooked.
        self.name_stack(scope).await?;
        self.next_generation(scope, u32::try_from(last).unwrap_or(u32::MAX), records).await
    }

    /// Says that there is such a stack.
    pub(crate) async fn name_stack(&self, scope: &Scope) -> Result<bool, StoreError> {
        self.make(&folder(scope).replacen("state/", "stacks/", 1), b"stack").await
    }

    /// Creates the generation behind another, with all its records in one object. Returns its number; `None` if somebody else
    /// was quicker.
    async fn next_generation(
        &self,
        scope: &Scope,
        before: u32,
        records: &[String],
    ) -> Result<Option<u32>, StoreError> {
        let Some(next) = before.checked_add(1) else { return Ok(None) };
        let name = self.record_name(scope, next, 0);
        if !self.make(&name, records.join("\n").as_bytes()).await? {
            return Ok(None);
        }
        let names = self.names(&self.name(scope, "log/")).await?;
        let top = names.iter().filter_map(|name| Spot::of(name)).map(|spot| spot.generation).max();
        if top == Some(next) {
            return Ok(Some(next));
        }
        // The number was free because it had been swept: what we have made stands below the highest and means nothing.
        let _ = self.objects.remove(std::slice::from_ref(&name)).await;
        Ok(None)
    }

    pub(crate) fn swept(&self, scope: &Scope, generation: u32) -> String {
        self.name(scope, &format!("swept/{generation:08}"))
    }

    /// Takes the generations below one away. What is left behind by a failure or a crash is never read again.
    async fn sweep(&self, scope: &Scope, below: u32) {
        let Ok(names) = self.objects.list(&self.name(scope, "log/")).await else { return };
        let old = |name: &&String| Spot::of(name).is_some_and(|spot| spot.generation < below);
        let old: Vec<String> = names.iter().filter(old).cloned().collect();
        let generations: BTreeSet<u32> =
            old.iter().filter_map(|name| Spot::of(name)).map(|spot| spot.generation).collect();
        for generation in generations {
            // First it is told, then the places become free.
            if self.objects.put(&self.swept(scope, generation), b"swept", When::Absent).await.is_err() {
                return;
            }
        }
        let _ = self.objects.remove(&old).await;
    }
}

/// Objects of a log in the order of what they hold: a pack comes last by its name, and before what it was not made of by its
/// meaning.
pub(crate) fn in_order(found: Vec<(String, Vec<u8>)>) -> Vec<(Spot, Vec<u8>)> {
    let mut found: Vec<(Spot, Vec<u8>)> =
        found.into_iter().filter_map(|(name, bytes)| Some((Spot::of(&name)?, bytes))).collect();
    found.sort_by_key(|(spot, _)| (spot.number, !spot.pack));
    found
}

/// The records in some objects of one generation.
pub(crate) fn together<'a>(from: u64, found: impl Iterator<Item = (Spot, &'a [u8])>) -> Records {
    let mut records = Records { end: from, ..Records::default() };
    for (spot, bytes) in found {
        // An object that is missing leaves a gap in the serials, which is told as such.
        records.end = position(spot.generation, spot.number + usize::from(!spot.pack));
        records.scattered |= spot.number > SCATTERED;
        if bytes.starts_with(HELD.as_bytes()) {
            continue;
        }
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
    records
}

/// How many objects of a generation somebody knows who stands at a position.
fn known_of(from: u64, generation: u32) -> usize {
    let (of, count) = parts(from);
    if of == generation { count } else { 0 }
}

/// The number that a name ends with.
pub(crate) fn number_of(name: &str) -> Option<u64> {
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
        self.stack_place(scope)
    }

    fn list(&self) -> Answer<'_, Vec<Scope>> {
        Box::pin(async move {
            let scope = |name: &String| {
                let mut parts = name.strip_prefix("stacks/")?.split('/').map(str::to_owned);
                Some(Scope { project: parts.next()?, stack: parts.next()?, workspace: parts.next()? })
            };
            Ok(self.names("stacks/").await?.iter().filter_map(scope).collect())
        })
    }

    fn read<'a>(&'a self, scope: &'a Scope, from: u64) -> Answer<'a, Written> {
        Box::pin(self.read(scope, from))
    }

    fn glance<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Written> {
        Box::pin(self.glance(scope))
    }

    fn create<'a>(&'a self, scope: &'a Scope, first: &'a str) -> Answer<'a, ()> {
        Box::pin(async move { self.first_generation(scope, &[first.to_owned()]).await.map(|_| ()) })
    }

    fn append_if<'a>(
        &'a self,
        scope: &'a Scope,
        fence: &'a Fence,
        at: u64,
        records: &'a [String],
        head: &'a Head,
    ) -> Answer<'a, u64> {
        Box::pin(self.append(scope, fence, at, records, head))
    }

    fn replace_if<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, by: Replacement<'a>) -> Answer<'a, u64> {
        Box::pin(self.replace(scope, fence, by))
    }

    fn first_head<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, head: &'a Head) -> Answer<'a, bool> {
        Box::pin(async move {
            self.check(scope, fence).await?;
            self.put_head(scope, head, 0).await.map(|()| true)
        })
    }

    fn gather<'a>(&'a self, scope: &'a Scope, at: u64) -> Answer<'a, ()> {
        Box::pin(
            async move { if self.objects.asks_for_each() { self.pack(scope, at).await } else { Ok(()) } },
        )
    }

    fn copies<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Vec<Records>> {
        Box::pin(self.all_copies(scope))
    }

    fn distrust(&self, scope: &Scope) -> bool {
        self.pass_packs_by(scope)
    }

    fn own_lease(&self, scope: &Scope, fence: &Fence) -> Option<LeaseSlot> {
        self.own_slot(scope, fence)
    }

    fn lease<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<LeaseSlot>> {
        Box::pin(self.lease_slot(scope))
    }

    fn swap_lease<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
    ) -> Answer<'a, bool> {
        Box::pin(async move { Ok(self.next_lease(scope, read, lease, ready(())).await?.is_some()) })
    }

    fn swap_and_look<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
        from: u64,
    ) -> Answer<'a, Option<Result<Look, StoreError>>> {
        Box::pin(self.next_lease(scope, read, lease, self.look_and_hold(scope, &lease.session, from)))
    }

    fn hold<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, at: u64) -> Answer<'a, Option<u64>> {
        Box::pin(async move { Ok(self.hold_place(scope, &fence.session, at).await?.then_some(at + 1)) })
    }

    fn kept<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let found = self.get(&self.name(scope, &format!("kept/{name}"))).await?;
            Ok(found.map(|found| found.bytes))
        })
    }

    fn keep<'a>(&'a self, scope: &'a Scope, name: &'a str, bytes: &'a [u8]) -> Answer<'a, ()> {
        Box::pin(
            async move { self.make(&self.name(scope, &format!("kept/{name}")), bytes).await.map(|_| ()) },
        )
    }
}
