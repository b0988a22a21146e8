//! The lease on a medium of objects: numbered objects `lease/<n>`, of which the highest counts.
//!
//! Whoever changes the lease that he has read makes the object of the next number, if there is none. Old ones are taken away,
//! but never the highest and those close below it; so whoever has made a number looks how far the highest is above it. If the
//! number was free only because it had been taken away, one far above it was there before, and he sees it. One that is closer was
//! put behind his by somebody who has read it: his has counted. Nothing but create-if-absent and a list is needed.

use std::sync::{MutexGuard, PoisonError};

use futures::future::join3;
use kusion_model::Scope;

use crate::backend::LeaseSlot;
use crate::object_log::{Held, number_of};
use crate::objects::Objects;
use crate::session::TRIES;
use crate::{Fence, Lease, ObjectLog, StoreError};

/// A number this far below the highest may be taken away, and no other: whoever has just listed them can still read them, and
/// whoever has made one knows whether it was new.
const STAY: u64 = 8;
/// Only when there are more than so many are old ones taken away: not every change of the lease costs a request for that.
const MOST: usize = 16;

impl<O: Objects> ObjectLog<O> {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease_name(&self, scope: &Scope, number: u64) -> String {
        self.name(scope, &format!("lease/{number:016}"))
    }

    async fn lease_numbers(&self, scope: &Scope) -> Result<Vec<u64>, StoreError> {
        let names = self.names(&self.name(scope, "lease/")).await?;
        Ok(names.iter().filter_map(|name| number_of(name)).collect())
    }

    /// The lease as we have put it last; another may count by now.
    pub(crate) fn own_slot(&self, scope: &Scope, fence: &Fence) -> Option<LeaseSlot> {
        let held = self.held();
        let (lease, number) = held.get(scope).filter(|(held, _)| held.fence() == *fence)?;
        Some(LeaseSlot { version: number.to_string(), lease: Some(lease.clone()) })
    }

    /// Whether anybody has ever held the lease.
    pub(crate) async fn was_leased(&self, scope: &Scope) -> Result<bool, StoreError> {
        Ok(!self.lease_numbers(scope).await?.is_empty())
    }

    /// The lease that counts, with its number as its version.
    pub(crate) async fn lease_slot(&self, scope: &Scope) -> Result<Option<LeaseSlot>, StoreError> {
        for _ in 0..TRIES {
            let Some(top) = self.lease_numbers(scope).await?.into_iter().max() else { return Ok(None) };
            // It is gone by now only if others have come after it.
            if let Some(found) = self.get(&self.lease_name(scope, top)).await? {
                let lease = serde_json::from_slice(&found.bytes).ok();
                return Ok(Some(LeaseSlot { version: top.to_string(), lease }));
            }
        }
        Err(StoreError::Unanswered { place: self.stack_place(scope), tries: TRIES })
    }

    /// Puts a lease behind the one that was read, and does something else while it looks whether it counts. `None` if another
    /// was quicker.
    pub(crate) async fn next_lease<T>(
        &self,
        scope: &Scope,
        read: Option<&str>,
        lease: &Lease,
        meanwhile: impl Future<Output = T>,
    ) -> Result<Option<T>, StoreError> {
        let before = match read.map(str::parse::<u64>) {
            None => 0,
            Some(Ok(number)) => number,
            // Never given out here.
            Some(Err(_)) => return Ok(None),
        };
        let Some(number) = before.checked_add(1) else { return Ok(None) };
        let name = self.lease_name(scope, number);
        if !self.make(&name, &serde_json::to_vec(lease).unwrap_or_default()).await? {
            return Ok(None);
        }
        if self.is_own(scope, lease) && lease.owner.is_none() {
            // Given back: if others have come between, it was not ours any more, and is not now.
            return Ok(Some(meanwhile.await));
        }
        // Who begins names the stack anew, in case that somebody has taken the name away; if it fails, the next one does.
        let naming = async {
            if lease.beat == 0 {
                let _ = self.name_stack(scope).await;
            }
        };
        let (all, meanwhile, ()) = join3(self.lease_numbers(scope), meanwhile, naming).await;
        let all = all?;
        let ours = all.iter().max().is_some_and(|top| *top < number.saturating_add(STAY));
        let old = |other: &u64| other.saturating_add(STAY) <= number;
        let gone: Vec<String> = match ours {
            true if all.len() <= MOST => Vec::new(),
            true => all.into_iter().filter(old).map(|other| self.lease_name(scope, other)).collect(),
            // The number had been used before: what we have made stands far below the highest and means nothing.
            false => vec![name],
        };
        if !gone.is_empty() {
            // What stays is passed by, and taken away by the next.
            let _ = self.objects.remove(&gone).await;
        }
        if ours {
            self.held().insert(scope.clone(), (lease.clone(), number));
        }
        Ok(ours.then_some(meanwhile))
    }

    fn is_own(&self, scope: &Scope, lease: &Lease) -> bool {
        self.held().get(scope).is_some_and(|(held, _)| held.session == lease.session)
    }

    /// Refuses a writer whose lease is not the one that counts.
    pub(crate) async fn check(&self, scope: &Scope, fence: &Fence) -> Result<(), StoreError> {
        let known =
            self.held().get(scope).filter(|(held, _)| held.fence() == *fence).map(|(_, number)| *number);
        let top = self.lease_numbers(scope).await?.into_iter().max();
        if top.is_some() && top == known {
            return Ok(());
        }
        let now = self.lease_slot(scope).await?;
        Lease::check(now.and_then(|slot| slot.lease).as_ref(), fence)
    }
}
