//! Between engine and world: counts and names the writes, kills at one of them, sees what comes into being.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use kube::client::Body;
use sandbox_server::{Dropped, Host, InProcess, OutBody};
use sandbox_world::ResourceKey;
use serde_json::Value;
use tokio::sync::Notify;
use tower::Service;

use crate::objects::id;

/// Where a write is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    Before(usize),
    After(usize),
    Never,
}

/// Uids by id: an object with two of them has been made twice.
pub(crate) type Births = BTreeMap<String, BTreeSet<String>>;

#[derive(Clone)]
pub(crate) struct Wire {
    below: InProcess,
    host: Host,
    pub(crate) kill: Arc<Mutex<Kill>>,
    pub(crate) writes: Arc<AtomicUsize>,
    pub(crate) killed: Arc<Notify>,
    /// Method and path of the writes, in order.
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    pub(crate) births: Arc<Mutex<Births>>,
    running: Arc<AtomicUsize>,
    pub(crate) most_running: Arc<AtomicUsize>,
}

impl Wire {
    pub(crate) fn new(host: &Host) -> Wire {
        Wire {
            below: InProcess::new(host, "t"),
            host: host.clone(),
            kill: Arc::new(Mutex::new(Kill::Never)),
            writes: Arc::default(),
            killed: Arc::default(),
            log: Arc::default(),
            births: Arc::default(),
            running: Arc::default(),
            most_running: Arc::default(),
        }
    }

    fn note_births(&self) {
        let mut births = self.births.lock().unwrap();
        for (id, object) in objects_of(&self.host) {
            let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
            births.entry(id).or_default().insert(uid.to_owned());
        }
    }

    async fn write(mut self, request: Request<Body>, number: usize) -> Result<Response<OutBody>, Dropped> {
        let kill = *self.kill.lock().unwrap();
        // The witness is told beside the steps and does not count among them.
        let is_step = usize::from(!request.uri().path().contains("/kusion-state."));
        let answer = self.below.call(request);
        if kill == Kill::Before(number) {
            // The request is never polled, so it never reaches the world.
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
        let running = self.running.fetch_add(is_step, Ordering::SeqCst) + is_step;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let answer = answer.await;
        self.running.fetch_sub(is_step, Ordering::SeqCst);
        self.note_births();
        if kill == Kill::After(number) {
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
        answer
    }
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
        self.log.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
        Box::pin(self.clone().write(request, number))
    }
}

/// The objects that applications make, by id.
pub(crate) fn objects_of(host: &Host) -> BTreeMap<String, Value> {
    let kinds = [
        ("", "configmaps"),
        ("", "secrets"),
        ("", "services"),
        ("", "namespaces"),
        ("apps", "deployments"),
        ("batch", "jobs"),
    ];
    host.with(|world| {
        let view = world.view();
        let all =
            kinds.iter().flat_map(|(group, plural)| view.store.list(&ResourceKey::new(group, plural), None));
        let ours = |name: &str| name != "kube-root-ca.crt" && !name.starts_with("kusion-state.");
        all.filter(|(key, _)| ours(&key.name))
            .map(|(_, object)| (id(&object.value), Value::clone(&object.value)))
            .filter(|(id, _)| id.contains(":lab"))
            .collect()
    })
}
