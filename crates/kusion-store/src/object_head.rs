//! The head on a medium of objects: how far the log has been acknowledged. A hint that may lag; the only object that is put over
//! another, compared with the one that was seen last.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use futures::future::join;
use kusion_model::Scope;
use serde::{Deserialize, Serialize};

use crate::backend::Kept;
use crate::objects::{Objects, TRIES, When};
use crate::{Head, ObjectLog, StoreError};

/// The head as it is kept.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Told {
    #[serde(flatten)]
    head: Head,
    /// The generation that it was put for; 0: whichever there is.
    #[serde(default)]
    generation: u32,
}

impl Told {
    fn is_beyond(&self, other: &Told) -> bool {
        let further = self.head.serial > other.head.serial || self.generation > other.generation;
        self.head.lineage == other.head.lineage && further
    }

    fn is_of_later_generation(&self, other: &Told) -> bool {
        self.head.lineage == other.head.lineage && self.generation > other.generation
    }
}

/// The head as we have last seen or put it.
#[derive(Clone)]
pub(crate) struct Seen {
    version: String,
    told: Option<Told>,
}

impl<O: Objects> ObjectLog<O> {
    pub(crate) async fn head(&self, scope: &Scope) -> Result<Kept, StoreError> {
        Ok(match self.told_head(scope).await? {
            None => Kept::Absent,
            Some(None) => Kept::Garbled,
            Some(Some(told)) => Kept::Head(told.head),
        })
    }

    /// What stands where the head should be: nothing, no head, or one.
    async fn told_head(&self, scope: &Scope) -> Result<Option<Option<Told>>, StoreError> {
        let Some(found) = self.get(&self.name(scope, "head")).await? else { return Ok(None) };
        let told: Option<Told> = serde_json::from_slice(&found.bytes).ok();
        self.heads().insert(scope.clone(), Seen { version: found.version, told: told.clone() });
        Ok(Some(told))
    }

    fn heads(&self) -> std::sync::MutexGuard<'_, BTreeMap<Scope, Seen>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the head. One that is further already, or of a later generation, stays: a log that is ahead of its head is whole. To
    /// have seen the head of a later generation is no leave to put one of an earlier one over it.
    pub(crate) async fn put_head(
        &self,
        scope: &Scope,
        head: &Head,
        generation: u32,
    ) -> Result<(), StoreError> {
        let told = Told { head: head.clone(), generation };
        let (name, bytes) = (self.name(scope, "head"), serde_json::to_vec(&told).unwrap_or_default());
        for _ in 0..TRIES {
            let known = self.heads().get(scope).cloned();
            let later = known.as_ref().and_then(|seen| seen.told.as_ref());
            if later.is_some_and(|now| now.is_of_later_generation(&told)) {
                return Ok(());
            }
            let when = known.as_ref().map_or(When::Absent, |seen| When::Version(&seen.version));
            if let Some(version) = self.put(&name, &bytes, when).await? {
                self.heads().insert(scope.clone(), Seen { version, told: Some(told) });
                return Ok(());
            }
            match self.told_head(scope).await? {
                Some(Some(now)) if now.is_beyond(&told) => return Ok(()),
                Some(_) => {}
                None => drop(self.heads().remove(scope)),
            }
        }
        Err(StoreError::Unanswered { place: self.stack_place(scope), tries: TRIES })
    }

    /// Moves the head to a record that was put, unless its generation was taken away: there every place is free. Both are asked
    /// for at once; whoever has taken a generation away has put a head of another before, so that ours is refused.
    pub(crate) async fn is_swept_or_told(
        &self,
        scope: &Scope,
        generation: u32,
        head: &Head,
    ) -> Result<bool, StoreError> {
        let name = self.swept(scope, generation);
        if self.objects.compares() {
            let (swept, told) = join(self.get(&name), self.put_head(scope, head, generation)).await;
            return if swept?.is_some() { Ok(true) } else { told.map(|()| false) };
        }
        if self.get(&name).await?.is_some() {
            return Ok(true);
        }
        self.put_head(scope, head, generation).await.map(|()| false)
    }
}
