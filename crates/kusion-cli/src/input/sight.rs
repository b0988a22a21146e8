//! What a stack has made, as its clusters show it right now: the opening of `status`, `logs` and `port-forward`.

use std::collections::BTreeMap;

use kusion::{Clusters, DryRun, Profile, find, plan_failed, remote_failed};
use kusion_health::{Snapshot, dependents};
use kusion_model::ResourceKey;
use kusion_store::State;
use serde_json::Value;

use crate::input::chosen::ChosenStack;
use crate::input::cluster::connect;
use crate::input::flags::Given;
use crate::views::board::short;
use crate::views::failure::Failure;

/// From a Deployment over its ReplicaSet to a Pod, and one more for custom kinds.
const DEEPEST: usize = 4;

/// One look at resources and at everything around them.
pub(crate) struct Sight {
    pub(crate) clusters: Clusters,
    pub(crate) context: String,
    pub(crate) server: String,
    looks: BTreeMap<String, (Snapshot, Profile)>,
}

/// The recorded resources that a word names; all of them without a word.
pub(crate) fn named(state: &State, word: Option<&str>) -> Result<Vec<ResourceKey>, Failure> {
    let keys = state.records.keys().filter(|key| word.is_none_or(|word| names(key, word)));
    let keys: Vec<ResourceKey> = keys.cloned().collect();
    match word {
        Some(word) if keys.is_empty() => {
            Err(Failure::usage(format!("stack {} has made no `{word}`", state.scope))
                .next(format!("kusion ls {}", state.scope)))
        }
        _ => Ok(keys),
    }
}

/// Whether a word names a resource: its id (names with dots need no escapes), its name, or `Kind/name`.
pub(crate) fn names(key: &ResourceKey, word: &str) -> bool {
    let (kind, name) = short(key);
    let bare = name.rsplit('/').next().unwrap_or(&name);
    let id = key.to_string();
    id == word
        || id.replace('\\', "") == word
        || bare == word
        || word.split_once('/').is_some_and(|(k, n)| k.eq_ignore_ascii_case(&kind) && n == bare)
}

/// Looks at resources in their clusters.
pub(crate) async fn look(
    given: &Given,
    chosen: &ChosenStack,
    state: &State,
    keys: &[ResourceKey],
) -> Result<Sight, Failure> {
    let platforms = kusion::platforms();
    let lives =
        |key: &&ResourceKey| state.records.get(*key).is_some_and(|r| platforms.lives_in_cluster(&r.kind));
    let names = keys.iter().filter(lives).map(|key| key.cluster.to_string()).collect();
    let connection = connect(given, chosen, &names).await?;
    let clusters = connection.engine.clusters(&chosen.target, DryRun::All);
    let recognised = connection.engine.recognise(&clusters, state).await;
    recognised.map_err(|failure| plan_failed(failure, &chosen.target, &connection.server))?;
    let looks = clusters.look(keys).await.map_err(|error| remote_failed(&error, &connection.server))?;
    Ok(Sight { clusters, context: connection.context, server: connection.server, looks })
}

impl Sight {
    /// The cluster of a resource as it was seen.
    pub(crate) fn around(&self, key: &ResourceKey) -> Option<&(Snapshot, Profile)> {
        self.looks.get(&*key.cluster)
    }

    /// A resource, and what was seen with it.
    pub(crate) fn object(&self, key: &ResourceKey) -> Option<(&Value, &Snapshot)> {
        let (snapshot, _) = self.around(key)?;
        Some((find(key, snapshot, self.clusters.home(&key.cluster))?, snapshot))
    }
}

/// The pods below an object, or the object itself.
pub(crate) fn pods<'s>(object: &'s Value, snapshot: &'s Snapshot) -> Vec<&'s Value> {
    let mut found = Vec::new();
    walk(object, snapshot, DEEPEST, &mut found);
    found
}

fn walk<'s>(object: &'s Value, snapshot: &'s Snapshot, deep: usize, found: &mut Vec<&'s Value>) {
    if object.get("kind").and_then(Value::as_str) == Some("Pod") {
        found.push(object);
    } else if deep > 0 {
        dependents(object, snapshot).into_iter().for_each(|below| walk(below, snapshot, deep - 1, found));
    }
}
