//! The keys of a stack: found with its log, made at first use, changed by a rotation.

use base_secret::SecretKey;
use kusion_model::{DigestKey, Timestamp};
use zeroize::Zeroizing;

use crate::backend::{HEAD_ONLY, Kept, Replacement, Written};
use crate::entry::Entry;
use crate::lock::{Opening, key_of};
use crate::ring::{Keys, Preamble, Ring, Slot, wrapping_of};
use crate::seal::{Bound, random_key};
use crate::session::TRIES;
use crate::{Claim, Damage, Lock, StackStore, StoreError, Watch, chain, log};

/// The name of the first key file beside a log.
const FIRST_KEY: &str = "key";
/// How many rings are looked for beside a log that has lost its own.
const MAX_RINGS: u64 = 1_000;

impl StackStore {
    /// The keys of a log that was read; `None` for a log in clear, and for none.
    pub(crate) async fn keys_of(&self, written: &Written) -> Result<Option<Keys>, StoreError> {
        let first = written.log.as_ref().and_then(|log| log.iter().next());
        let Some(preamble) = first.and_then(Preamble::read) else { return Ok(None) };
        let preamble = preamble.map_err(|damage| self.damaged(damage))?;
        if preamble.scope != self.scope {
            return Err(self.damaged(Damage::OtherStack { found: Box::new(preamble.scope) }));
        }
        if let Kept::Head(head) = &written.head
            && head.lineage != preamble.lineage
        {
            let expected = head.lineage.clone();
            return Err(self.damaged(Damage::Foreign { found: preamble.lineage, expected }));
        }
        match self.unlock(&preamble.ring).await {
            Err(StoreError::Damaged { place, damage }) => {
                // A ring that differs from its copy was changed; then the key may well be right.
                let copy = self.kept_ring(preamble.ring.number).await?;
                let changed = copy.is_some_and(|copy| copy != preamble.ring);
                let garbled = Damage::Garbled { line: 1, what: crate::Fault::Seal };
                Err(StoreError::Damaged { place, damage: if changed { garbled } else { damage } })
            }
            keys => keys.map(Some),
        }
    }

    /// Opens a ring; one that was opened before costs nothing.
    async fn unlock(&self, ring: &Ring) -> Result<Keys, StoreError> {
        let known = |all: &Vec<Keys>| all.iter().find(|keys| keys.ring() == ring).cloned();
        if let Some(keys) = self.open_keys.lock().ok().as_deref().and_then(known) {
            return Ok(keys);
        }
        let wrapping = self.wrapping(&ring.slot).await?;
        let keys = Keys::open(ring, &wrapping, &self.scope).map_err(|damage| self.damaged(damage))?;
        self.remember(&keys);
        Ok(keys)
    }

    /// The first key file beside a log of which no keys are open yet, for [`Self::try_key`].
    pub(crate) async fn early_key(&self) -> Option<SecretKey> {
        let opened = self.open_keys.lock().is_ok_and(|all| !all.is_empty());
        match &*self.lock {
            // Whatever is wrong with it is told where it is needed.
            Lock::Beside if !opened => self.key_file(FIRST_KEY).await.ok().flatten(),
            _ => None,
        }
    }

    /// Opens the keys of a log that was read, if a key fits.
    pub(crate) fn try_key(&self, written: &Written, key: Option<SecretKey>) {
        let first = written.log.as_ref().and_then(|log| log.iter().next());
        let (Some(key), Some(Ok(preamble))) = (key, first.and_then(Preamble::read)) else { return };
        let asked = matches!(&preamble.ring.slot, Slot::File { name } if name == FIRST_KEY);
        if let (true, Ok(keys)) = (asked, Keys::open(&preamble.ring, &wrapping_of(&key), &self.scope)) {
            self.remember(&keys);
        }
    }

    fn remember(&self, keys: &Keys) {
        if let Ok(mut all) = self.open_keys.lock() {
            all.push(keys.clone());
        }
    }

    async fn wrapping(&self, slot: &Slot) -> Result<SecretKey, StoreError> {
        let (Lock::Beside, Slot::File { name }) = (&*self.lock, slot) else {
            return self.lock.open(slot).map_err(|opening| match opening {
                Opening::Damage(damage) => self.damaged(damage),
                Opening::Error(error) => error,
            });
        };
        match self.key_file(name).await? {
            Some(key) => Ok(wrapping_of(&key)),
            None => Err(self.damaged(Damage::NoKey { needs: slot.word() })),
        }
    }

    async fn key_file(&self, name: &str) -> Result<Option<SecretKey>, StoreError> {
        let Some(bytes) = self.backend.kept(&self.scope, name).await?.map(Zeroizing::new) else {
            return Ok(None);
        };
        key_of(&bytes).map(Some).ok_or_else(|| self.damaged(Damage::Key))
    }

    /// A key file beside the log, made if there is none of that name.
    async fn key_beside(&self, name: &str) -> Result<SecretKey, StoreError> {
        for _ in 0..TRIES {
            if let Some(key) = self.key_file(name).await? {
                return Ok(key);
            }
            let new = random_key()?;
            self.put(name, new.expose()).await?;
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }

    /// Keeps something unless there is one of that name; an answer that is lost is for the next look.
    pub(crate) async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match self.backend.keep(&self.scope, name, bytes).await {
            Err(StoreError::Unanswered { .. }) => Ok(()),
            done => done,
        }
    }

    async fn kept_ring(&self, number: u64) -> Result<Option<Ring>, StoreError> {
        let found = self.backend.kept(&self.scope, &ring_name(number)).await?;
        Ok(found.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// The keys with which a log in clear is sealed, or a new one made.
    pub(crate) async fn first_keys(&self) -> Result<Keys, StoreError> {
        for _ in 0..TRIES {
            if let Some(ring) = self.kept_ring(1).await? {
                return self.unlock(&ring).await;
            }
            // Digests that were made before there was a ring stay what they are.
            let digest = match &*self.lock {
                Lock::Beside => self.key_beside(FIRST_KEY).await?,
                _ => match self.key_file(FIRST_KEY).await? {
                    Some(key) => key,
                    None => random_key()?,
                },
            };
            let keys = self.make_keys(&digest, 1, &self.lock).await?;
            self.put(&ring_name(1), &ring_bytes(&keys)).await?;
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }

    /// New keys under a number that nobody has used, kept beside the log.
    pub(crate) async fn next_keys(
        &self,
        digest: &SecretKey,
        after: u64,
        lock: &Lock,
    ) -> Result<Keys, StoreError> {
        let mut number = after;
        while number < after.saturating_add(MAX_RINGS) {
            number += 1;
            if self.backend.kept(&self.scope, &ring_name(number)).await?.is_some() {
                continue;
            }
            let keys = self.make_keys(digest, number, lock).await?;
            self.put(&ring_name(number), &ring_bytes(&keys)).await?;
            if self.kept_ring(number).await?.as_ref() == Some(keys.ring()) {
                self.remember(&keys);
                return Ok(keys);
            }
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }

    async fn make_keys(&self, digest: &SecretKey, number: u64, lock: &Lock) -> Result<Keys, StoreError> {
        let (slot, wrapping) = match lock {
            Lock::Beside => {
                let name = if number == 1 { FIRST_KEY.to_owned() } else { format!("key.{number}") };
                let key = self.key_beside(&name).await?;
                (Slot::File { name }, wrapping_of(&key))
            }
            lock => lock.make()?,
        };
        Keys::new(digest, number, slot, &wrapping, &self.scope)
    }

    /// The keys for a log whose own ring cannot be read: the newest beside it that opens.
    pub(crate) async fn spare_keys(&self) -> Result<(Option<Keys>, u64), StoreError> {
        let (mut found, mut last) = (None, 0);
        for number in 1..MAX_RINGS {
            let Some(bytes) = self.backend.kept(&self.scope, &ring_name(number)).await? else { break };
            last = number;
            if let Ok(ring) = serde_json::from_slice(&bytes)
                && let Ok(keys) = self.unlock(&ring).await
            {
                found = Some(keys);
            }
        }
        Ok((found, last))
    }

    /// The keys as they are now; made if there are none yet.
    pub(crate) async fn keys(&self) -> Result<Keys, StoreError> {
        let written = self.backend.read(&self.scope, 0).await?;
        match self.keys_of(&written).await? {
            Some(keys) => Ok(keys),
            None => self.first_keys().await,
        }
    }

    /// Returns the key of secret digests, made at first use.
    ///
    /// # Errors
    /// A key that is missing or another than that of the log.
    pub async fn digest_key(&self) -> Result<DigestKey, StoreError> {
        if let Some(key) = self.known_digest_key().await? {
            return Ok(key);
        }
        match *self.lock {
            // Before the first release, and in clear, the key file is all there is.
            Lock::Beside => Ok(DigestKey::from(self.key_beside(FIRST_KEY).await?)),
            _ => Ok(self.first_keys().await?.digest()),
        }
    }

    /// The same for who only looks: `None` if there is none yet, and none is made.
    ///
    /// # Errors
    /// A key that is missing or another than that of the log.
    pub async fn known_digest_key(&self) -> Result<Option<DigestKey>, StoreError> {
        if !matches!(*self.lock, Lock::Beside) {
            let written = self.backend.read(&self.scope, 0).await?;
            let keys = match self.keys_of(&written).await? {
                Some(keys) => Some(keys),
                None => match self.kept_ring(1).await? {
                    Some(ring) => Some(self.unlock(&ring).await?),
                    None => None,
                },
            };
            return Ok(keys.map(|keys| keys.digest()));
        }
        let head = self.backend.read(&self.scope, HEAD_ONLY).await?;
        let marked = match &head.head {
            Kept::Head(head) => head.seal.clone(),
            _ => None,
        };
        let Some(mark) = marked else {
            return Ok(self.key_file(FIRST_KEY).await?.map(DigestKey::from));
        };
        match self.key_file(FIRST_KEY).await? {
            Some(key) if crate::ring::mark_of(&key) == mark => Ok(Some(DigestKey::from(key))),
            // Another key file by now, or one that was changed: the ring knows.
            beside => match (self.keys().await, beside) {
                (Ok(keys), _) => Ok(Some(keys.digest())),
                // A log that does not open is told by whoever reads it, and its repair must not fail here.
                (Err(StoreError::Damaged { .. }), Some(key)) => Ok(Some(DigestKey::from(key))),
                (Err(error), _) => Err(error),
            },
        }
    }

    /// A key for a run that can write nothing and has found none.
    ///
    /// # Errors
    /// No random numbers: with a key that others know, digests could be guessed.
    pub fn passing_key() -> Result<DigestKey, StoreError> {
        random_key().map(DigestKey::from)
    }

    /// Seals a text of this stack that leaves the store: a plan.
    ///
    /// # Errors
    /// Keys that cannot be had.
    pub async fn seal(&self, what: &str, text: &str) -> Result<String, StoreError> {
        let bound = Bound { what, scope: &self.scope, lineage: "", serial: 0 };
        self.keys().await?.seal(&bound, text.as_bytes())
    }

    /// Opens what [`StackStore::seal`] has sealed.
    ///
    /// # Errors
    /// Keys that cannot be had, or a text that is not what was sealed for this stack.
    pub async fn unseal(&self, what: &str, text: &str) -> Result<String, StoreError> {
        let bound = Bound { what, scope: &self.scope, lineage: "", serial: 0 };
        let opened = self.keys().await?.unseal(&bound, text.trim_end().as_bytes());
        let bytes = opened.map_err(|fault| StoreError::Unsealed { what: what.to_owned(), fault })?;
        String::from_utf8(bytes)
            .map_err(|_| StoreError::Unsealed { what: what.to_owned(), fault: crate::Fault::Unknown })
    }

    /// Seals the whole log anew with another data key, locked as before or by another lock. Readers go on reading; a crash at
    /// any step leaves the old log or the new one. Returns the number of the ring.
    ///
    /// # Errors
    /// A lock that somebody else holds, a damaged state, or keys that cannot be had.
    pub async fn rotate(&self, claim: &Claim<'_>, lock: Option<&Lock>) -> Result<u64, StoreError> {
        let held = self.free_lease(claim, &mut Watch::default()).await?;
        let state = self.read().await?;
        if state.read.0.is_none() {
            return Err(StoreError::NoState { place: self.place() });
        }
        let fence = self.take_lease(held, state.token, claim).await?;
        let rotated = self.rotate_under(&fence, state, claim.now, lock).await;
        self.give_back(&fence, claim.now).await;
        rotated
    }

    async fn rotate_under(
        &self,
        fence: &crate::Fence,
        known: crate::State,
        now: Timestamp,
        lock: Option<&Lock>,
    ) -> Result<u64, StoreError> {
        let (state, old) = self.open_for(fence, known, None).await?;
        let written = self.backend.read(&self.scope, 0).await?;
        let (Some(found), Some(head)) = (&written.log, state.head()) else {
            return Err(self.damaged(Damage::Removed { head: None }));
        };
        if state.read.0.as_ref().map(|read| read.end) != Some(found.end) {
            // A former holder's last record came in between.
            return Err(StoreError::Stale { expected: state.serial });
        }
        let lock = lock.unwrap_or(&self.lock);
        let keys = self.next_keys(old.digest_key(), old.ring().number, lock).await?;
        let place = self.place();
        let reader = self.reader(Some(&old), &place);
        let (mut records, mut entries) = log::entries(found, &reader)?;
        let (serial, token) = (state.serial + 1, fence.token);
        let entry = Entry::Rotated { serial, token, ring: keys.ring().number, at: now };
        records.push(chain::write(&head.hash, &log::json(&entry)));
        entries.push(entry);
        let hash = records.last().map(|record| chain::hash_of(record)).unwrap_or_default();
        let sealed = keys.seal_log(&self.scope, &state.lineage, &records, &entries)?;
        // The log goes ahead of its head, which is whole at every instant; then the head follows.
        let by = Replacement { at: found.end, records: &sealed, head: &head, keep_as: None };
        let end = self.replace(fence, by).await?;
        let head = crate::Head { serial, hash, ..head };
        self.replace(fence, Replacement { at: end, records: &sealed, head: &head, keep_as: None }).await?;
        Ok(keys.ring().number)
    }
}

fn ring_name(number: u64) -> String {
    format!("ring.{number}")
}

fn ring_bytes(keys: &Keys) -> Vec<u8> {
    serde_json::to_vec(keys.ring()).unwrap_or_default()
}
