//! A world, a disk, and an engine that can be killed at any request.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;
use kusion::model::{DigestKey, Scope, Spec, Timestamp};
use kusion::{ApplyAsk, ApplyError, DryRun, Engine, Happening, Profile, ReleaseDraft, Report, Store, Target};
use kusion_apply::Clock;
use kusion_store::{Liveness, SimDisk};
use sandbox_server::{Dropped, Host, InProcess, OutBody};
use sandbox_world::{ResourceKey, Time, World};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::Service;

/// Where a write is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    Before(usize),
    After(usize),
    Never,
}

/// Between engine and world: counts writes, kills at one of them.
#[derive(Clone)]
pub(crate) struct Wire {
    below: InProcess,
    kill: Arc<Mutex<Kill>>,
    writes: Arc<AtomicUsize>,
    killed: Arc<Notify>,
}

impl Service<Request<Body>> for Wire {
    type Response = Response<OutBody>;
    type Error = Dropped;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Dropped>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Dropped>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let dry = request.uri().query().is_some_and(|query| query.contains("dryRun"));
        if request.method() == http::Method::GET || dry {
            return self.below.call(request);
        }
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        let (kill, killed) = (*self.kill.lock().unwrap(), Arc::clone(&self.killed));
        let answer = self.below.call(request);
        Box::pin(async move {
            if kill == Kill::Before(number) {
                // The request is never polled, so it never reaches the world.
                killed.notify_one();
                std::future::pending::<()>().await;
            }
            let answer = answer.await;
            if kill == Kill::After(number) {
                killed.notify_one();
                std::future::pending::<()>().await;
            }
            answer
        })
    }
}

/// Tokio's clock, which tests pause.
struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000 + u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }

    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(how_long))
    }
}

pub(crate) struct Lab {
    pub(crate) host: Host,
    pub(crate) disk: SimDisk,
    wire: Wire,
    clock: Arc<TestClock>,
    /// Verdicts told while waiting.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

impl Lab {
    /// Inside a Tokio runtime whose clock is paused.
    pub(crate) fn new() -> Lab {
        let world = World::with_defaults(7, Time::parse("2026-01-01T00:00:00Z").unwrap());
        let host = Host::start(world, None);
        let wire = Wire {
            below: InProcess::new(&host, "t"),
            kill: Arc::new(Mutex::new(Kill::Never)),
            writes: Arc::default(),
            killed: Arc::default(),
        };
        let clock = Arc::new(TestClock(tokio::time::Instant::now()));
        Lab { host, disk: SimDisk::default(), wire, clock, told: Arc::default() }
    }

    pub(crate) fn kill(&self, kill: Kill) {
        *self.wire.kill.lock().unwrap() = kill;
        self.wire.writes.store(0, Ordering::SeqCst);
    }

    pub(crate) fn target(&self) -> Target {
        let stores = Store::new(Arc::new(self.disk.clone()), "/home");
        let scope = Scope { project: "lab".into(), stack: "dev".into(), workspace: "default".into() };
        let store = stores.stack(&scope);
        let key: DigestKey = store.digest_key().unwrap();
        Target { scope, store, stores, key, rules: Vec::new(), outputs: Vec::new() }
    }

    fn engine(&self) -> Engine {
        let client = kube::Client::new(self.wire.clone(), "default");
        Engine::new(client, "sandbox", Profile::sandbox())
            .with_clock(Arc::clone(&self.clock) as Arc<dyn Clock>)
    }

    /// Plans and applies; `None` when it was killed.
    pub(crate) async fn try_apply(&self, spec: &Value) -> Option<Result<Report, ApplyError>> {
        let (target, engine) = (self.target(), self.engine());
        let spec = Spec::from_value(spec.clone(), &target.key).unwrap();
        let ready = engine.plan(&target, spec, DryRun::Updates).await.unwrap();
        let mut ask = ApplyAsk::new(ReleaseDraft::default());
        // Whoever held the lock before is dead: that is what these tests are about.
        ask.alive = |_| Liveness::Dead;
        let told = Arc::clone(&self.told);
        ask.observer = Arc::new(move |happening| {
            if let Happening::Verdict { key, verdict } = happening {
                told.lock().unwrap().push(format!("{key} {}", verdict.full_message()));
            }
        });
        tokio::select! {
            biased;
            () = self.wire.killed.notified() => None,
            result = engine.apply(&target, &ready, &ask) => Some(result),
        }
    }

    pub(crate) async fn apply(&self, spec: &Value) -> Report {
        self.try_apply(spec).await.expect("nobody kills it").unwrap()
    }

    /// Nothing is left to do, the world has what is wanted and no more, the state says the same.
    pub(crate) async fn assert_converged(&self, spec: &Value, context: &str) {
        let (target, engine) = (self.target(), self.engine());
        let wanted = Spec::from_value(spec.clone(), &target.key).unwrap();
        let ready = engine.plan(&target, wanted, DryRun::Updates).await.unwrap();
        assert!(ready.planned.plan.is_empty(), "{context}: {:#?}", ready.planned.plan.tally());
        let state = target.store.read().unwrap();
        assert_eq!(state.open, None, "{context}");
        let recorded: Vec<String> = state.prior().keys().into_iter().map(|key| key.to_string()).collect();
        let mut expected: Vec<String> = spec["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["id"].as_str().unwrap().to_owned())
            .collect();
        expected.sort();
        assert_eq!(recorded, expected, "{context}");
        let objects = self.objects();
        let live: Vec<String> = objects.keys().filter(|id| id.contains(":lab")).cloned().collect();
        assert_eq!(live, expected, "{context}");
    }

    /// The objects that applications make, by id.
    pub(crate) fn objects(&self) -> BTreeMap<String, Value> {
        let kinds = [("", "configmaps"), ("", "services"), ("", "namespaces"), ("apps", "deployments")];
        self.host.with(|world| {
            let view = world.view();
            let all = kinds
                .iter()
                .flat_map(|(group, plural)| view.store.list(&ResourceKey::new(group, plural), None));
            all.filter(|(key, _)| key.name != "kube-root-ca.crt")
                .map(|(_, object)| (id(&object.value), Value::clone(&object.value)))
                .collect()
        })
    }
}

fn id(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let parts = [text("/apiVersion"), text("/kind"), text("/metadata/namespace"), text("/metadata/name")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}

pub(crate) fn spec(objects: &[Value]) -> Value {
    let resource = |object: &Value| json!({"id": id(object), "type": "Kubernetes", "attributes": object});
    json!({"resources": objects.iter().map(resource).collect::<Vec<_>>()})
}

pub(crate) fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "lab"}, "data": {"v": value}})
}

pub(crate) fn deployment(name: &str, image: &str) -> Value {
    let labels = json!({"app": name});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "lab"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}}})
}

pub(crate) fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "lab"},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}})
}
