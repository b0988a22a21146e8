//! The clusters of one operation: a runtime and a health judge for each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kusion_apply::{Clock, Doubt, Health, HealthOutcome, HealthTarget, HealthVerdict};
use kusion_health::{Profile, Rules, Snapshot, Verdict};
use kusion_model::{
    ClusterIdentity, DigestKey, FieldPath, Observed, Platforms, Resource, ResourceKey, ResourceRecord,
    ResourceType, Spec, Timestamp,
};
use kusion_runtime::{ObserveAsk, Runtime, RuntimeError, Runtimes};
use kusion_runtime_k8s::{
    Client, Connected, DryRun, KubeHealth, KubePlatform, KubeRuntime, OnVerdict, unwell,
};
use kusion_runtime_tf::{Locate, SchemaCache, TfPlatform, TfRuntime};
use kusion_store::State;

use crate::{PlanFailure, Target};

/// What this engine knows about the platforms that it serves.
#[must_use]
pub fn platforms() -> Platforms {
    platforms_with(TfPlatform::default())
}

/// The same, with the schemas of Terraform providers that are loaded.
#[must_use]
fn platforms_with(terraform: TfPlatform) -> Platforms {
    Platforms::new(vec![Arc::new(KubePlatform), Arc::new(terraform)])
}

/// Where Terraform providers come from.
#[derive(Clone)]
pub struct Providers {
    pub locate: Arc<dyn Locate>,
    /// The folder in which their schemas are remembered.
    pub schemas: Option<PathBuf>,
}

impl Providers {
    pub(crate) fn runtime(&self, key: &DigestKey) -> Arc<TfRuntime> {
        let cache = self.schemas.clone().map(SchemaCache::new);
        Arc::new(TfRuntime::new(Arc::clone(&self.locate), cache, key.clone()))
    }
}

/// A cluster to work on.
#[derive(Clone)]
pub struct Cluster {
    pub client: Client,
    /// What people call it; shown in the first line of every command.
    pub context: String,
    /// Graces and deadlines of health.
    pub profile: Profile,
    /// Where it is, and what is known of it without asking it.
    pub server: String,
    pub authority: Option<String>,
}

impl Cluster {
    /// A cluster of which only the name is known.
    #[must_use]
    pub fn new(client: Client, context: &str, profile: Profile) -> Self {
        Cluster { client, context: context.to_owned(), profile, server: String::new(), authority: None }
    }

    /// A cluster that a kubeconfig names.
    #[must_use]
    pub fn connected(to: Connected, profile: Profile) -> Self {
        let Connected { client, context, server, authority, namespace: _ } = to;
        Cluster { client, context, profile, server, authority }
    }
}

/// The names of the clusters in which something is wanted or recorded; the default one has the empty name. Nothing for a stack
/// that has only resources of providers.
#[must_use]
pub fn clusters_of(spec: &Spec, state: &State) -> BTreeSet<String> {
    let platforms = platforms();
    let wanted = spec.resources.iter().filter(|resource| platforms.lives_in_cluster(&resource.kind));
    let wanted = wanted.map(|resource| resource.key().cluster.to_string());
    let recorded = state.records.values().chain(state.intents.values());
    let recorded = recorded.filter(|record| platforms.lives_in_cluster(&record.kind));
    wanted.chain(recorded.map(|record| record.key.cluster.to_string())).collect()
}

/// The clusters of one operation, each with a runtime for one stack's secrets; the empty name is the default one.
pub struct Clusters {
    pub runtimes: Runtimes,
    kubes: BTreeMap<String, (Arc<KubeRuntime>, Profile)>,
    /// What is known of each without asking it.
    identities: BTreeMap<String, ClusterIdentity>,
    rules: Option<Rules>,
    /// The providers of this operation, if there are any to be had.
    pub terraform: Option<Arc<TfRuntime>>,
}

impl Clusters {
    /// Makes the runtimes.
    #[must_use]
    pub fn new(
        clusters: &BTreeMap<String, Cluster>,
        target: &Target,
        request_limit: Duration,
        dry_run: DryRun,
    ) -> Self {
        let (mut runtimes, mut kubes) = (Runtimes::default(), BTreeMap::new());
        let mut identities = BTreeMap::new();
        for (name, cluster) in clusters {
            let runtime = KubeRuntime::new(cluster.client.clone(), target.key.clone(), request_limit);
            let runtime = Arc::new(runtime.with_dry_run(dry_run).with_owner(target.scope.owner()));
            runtimes.insert(ResourceType::kubernetes(), name, Arc::clone(&runtime) as Arc<dyn Runtime>);
            kubes.insert(name.clone(), (runtime, cluster.profile.clone()));
            let (context, server) = (cluster.context.clone(), cluster.server.clone());
            let identity =
                ClusterIdentity { context, server, uid: None, authority: cluster.authority.clone() };
            identities.insert(name.clone(), identity);
        }
        Clusters { runtimes, kubes, identities, rules: None, terraform: None }
    }

    /// Serves resources of Terraform providers, too.
    #[must_use]
    pub fn with_terraform(mut self, runtime: Option<Arc<TfRuntime>>) -> Self {
        if let Some(runtime) = &runtime {
            let runtime = Arc::clone(runtime) as Arc<dyn Runtime>;
            self.runtimes.insert(ResourceType::terraform(), "", runtime);
        }
        self.terraform = runtime;
        self
    }

    /// Closes what providers have opened for this operation only.
    pub async fn give_back(&self) {
        if let Some(terraform) = &self.terraform {
            terraform.give_back().await;
        }
    }

    /// Judges custom kinds by the user's rules.
    #[must_use]
    pub fn with_rules(mut self, rules: Option<Rules>) -> Self {
        self.rules = rules;
        self
    }

    /// The user's rules for custom kinds.
    #[must_use]
    pub fn rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// Health of all clusters, each on its own watches.
    #[must_use]
    pub fn health(&self, listener: &OnVerdict, timeout: Option<Duration>, now: Timestamp) -> Healths {
        let one = |(runtime, profile): &(Arc<KubeRuntime>, Profile)| {
            let health = KubeHealth::new(Arc::clone(runtime), profile.clone())
                .with_listener(Arc::clone(listener))
                .with_start(now);
            let health = match &self.rules {
                Some(rules) => health.with_rules(rules.clone()),
                None => health,
            };
            match timeout {
                Some(timeout) => health.with_timeout(timeout),
                None => health,
            }
        };
        Healths(self.kubes.iter().map(|(name, kube)| (name.clone(), one(kube))).collect())
    }

    /// The runtime of a cluster, for questions beside the plan (health now, logs).
    #[must_use]
    pub fn kube(&self, cluster: &str) -> Option<&Arc<KubeRuntime>> {
        self.kubes.get(cluster).map(|(runtime, _)| runtime)
    }

    /// The namespace of objects that name none, as the context says.
    #[must_use]
    pub fn home(&self, cluster: &str) -> &str {
        self.kube(cluster).map_or("default", |runtime| runtime.namespace())
    }

    /// Asks every cluster who it is: one small read each.
    ///
    /// # Errors
    /// A cluster that cannot be asked.
    pub async fn identities(&self) -> Result<BTreeMap<String, ClusterIdentity>, RuntimeError> {
        let mut found = self.identities.clone();
        for (name, identity) in &mut found {
            if let Some((runtime, _)) = self.kubes.get(name) {
                identity.uid = runtime.cluster_uid().await?;
            }
        }
        Ok(found)
    }

    /// Judges objects as they were seen, and gives back those that are not well.
    #[must_use]
    pub fn unwell<'o>(&self, seen: &[(&'o ResourceKey, &'o Observed)]) -> Vec<(&'o ResourceKey, Verdict)> {
        let mut bad = Vec::new();
        for (name, (_, profile)) in &self.kubes {
            let own: Vec<_> = seen.iter().filter(|(key, _)| *key.cluster == **name).copied().collect();
            bad.extend(unwell(&own, profile, self.rules.as_ref()));
        }
        bad
    }

    /// One look at resources and at what tells about their health, by cluster.
    ///
    /// # Errors
    /// A cluster that cannot be asked.
    pub async fn look(
        &self,
        keys: &[ResourceKey],
    ) -> Result<BTreeMap<String, (Snapshot, Profile)>, RuntimeError> {
        let mut looks = BTreeMap::new();
        for (name, (runtime, profile)) in &self.kubes {
            let own: Vec<ResourceKey> = keys.iter().filter(|key| *key.cluster == **name).cloned().collect();
            looks.insert(name.clone(), (runtime.look(&own).await?, profile.clone()));
        }
        Ok(looks)
    }

    /// The fields of a resource that its platform calls secret; for what a provider makes, its schema is asked for.
    ///
    /// # Errors
    /// A provider that cannot be asked.
    pub async fn sensitive(&self, resource: &Resource) -> Result<Vec<FieldPath>, RuntimeError> {
        let spec = Spec { resources: vec![resource.clone()] };
        let platforms = match &self.terraform {
            Some(terraform) => platforms_with(terraform.platform(&spec).await?),
            None => platforms(),
        };
        Ok(platforms.sensitive(&resource.kind, &resource.id, &resource.attributes))
    }

    /// What providers say about the resources that they have made: there, or gone.
    ///
    /// # Errors
    /// A provider that cannot be asked.
    pub async fn provided(
        &self,
        records: &BTreeMap<ResourceKey, ResourceRecord>,
    ) -> Result<BTreeMap<ResourceKey, Verdict>, RuntimeError> {
        let made = |record: &&ResourceRecord| record.kind == ResourceType::terraform();
        let own: Vec<&ResourceRecord> = records.values().filter(made).collect();
        let Some(terraform) = self.terraform.as_ref().filter(|_| !own.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        let asks: Vec<ObserveAsk<'_>> = own
            .iter()
            .map(|record| ObserveAsk {
                key: record.key.clone(),
                kind: record.kind.clone(),
                prior: Some(record),
                extensions: record.extensions.clone(),
            })
            .collect();
        let seen = terraform.observe(&asks).await;
        terraform.close().await;
        let seen = seen?;
        // A data source makes nothing that could be gone.
        let only_looks = |record: &ResourceRecord| platforms().only_looks(&record.kind, &record.extensions);
        let verdict = |record: &ResourceRecord| match seen.contains_key(&record.key) || only_looks(record) {
            true => Verdict::healthy("Provided", "its provider says so"),
            false => Verdict::failed("Gone", "it does not exist any more").then("apply again makes it anew"),
        };
        Ok(own.into_iter().map(|record| (record.key.clone(), verdict(record))).collect())
    }
}

/// Waits in the cluster that a resource lives in.
pub struct Healths(BTreeMap<String, KubeHealth>);

impl Healths {
    /// Looks at everything that is watched right now in a cluster: roots, dependents, events; and is told the namespace of
    /// objects that name none.
    pub fn look<T>(&self, cluster: &str, look: impl FnOnce(&Snapshot, &str) -> T) -> Option<T> {
        self.0.get(cluster).map(|health| health.look(|snapshot| look(snapshot, health.home())))
    }
}

impl Health for Healths {
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        match self.0.get(&*target.key.cluster) {
            // A provider returns when an object is as it was asked for; it was read just now.
            _ if target.kind == ResourceType::terraform() => {
                let (verdict, message) = (HealthVerdict::Healthy, "its provider says so".to_owned());
                let outcome = HealthOutcome { verdict, message, cause: None, next: None, observed: None };
                Box::pin(futures::future::ready(outcome))
            }
            Some(health) => health.wait(target),
            None => {
                let message = "nobody watches this cluster".to_owned();
                let verdict = HealthVerdict::Unknown;
                let outcome = HealthOutcome { verdict, message, cause: None, next: None, observed: None };
                Box::pin(futures::future::ready(outcome))
            }
        }
    }

    fn doubts<'a>(&'a self, targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>> {
        let mut by_cluster: BTreeMap<Arc<str>, Vec<HealthTarget>> = BTreeMap::new();
        // What a provider has read is well; it was read for the plan.
        for target in targets.into_iter().filter(|target| target.kind != ResourceType::terraform()) {
            by_cluster.entry(Arc::clone(&target.key.cluster)).or_default().push(target);
        }
        let looks = by_cluster
            .into_iter()
            .filter_map(|(cluster, targets)| Some(self.0.get(&*cluster)?.doubts(targets)))
            .collect::<Vec<_>>();
        Box::pin(async move { futures::future::join_all(looks).await.into_iter().flatten().collect() })
    }
}

/// The clock of this machine; sleeping needs a Tokio runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn elapsed(&self) -> Duration {
        static START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }

    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(how_long))
    }
}

/// Loads the schemas that a Spec needs, and seals what they call sensitive.
pub(crate) async fn learn(
    spec: &mut Spec,
    clusters: &Clusters,
    key: &DigestKey,
) -> Result<Platforms, PlanFailure> {
    let wanted = spec.resources.iter().any(|resource| resource.kind == ResourceType::terraform());
    let Some(terraform) = clusters.terraform.as_ref().filter(|_| wanted) else { return Ok(platforms()) };
    let known = terraform.platform(spec).await.map_err(PlanFailure::Remote)?;
    let platforms = platforms_with(known);
    kusion_runtime_tf::settle(spec, &platforms, key);
    Ok(platforms)
}
