//! What the road asks of a platform, whichever it is: a runtime, health, who it is, a witness, secrets.
//!
//! An engine is given ways to platforms ([`Access`]). For one operation on one stack each of them opens a [`Site`]: a cluster, or the
//! providers of a stack. Invariant: nothing here, and nothing on the road, compares types of resources; who serves a resource is
//! looked up by its type and its cluster. The sites of Kubernetes and of Terraform providers are `kubernetes.rs` and `terraform.rs`.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all, ready};
use kusion_apply::{Doubt, Health, HealthOutcome, HealthTarget, HealthVerdict};
use kusion_health::Verdict;
use kusion_model::{
    ClusterIdentity, DigestKey, FieldPath, Observed, Platform, Platforms, Provider, Resource, ResourceKey,
    ResourceRecord, ResourceType, Scope, Spec, Timestamp,
};
use kusion_runtime::{DryRun, ErrorKind, Runtime, RuntimeError, RuntimeKey, Runtimes, Witness};
use kusion_secrets::SecretStore;

use crate::Node;

/// A way to a platform: what an engine is given.
pub trait Access: Send + Sync {
    /// Makes the site of one operation. Asks nobody.
    fn open(&self, ask: &SiteAsk<'_>) -> Arc<dyn Site>;

    /// The cluster behind it, by the name that resources use, and what is known of it without asking it.
    fn cluster(&self) -> Option<(&str, ClusterIdentity)> {
        None
    }
}

/// For whom a site is opened, and how it behaves.
#[derive(Clone, Debug)]
pub struct SiteAsk<'a> {
    /// The key of the stack's digests.
    pub key: &'a DigestKey,
    /// Whose the objects are that are made.
    pub owner: String,
    /// How long one request may take.
    pub request_limit: Duration,
    pub dry_run: DryRun,
}

/// Is told every new verdict of a resource that is waited for.
pub type OnVerdict = Arc<dyn Fn(&ResourceKey, &Verdict) + Send + Sync>;

/// How health is waited for.
pub struct HealthAsk<'a> {
    pub listener: &'a OnVerdict,
    /// The user's own limit for each wait.
    pub timeout: Option<Duration>,
    pub now: Timestamp,
}

/// A platform as one operation works on it.
pub trait Site: Any + Send + Sync {
    /// What is known of its resources without asking.
    fn platform(&self) -> Arc<dyn Platform>;

    /// The cluster that it is, by the name that resources use; the default one, and what is no cluster, has the empty name.
    fn cluster(&self) -> &str {
        ""
    }

    fn runtime(&self) -> Arc<dyn Runtime>;

    /// Finds out what it has to know about a Spec before that is planned; may bring its own resources into the form that is
    /// planned. Asked once for each type.
    fn learn<'a>(&'a self, _spec: &'a mut Spec) -> BoxFuture<'a, Result<Arc<dyn Platform>, RuntimeError>> {
        Box::pin(ready(Ok(self.platform())))
    }

    /// Asks who it is, with one small read; `None` if it is no cluster.
    fn identity(&self) -> BoxFuture<'_, Result<Option<ClusterIdentity>, RuntimeError>> {
        Box::pin(ready(Ok(None)))
    }

    /// Waits for what is applied to become healthy.
    fn health(&self, ask: &HealthAsk<'_>) -> Arc<dyn SiteHealth>;

    /// Judges objects as they were seen, and gives back those that are not well.
    fn unwell<'o>(&self, _seen: &[(&'o ResourceKey, &'o Observed)]) -> Vec<(&'o ResourceKey, Verdict)> {
        Vec::new()
    }

    /// Looks once at what was made here.
    fn look<'a>(
        &'a self,
        records: &'a [&'a ResourceRecord],
    ) -> BoxFuture<'a, Result<Box<dyn Look>, RuntimeError>>;

    /// Who can witness for a stack that has this resource, as it is recorded if it was made; `None` if nobody here can.
    fn witness(
        &self,
        _scope: &Scope,
        _key: &ResourceKey,
        _record: Option<&ResourceRecord>,
    ) -> Option<Candidate> {
        None
    }

    /// Looks everywhere here for those who witness for a stack.
    fn witnesses<'a>(
        &'a self,
        _scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Witness>>, RuntimeError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// The store of secrets that this setting means, if it is one of this site.
    fn secrets(&self, _setting: &Provider) -> Option<Arc<dyn SecretStore>> {
        None
    }

    /// Tells whoever works for the operation that the user wants it to stop: what is in flight should come to an end.
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Closes what was opened for this operation only, and leaves the rest ready for the next. Returns what a person should
    /// know about it.
    fn give_back(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(ready(Vec::new()))
    }

    /// Ends in good order what was started for the operation.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

/// Health on one site, and what lies below a resource while it is waited for.
pub trait SiteHealth: Health {
    fn below(&self, _key: &ResourceKey, _now: Timestamp) -> Vec<Node> {
        Vec::new()
    }
}

/// One look at resources and at what tells about their health.
pub trait Look: Send + Sync {
    /// How a resource is.
    fn verdict(&self, record: &ResourceRecord) -> Verdict;

    /// Everything below it.
    fn below(&self, _key: &ResourceKey) -> Vec<Node> {
        Vec::new()
    }

    /// What may not be read around the resources, in the platform's words.
    fn unreadable(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Somebody who can witness for a stack.
pub struct Candidate {
    pub witness: Arc<dyn Witness>,
    /// The resource itself says where; otherwise it is where everything goes that says nothing.
    pub named: bool,
}

/// The sites of one operation.
#[derive(Clone, Default)]
pub struct Sites {
    pub runtimes: Runtimes,
    sites: BTreeMap<RuntimeKey, Arc<dyn Site>>,
}

fn place(kind: &ResourceType, cluster: &Arc<str>) -> RuntimeKey {
    RuntimeKey { kind: kind.clone(), cluster: Arc::clone(cluster) }
}

impl Sites {
    pub(crate) fn open(ways: &[Arc<dyn Access>], ask: &SiteAsk<'_>) -> Self {
        let mut all = Sites::default();
        for site in ways.iter().map(|way| way.open(ask)) {
            let (kind, cluster) = (site.platform().kind(), site.cluster().to_owned());
            all.runtimes.insert(kind.clone(), &cluster, site.runtime());
            all.sites.insert(RuntimeKey { kind, cluster: cluster.into() }, site);
        }
        all
    }

    /// The site of one platform, for questions that only this platform can answer (logs, an export).
    #[must_use]
    pub fn of<S: Site>(&self, cluster: &str) -> Option<&S> {
        let own = self.sites.values().filter(|site| site.cluster() == cluster);
        own.filter_map(|site| (&**site as &dyn Any).downcast_ref::<S>()).next()
    }

    /// What is known of the platforms without asking them.
    #[must_use]
    pub fn platforms(&self) -> Platforms {
        let mut known: BTreeMap<ResourceType, Arc<dyn Platform>> = BTreeMap::new();
        for (at, site) in &self.sites {
            known.entry(at.kind.clone()).or_insert_with(|| site.platform());
        }
        Platforms::new(known.into_values().collect())
    }

    /// Lets every platform learn what it has to know about a Spec.
    pub(crate) async fn learn(&self, spec: &mut Spec) -> Result<Platforms, RuntimeError> {
        let mut known: Vec<Arc<dyn Platform>> = Vec::new();
        for (at, site) in &self.sites {
            if !known.iter().any(|platform| platform.kind() == at.kind) {
                known.push(site.learn(spec).await?);
            }
        }
        Ok(Platforms::new(known))
    }

    /// Asks every cluster who it is.
    ///
    /// # Errors
    /// A cluster that cannot be asked.
    pub async fn identities(&self) -> Result<BTreeMap<String, ClusterIdentity>, RuntimeError> {
        let mut found = BTreeMap::new();
        for site in self.sites.values() {
            let Some(identity) = site.identity().await? else { continue };
            if let Some(other) = found.insert(site.cluster().to_owned(), identity) {
                let text = format!("two platforms have a cluster of the name `{}`: {other}", site.cluster());
                return Err(RuntimeError::new(ErrorKind::Unexpected, text));
            }
        }
        Ok(found)
    }

    pub(crate) fn health(&self, ask: &HealthAsk<'_>) -> Healths {
        Healths(self.sites.iter().map(|(at, site)| (at.clone(), site.health(ask))).collect())
    }

    /// Judges objects as they were seen, and gives back those that are not well.
    pub(crate) fn unwell<'o>(
        &self,
        seen: impl Iterator<Item = (&'o ResourceType, &'o ResourceKey, &'o Observed)>,
    ) -> Vec<(&'o ResourceKey, Verdict)> {
        let mut by_place: BTreeMap<RuntimeKey, Vec<(&ResourceKey, &Observed)>> = BTreeMap::new();
        for (kind, key, observed) in seen {
            by_place.entry(place(kind, &key.cluster)).or_default().push((key, observed));
        }
        let judged = by_place.iter().filter_map(|(at, own)| Some(self.sites.get(at)?.unwell(own)));
        judged.flatten().collect()
    }

    /// Looks once at what was made.
    ///
    /// # Errors
    /// A platform that cannot be asked.
    pub async fn look(&self, records: &[&ResourceRecord]) -> Result<Looks, RuntimeError> {
        let mut looks = BTreeMap::new();
        for (at, site) in &self.sites {
            let is_own = |record: &&&ResourceRecord| place(&record.kind, &record.key.cluster) == *at;
            let own: Vec<&ResourceRecord> = records.iter().filter(is_own).copied().collect();
            if !own.is_empty() {
                looks.insert(at.clone(), site.look(&own).await?);
            }
        }
        Ok(Looks(looks))
    }

    /// Who can witness for a stack that has these resources: where the first of them says, else where the first of them goes.
    pub(crate) fn witness<'k>(
        &self,
        scope: &Scope,
        resources: impl Iterator<Item = (&'k ResourceType, &'k ResourceKey, Option<&'k ResourceRecord>)>,
    ) -> Option<(RuntimeKey, Arc<dyn Witness>)> {
        let mut first = None;
        for (kind, key, record) in resources {
            let at = place(kind, &key.cluster);
            let Some(candidate) = self.sites.get(&at).and_then(|site| site.witness(scope, key, record))
            else {
                continue;
            };
            if candidate.named {
                return Some((at, candidate.witness));
            }
            first = first.or(Some((at, candidate.witness)));
        }
        first
    }

    /// Looks on all sites for those who witness for a stack; what could not be looked at comes as an error.
    pub(crate) async fn witnesses(&self, scope: &Scope) -> (Vec<Arc<dyn Witness>>, Vec<RuntimeError>) {
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        for site in self.sites.values() {
            match site.witnesses(scope).await {
                Ok(own) => found.extend(own),
                Err(error) => errors.push(error),
            }
        }
        (found, errors)
    }

    /// The store of secrets that a setting means, if it is one of the default sites.
    pub(crate) fn secrets(&self, setting: &Provider) -> Option<Arc<dyn SecretStore>> {
        let own = self.sites.values().filter(|site| site.cluster().is_empty());
        own.filter_map(|site| site.secrets(setting)).next()
    }

    /// The fields of a resource that its platform calls secret, after asking what must be asked for that.
    ///
    /// # Errors
    /// A platform that cannot be asked.
    pub async fn sensitive(&self, resource: &Resource) -> Result<Vec<FieldPath>, RuntimeError> {
        let mut spec = Spec { resources: vec![resource.clone()] };
        let platforms = self.learn(&mut spec).await?;
        if platforms.get(&resource.kind).is_none() {
            let text = format!("nobody knows what is secret in resources of type {}", resource.kind);
            return Err(RuntimeError::new(ErrorKind::Unexpected, text));
        }
        Ok(platforms.sensitive(&resource.kind, &resource.id, &resource.attributes))
    }

    /// Tells everybody that the user wants to stop.
    pub(crate) async fn stop(&self) {
        join_all(self.sites.values().map(|site| site.stop())).await;
    }

    /// Closes what was opened for this operation only; returns what a person should know about it.
    #[must_use]
    pub async fn give_back(&self) -> Vec<String> {
        join_all(self.sites.values().map(|site| site.give_back())).await.concat()
    }

    /// Ends in good order what was started for the operation.
    pub async fn close(&self) {
        join_all(self.sites.values().map(|site| site.close())).await;
    }
}

/// What was seen on all sites.
pub struct Looks(BTreeMap<RuntimeKey, Box<dyn Look>>);

impl Looks {
    /// How a resource is, with everything below it; `None` if nobody looked there.
    #[must_use]
    pub fn at(&self, record: &ResourceRecord) -> Option<(Verdict, Vec<Node>)> {
        let look = self.0.get(&place(&record.kind, &record.key.cluster))?;
        Some((look.verdict(record), look.below(&record.key)))
    }

    /// What may not be read around the resources, in the platforms' words.
    #[must_use]
    pub fn unreadable(&self) -> Vec<String> {
        self.0.values().flat_map(|look| look.unreadable()).collect()
    }
}

/// Waits on the site that a resource lives on.
pub struct Healths(BTreeMap<RuntimeKey, Arc<dyn SiteHealth>>);

impl Healths {
    /// What lies below a resource that is waited for.
    #[must_use]
    pub fn below(&self, key: &ResourceKey, now: Timestamp) -> Vec<Node> {
        let own = self.0.iter().filter(|(at, _)| at.cluster == key.cluster);
        own.map(|(_, health)| health.below(key, now)).find(|nodes| !nodes.is_empty()).unwrap_or_default()
    }
}

impl Health for Healths {
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        match self.0.get(&place(&target.kind, &target.key.cluster)) {
            Some(health) => health.wait(target),
            None => Box::pin(ready(at_once(HealthVerdict::Unknown, "nobody watches this cluster"))),
        }
    }

    fn doubts<'a>(&'a self, targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>> {
        let mut by_place: BTreeMap<RuntimeKey, Vec<HealthTarget>> = BTreeMap::new();
        for target in targets {
            by_place.entry(place(&target.kind, &target.key.cluster)).or_default().push(target);
        }
        let looks = by_place.into_iter().filter_map(|(at, targets)| Some(self.0.get(&at)?.doubts(targets)));
        let looks: Vec<_> = looks.collect();
        Box::pin(async move { join_all(looks).await.into_iter().flatten().collect() })
    }
}

/// The end of a wait that nobody had to wait for.
pub(crate) fn at_once(verdict: HealthVerdict, message: &str) -> HealthOutcome {
    HealthOutcome { verdict, message: message.to_owned(), cause: None, next: None, observed: None }
}
