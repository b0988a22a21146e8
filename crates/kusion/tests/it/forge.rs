//! A made-up second platform, to prove that the Spec, the planner and the executor know none: it finds objects only by what it
//! gave to keep, plans values that are not known yet, names secrets by schema, and replaces with the new object first, or with
//! the old one first where the resource says so. What is used cannot be deleted, and what is not there cannot be used.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, ready};
use kusion::model::{
    Action, Attr, Blob, DigestKey, FieldPath, Kept, Note, Observed, OwnerRules, Platform, Platforms,
    Proposal, Proposed, Reason, ResourceKey, ResourceType, Scope, Secret, Spec, Timestamp, Unknowns,
};
use kusion::{
    CancelToken, Execution, Options, PlanAsk, Planned, ReleaseDraft, Report, Stand, Store, execute, make_plan,
};
use kusion_apply::{Clock, Event, NoHealth};
use kusion_runtime::{
    Applied, DeleteAsk, Deleted, ErrorKind, IdentifyAsk, ObserveAsk, ProposeAsk, Runtime, RuntimeError,
    Runtimes, WriteAsk,
};
use kusion_store::{Liveness, Owner, SimMedium, StackStore, State, wait};
use serde_json::{Value, json};

const SCHEMA: u64 = 2;

fn forge() -> ResourceType {
    ResourceType("Forge".to_owned())
}

struct ForgePlatform;

impl Platform for ForgePlatform {
    fn kind(&self) -> ResourceType {
        forge()
    }

    fn sensitive(&self, _id: &kusion::model::ResourceId, _attributes: &Attr) -> Vec<FieldPath> {
        vec![FieldPath::keys(["password"])]
    }
}

#[derive(Default)]
pub(crate) struct Yard {
    pub(crate) objects: BTreeMap<String, Value>,
    n_made: usize,
    log: Vec<String>,
    /// Deleting fails for good.
    stuck: bool,
    /// Deleting this one fails for good.
    pub(crate) held: Option<String>,
}

/// The objects that one names: ids between words.
fn named(object: &Value) -> Vec<String> {
    let text = object.as_object().unwrap().iter().filter(|(field, _)| *field != "id");
    let texts: Vec<String> = text.map(|(_, value)| value.to_string()).collect();
    let words = texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '-'));
    words.filter(|word| word.starts_with("obj-")).map(str::to_owned).collect()
}

struct Forge {
    world: Arc<Mutex<Yard>>,
    key: DigestKey,
}

fn name(key: &ResourceKey) -> &str {
    key.id.as_str().rsplit(':').next().unwrap()
}

impl Forge {
    fn seen(&self, id: &str, object: &Value) -> Observed {
        let mut state = Attr::from(object);
        if let Some(password) = state.get_mut("password") {
            *password = Attr::Secret(Secret::new(password, &self.key));
        }
        let private = Some(Blob::from(format!("private of {id}").as_bytes()));
        let kept = Kept { state: state.clone(), private, schema_version: SCHEMA };
        let uid = Some(id.to_owned());
        Observed { attributes: state.into(), uid, kept: Some(kept), ..Observed::default() }
    }

    /// Which object is meant: only what was kept tells, and it has to come back as it was given.
    fn known(kept: Option<&Kept>) -> Option<String> {
        let kept = kept?;
        let id = kept.state["id"].as_str()?.to_owned();
        assert_eq!(kept.private, Some(Blob::from(format!("private of {id}").as_bytes())));
        assert_eq!(kept.schema_version, SCHEMA);
        Some(id)
    }

    fn proposal(ask: &ProposeAsk<'_>) -> Proposal {
        let known = ask.prior.and_then(|record| Self::known(record.kept.as_ref()));
        let wanted = &ask.desired.attributes;
        let moved = |field: &str, live: &Observed| live.attributes.tree()[field] != wanted[field];
        let what = match ask.live {
            None => Proposed::Create,
            Some(live) if moved("engine", live) => {
                let because = vec![FieldPath::keys(["engine"])];
                Proposed::Replace { because, lost: None, create_first: wanted["first"] != "old" }
            }
            Some(live) if wanted.as_map().unwrap().keys().any(|key| moved(key, live)) => Proposed::Update,
            Some(_) => Proposed::Same,
        };
        let stays = matches!(what, Proposed::Update | Proposed::Same);
        // A platform sees only that a value is not known, not where it will come from.
        let seen = |value: &Attr| if value.is_known() { value.clone() } else { Attr::Unknown };
        let fields = wanted.as_map().unwrap().iter();
        let mut planned = Attr::map(fields.map(|(field, value)| (field.clone(), seen(value))));
        let id = known.filter(|_| stays).map_or(Attr::Unknown, Attr::text);
        planned.as_map_mut().unwrap().insert("id".into(), id);
        let blob = Some(Blob::from(format!("plan of {}", name(&ask.desired.key)).as_bytes()));
        Proposal { planned: Some(planned), blob, ..Proposal::of(what) }
    }

    fn write(&self, ask: &WriteAsk<'_>) -> Result<Applied, RuntimeError> {
        assert_eq!(ask.blob, Some(&Blob::from(format!("plan of {}", name(ask.key)).as_bytes())));
        let planned = ask.planned.unwrap();
        let mut object = ask.attributes.expose(Unknowns::Refuse).unwrap();
        let mut world = self.world.lock().unwrap();
        if let Some(missing) = named(&object).iter().find(|id| !world.objects.contains_key(*id)) {
            return Err(RuntimeError::new(ErrorKind::Invalid, format!("there is no {missing}")));
        }
        let known = ask.prior.and_then(|record| Self::known(record.kept.as_ref()));
        let id = match known.filter(|_| ask.action == Action::Update) {
            Some(id) => {
                assert_eq!(planned["id"], id.as_str());
                world.log.push(format!("update {}", name(ask.key)));
                id
            }
            None => {
                assert_eq!(planned["id"], Attr::Unknown);
                world.n_made += 1;
                world.log.push(format!("create {}", name(ask.key)));
                format!("obj-{}", world.n_made)
            }
        };
        object["id"] = json!(id);
        world.objects.insert(id.clone(), object.clone());
        Ok(Applied { observed: self.seen(&id, &object), warnings: Vec::new(), trouble: None })
    }

    fn remove(&self, ask: &DeleteAsk<'_>) -> Result<Deleted, RuntimeError> {
        let id = Self::known(ask.prior.and_then(|record| record.kept.as_ref())).unwrap();
        assert_eq!(ask.uid, Some(id.as_str()));
        let mut world = self.world.lock().unwrap();
        let user = world.objects.iter().find(|(_, object)| named(object).contains(&id));
        if let Some((user, _)) = user {
            return Err(RuntimeError::new(ErrorKind::Invalid, format!("{id} is used by {user}")));
        }
        if world.stuck || world.held.as_ref() == Some(&id) {
            return Err(RuntimeError::new(ErrorKind::Forbidden, "deletion is protected"));
        }
        world.objects.remove(&id);
        world.log.push(format!("delete {id}"));
        Ok(Deleted::Gone)
    }
}

/// A call takes a while, before and after it does something: a run can be dropped in between.
async fn in_time<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::yield_now().await;
    let done = work();
    tokio::task::yield_now().await;
    done
}

impl Runtime for Forge {
    fn identify<'a>(
        &'a self,
        asks: &'a [IdentifyAsk<'a>],
    ) -> BoxFuture<'a, Result<Vec<String>, RuntimeError>> {
        Box::pin(ready(Ok(asks.iter().map(|ask| ask.key.to_string()).collect())))
    }

    fn release<'a>(&'a self, _ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<(), RuntimeError>> {
        Box::pin(ready(Ok(())))
    }

    fn observe<'a>(
        &'a self,
        asks: &'a [ObserveAsk<'a>],
    ) -> BoxFuture<'a, Result<BTreeMap<ResourceKey, Observed>, RuntimeError>> {
        let world = self.world.lock().unwrap();
        let find = |ask: &ObserveAsk<'_>| {
            let id = Self::known(ask.prior?.kept.as_ref())?;
            Some((ask.key.clone(), self.seen(&id, world.objects.get(&id)?)))
        };
        Box::pin(ready(Ok(asks.iter().filter_map(find).collect())))
    }

    fn propose<'a>(
        &'a self,
        asks: &'a [ProposeAsk<'a>],
    ) -> BoxFuture<'a, Vec<Result<Proposal, RuntimeError>>> {
        Box::pin(ready(asks.iter().map(|ask| Ok(Self::proposal(ask))).collect()))
    }

    fn apply<'a>(&'a self, ask: WriteAsk<'a>) -> BoxFuture<'a, Result<Applied, RuntimeError>> {
        Box::pin(in_time(move || self.write(&ask)))
    }

    fn delete<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(in_time(move || self.remove(&ask)))
    }

    fn wait_gone<'a>(
        &'a self,
        _ask: DeleteAsk<'a>,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(ready(Ok(Deleted::Gone)))
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(how_long))
    }
}

pub(crate) struct Lab {
    pub(crate) world: Arc<Mutex<Yard>>,
    store: StackStore,
    scope: Scope,
    key: DigestKey,
    medium: SimMedium,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        let medium = SimMedium::default();
        let scope = Scope { project: "p".into(), stack: "s".into(), workspace: "default".into() };
        let store = Store::new(Arc::new(medium.clone())).stack(&scope);
        let key = wait(store.digest_key()).unwrap();
        Lab { world: Arc::default(), store, scope, key, medium }
    }

    fn runtimes(&self) -> Runtimes {
        let mut runtimes = Runtimes::default();
        let forge_runtime = Forge { world: Arc::clone(&self.world), key: self.key.clone() };
        runtimes.insert(forge(), "", Arc::new(forge_runtime));
        runtimes
    }

    pub(crate) async fn plan(&self, spec: &Value) -> Planned {
        let platforms = Platforms::new(vec![Arc::new(ForgePlatform)]);
        let spec = Spec::from_value(spec.clone(), &platforms, &self.key).unwrap();
        let prior = self.state().prior();
        let ask = PlanAsk {
            scope: self.scope.clone(),
            spec: &spec,
            platforms: &platforms,
            prior: &prior,
            rules: &[],
            owners: &OwnerRules::default(),
            runtimes: &self.runtimes(),
            key: &self.key,
            others: &|_, _| None,
            destroy: false,
        };
        make_plan(&ask).await.unwrap()
    }

    pub(crate) async fn apply(&self, spec: &Value) -> Report {
        self.apply_with(spec, &CancelToken::default(), &|_| {}).await
    }

    pub(crate) async fn apply_with(
        &self,
        spec: &Value,
        cancel: &CancelToken,
        events: &(dyn Fn(Event) + Send + Sync),
    ) -> Report {
        let planned = self.plan(spec).await;
        let owner = Owner { user: "u".into(), host: "h".into(), pid: 1, started: 0, command: "test".into() };
        let mut session = self.store.acquire(owner, Still.now(), &|_| Liveness::Dead).await.unwrap();
        let with = Execution {
            runtimes: &self.runtimes(),
            health: &NoHealth,
            clock: &Still,
            cancel,
            events,
            options: Options::default(),
            key: &self.key,
            outputs: &[],
            clashes: &|| Box::pin(std::future::ready(Vec::new())),
            witness: &Stand::default(),
            warn: &|_| {},
        };
        let report = execute(&planned, &mut session, ReleaseDraft::default(), &with).await.unwrap();
        session.close(Still.now()).await.unwrap();
        report
    }

    pub(crate) fn state(&self) -> State {
        wait(self.store.read()).unwrap()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.world.lock().unwrap().log)
    }
}

fn stack(engine: &str) -> Value {
    let reference = r#"db://${kusion_path["forge:Db:main"].id}"#;
    json!([
        {"id": "forge:App:web", "type": "Forge", "attributes": {"url": reference}},
        {"id": "forge:Db:main", "type": "Forge", "attributes": {"engine": engine, "password": "hunter2"}},
    ])
}

pub(crate) fn key(id: &str) -> ResourceKey {
    ResourceKey::new(kusion::model::ResourceId::parse(id).unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_is_not_known_yet_flows_through_the_graph() {
    let lab = Lab::new();
    let planned = lab.plan(&stack("one")).await;
    let (db, app) = (key("forge:Db:main"), key("forge:App:web"));
    let step = planned.plan().step(&app).unwrap();
    assert_eq!((step.action, step.unknown.len()), (Action::Create, 1));
    assert!(matches!(step.desired.as_ref().unwrap()["url"], Attr::Reference(_)));
    assert_eq!(planned.plan().step(&db).unwrap().planned.as_ref().unwrap()["id"], Attr::Unknown);
    assert!(!planned.plan().to_json().contains("hunter2"));
    assert_eq!(kusion::model::Plan::from_json(&planned.plan().to_json()).as_ref(), Ok(planned.plan()));

    assert!(lab.apply(&stack("one")).await.is_success());
    assert_eq!(lab.log(), ["create main", "create web"]);
    assert_eq!(lab.world.lock().unwrap().objects["obj-2"]["url"], "db://obj-1");
    assert_eq!(lab.world.lock().unwrap().objects["obj-1"]["password"], "hunter2");
    assert!(lab.plan(&stack("one")).await.plan().is_empty());
    let kept = lab.state().records[&db].kept.clone().unwrap();
    assert_eq!((&kept.state["id"], kept.schema_version), (&Attr::text("obj-1"), SCHEMA));
    assert!(!String::from_utf8_lossy(&lab.medium.dump()).contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn the_new_object_comes_first_and_the_old_one_goes_last() {
    let lab = Lab::new();
    assert!(lab.apply(&stack("one")).await.is_success());
    lab.log();
    let planned = lab.plan(&stack("two")).await;
    let (db, app) = (key("forge:Db:main"), key("forge:App:web"));
    let replace = planned.plan().step(&db).unwrap();
    assert_eq!((replace.action, replace.create_first), (Action::Replace, true));
    let user = planned.plan().step(&app).unwrap();
    let note = Note::KnownAfterApply("forge:Db:main.id".to_owned());
    assert_eq!((user.action, user.changes[0].note.as_ref()), (Action::Update, Some(&note)));

    assert!(lab.apply(&stack("two")).await.is_success());
    assert_eq!(lab.log(), ["create main", "update web", "delete obj-1"]);
    assert_eq!(lab.world.lock().unwrap().objects["obj-2"]["url"], "db://obj-3");
    assert!(lab.state().records[&db].deposed.is_empty());
    assert!(lab.plan(&stack("two")).await.plan().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_old_object_that_stays_is_remembered_until_it_is_gone() {
    let lab = Lab::new();
    assert!(lab.apply(&stack("one")).await.is_success());
    lab.world.lock().unwrap().stuck = true;
    assert!(!lab.apply(&stack("two")).await.is_success());
    let db = key("forge:Db:main");
    let record = lab.state().records[&db].clone();
    assert_eq!((record.uid.as_deref(), record.deposed[0].uid.as_deref()), (Some("obj-3"), Some("obj-1")));
    lab.world.lock().unwrap().stuck = false;
    let planned = lab.plan(&stack("two")).await;
    let step = planned.plan().step(&db).unwrap();
    assert_eq!((step.action, &step.reason), (Action::Update, &Reason::LeftBehind));
    lab.log();
    assert!(lab.apply(&stack("two")).await.is_success());
    assert!(lab.log().contains(&"delete obj-1".to_owned()));
    assert!(lab.apply(&json!([])).await.is_success());
    assert!(lab.world.lock().unwrap().objects.is_empty());
}
