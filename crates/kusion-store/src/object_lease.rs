//! The lease on a medium of objects: numbered objects `lease/<n>`, of which the highest counts.
//!
//! Whoever changes the lease that he has read makes the object of the next number, if there is none. Old ones are taken away,
//! but never the highest and those close below it; so whoever has made a number looks how far the highest is above it. If the
//! number was free only because it had been taken away, one far above it was there before, and he sees it. One that is closer was
//! put behind his by somebody who has read it: his has counted. Nothing but create-if-absent and a list is needed.

use std::sync::{MutexGuard, PoisonError};

use futures::future::{join, join3};
use kusion_model::Scope;

use crate::backend::{LeaseSlot, Look};
use crate::object_log::{HELD, Held, number_of, parts};
use crate::objects::Objects;
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
        let prefix = self.name(scope, "lease/");
        let highest = |names: &[String]| {
            let numbered = names.iter().filter(|name| number_of(name).is_some());
            numbered.max_by_key(|name| number_of(name)).cloned().into_iter().collect()
        };
        let found = self.asked(&prefix, || self.objects.get_chosen(&prefix, "", &highest)).await?;
        let slot = |(name, bytes): &(String, Vec<u8>)| {
            let lease = serde_json::from_slice(bytes).ok();
            Some(LeaseSlot { version: number_of(name)?.to_string(), lease })
        };
        Ok(found.last().and_then(slot))
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

    /// Takes the place behind a position, so that whoever held the lease before us and stands there finds it taken. False if
    /// somebody has written there.
    pub(crate) async fn hold_place(&self, scope: &Scope, session: &str, at: u64) -> Result<bool, StoreError> {
        let (generation, count) = parts(at);
        let made = self
            .make(&self.record_name(scope, generation, count), format!("{HELD}{session}").as_bytes())
            .await?;
        if made {
            self.note_held(scope, at);
        }
        Ok(made)
    }

    /// What is written behind a position, by somebody who takes the lease and, if it is nothing, the place there.
    pub(crate) async fn look_and_hold(
        &self,
        scope: &Scope,
        session: &str,
        from: u64,
    ) -> Result<Look, StoreError> {
        let (look, made) = join(self.look(scope, from), self.hold_place(scope, session, from)).await;
        let (mut written, made) = (look?, made?);
        let Some(log) = written.log.as_mut() else { return Ok(Look { written, held: false }) };
        // In a generation that was taken away every place is free.
        let held = made && log.bounds.is_empty() && parts(log.end).0 == parts(from).0;
        if held {
            log.end = from + 1;
        }
        Ok(Look { written, held })
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
