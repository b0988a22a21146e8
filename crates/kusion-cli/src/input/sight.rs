//! What a stack has made, as it is right now: the opening of `status`, `logs` and `port-forward`.

use std::collections::BTreeMap;
use std::sync::Arc;

use kusion::{DryRun, Engine, KubeSite, Sites, find, plan_failed, remote_failed};
use kusion_health::{Snapshot, dependents};
use kusion_model::{ResourceKey, Spec};
use kusion_runtime_k8s::{KubeRuntime, LookAsk};
use kusion_store::State;
use serde_json::Value;

use crate::input::chosen::ChosenStack;
use crate::input::cluster::connect;
use crate::input::flags::Given;
use crate::input::planned::warn;
use crate::input::recall::{is_unknown, look_back};
use crate::views::board::short;
use crate::views::failure::Failure;

/// From a Deployment over its ReplicaSet to a Pod, and one more for custom kinds.
const DEEPEST: usize = 4;

/// Where resources are, ready to be asked.
pub(crate) struct There {
    pub(crate) sites: Sites,
    pub(crate) context: String,
    pub(crate) server: String,
}

/// One look at objects of clusters and at everything around them.
pub(crate) struct Sight {
    sites: Sites,
    pub(crate) server: String,
    looks: BTreeMap<String, Snapshot>,
    /// Where objects are whose ids do not say so.
    homes: BTreeMap<ResourceKey, String>,
}

/// The recorded resources that a word names; all of them without a word.
pub(crate) fn named(
    chosen: &ChosenStack,
    state: &State,
    word: Option<&str>,
) -> Result<Vec<ResourceKey>, Failure> {
    let keys = state.records.keys().filter(|key| word.is_none_or(|word| names(key, word)));
    let keys: Vec<ResourceKey> = keys.cloned().collect();
    match word {
        Some(word) if keys.is_empty() => {
            Err(Failure::usage(format!("stack {} has made no `{word}`", state.scope))
                .next(format!("kusion ls {}", chosen.target.called.word)))
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

/// Connects to where resources are, and makes sure that these are the clusters that the stack is on and that they know no later
/// state.
pub(crate) async fn go_there(
    given: &Given,
    chosen: &ChosenStack,
    state: &State,
    keys: &[ResourceKey],
) -> Result<There, Failure> {
    if is_unknown(state) {
        look_back(given, chosen, state).await?;
    }
    let (there, engine) = reach(given, chosen, state, keys).await?;
    let (_, warnings) = engine.recall(&chosen.target, &Spec::default(), state, &there.sites).await?;
    warnings.iter().for_each(|text| warn(text));
    Ok(there)
}

/// Connects to where resources are, and makes sure that these are the clusters that the stack is on.
pub(crate) async fn reach(
    given: &Given,
    chosen: &ChosenStack,
    state: &State,
    keys: &[ResourceKey],
) -> Result<(There, Engine), Failure> {
    let names = in_clusters(state, keys).map(|key| key.cluster.to_string()).collect();
    let connection = connect(given, chosen, &names).await?;
    let sites = connection.engine.sites(&chosen.target, DryRun::All);
    let recognised = connection.engine.recognise(&sites, state).await;
    recognised.map_err(|failure| plan_failed(failure, &chosen.target, &connection.server))?;
    let there = There { sites, context: connection.context, server: connection.server };
    Ok((there, connection.engine))
}

fn in_clusters<'k>(state: &'k State, keys: &'k [ResourceKey]) -> impl Iterator<Item = &'k ResourceKey> {
    let platforms = kusion::platforms();
    let lives = move |key: &&ResourceKey| {
        state.records.get(*key).is_some_and(|record| platforms.lives_in_cluster(&record.kind))
    };
    keys.iter().filter(lives)
}

/// Looks at objects in their clusters.
pub(crate) async fn look(
    given: &Given,
    chosen: &ChosenStack,
    state: &State,
    keys: &[ResourceKey],
) -> Result<Sight, Failure> {
    let There { sites, server, .. } = go_there(given, chosen, state, keys).await?;
    let mut by_cluster: BTreeMap<String, Vec<ResourceKey>> = BTreeMap::new();
    for key in in_clusters(state, keys) {
        by_cluster.entry(key.cluster.to_string()).or_default().push(key.clone());
    }
    let (mut looks, mut homes) = (BTreeMap::new(), BTreeMap::new());
    for (cluster, keys) in by_cluster {
        let Some(site) = sites.of::<KubeSite>(&cluster) else { continue };
        let asked: Vec<LookAsk<'_>> = keys.iter().map(|key| (key, state.records.get(key))).collect();
        let seen = site.runtime.look(&asked).await.map_err(|error| remote_failed(&error, &server))?;
        let home = |&(key, record): &LookAsk<'_>| (key.clone(), site.runtime.home(record).to_owned());
        homes.extend(asked.iter().map(home));
        looks.insert(cluster, seen);
    }
    Ok(Sight { sites, server, looks, homes })
}

impl Sight {
    /// The runtime of a cluster.
    pub(crate) fn runtime(&self, cluster: &str) -> Option<&Arc<KubeRuntime>> {
        self.sites.of::<KubeSite>(cluster).map(|site| &site.runtime)
    }

    /// What may not be read in the clusters, in their words.
    pub(crate) fn unreadable(&self) -> Vec<String> {
        self.looks.values().flat_map(|seen| seen.unreadable().map(str::to_owned)).collect()
    }

    /// A resource, and what was seen with it.
    pub(crate) fn object(&self, key: &ResourceKey) -> Option<(&Value, &Snapshot)> {
        let snapshot = self.looks.get(&*key.cluster)?;
        Some((find(key, snapshot, self.homes.get(key)?)?, snapshot))
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
