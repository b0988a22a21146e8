//! Two stacks at the same moment: one begins to use an output, the other takes it away. Each marks its log when its release
//! begins and looks at the other's behind its mark, so one of them is refused whoever comes first, and nothing is broken.

use kusion::model::{Phase, Spec, StackOutput};
use kusion::{Aim, ApplyError, DryRun, Ready, ReleaseDraft, Target};
use serde_json::Value;

use crate::lab::Lab;
use crate::objects::{config_map, namespace, spec};

const OUTPUT: &str = "v1:ConfigMap:lab:server.data.v";

struct Two {
    gives: Lab,
    uses: Lab,
}

impl Two {
    /// A stack that gives something out, and one that does not use it yet.
    async fn new() -> Two {
        let mut gives = Lab::new();
        gives.stack = "gives";
        let mut uses = gives.clone();
        uses.stack = "uses";
        let two = Two { gives, uses };
        let ready = two.plan(&two.giver(), &server(), Aim::Apply).await;
        two.apply(&two.giver(), &ready, false).await.unwrap();
        two
    }

    fn giver(&self) -> Target {
        Target { outputs: vec![StackOutput::parse(OUTPUT).unwrap()], ..self.gives.target() }
    }

    async fn plan(&self, target: &Target, wanted: &Value, aim: Aim) -> Ready {
        let wanted = Spec::from_value(wanted.clone(), &kusion::platforms(), &target.key).unwrap();
        let state = target.store.read().await.unwrap();
        self.gives.engine().plan_from(target, state, wanted, aim, DryRun::Updates).await.unwrap()
    }

    /// Behind all looks that the road has taken before: what is left is the moment in which the release begins.
    async fn apply(&self, target: &Target, ready: &Ready, may_break: bool) -> Result<(), ApplyError> {
        let mut ask = self.gives.ask("li");
        ask.break_dependents = may_break;
        self.gives.engine().apply(target, ready, &ask).await.map(|report| assert!(report.is_success()))
    }

    async fn destruction(&self) -> Ready {
        self.plan(&self.giver(), &spec(&[]), Aim::Destroy).await
    }

    async fn usage(&self) -> Ready {
        self.plan(&self.uses.target(), &client(), Aim::Apply).await
    }
}

fn server() -> Value {
    spec(&[namespace(), config_map("server", "10.0.0.1")])
}

fn client() -> Value {
    spec(&[config_map("client", r#"$kusion_path["lab/gives#v1:ConfigMap:lab:server"].data.v"#)])
}

fn refused(result: Result<(), ApplyError>) -> String {
    match result {
        Err(error @ ApplyError::Shared(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn who_takes_away_sees_who_has_begun_to_use() {
    let two = Two::new().await;
    let (destruction, usage) = (two.destruction().await, two.usage().await);
    two.apply(&two.uses.target(), &usage, false).await.unwrap();
    two.gives.writes();
    let told = refused(two.apply(&two.giver(), &destruction, false).await);
    assert!(told.contains("lab/uses uses v1:ConfigMap:lab:server.data.v"), "{told}");
    assert!(two.gives.writes().is_empty());
    assert_eq!(two.gives.maps(), ["client", "server"]);
    let state = two.gives.state();
    assert_eq!(state.latest().unwrap().phase, Phase::Failed);
    assert!(state.open.is_none() && state.records.len() == 2);
    // Who says so does it all the same.
    let destruction = two.destruction().await;
    two.apply(&two.giver(), &destruction, true).await.unwrap();
    assert_eq!(two.gives.maps(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn who_begins_to_use_sees_who_takes_away() {
    let two = Two::new().await;
    let (destruction, usage) = (two.destruction().await, two.usage().await);
    // The release of the other has begun, and nothing is gone yet.
    let giver = two.giver();
    let mut session =
        two.gives.engine().lock(&giver, &destruction.state, &two.gives.ask("li")).await.unwrap();
    let draft = ReleaseDraft { destroy: true, gives_up: vec![OUTPUT.to_owned()], ..ReleaseDraft::default() };
    session.begin(destruction.plan(), draft, two.gives.now()).await.unwrap();
    two.gives.writes();
    let told = refused(two.apply(&two.uses.target(), &usage, false).await);
    assert!(told.contains("lab/gives is taking v1:ConfigMap:lab:server.data.v away"), "{told}");
    assert!(two.gives.writes().is_empty());
    let state = two.uses.state();
    assert!(state.records.is_empty() && state.intents.is_empty(), "nothing was tried");
    // Nobody uses it, so it may go.
    session.close(two.gives.now()).await.unwrap();
    let destruction = two.destruction().await;
    two.apply(&giver, &destruction, false).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_begins_to_use_sees_what_has_just_gone() {
    let two = Two::new().await;
    let (destruction, usage) = (two.destruction().await, two.usage().await);
    two.apply(&two.giver(), &destruction, false).await.unwrap();
    let told = refused(two.apply(&two.uses.target(), &usage, false).await);
    assert!(told.contains("lab/gives has just taken v1:ConfigMap:lab:server.data.v away"), "{told}");
    assert!(two.uses.state().records.is_empty());
}
