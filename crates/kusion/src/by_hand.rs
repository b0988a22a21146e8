//! What a stack has recorded, changed by hand: another id, forgotten, given to another stack. Nothing here touches the world.
//!
//! Each change is made under the lock, from the state as it is then, and is a release of its own, so that it is known who did it.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{
    ClusterIdentity, Deposed, DigestKey, Kept, Platforms, Records, Rekeying, ResourceId, ResourceKey,
    ResourceRecord, SameCluster, Subject, Timestamp,
};
use kusion_store::{Liveness, Outcome, Owner, ReleaseDraft, Session, State};

use crate::{Exit, Failure, Target};

/// Who changes the record, and for what command.
pub struct Hand<'a> {
    pub owner: Owner,
    pub by: Subject,
    pub command: &'a str,
    /// Whether the owner of a lease still runs.
    pub alive: &'a (dyn Fn(&Owner) -> Liveness + Sync),
    pub now: &'a (dyn Fn() -> Timestamp + Sync),
}

impl Hand<'_> {
    /// Takes the lock of a stack.
    ///
    /// # Errors
    /// Somebody else has it, or the state cannot be read.
    async fn hold(&self, target: &Target) -> Result<Session, Failure> {
        Ok(target.store.acquire(self.owner.clone(), (self.now)(), self.alive).await?)
    }

    /// Changes the record under the lock; what is changed is made from the state as it is then.
    ///
    /// # Errors
    /// What the change refuses, and a state that cannot be written.
    pub async fn edit(
        &self,
        target: &Target,
        change: impl FnOnce(&State) -> Result<Vec<Outcome>, Failure>,
    ) -> Result<(), Failure> {
        let mut session = self.hold(target).await?;
        let edited = match change(session.state()) {
            Ok(outcomes) => self.write(&mut session, target, outcomes, BTreeMap::new()).await,
            Err(refused) => Err(refused),
        };
        let closed = session.close((self.now)()).await;
        edited?;
        Ok(closed?)
    }

    async fn write(
        &self,
        session: &mut Session,
        target: &Target,
        outcomes: Vec<Outcome>,
        clusters: BTreeMap<String, ClusterIdentity>,
    ) -> Result<(), Failure> {
        let draft = ReleaseDraft {
            by: self.by.clone(),
            folder: Some(target.project_dir.display().to_string()),
            cluster: session.state().latest().and_then(|release| release.cluster.clone()),
            clusters,
            message: Some(self.command.to_owned()),
            ..ReleaseDraft::default()
        };
        session.edit(draft, outcomes, (self.now)()).await?;
        Ok(())
    }

    /// Gives resources of one stack to another. The other one records them first, and then this one forgets them: whoever is
    /// killed in between leaves them recorded twice, never nowhere, and doing it again goes on.
    ///
    /// # Errors
    /// A resource that one of the two does not let go or take, and a state that cannot be written.
    pub async fn give(
        &self,
        from: &Target,
        to: &Target,
        ids: &[String],
        platforms: &Platforms,
    ) -> Result<Vec<Outcome>, Failure> {
        let mut leaving = self.hold(from).await?;
        let given = match self.hold(to).await {
            Err(failure) => Err(failure),
            Ok(mut arriving) => {
                let given = self.carry((&mut leaving, from), (&mut arriving, to), ids, platforms).await;
                let closed = arriving.close((self.now)()).await;
                given.and_then(|outcomes| closed.map(|()| outcomes).map_err(Failure::from))
            }
        };
        let closed = leaving.close((self.now)()).await;
        let given = given?;
        closed?;
        Ok(given)
    }

    async fn carry(
        &self,
        (leaving, from): (&mut Session, &Target),
        (arriving, to): (&mut Session, &Target),
        ids: &[String],
        platforms: &Platforms,
    ) -> Result<Vec<Outcome>, Failure> {
        let keys = recorded_keys(leaving.state(), ids)?;
        let clusters = common_clusters(leaving.state(), arriving.state(), &keys, platforms)?;
        let with_values = match leaving.state().latest() {
            Some(release) => from.store.state_at(release.no).await?,
            None => Records::default(),
        };
        let mut arrivals = Vec::new();
        for key in &keys {
            let Some(old) = with_values.get(key).or_else(|| leaving.state().records.get(key)) else {
                continue;
            };
            let new = moved(old, &keys, arriving.state(), (&from.key, &to.key), platforms);
            let new = new.map_err(|why| {
                Failure::new(Exit::Conflict, format!("{key} cannot be given away")).cause(why)
            })?;
            match arriving.state().records.get(key) {
                None => arrivals.push(Outcome::Recorded(Box::new(new))),
                // It came with a run that was interrupted.
                Some(known) if is_same(known, &new) => {}
                Some(_) => {
                    let what = format!("{key} is recorded in {} already", to.scope);
                    return Err(Failure::new(Exit::Conflict, what)
                        .next(format!("forget one of the two first: kusion state rm {} {key}", to.scope)));
                }
            }
        }
        self.write(arriving, to, arrivals, clusters).await?;
        let forgotten: Vec<Outcome> = keys.into_iter().map(Outcome::Forgotten).collect();
        self.write(leaving, from, forgotten.clone(), BTreeMap::new()).await?;
        Ok(forgotten)
    }
}

/// The record that a word means: its id, with or without the cluster.
///
/// # Errors
/// None, or several.
pub fn recorded<'s>(state: &'s State, id: &str) -> Result<&'s ResourceRecord, Failure> {
    let means = |(key, _): &(&ResourceKey, &ResourceRecord)| key.to_string() == id || key.id.as_str() == id;
    let found: Vec<&ResourceRecord> = state.records.iter().filter(means).map(|(_, record)| record).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let names: Vec<String> = state.records.keys().map(ToString::to_string).collect();
            let failure = Failure::usage(format!("`{id}` is not recorded in {}", state.scope));
            Err(match base_diag::nearest(names.iter().map(String::as_str), id) {
                Some(near) => failure.next(format!("did you mean `{near}`?")),
                None => failure.next(format!("kusion state list {}", state.scope)),
            })
        }
        _ => Err(Failure::usage(format!("`{id}` is recorded on several clusters"))
            .next("name it as `kusion state list` shows it")),
    }
}

/// The keys of the records that words mean.
///
/// # Errors
/// A word that means none, or several.
pub fn recorded_keys(state: &State, ids: &[String]) -> Result<BTreeSet<ResourceKey>, Failure> {
    ids.iter().map(|id| recorded(state, id).map(|record| record.key.clone())).collect()
}

/// What has to be recorded so that a resource has another id; those that depend on it follow.
///
/// # Errors
/// An id that another resource has, or that would mean another object.
pub fn renamed(
    state: &State,
    from: &str,
    to: &ResourceId,
    platforms: &Platforms,
) -> Result<Vec<Outcome>, Failure> {
    let old = recorded(state, from)?;
    let key = ResourceKey { id: to.clone(), ..old.key.clone() };
    if state.records.contains_key(&key) {
        return Err(Failure::new(Exit::Conflict, format!("`{to}` is recorded already"))
            .next(format!("forget one of the two first: kusion state rm {} ID", state.scope)));
    }
    if platforms.get(&old.kind).is_some_and(|platform| !platform.same_object(&old.key.id, to)) {
        return Err(Failure::new(Exit::Conflict, format!("{from} cannot be recorded as {to}"))
            .cause("its id is the object: another name is another object, and this one would belong to nobody")
            .next("change the configuration: apply makes the new one and deletes the old one; or forget it: kusion state rm"));
    }
    let new = ResourceRecord { key: key.clone(), ..old.clone() };
    let mut outcomes = vec![Outcome::Recorded(Box::new(new)), Outcome::Forgotten(old.key.clone())];
    for dependent in state.records.values().filter(|record| record.depends_on.contains(&old.key)) {
        let swap = |other: &ResourceKey| if *other == old.key { key.clone() } else { other.clone() };
        let depends_on = dependent.depends_on.iter().map(swap).collect();
        outcomes.push(Outcome::Recorded(Box::new(ResourceRecord { depends_on, ..dependent.clone() })));
    }
    Ok(outcomes)
}

/// What has to be recorded so that resources are forgotten.
///
/// # Errors
/// A word that means none, or several.
pub fn forgotten(state: &State, ids: &[String]) -> Result<Vec<Outcome>, Failure> {
    Ok(recorded_keys(state, ids)?.into_iter().map(Outcome::Forgotten).collect())
}

/// Whether two records are of one object. Where a platform has no name of its own for an object, everything must be the same.
fn is_same(one: &ResourceRecord, other: &ResourceRecord) -> bool {
    let same = match &one.uid {
        Some(uid) => other.uid.as_ref() == Some(uid),
        None => one.attributes == other.attributes && one.kept == other.kept,
    };
    one.kind == other.kind && same
}

/// The clusters of resources that go from one stack to another, where the other one does not know them yet.
fn common_clusters(
    from: &State,
    to: &State,
    keys: &BTreeSet<ResourceKey>,
    platforms: &Platforms,
) -> Result<BTreeMap<String, ClusterIdentity>, Failure> {
    let (here, there) = (from.clusters(), to.clusters());
    let lives =
        |key: &&ResourceKey| from.records.get(*key).is_some_and(|r| platforms.lives_in_cluster(&r.kind));
    let names: BTreeSet<&str> = keys.iter().filter(lives).map(|key| &*key.cluster).collect();
    let mut new = BTreeMap::new();
    for name in names {
        match (here.get(name), there.get(name)) {
            (Some(here), Some(there)) if here.compare(there) == SameCluster::No => {
                return Err(Failure::new(Exit::Conflict, "the two stacks are on different clusters")
                    .cause(format!("{} is on {here}, and {} on {there}", from.scope, to.scope))
                    .next(
                        "what one stack made stays on its cluster: give it to a stack that is there, too",
                    ));
            }
            (Some(here), None) => drop(new.insert(name.to_owned(), here.clone())),
            _ => {}
        }
    }
    Ok(new)
}

/// A record under the keys of another stack.
fn moved(
    old: &ResourceRecord,
    moving: &BTreeSet<ResourceKey>,
    there: &State,
    (from, to): (&DigestKey, &DigestKey),
    platforms: &Platforms,
) -> Result<ResourceRecord, String> {
    let keys = Rekeying::new(&old.attributes, from, to);
    let platform =
        platforms.get(&old.kind).ok_or_else(|| format!("nobody knows resources of type {}", old.kind))?;
    let kept = |kept: &Option<Kept>| kept.as_ref().map(|kept| platform.rekey(kept, &keys)).transpose();
    let deposed = old.deposed.iter().map(|gone| Ok(Deposed { kept: kept(&gone.kept)?, ..gone.clone() }));
    let mut new = ResourceRecord {
        kept: kept(&old.kept)?,
        deposed: deposed.collect::<Result<_, String>>()?,
        release: there.next_release(),
        ..old.clone()
    };
    keys.reseal(&mut new.attributes);
    // What stays behind orders nothing in the other stack.
    new.depends_on.retain(|key| moving.contains(key) || there.records.contains_key(key));
    Ok(new)
}
