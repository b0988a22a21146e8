//! Real Terraform providers in the graph: unknown values flow, secrets stay sealed, drift and failures are told.

use std::path::PathBuf;
use std::sync::Arc;

use kusion::model::{
    Action, DigestKey, OwnerRules, Platforms, Reason, ResourceKey, ResourceType, Scope, Spec, Timestamp,
};
use kusion::{
    CancelToken, Execution, Options, PlanAsk, PlanFailure, Planned, ReleaseDraft, Report, Stand, Store,
    execute, make_plan,
};
use kusion_apply::{Clock as _, NoHealth};
use kusion_runtime::Runtimes;
use kusion_runtime_tf::{Locate, Source, TfRuntime, settle};
use kusion_store::{Liveness, Owner, SimMedium, StackStore, State};
use serde_json::{Value, json};

/// The providers of the test environment.
struct Built;

impl Locate for Built {
    fn locate(&self, source: &Source) -> Result<PathBuf, String> {
        let name = source.address.rsplit('/').next().unwrap_or_default();
        testenv::program(&format!("terraform-provider-{name}")).ok_or_else(|| format!("{name} is not built"))
    }
}

struct Lab {
    store: StackStore,
    scope: Scope,
    key: DigestKey,
    medium: SimMedium,
}

struct Run {
    runtimes: Runtimes,
    planned: Planned,
}

impl Lab {
    async fn new() -> Option<Lab> {
        testenv::needed("terraform-provider-random")?;
        let medium = SimMedium::default();
        let scope = Scope { project: "p".into(), stack: "s".into(), workspace: "default".into() };
        let store = Store::new(Arc::new(medium.clone())).stack(&scope);
        let key = store.digest_key().await.unwrap();
        Some(Lab { store, scope, key, medium })
    }

    async fn state(&self) -> State {
        self.store.read().await.unwrap()
    }

    async fn try_plan(&self, spec: &Value) -> Result<Run, PlanFailure> {
        let runtime = Arc::new(TfRuntime::new(Arc::new(Built), None, self.key.clone()));
        let mut spec = Spec::from_value(spec.clone(), &Platforms::default(), &self.key).unwrap();
        let platform = runtime.platform(&spec).await.map_err(PlanFailure::Remote)?;
        let platforms = Platforms::new(vec![Arc::new(platform)]);
        settle(&mut spec, &platforms, &self.key);
        let mut runtimes = Runtimes::default();
        runtimes.insert(ResourceType::terraform(), "", runtime);
        let prior = self.state().await.prior();
        let ask = PlanAsk {
            scope: self.scope.clone(),
            spec: &spec,
            platforms: &platforms,
            prior: &prior,
            rules: &[],
            owners: &OwnerRules::default(),
            runtimes: &runtimes,
            key: &self.key,
            others: &|_, _| None,
            destroy: spec.resources.is_empty(),
        };
        let planned = make_plan(&ask).await?;
        Ok(Run { runtimes, planned })
    }

    async fn plan(&self, spec: &Value) -> Run {
        self.try_plan(spec).await.unwrap()
    }

    async fn apply(&self, spec: &Value) -> Report {
        let run = self.plan(spec).await;
        let owner = Owner { user: "u".into(), host: "h".into(), pid: 1, started: 0, command: "test".into() };
        let now = Timestamp::from_millis(1);
        let mut session = self.store.acquire(owner, now, &|_| Liveness::Dead).await.unwrap();
        let with = Execution {
            runtimes: &run.runtimes,
            health: &NoHealth,
            clock: &kusion::WallClock,
            cancel: &CancelToken::default(),
            events: &|_| {},
            options: Options::default(),
            key: &self.key,
            outputs: &[],
            clashes: &|| Box::pin(std::future::ready(Vec::new())),
            witness: &Stand::default(),
            warn: &|_| {},
        };
        let report = execute(&run.planned, &mut session, ReleaseDraft::default(), &with).await.unwrap();
        session.close(kusion::WallClock.now()).await.unwrap();
        report
    }
}

impl Run {
    fn actions(&self) -> Vec<(String, Action)> {
        let name = |key: &ResourceKey| key.id.parts().last().cloned().unwrap_or_default();
        let mut all: Vec<_> = self.planned.plan().steps.iter().map(|s| (name(&s.key), s.action)).collect();
        all.sort();
        all
    }

    fn step(&self, name: &str) -> &kusion::model::Step {
        let is = |step: &&kusion::model::Step| step.key.id.parts().last().is_some_and(|last| last == name);
        self.planned.plan().steps.iter().find(is).unwrap()
    }
}

fn resource(id: &str, attributes: Value) -> Value {
    json!({"id": id, "type": "Terraform", "attributes": attributes})
}

/// A password, a stand-in for a database that takes it, a file that tells about both, and a look at that file.
fn chain(file: &std::path::Path, length: u64) -> Value {
    let mut look = resource(
        "hashicorp:local:local_file:look",
        json!({"filename": "$kusion_path.hashicorp:local:local_file:file.filename"}),
    );
    look["extensions"] = json!({"mode": "data"});
    json!([
        resource("hashicorp:random:random_password:pw", json!({"length": length})),
        resource(
            "builtin:terraform:terraform_data:db",
            json!({"input": {
            "password": "$kusion_path.hashicorp:random:random_password:pw.result"}})
        ),
        resource(
            "hashicorp:local:local_file:file",
            json!({"filename": file,
            "content": "$kusion_path.builtin:terraform:terraform_data:db.id"})
        ),
        look,
    ])
}

fn all(actions: &[(&str, Action)]) -> Vec<(String, Action)> {
    actions.iter().map(|(name, action)| ((*name).to_owned(), *action)).collect()
}

#[tokio::test]
async fn a_chain_is_made_kept_mended_and_destroyed() {
    let Some(lab) = Lab::new().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("told");
    let spec = chain(&file, 12);
    let run = lab.plan(&spec).await;
    let create = Action::Create;
    assert_eq!(
        run.actions(),
        all(&[("db", create), ("file", create), ("look", Action::Read), ("pw", create)])
    );
    assert_eq!(run.step("pw").planned.as_ref().unwrap()["result"], kusion::model::Attr::Unknown);
    let report = lab.apply(&spec).await;
    assert!(report.is_success(), "{:?}", report.steps);
    let content = std::fs::read_to_string(&file).unwrap();
    assert_eq!(content.len(), 36, "the id of the stand-in");

    let again = lab.plan(&spec).await;
    let same = Action::NoOp;
    assert_eq!(again.actions(), all(&[("db", same), ("file", same), ("look", same), ("pw", same)]));

    std::fs::write(&file, "changed by hand").unwrap();
    let drifted = lab.plan(&spec).await;
    assert_eq!(drifted.step("file").action, create);
    assert_eq!(drifted.step("file").reason, Reason::DeletedOutside);
    assert!(lab.apply(&spec).await.is_success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), content);

    let longer = lab.plan(&chain(&file, 16)).await;
    assert_eq!(longer.step("pw").action, Action::Replace);
    assert_eq!(longer.step("pw").reason.to_string(), "length is immutable");
    assert_eq!(longer.step("db").action, Action::Update);
    assert!(lab.apply(&chain(&file, 16)).await.is_success());

    let gone = lab.apply(&json!([])).await;
    assert!(gone.is_success(), "{:?}", gone.steps);
    assert!(!file.exists());
    assert!(lab.state().await.records.is_empty());
}

#[tokio::test]
async fn sensitive_values_are_in_no_plan_and_no_state() {
    let Some(lab) = Lab::new().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let spec = |n: u32| {
        json!([
            resource(
                "hashicorp:local:local_sensitive_file:f",
                json!({"filename": dir.path().join(format!("s{n}")), "content": "canary-4217"})
            ),
            resource(
                "builtin:terraform:terraform_data:d",
                json!({"input": "$kusion_path.hashicorp:local:local_sensitive_file:f.content"})
            ),
        ])
    };
    let plan = lab.plan(&spec(1)).await.planned.plan().to_json();
    assert!(!plan.contains("canary"), "{plan}");
    assert!(lab.apply(&spec(1)).await.is_success());
    assert_eq!(std::fs::read_to_string(dir.path().join("s1")).unwrap(), "canary-4217");
    let change = lab.plan(&spec(2)).await.planned.plan().to_json();
    assert!(!change.contains("canary") && change.contains("replace"), "{change}");
    let record = serde_json::to_string(&lab.state().await.records.values().collect::<Vec<_>>()).unwrap();
    assert!(!record.contains("canary") && !record.contains("Y2FuYXJ5"), "{record}");
    let _ = &lab.medium;
}

#[tokio::test]
async fn what_a_provider_refuses_is_told_with_its_place() {
    let Some(lab) = Lab::new().await else { return };
    let wrong = json!([resource("hashicorp:random:random_password:pw", json!({"length": -1}))]);
    let Err(PlanFailure::Refused(refused)) = lab.try_plan(&wrong).await else { panic!("refused") };
    assert!(refused[0].error.message.contains("length"), "{}", refused[0].error.message);
    let unknown = json!([resource("hashicorp:random:random_password:pw", json!({"lenght": 1}))]);
    let Err(PlanFailure::Refused(refused)) = lab.try_plan(&unknown).await else { panic!("refused") };
    assert!(refused[0].error.message.contains("lenght"), "{}", refused[0].error.message);
}

#[tokio::test]
async fn lifecycle_and_import() {
    let Some(lab) = Lab::new().await else { return };
    let mut pet = resource("hashicorp:random:random_pet:p", json!({"prefix": "a"}));
    pet["extensions"] = json!({"lifecycle": {"ignoreChanges": ["prefix"]}});
    assert!(lab.apply(&json!([pet])).await.is_success());
    pet["attributes"]["prefix"] = "b".into();
    assert_eq!(lab.plan(&json!([pet])).await.step("p").action, Action::NoOp);
    pet["extensions"] = json!({"lifecycle": {"preventDestroy": true}});
    let Err(PlanFailure::Refused(refused)) = lab.try_plan(&json!([pet])).await else { panic!("refused") };
    assert!(refused[0].error.message.contains("preventDestroy"));
    pet["extensions"] = json!({"lifecycle": {"createBeforeDestroy": true}});
    assert!(lab.plan(&json!([pet])).await.step("p").create_first);
    assert!(lab.apply(&json!([pet])).await.is_success());
    let mut found = resource("hashicorp:random:random_password:found", json!({"length": 8}));
    found["extensions"] = json!({"kusionstack.io/import-id": "secret12"});
    let run = lab.plan(&json!([pet, found])).await;
    assert_eq!(run.step("found").action, Action::Import);
    assert!(lab.apply(&json!([pet, found])).await.is_success());
    assert_eq!(lab.plan(&json!([pet, found])).await.step("found").action, Action::NoOp);
}
