//! The whole road against a real API server: state on disk, observe, propose, plan, apply.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use kusion_apply::{
    ApplyError, ApplyInput, CancelToken, Clock, Event, Health, NoHealth, Options, Report, apply,
};
use kusion_health::{Profile, Verdict};
use kusion_model::{
    Attr, ConflictRule, DigestKey, Observed, Plan, Platforms, Prior, Proposal, ResourceKey, ResourceType,
    Scope, Spec, Step, Timestamp,
};
use kusion_plan::{FillInput, Filling, PlanInput, plan, prepare};
use kusion_runtime::DryRun;
use kusion_runtime::{ObserveAsk, ProposeAsk, Runtime, RuntimeError, Runtimes};
use kusion_runtime_k8s::{KubeHealth, KubePlatform, KubeRuntime, connect};
use kusion_store::{Liveness, ReleaseDraft, StackStore, State, Store, local_owner, wait};
use serde_json::{Map, Value};
use testenv::ControlPlane;

pub(crate) const KEY: DigestKey = DigestKey::new([5; 32]);

pub(crate) struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Timestamp::from_millis(u64::try_from(now.as_millis()).unwrap())
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

pub(crate) struct Lab {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) namespace: String,
    pub(crate) rules: Vec<ConflictRule>,
    pub(crate) dry_run: DryRun,
    /// Wait for health with the sandbox's graces.
    pub(crate) wait: bool,
    pub(crate) verdicts: Option<Arc<Mutex<Vec<String>>>>,
    home: tempfile::TempDir,
    tokio: tokio::runtime::Runtime,
}

pub(crate) struct Ready {
    pub(crate) plan: Plan,
    live: BTreeMap<ResourceKey, Observed>,
    prior: Prior,
    runtimes: Runtimes,
    pub(crate) runtime: Arc<KubeRuntime>,
}

static N_LABS: AtomicUsize = AtomicUsize::new(0);

impl Lab {
    /// `None` where there is no control plane.
    pub(crate) fn new() -> Option<Self> {
        let plane = testenv::shared()?;
        let number = N_LABS.fetch_add(1, Ordering::SeqCst);
        Some(Lab {
            plane,
            namespace: format!("lab-{}-{number}", std::process::id()),
            rules: Vec::new(),
            dry_run: DryRun::All,
            wait: false,
            verdicts: None,
            home: tempfile::tempdir().unwrap(),
            tokio: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        })
    }

    pub(crate) fn store(&self) -> StackStore {
        let scope = Scope { project: "lab".into(), stack: "dev".into(), workspace: "default".into() };
        Store::local(self.home.path()).stack(&scope)
    }

    pub(crate) fn state(&self) -> State {
        wait(self.store().read()).unwrap()
    }

    /// Makes a plan, or returns the first refusal.
    pub(crate) fn try_plan(&self, spec: &Value) -> Result<Ready, RuntimeError> {
        self.tokio.block_on(self.plan_async(spec))
    }

    pub(crate) fn plan(&self, spec: &Value) -> Ready {
        self.try_plan(spec).unwrap()
    }

    async fn plan_async(&self, spec: &Value) -> Result<Ready, RuntimeError> {
        let connected = connect(Some(&self.plane.kubeconfig()), None).await.unwrap();
        let runtime = Arc::new(
            KubeRuntime::new(connected.client, KEY, Duration::from_secs(60)).with_dry_run(self.dry_run),
        );
        let platforms = Platforms::new(vec![Arc::new(KubePlatform)]);
        let spec = Spec::from_value(spec.clone(), &platforms, &KEY).unwrap();
        let prepared = prepare(&spec, &platforms).unwrap();
        let state = self.state();
        let prior = state.prior();
        let keys = prepared.keys.iter().chain(prior.keys());
        let ask = |key: &ResourceKey| ObserveAsk {
            key: key.clone(),
            kind: ResourceType::kubernetes(),
            prior: prior.get(key),
            extensions: Map::new(),
            wanted: None,
        };
        let asks: Vec<ObserveAsk<'_>> = keys.map(ask).collect();
        let mut live = runtime.observe(&asks).await?;
        let input = FillInput { platforms: &platforms, prior: &prior, others: &|_, _| None, key: &KEY };
        let mut filling = Filling::new(&prepared, &mut live, input);
        filling.fill(&prepared.order, &mut live).unwrap();
        let desired = filling.finish();
        let questions: Vec<ProposeAsk<'_>> = prepared
            .order
            .iter()
            .map(|&at| {
                let desired = &desired[at];
                let live = live.get(&desired.key).filter(|live| live.terminating.is_none());
                ProposeAsk {
                    desired,
                    prior: prior.get(&desired.key),
                    live,
                    rules: &self.rules,
                    pending: false,
                }
            })
            .collect();
        let answers = runtime.propose(&questions).await;
        let mut proposals: BTreeMap<ResourceKey, Proposal> = BTreeMap::new();
        for (question, answer) in questions.iter().zip(answers) {
            proposals.insert(question.desired.key.clone(), answer?);
        }
        let plan = plan(&PlanInput {
            scope: state.scope.clone(),
            engine: "test",
            spec_digest: spec.digest(),
            prepared: &prepared,
            desired: &desired,
            prior: &prior,
            aliases: &BTreeMap::new(),
            live: &live,
            proposals: &proposals,
            rules: &self.rules,
            owners: &kusion_model::OwnerRules::default(),
            platforms: &platforms,
            destroy: false,
        })
        .unwrap();
        let mut runtimes = Runtimes::default();
        runtimes.insert(ResourceType::kubernetes(), "", Arc::clone(&runtime) as Arc<dyn Runtime>);
        Ok(Ready { plan, live, prior, runtimes, runtime })
    }

    pub(crate) fn execute(&self, ready: &Ready) -> (Result<Report, ApplyError>, Vec<Event>) {
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        let _tokio = self.tokio.enter();
        let health = self.health(ready);
        let input = ApplyInput {
            plan: &ready.plan,
            live: &ready.live,
            prior: &ready.prior,
            digest_key: &KEY,
            platforms: &Platforms::new(vec![Arc::new(KubePlatform)]),
            outputs: &[],
            runtimes: &ready.runtimes,
            health: &*health,
            clock: &TokioClock,
            cancel: &CancelToken::default(),
            events: &move |event| sink.lock().unwrap().push(event),
            options: Options::default(),
        };
        let owner = local_owner("lab", "h", "test");
        let mut session = wait(self.store().acquire(owner, TokioClock.now(), &|_| Liveness::Dead)).unwrap();
        let result = self.tokio.block_on(apply(&input, &mut session, ReleaseDraft::default()));
        wait(session.close(TokioClock.now())).unwrap();
        let events = events.lock().unwrap().clone();
        (result, events)
    }

    fn health(&self, ready: &Ready) -> Box<dyn Health> {
        if !self.wait {
            return Box::new(NoHealth);
        }
        let verdicts = self.verdicts.clone().unwrap_or_default();
        let listener = move |key: &ResourceKey, verdict: &Verdict| {
            verdicts.lock().unwrap().push(format!("{key} {} {}", verdict.verdict, verdict.message));
        };
        let health = KubeHealth::new(Arc::clone(&ready.runtime), Profile::sandbox());
        Box::new(health.with_listener(Arc::new(listener)))
    }

    pub(crate) fn apply(&self, spec: &Value) -> Report {
        let ready = self.plan(spec);
        let report = self.execute(&ready).0.unwrap();
        assert!(report.is_success(), "{report:#?}");
        report
    }

    /// The steps that are not no-ops, in words.
    pub(crate) fn pending(&self, spec: &Value) -> Vec<String> {
        let ready = self.plan(spec);
        ready.plan.steps.iter().filter(|step| step.is_change()).map(describe).collect()
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.plane.kubectl().args(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "kubectl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn kubectl_apply(&self, manifest: &Value, extra: &[&str]) {
        let file = self.home.path().join("manifest.json");
        std::fs::write(&file, manifest.to_string()).unwrap();
        let file = file.to_string_lossy().into_owned();
        self.kubectl(&[&["apply", "-f", file.as_str()], extra].concat());
    }
}

pub(crate) fn describe(step: &Step) -> String {
    let fields: Vec<String> = step
        .changes
        .iter()
        .map(|change| {
            let value = |value: &Option<Attr>| value.as_ref().map_or("-".to_owned(), ToString::to_string);
            format!("{} {}→{}", change.path, value(&change.before), value(&change.after))
        })
        .collect();
    format!("{} {} [{}]", step.action, step.key, fields.join(", "))
}
