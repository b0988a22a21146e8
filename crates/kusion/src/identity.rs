//! Which clusters an operation works on, and whether they are those that the state is of.
//!
//! A kubeconfig gives names, and a name can come to mean another cluster: there everything that is recorded would count as deleted.
//! So every release records what its clusters are known by, and an operation on another one is refused, unless the user moves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use kusion_model::{ClusterIdentity, Prior, Records, SameCluster};
use kusion_store::State;

/// The clusters of one operation, compared with those of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognised {
    /// By the name that resources use; the default one has none.
    pub found: BTreeMap<String, ClusterIdentity>,
    /// Others than before, on the user's word: what is recorded of the ones before is left there and forgotten.
    pub moved: BTreeMap<String, ClusterIdentity>,
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
    ) -> Result<Self, Box<OtherCluster>> {
        let mut recognised = Recognised::default();
        let known = state.clusters();
        let prior = state.prior();
        for key in prior.keys() {
            let (Some(now), Some(before)) = (found.get(&*key.cluster), known.get(&*key.cluster)) else {
                continue;
            };
            match before.compare(now) {
                SameCluster::Yes => {}
                SameCluster::No if may_move => {
                    recognised.moved.insert(key.cluster.to_string(), before.clone());
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

    /// What the planner may count on: not what was left on another cluster.
    pub(crate) fn prior(&self, state: &State) -> Prior {
        let mut prior = state.prior();
        if !self.moved.is_empty() {
            let stays = |records: &mut Records| {
                Arc::make_mut(records).retain(|key, _| !self.moved.contains_key(&*key.cluster));
            };
            stays(&mut prior.records);
            stays(&mut prior.intents);
        }
        prior
    }
}
