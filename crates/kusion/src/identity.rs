//! Which clusters an operation works on, and whether they are those that the state is of.
//!
//! A kubeconfig gives names, and a name can come to mean another cluster: there everything that is recorded would count as deleted.
//! So every release records what its clusters are known by, and an operation on another one is refused, unless the user moves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use kusion_model::{ClusterIdentity, Platforms, Prior, ResourceKey, SameCluster};
use kusion_store::State;

/// So many resources are named one by one.
const NAMED: usize = 10;

/// The clusters of one operation, compared with those of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognised {
    /// By the name that resources use; the default one has none.
    pub found: BTreeMap<String, ClusterIdentity>,
    /// Others than before, on the user's word: what is recorded of the ones before is left there and forgotten.
    pub moved: BTreeMap<String, ClusterIdentity>,
    /// What is recorded on those.
    pub left: BTreeSet<ResourceKey>,
    /// Those of which nobody can say whether they are the ones before.
    pub unsure: BTreeSet<String>,
}

/// The state is of another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherCluster {
    pub before: ClusterIdentity,
    pub found: ClusterIdentity,
}

impl fmt::Display for OtherCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stack is on cluster {}, and this is {}", self.before, self.found)
    }
}

impl Recognised {
    /// Compares clusters with those that a state has something on.
    ///
    /// # Errors
    /// One is another than before, and nobody said that the stack moves.
    pub fn new(
        found: BTreeMap<String, ClusterIdentity>,
        state: &State,
        may_move: bool,
        platforms: &Platforms,
    ) -> Result<Self, Box<OtherCluster>> {
        let mut recognised = Recognised::default();
        let known = state.clusters();
        let prior = state.prior();
        for key in in_clusters(&prior, platforms) {
            let (Some(now), Some(before)) = (found.get(&*key.cluster), known.get(&*key.cluster)) else {
                continue;
            };
            match before.compare(now) {
                SameCluster::Yes => {}
                SameCluster::No if may_move => {
                    recognised.moved.insert(key.cluster.to_string(), before.clone());
                    recognised.left.insert(key.clone());
                }
                SameCluster::No => {
                    return Err(Box::new(OtherCluster { before: before.clone(), found: now.clone() }));
                }
                SameCluster::Unknown => drop(recognised.unsure.insert(key.cluster.to_string())),
            }
        }
        recognised.found = found;
        Ok(recognised)
    }

    /// What a user should know about the clusters; nothing when all is well.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (name, before) in &self.moved {
            let own = self.left.iter().filter(|key| *key.cluster == **name);
            let keys: Vec<String> = own.map(ToString::to_string).collect();
            let mut list = keys.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            if keys.len() > NAMED {
                list.push_str(&format!(" and {} more", keys.len() - NAMED));
            }
            notes.push(format!(
                "moved: what the stack made on {before} stays there and is forgotten here: {list}"
            ));
        }
        for name in &self.unsure {
            let Some(found) = self.found.get(name) else { continue };
            notes.push(format!("nobody can say whether this is the cluster of the last release: {found}"));
        }
        let by_authority = |found: &&ClusterIdentity| found.uid.is_none() && found.authority.is_some();
        if let Some(found) = self.found.get("").filter(by_authority) {
            notes.push(format!(
                "{} does not say who it is: the cluster is known by its certificate authority alone",
                found.context
            ));
        }
        notes
    }

    /// What the planner may count on: not what was left on another cluster.
    pub(crate) fn prior(&self, state: &State) -> Prior {
        let mut prior = state.prior();
        if !self.left.is_empty() {
            for records in [&mut prior.records, &mut prior.intents] {
                Arc::make_mut(records).retain(|key, _| !self.left.contains(key));
            }
        }
        prior
    }
}

/// What is recorded of objects that live in clusters.
fn in_clusters<'p>(prior: &'p Prior, platforms: &'p Platforms) -> impl Iterator<Item = &'p ResourceKey> {
    let lives = move |key: &&ResourceKey| {
        prior.get(key).is_some_and(|record| platforms.lives_in_cluster(&record.kind))
    };
    prior.keys().into_iter().filter(lives)
}
