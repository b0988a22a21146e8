//! Waiting for health on a cluster: shared watches in, `kusion-health`'s state machine in the middle, an outcome out.
//!
//! Event-driven: a wait sleeps until the snapshot changes or until time alone can change its verdict. Objects that cannot be
//! unhealthy are judged from the answer of their apply and cost no watch.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube_meaning::id::KubeId;
use kusion_apply::{Doubt, Health, HealthOutcome, HealthTarget, HealthVerdict};
use kusion_health::{
    Grade, Profile, Rules, Snapshot, Verdict, WaitOutcome, Waiter, judge_absent, judge_with,
};
use kusion_model::{ResourceKey, Timestamp};
use serde_json::Value;

use crate::kinds::builtin_kind;
use crate::runtime::{KubeRuntime, object_of, parse};
use crate::watch::{Collection, Watches};

/// Bursts of events are judged once.
const CALM: Duration = Duration::from_millis(100);

/// Is told every new verdict of a resource that is waited for.
pub(crate) type OnVerdict = Arc<dyn Fn(&ResourceKey, &Verdict) + Send + Sync>;

/// Waits for the health of resources in one cluster. Needs a Tokio runtime.
pub struct KubeHealth {
    pub(crate) runtime: Arc<KubeRuntime>,
    watches: Watches,
    pub(crate) profile: Profile,
    pub(crate) rules: Option<Rules>,
    /// The user's own limit for each wait.
    timeout: Option<Duration>,
    on_verdict: Option<OnVerdict>,
    clock: Clock,
}

/// Wall time that never jumps: the time of the start and Tokio's clock since then, which a test can pause.
struct Clock {
    started: i64,
    at: tokio::time::Instant,
}

impl Clock {
    fn start() -> Clock {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Clock {
            started: i64::try_from(since.as_millis()).unwrap_or(i64::MAX / 2),
            at: tokio::time::Instant::now(),
        }
    }

    fn now(&self) -> i64 {
        self.started.saturating_add(i64::try_from(self.at.elapsed().as_millis()).unwrap_or(i64::MAX / 2))
    }
}

impl KubeHealth {
    /// Waits on the cluster of a runtime with the graces of a profile.
    #[must_use]
    pub fn new(runtime: Arc<KubeRuntime>, profile: Profile) -> Self {
        let watches = Watches::new(runtime.api.clone());
        let clock = Clock::start();
        KubeHealth { runtime, watches, profile, rules: None, timeout: None, on_verdict: None, clock }
    }

    /// Uses the user's rules for custom kinds.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Counts time from the caller's now: events are old or new by the clock that the caller goes by.
    #[must_use]
    pub fn with_start(mut self, now: Timestamp) -> Self {
        self.clock.started = i64::try_from(now.millis).unwrap_or(i64::MAX / 2);
        self
    }

    /// Ends every wait after this time at the latest.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Tells every new verdict, for a live tree.
    #[must_use]
    pub fn with_listener(mut self, on_verdict: OnVerdict) -> Self {
        self.on_verdict = Some(on_verdict);
        self
    }

    /// Looks at everything that is watched right now: roots, dependents, events.
    pub fn look<T>(&self, look: impl FnOnce(&Snapshot) -> T) -> T {
        self.watches.with(look)
    }

    /// Returns the namespace of objects that name none.
    #[must_use]
    pub fn home(&self) -> &str {
        self.runtime.namespace()
    }

    async fn wait_for(&self, target: HealthTarget) -> HealthOutcome {
        let Ok(id) = parse(&target.key) else { return unknown("it has no Kubernetes id") };
        let object = object_of(&target.observed);
        let mut waiter = Waiter::new(&object, &self.profile, self.clock.now());
        if let Some(timeout) = self.timeout {
            waiter
                .set_deadline(self.clock.now() + i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 2));
        }
        let mut changes = self.watches.changes();
        self.watches.insert(object.clone().into_owned());
        let mut told = None;
        let mut watching = false;
        loop {
            changes.borrow_and_update();
            let verdict = self.judge(&id, &object);
            self.tell(&target.key, &verdict, &mut told);
            // Only what runs can come down again: nothing else has to hold for a while.
            if verdict.verdict.is_good() && !runs(&id.kind) {
                return self.outcome(&id, HealthVerdict::Healthy, verdict);
            }
            match waiter.step(verdict, self.clock.now()) {
                WaitOutcome::Done(verdict) => {
                    let suspended = verdict.verdict == Grade::Suspended;
                    let word = if suspended { HealthVerdict::Suspended } else { HealthVerdict::Healthy };
                    return self.outcome(&id, word, verdict);
                }
                WaitOutcome::Failed(verdict) => return self.outcome(&id, HealthVerdict::Failed, verdict),
                WaitOutcome::TimedOut(verdict) => return self.outcome(&id, HealthVerdict::TimedOut, verdict),
                WaitOutcome::Waiting { .. } => {}
            }
            if !std::mem::replace(&mut watching, true) {
                self.watch(&target.key, &id).await;
            }
            let sleep = u64::try_from(waiter.wake() - self.clock.now()).unwrap_or(0);
            tokio::select! {
                _ = changes.changed() => tokio::time::sleep(CALM).await,
                () = tokio::time::sleep(Duration::from_millis(sleep.max(10))) => {}
            }
        }
    }

    fn judge(&self, id: &KubeId, applied: &Value) -> Verdict {
        self.watches.with(|snapshot| match self.find(snapshot, id) {
            Some(object) => {
                judge_with(object, snapshot, &self.profile, self.rules.as_ref(), Some(self.clock.now()))
            }
            None => judge_absent(Some(applied), snapshot, &self.profile, Some(self.clock.now())),
        })
    }

    fn find<'s>(&self, snapshot: &'s Snapshot, id: &KubeId) -> Option<&'s Value> {
        let group = id.api_version.split_once('/').map_or("", |(group, _)| group);
        let at = |namespace: &str| snapshot.get(group, &id.kind, namespace, &id.name);
        let written = at(id.namespace.as_deref().unwrap_or(""));
        // Cluster-scoped kinds may be written with a namespace, which means nothing.
        written.or_else(|| at(self.runtime.namespace_of(id))).or_else(|| at(""))
    }

    fn tell(&self, key: &ResourceKey, verdict: &Verdict, told: &mut Option<(Grade, String)>) {
        let new = (verdict.verdict, verdict.full_message());
        if let Some(listener) = self.on_verdict.as_ref().filter(|_| told.as_ref() != Some(&new)) {
            listener(key, verdict);
        }
        *told = Some(new);
    }

    /// Watches the object's own collection and those in which its causes show.
    async fn watch(&self, key: &ResourceKey, id: &KubeId) {
        let Ok((_, kind)) = self.runtime.kind_of(key).await else { return };
        let namespace = self.runtime.namespace_of(id);
        self.watches.ensure(Collection { kind, namespace: namespace.to_owned() });
        for collection in evidence(&id.kind, namespace) {
            self.watches.ensure(collection);
        }
    }

    fn outcome(&self, id: &KubeId, verdict: HealthVerdict, judged: Verdict) -> HealthOutcome {
        let latest = self.watches.with(|snapshot| self.find(snapshot, id).cloned());
        let serving = latest.as_ref().filter(|_| !verdict.is_ready()).and_then(still_serving);
        let message = judged.full_message();
        let next = match (judged.next, serving) {
            (Some(next), Some(serving)) => {
                let dash = if next.ends_with('?') { "" } else { ";" };
                Some(format!("{next}{dash} {serving}"))
            }
            (next, serving) => next.or(serving),
        };
        HealthOutcome {
            verdict,
            message,
            cause: judged.cause,
            next,
            observed: latest.map(|object| self.runtime.observed(object)),
        }
    }
}

impl Health for KubeHealth {
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        Box::pin(self.wait_for(target))
    }

    fn doubts<'a>(&'a self, targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>> {
        Box::pin(self.survey(targets))
    }
}

/// What an update that fails leaves running.
fn still_serving(object: &Value) -> Option<String> {
    let count =
        |field: &str| object.pointer(&format!("/status/{field}")).and_then(Value::as_u64).unwrap_or(0);
    let old = count("replicas").saturating_sub(count("updatedReplicas"));
    match old.min(count("availableReplicas")) {
        0 => None,
        1 => Some("1 pod of the release before still serves".to_owned()),
        serving => Some(format!("{serving} pods of the release before still serve")),
    }
}

fn unknown(message: &str) -> HealthOutcome {
    HealthOutcome {
        verdict: HealthVerdict::Unknown,
        message: message.to_owned(),
        cause: None,
        next: None,
        observed: None,
    }
}

/// Kinds with pods below them.
fn runs(kind: &str) -> bool {
    matches!(
        kind,
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Pod"
    )
}

/// (apiVersion, kind).
type Row = (&'static str, &'static str);

const PODS: Row = ("v1", "Pod");
const EVENTS: Row = ("v1", "Event");
const SETS: Row = ("apps/v1", "ReplicaSet");
const CLAIMS: Row = ("v1", "PersistentVolumeClaim");
const JOBS: Row = ("batch/v1", "Job");
const CLASSES: Row = ("networking.k8s.io/v1", "IngressClass");
const SLICES: Row = ("discovery.k8s.io/v1", "EndpointSlice");

/// Where the causes of a kind show.
fn evidence_kinds(kind: &str) -> &'static [Row] {
    match kind {
        "Deployment" => &[SETS, PODS, EVENTS, CLAIMS],
        "StatefulSet" => &[PODS, EVENTS, CLAIMS],
        "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job" => &[PODS, EVENTS],
        "CronJob" => &[JOBS, EVENTS],
        "Pod" | "PersistentVolumeClaim" => &[EVENTS],
        "Ingress" => &[EVENTS, CLASSES],
        "Service" => &[SLICES, EVENTS],
        _ => &[],
    }
}

/// The collections in which the causes of a kind show.
pub(crate) fn evidence(kind: &str, namespace: &str) -> impl Iterator<Item = Collection> {
    let kinds = evidence_kinds(kind).iter().filter_map(|(api_version, kind)| builtin_kind(api_version, kind));
    kinds.map(|kind| Collection { kind: Arc::new(kind), namespace: namespace.to_owned() })
}
