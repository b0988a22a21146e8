//! Clusters of Kubernetes as sites of the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube_meaning::id::KubeId;
use kusion_apply::{Doubt, Health, HealthOutcome, HealthTarget};
use kusion_health::{Profile, Rules, Snapshot, Verdict};
use kusion_model::{
    ClusterIdentity, Observed, Platform, Provider, ResourceKey, ResourceRecord, Scope, Timestamp,
};
use kusion_runtime::{ErrorKind, Runtime, RuntimeError, Witness};
use kusion_runtime_k8s::{
    Client, Connected, KubeHealth, KubePlatform, KubeRuntime, KubeSecrets, KubeWitness, LookAsk, unwell,
};
use kusion_secrets::SecretStore;

use crate::site::{Access, Candidate, HealthAsk, Look, Site, SiteAsk, SiteHealth};
use crate::tree::{below, judge_key};
use crate::{Advice, Exit, Failure, Node};

/// A cluster to work on.
#[derive(Clone)]
pub struct Cluster {
    pub client: Client,
    /// By which resources name it, in their extension `cluster`; the default one has none.
    pub name: String,
    /// What people call it; shown in the first line of every command.
    pub context: String,
    /// Graces and deadlines of health.
    pub profile: Profile,
    /// The user's rules for the health of custom kinds.
    pub rules: Option<Rules>,
    /// Where it is, and what is known of it without asking it.
    pub server: String,
    pub authority: Option<String>,
}

impl Cluster {
    /// A cluster of which only the name is known.
    #[must_use]
    pub fn new(client: Client, context: &str, profile: Profile) -> Self {
        let (context, name, server) = (context.to_owned(), String::new(), String::new());
        Cluster { client, name, context, profile, rules: None, server, authority: None }
    }

    /// A cluster that a kubeconfig names.
    #[must_use]
    pub fn connected(to: Connected, profile: Profile) -> Self {
        let Connected { client, context, server, authority, namespace: _ } = to;
        Cluster { server, authority, ..Cluster::new(client, &context, profile) }
    }

    /// The same, as a cluster that resources name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Cluster { name: name.to_owned(), ..self }
    }

    /// The same, with rules of the user for the health of custom kinds.
    #[must_use]
    pub fn with_rules(self, rules: Option<Rules>) -> Self {
        Cluster { rules, ..self }
    }

    fn known(&self) -> ClusterIdentity {
        ClusterIdentity {
            context: self.context.clone(),
            server: self.server.clone(),
            uid: None,
            authority: self.authority.clone(),
        }
    }
}

impl Access for Cluster {
    fn open(&self, ask: &SiteAsk<'_>) -> Arc<dyn Site> {
        let runtime = KubeRuntime::new(self.client.clone(), ask.key.clone(), ask.request_limit);
        let runtime = Arc::new(runtime.with_dry_run(ask.dry_run).with_owner(ask.owner.clone()));
        Arc::new(KubeSite { runtime, of: self.clone() })
    }

    fn cluster(&self) -> Option<(&str, ClusterIdentity)> {
        Some((&self.name, self.known()))
    }
}

/// A cluster, for one operation.
pub struct KubeSite {
    pub runtime: Arc<KubeRuntime>,
    of: Cluster,
}

impl Site for KubeSite {
    fn platform(&self) -> Arc<dyn Platform> {
        Arc::new(KubePlatform)
    }

    fn cluster(&self) -> &str {
        &self.of.name
    }

    fn runtime(&self) -> Arc<dyn Runtime> {
        Arc::clone(&self.runtime) as Arc<dyn Runtime>
    }

    fn identity(&self) -> BoxFuture<'_, Result<Option<ClusterIdentity>, RuntimeError>> {
        Box::pin(async {
            let uid = self.runtime.cluster_uid().await?;
            Ok(Some(ClusterIdentity { uid, ..self.of.known() }))
        })
    }

    fn health(&self, ask: &HealthAsk<'_>) -> Arc<dyn SiteHealth> {
        let health = KubeHealth::new(Arc::clone(&self.runtime), self.of.profile.clone())
            .with_listener(Arc::clone(ask.listener))
            .with_start(ask.now);
        let health = match &self.of.rules {
            Some(rules) => health.with_rules(rules.clone()),
            None => health,
        };
        Arc::new(Watching(match ask.timeout {
            Some(timeout) => health.with_timeout(timeout),
            None => health,
        }))
    }

    fn unwell<'o>(&self, seen: &[(&'o ResourceKey, &'o Observed)]) -> Vec<(&'o ResourceKey, Verdict)> {
        unwell(seen, &self.of.profile, self.of.rules.as_ref())
    }

    fn look<'a>(
        &'a self,
        records: &'a [&'a ResourceRecord],
    ) -> BoxFuture<'a, Result<Box<dyn Look>, RuntimeError>> {
        Box::pin(async move {
            let asked: Vec<LookAsk<'_>> = records.iter().map(|record| (&record.key, Some(*record))).collect();
            let seen = self.runtime.look(&asked).await?;
            let home =
                |record: &&ResourceRecord| (record.key.clone(), self.runtime.home(Some(record)).to_owned());
            let homes = records.iter().map(home).collect();
            let (profile, rules) = (self.of.profile.clone(), self.of.rules.clone());
            Ok(Box::new(KubeLook { seen, homes, profile, rules }) as Box<dyn Look>)
        })
    }

    fn witness(
        &self,
        scope: &Scope,
        key: &ResourceKey,
        record: Option<&ResourceRecord>,
    ) -> Option<Candidate> {
        let id = KubeId::from_parts(key.id.parts()).ok()?;
        let is_namespace = id.kind == "Namespace" && id.api_version == "v1";
        let namespace = if is_namespace { Some(id.name) } else { id.namespace };
        let named = namespace.is_some();
        // Objects that name no namespace live where they were made, else in the context's own.
        let namespace = namespace.unwrap_or_else(|| self.runtime.home(record).to_owned());
        let witness = Arc::new(KubeWitness::new(Arc::clone(&self.runtime), &namespace, scope));
        Some(Candidate { witness, named })
    }

    fn witnesses<'a>(
        &'a self,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Witness>>, RuntimeError>> {
        Box::pin(async move {
            let found = KubeWitness::find(&self.runtime, scope).await?;
            Ok(found.into_iter().map(|witness| Arc::new(witness) as Arc<dyn Witness>).collect())
        })
    }

    fn secrets(&self, setting: &Provider) -> Option<Arc<dyn SecretStore>> {
        let Provider::Kubernetes { namespace } = setting else { return None };
        Some(Arc::new(KubeSecrets::new(Arc::clone(&self.runtime), namespace.as_deref())))
    }
}

/// Health on the watches of a cluster.
struct Watching(KubeHealth);

impl Health for Watching {
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        self.0.wait(target)
    }

    fn doubts<'a>(&'a self, targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>> {
        self.0.doubts(targets)
    }
}

impl SiteHealth for Watching {
    fn below(&self, key: &ResourceKey, now: Timestamp) -> Vec<Node> {
        let at = i64::try_from(now.millis).unwrap_or(i64::MAX);
        self.0.look(|seen| below(key, seen, self.0.home(), &Profile::default(), Some(at)))
    }
}

/// What was seen in a cluster. One look has no clock: a back-off means that it has failed again and again.
struct KubeLook {
    seen: Snapshot,
    /// Where objects are whose ids do not say so.
    homes: BTreeMap<ResourceKey, String>,
    profile: Profile,
    rules: Option<Rules>,
}

impl KubeLook {
    fn home(&self, key: &ResourceKey) -> &str {
        self.homes.get(key).map(String::as_str).unwrap_or_default()
    }
}

impl Look for KubeLook {
    fn verdict(&self, record: &ResourceRecord) -> Verdict {
        let (key, applied) = (&record.key, Some(&record.attributes));
        judge_key(key, applied, &self.seen, self.home(key), &self.profile, self.rules.as_ref(), None)
    }

    fn below(&self, key: &ResourceKey) -> Vec<Node> {
        below(key, &self.seen, self.home(key), &self.profile, None)
    }

    fn unreadable(&self) -> Vec<String> {
        self.seen.unreadable().map(str::to_owned).collect()
    }
}

/// What a cluster refuses, or fails at.
pub(crate) fn failed(error: &RuntimeError, server: &str) -> Failure {
    let (what, next) = match error.kind {
        ErrorKind::Unreachable => (
            "the cluster cannot be reached",
            "check the address and the network, or choose another context: --context NAME",
        ),
        ErrorKind::Untrusted => (
            "the cluster's certificate is not trusted",
            "is this the right cluster? then name its authority: `certificate-authority` in the kubeconfig",
        ),
        ErrorKind::Unreadable => (
            "the cluster's answer cannot be used",
            "is a proxy or a login page in between? then sign in, and try again; nothing was planned",
        ),
        ErrorKind::Timeout | ErrorKind::Broken => ("the cluster did not answer", "try again"),
        ErrorKind::Unauthorized => ("the cluster does not know you", "renew the credentials of this context"),
        ErrorKind::Forbidden => ("the cluster does not allow it", "ask for the right that the message names"),
        ErrorKind::UnknownKind => (
            "the cluster does not know this kind",
            "install its CustomResourceDefinition, or apply it in the same stack",
        ),
        ErrorKind::Owned => (
            "another manager owns a field",
            "say whose value counts: --conflict KIND:FIELD=take-over (or leave)",
        ),
        ErrorKind::Conflict => (
            "somebody else writes the same object right now",
            "run the same command again; who writes it: kubectl get KIND NAME -o yaml --show-managed-fields",
        ),
        ErrorKind::TooManyRequests | ErrorKind::Server => ("the cluster is in trouble", "try again later"),
        ErrorKind::ParentMissing => {
            ("the cluster refuses it", "create the namespace, or add it to the stack")
        }
        ErrorKind::Invalid | ErrorKind::Immutable => {
            ("the cluster refuses it", "correct what the message names")
        }
        ErrorKind::NotFound => ("the cluster does not have it any more", "look at the plan again"),
        ErrorKind::Unexpected | ErrorKind::UnknownSecret => {
            ("the cluster's answer was not understood", "run the same command again with --debug")
        }
    };
    let exit = match error.kind {
        ErrorKind::Owned | ErrorKind::Conflict => Exit::Conflict,
        _ => Exit::Remote,
    };
    let failure = Failure::new(exit, what).cause(error.message.clone()).place(server).next(next);
    match error.kind {
        ErrorKind::NotFound => failure.advise(Advice::new("look at the plan again: ", "preview")),
        _ => failure,
    }
}
