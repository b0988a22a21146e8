//! Packs: copies of what stands behind the first object of a generation, so that the next reader asks for two objects instead of
//! many. Whoever gives the lock back makes one, and does not read again what he has read or written himself. A pack that does
//! not open is passed by: the objects that it was made of are still there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{MutexGuard, PoisonError};

use futures::future::join;
use kusion_model::Scope;

use crate::backend::Records;
use crate::object_log::{CLOSED, HELD, Spot, in_order, parts, position, together};
use crate::objects::Objects;
use crate::{ObjectLog, StoreError};

/// A log that is told by more objects than this is worth a pack.
const LOOSE: usize = 2;

pub(crate) type Behinds = BTreeMap<Scope, Behind>;

/// What stands behind the first object of a generation. Objects do not change, so what was there once is still there.
pub(crate) struct Behind {
    /// The position behind it.
    end: u64,
    /// How many objects the pack stands for that was read; 0: there was none.
    packed: usize,
    lines: Vec<u8>,
}

impl<O: Objects> ObjectLog<O> {
    fn behind(&self) -> MutexGuard<'_, Behinds> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the objects of a generation, in their order.
    pub(crate) fn note_read(&self, scope: &Scope, found: &[(Spot, Vec<u8>)]) {
        if !self.objects.asks_for_each() {
            return;
        }
        let (mut lines, mut packed) = (Vec::new(), 0);
        for (spot, bytes) in found.iter().filter(|(spot, _)| spot.pack || spot.number > 0) {
            if !bytes.starts_with(HELD.as_bytes()) {
                add(&mut lines, bytes);
            }
            packed = if spot.pack { spot.number } else { packed };
        }
        let last = found.last().filter(|(_, bytes)| !bytes.starts_with(CLOSED.as_bytes()));
        let Some((Spot { generation, number, pack }, _)) = last else {
            self.behind().remove(scope);
            return;
        };
        let end = position(*generation, number + usize::from(!pack));
        self.behind().insert(scope.clone(), Behind { end, packed, lines });
    }

    /// Notes a generation of one object, behind which nothing stands yet.
    pub(crate) fn note_replaced(&self, scope: &Scope, end: u64) {
        if self.objects.asks_for_each() {
            self.behind().insert(scope.clone(), Behind { end, packed: 0, lines: Vec::new() });
        }
    }

    /// Notes an object that was put at a position.
    pub(crate) fn note_appended(&self, scope: &Scope, at: u64, text: &str) {
        if let Some(behind) = self.behind().get_mut(scope).filter(|behind| behind.end == at) {
            add(&mut behind.lines, text.as_bytes());
            behind.end += 1;
        }
    }

    /// Notes a place that was taken and holds no record.
    pub(crate) fn note_held(&self, scope: &Scope, at: u64) {
        if let Some(behind) = self.behind().get_mut(scope).filter(|behind| behind.end == at) {
            behind.end += 1;
        }
    }

    /// Makes a pack of a log that ends at a position. It stays true if somebody writes meanwhile; in a generation that was closed
    /// nobody reads it.
    pub(crate) async fn pack(&self, scope: &Scope, at: u64) -> Result<(), StoreError> {
        let known = |noted: Option<Behind>| noted.filter(|behind| behind.end == at);
        let mut behind = known(self.behind().remove(scope));
        if behind.is_none() {
            self.records(scope, 0).await?;
            behind = known(self.behind().remove(scope));
        }
        let Some(Behind { packed, lines, .. }) = behind else { return Ok(()) };
        let (generation, count) = parts(at);
        let loose = count.saturating_sub(packed.max(1));
        if 1 + usize::from(packed > 0) + loose <= LOOSE {
            return Ok(());
        }
        if self.is_distrusted(scope) {
            self.remove_packs(scope, generation).await?;
        }
        let name = |count: usize| self.name(scope, &format!("log/{generation:08}/pack-{count:08}"));
        // Nobody needs the old one; whoever is reading it looks again.
        let old: Vec<String> = (packed > 0).then(|| name(packed)).into_iter().collect();
        let gone = async {
            if !old.is_empty() {
                let _ = self.objects.remove(&old).await;
            }
        };
        let name = name(count);
        join(self.make(&name, &lines), gone).await.0.map(|_| ())
    }

    fn distrusted(&self) -> MutexGuard<'_, BTreeSet<Scope>> {
        self.distrusted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_distrusted(&self, scope: &Scope) -> bool {
        self.distrusted().contains(scope)
    }

    /// Passes the packs of a stack by from now on; false if none was read.
    pub(crate) fn pass_packs_by(&self, scope: &Scope) -> bool {
        let read = self.behind().get(scope).is_some_and(|behind| behind.packed > 0);
        read && self.distrusted().insert(scope.clone())
    }

    /// Takes packs away that do not say what they should, so that a good one can have their name.
    async fn remove_packs(&self, scope: &Scope, generation: u32) -> Result<(), StoreError> {
        let names = self.names(&self.name(scope, &format!("log/{generation:08}/pack-"))).await?;
        if !names.is_empty() {
            // One that stays keeps its name, and is passed by again.
            let _ = self.objects.remove(&names).await;
        }
        Ok(())
    }

    /// Everything that there is, each generation once by its single objects and once by each pack of it.
    pub(crate) async fn all_copies(&self, scope: &Scope) -> Result<Vec<Records>, StoreError> {
        let prefix = self.name(scope, "log/");
        let all = |names: &[String]| names.to_vec();
        let found = in_order(self.asked(&prefix, || self.objects.get_chosen(&prefix, "", &all)).await?);
        let generations: BTreeSet<u32> = found.iter().map(|(spot, _)| spot.generation).collect();
        let mut copies = Vec::new();
        for generation in generations.into_iter().rev() {
            let own = || found.iter().filter(move |(spot, _)| spot.generation == generation);
            let packs = own().filter(|(spot, _)| spot.pack).map(|(spot, _)| spot.number);
            for packed in std::iter::once(0).chain(packs) {
                // What a pack was made of stands in it; the first object never does.
                let told = |spot: &Spot| match spot.pack {
                    true => spot.number == packed,
                    false => spot.number == 0 || spot.number >= packed,
                };
                let objects = own().filter(|(spot, _)| told(spot));
                copies.push(together(0, objects.map(|(spot, bytes)| (*spot, bytes.as_slice()))));
            }
        }
        Ok(copies)
    }

    /// The different records of all copies: what is kept of a log that is put right.
    pub(crate) async fn everything(&self, scope: &Scope) -> Result<Vec<u8>, StoreError> {
        let copies = self.all_copies(scope).await?;
        let (mut seen, mut text) = (BTreeSet::new(), Vec::new());
        for record in copies.iter().flat_map(Records::iter).filter(|record| seen.insert(*record)) {
            add(&mut text, record);
        }
        Ok(text)
    }
}

fn add(lines: &mut Vec<u8>, bytes: &[u8]) {
    lines.extend_from_slice(bytes);
    if !bytes.ends_with(b"\n") {
        lines.push(b'\n');
    }
}
