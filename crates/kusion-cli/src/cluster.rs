//! The clusters of one operation: clients, runtimes, health.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kusion_apply::{Clock, Health, HealthOutcome, HealthTarget, HealthVerdict};
use kusion_health::Profile;
use kusion_model::{DigestKey, ResourceType, Timestamp};
use kusion_runtime::{ErrorKind, Runtime, RuntimeError, Runtimes};
use kusion_runtime_k8s::{ConnectError, Connected, DryRun, KubeHealth, KubeRuntime, OnVerdict, connect};

use crate::failure::{Failure, exit};
use crate::flags::{Flag, Given, flag};
use crate::place::{Place, here, now};

/// Flags of every command that talks to a cluster.
pub(crate) const CLUSTER: &[Flag] = &[
    flag(
        "context",
        None,
        "NAME",
        "the context of the kubeconfig (default: stack.yaml's, then the current one)",
    ),
    flag("kubeconfig", None, "FILE", "the kubeconfig (default: stack.yaml's, then $KUBECONFIG)"),
    flag("request-timeout", None, "SECONDS", "how long one request may take (default 60)"),
    flag("profile", None, "NAME", "graces of health: default or sandbox"),
];

/// The clusters of one operation; the empty name is the default one.
pub(crate) struct Clusters {
    pub(crate) runtimes: Runtimes,
    kubes: BTreeMap<String, Arc<KubeRuntime>>,
    pub(crate) context: String,
    pub(crate) server: String,
    profile: Profile,
}

/// An async runtime of one thread: the work is waiting.
pub(crate) fn tokio() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|e| Failure::new(exit::BUG, "no async runtime").cause(e.to_string()))
}

/// Which kubeconfig and context the flags and the stack name.
pub(crate) fn choice(
    given: &Given,
    place: Option<&Place>,
) -> Result<(Option<PathBuf>, Option<String>), Failure> {
    let of_stack =
        |pick: fn(&kusion_model::Stack) -> Option<String>| place.and_then(|place| pick(&place.stack.stack));
    let file = match given.last("kubeconfig") {
        Some(file) => Some(here()?.join(file)),
        None => of_stack(|stack| stack.kube_config.clone())
            .and_then(|file| Some(place?.stack.stack_dir.join(file))),
    };
    Ok((file, given.last("context").or_else(|| of_stack(|stack| stack.context.clone()))))
}

/// Connects to the default cluster and to those that resources name.
pub(crate) async fn clusters(
    given: &Given,
    place: &Place,
    key: &DigestKey,
    names: &BTreeSet<String>,
    dry_run: DryRun,
) -> Result<Clusters, Failure> {
    let (file, context) = choice(given, Some(place))?;
    let limit = match given.last("request-timeout") {
        None => 60,
        Some(text) => text
            .trim_end_matches('s')
            .parse()
            .map_err(|_| Failure::usage(format!("--request-timeout {text} is no number of seconds")))?,
    };
    let default = open(file.as_ref(), context.as_deref()).await?;
    let (context, server) = (default.context.clone(), default.server.clone());
    let profile = match given.last("profile") {
        Some(name) => Profile::named(&name).ok_or_else(|| {
            Failure::usage(format!("there is no health profile `{name}`")).next("use default or sandbox")
        })?,
        None if context.contains("sandbox") => Profile::sandbox(),
        None => Profile::default(),
    };
    let mut opened = vec![(String::new(), default)];
    for name in names.iter().filter(|name| !name.is_empty()) {
        opened.push((name.clone(), open(file.as_ref(), Some(name)).await?));
    }
    let (mut runtimes, mut kubes) = (Runtimes::default(), BTreeMap::new());
    for (name, connected) in opened {
        let runtime =
            KubeRuntime::new(connected.client, key.clone(), Duration::from_secs(limit)).with_dry_run(dry_run);
        let runtime = Arc::new(runtime);
        runtimes.insert(ResourceType::kubernetes(), &name, Arc::clone(&runtime) as Arc<dyn Runtime>);
        kubes.insert(name, runtime);
    }
    Ok(Clusters { runtimes, kubes, context, server, profile })
}

async fn open(file: Option<&PathBuf>, context: Option<&str>) -> Result<Connected, Failure> {
    connect(file.map(PathBuf::as_path), context).await.map_err(|error| {
        let failure = Failure::usage("there is no cluster to work with").cause(error.to_string());
        match error {
            ConnectError::Kubeconfig(_) => failure.next("name one: --kubeconfig FILE, or set KUBECONFIG"),
            ConnectError::UnknownContext { .. } | ConnectError::NoContext { .. } => {
                failure.next("choose one of them: --context NAME")
            }
            ConnectError::Client { .. } => failure,
        }
    })
}

/// A failed request, in the words of a user.
pub(crate) fn remote(error: &RuntimeError, server: &str) -> Failure {
    let failure = |what: &str| Failure::new(exit::REMOTE, what).cause(error.message.clone()).place(server);
    match error.kind {
        ErrorKind::Unreachable => failure("the cluster cannot be reached")
            .next("check the address and the network, or choose another context: --context NAME"),
        ErrorKind::Timeout | ErrorKind::Broken => failure("the cluster did not answer").next("try again"),
        ErrorKind::Unauthorized => {
            failure("the cluster does not know you").next("renew the credentials of this context")
        }
        ErrorKind::Forbidden => {
            failure("the cluster does not allow it").next("ask for the right that the message names")
        }
        ErrorKind::UnknownKind => failure("the cluster does not know this kind")
            .next("install its CustomResourceDefinition, or apply it in the same stack"),
        ErrorKind::Owned => {
            Failure::new(exit::CONFLICT, "another manager owns a field").cause(error.message.clone())
        }
        ErrorKind::TooManyRequests | ErrorKind::Server => {
            failure("the cluster is in trouble").next("try again later")
        }
        _ => failure("the cluster refuses it"),
    }
}

impl Clusters {
    /// Health of all clusters, each on its own watches.
    pub(crate) fn health(&self, listener: &OnVerdict, timeout: Option<Duration>) -> Healths {
        let one = |runtime: &Arc<KubeRuntime>| {
            let health = KubeHealth::new(Arc::clone(runtime), self.profile.clone())
                .with_listener(Arc::clone(listener));
            match timeout {
                Some(timeout) => health.with_timeout(timeout),
                None => health,
            }
        };
        Healths(self.kubes.iter().map(|(name, runtime)| (name.clone(), one(runtime))).collect())
    }
}

/// Waits in the cluster that a resource lives in.
pub(crate) struct Healths(BTreeMap<String, KubeHealth>);

impl Health for Healths {
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        match self.0.get(&*target.key.cluster) {
            Some(health) => health.wait(target),
            None => {
                let message = "nobody watches this cluster".to_owned();
                let verdict = HealthVerdict::Unknown;
                let outcome = HealthOutcome { verdict, message, cause: None, next: None, observed: None };
                Box::pin(futures::future::ready(outcome))
            }
        }
    }
}

/// The clock of this machine, for the executor.
pub(crate) struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        now()
    }

    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(how_long))
    }
}
