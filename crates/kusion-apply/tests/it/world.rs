//! A platform in memory: idempotent apply by name, faults by script, a kill switch at any call.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use kusion_apply::Clock;
use kusion_apply::sim::SimClock;
use kusion_model::{DigestKey, Observed, Proposal, ResourceKey, kubernetes_sensitivity, seal};
use kusion_runtime::{
    Applied, ApplyAsk, DeleteAsk, Deleted, ErrorKind, ObserveAsk, ProposeAsk, Runtime, RuntimeError,
};
use serde_json::{Value, json};

pub(crate) const KEY: DigestKey = DigestKey([3; 32]);

#[derive(Clone)]
pub(crate) struct World {
    inner: Arc<Mutex<Inner>>,
    clock: SimClock,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) objects: BTreeMap<ResourceKey, (Value, String)>,
    /// How often each name came into being.
    pub(crate) n_creates: BTreeMap<ResourceKey, usize>,
    pub(crate) calls: Vec<String>,
    n_writes: usize,
    /// The plug is pulled at this write: before it happens, or after it happened and before the answer.
    kill_at: Option<(usize, bool)>,
    pub(crate) killed: bool,
    /// Answers for the next writes of a name instead of the truth; `true`: the write happens all the same.
    faults: BTreeMap<String, VecDeque<(RuntimeError, bool)>>,
    finalizers: BTreeMap<ResourceKey, Vec<String>>,
    running: usize,
    pub(crate) max_running: usize,
}

impl World {
    pub(crate) fn new(clock: &SimClock) -> Self {
        World { inner: Arc::default(), clock: clock.clone() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kill_at(&self, write: usize, after_effect: bool) {
        let mut inner = self.lock();
        inner.n_writes = 0;
        inner.kill_at = Some((write, after_effect));
    }

    pub(crate) fn revive(&self) {
        let mut inner = self.lock();
        inner.killed = false;
        inner.kill_at = None;
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.lock().killed
    }

    pub(crate) fn fault(&self, name: &str, kind: ErrorKind, after_effect: bool) {
        self.fault_with(name, RuntimeError::new(kind, format!("{kind:?}")), after_effect);
    }

    pub(crate) fn fault_with(&self, name: &str, error: RuntimeError, after_effect: bool) {
        self.lock().faults.entry(name.to_owned()).or_default().push_back((error, after_effect));
    }

    pub(crate) fn hold(&self, key: &ResourceKey, finalizer: &str) {
        self.lock().finalizers.insert(key.clone(), vec![finalizer.to_owned()]);
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().objects.keys().map(|key| key.id.to_kubernetes().unwrap().name).collect()
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().calls)
    }

    /// One write: 10 ms of virtual time, then the script, then the effect.
    async fn write<T>(
        &self,
        what: &str,
        key: &ResourceKey,
        effect: impl FnOnce(&mut Inner) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        let name = key.id.to_kubernetes().unwrap().name;
        {
            let mut inner = self.lock();
            inner.calls.push(format!("{what} {name}"));
            inner.running += 1;
            inner.max_running = inner.max_running.max(inner.running);
        }
        self.clock.sleep(Duration::from_millis(10)).await;
        let killed_before = self.pull_plug(false);
        if killed_before || self.is_killed() {
            futures::future::pending::<()>().await;
        }
        let fault = self.lock().faults.get_mut(&name).and_then(VecDeque::pop_front);
        let result = match fault {
            Some((error, false)) => Err(error),
            Some((error, true)) => effect(&mut self.lock()).and(Err(error)),
            None => effect(&mut self.lock()),
        };
        if self.pull_plug(true) {
            futures::future::pending::<()>().await;
        }
        let mut inner = self.lock();
        inner.n_writes += 1;
        inner.running -= 1;
        result
    }

    fn pull_plug(&self, after_effect: bool) -> bool {
        let mut inner = self.lock();
        let now = inner.kill_at == Some((inner.n_writes, after_effect));
        inner.killed |= now;
        now
    }
}

pub(crate) fn observed(value: &Value, uid: &str) -> Observed {
    let mut attributes = value.clone();
    let secrets = seal(&mut attributes, kubernetes_sensitivity, &KEY);
    Observed { attributes, secrets, version: Some("1".into()), uid: Some(uid.to_owned()), terminating: None }
}

impl Runtime for World {
    fn observe<'a>(
        &'a self,
        asks: &'a [ObserveAsk],
    ) -> BoxFuture<'a, Result<BTreeMap<ResourceKey, Observed>, RuntimeError>> {
        let inner = self.lock();
        let found = asks.iter().filter_map(|ask| {
            let (value, uid) = inner.objects.get(&ask.key)?;
            Some((ask.key.clone(), observed(value, uid)))
        });
        Box::pin(futures::future::ready(Ok(found.collect())))
    }

    fn propose<'a>(
        &'a self,
        asks: &'a [ProposeAsk<'a>],
    ) -> BoxFuture<'a, Vec<Result<Proposal, RuntimeError>>> {
        Box::pin(futures::future::ready(asks.iter().map(|_| Ok(Proposal::same())).collect()))
    }

    fn apply<'a>(&'a self, ask: ApplyAsk<'a>) -> BoxFuture<'a, Result<Applied, RuntimeError>> {
        let mut clear = ask.attributes.clone();
        ask.secrets.unseal(&mut clear).expect("the executor hands over every secret");
        if clear["kind"] == "Service" {
            clear["spec"]["clusterIP"] = json!("10.0.0.1");
        }
        let key = ask.key;
        Box::pin(self.write("apply", key, move |inner| {
            let n_objects = inner.n_creates.values().sum::<usize>();
            let uid = match inner.objects.get(key) {
                Some((_, uid)) => uid.clone(),
                None => {
                    *inner.n_creates.entry(key.clone()).or_default() += 1;
                    format!("uid-{n_objects}")
                }
            };
            inner.objects.insert(key.clone(), (clear.clone(), uid.clone()));
            Ok(Applied { observed: observed(&clear, &uid), warnings: Vec::new() })
        }))
    }

    fn delete<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(self.write("delete", ask.key, move |inner| {
            if let Some(finalizers) = inner.finalizers.get(ask.key) {
                return Ok(Deleted::Leaving { finalizers: finalizers.clone(), message: None });
            }
            match inner.objects.get(ask.key) {
                None => return Err(RuntimeError::new(ErrorKind::NotFound, "not found")),
                Some((_, uid)) if ask.uid.is_some_and(|wanted| wanted != uid) => return Ok(Deleted::Gone),
                Some(_) => {}
            }
            inner.objects.remove(ask.key);
            Ok(Deleted::Gone)
        }))
    }

    fn wait_gone<'a>(
        &'a self,
        ask: DeleteAsk<'a>,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(async move {
            let Some(finalizers) = self.lock().finalizers.get(ask.key).cloned() else {
                return Ok(Deleted::Gone);
            };
            self.clock.sleep(limit).await;
            Ok(Deleted::Leaving { finalizers, message: None })
        })
    }
}
