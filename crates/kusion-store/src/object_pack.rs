//! Packs: copies of what stands behind the first object of a generation, so that the next reader asks for two objects instead of
//! many. Whoever gives the lock back makes one, and does not read again what he has read or written himself.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use futures::future::join;
use kusion_model::Scope;

use crate::object_log::{CLOSED, Spot, parts, position};
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
            add(&mut lines, bytes);
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
}

fn add(lines: &mut Vec<u8>, bytes: &[u8]) {
    lines.extend_from_slice(bytes);
    if !bytes.ends_with(b"\n") {
        lines.push(b'\n');
    }
}
