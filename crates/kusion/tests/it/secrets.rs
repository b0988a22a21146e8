//! A planted secret reaches the platform and nothing else.

use std::os::unix::fs::PermissionsExt as _;

use kusion::model::{Spec, StoreConfig};
use kusion::{ApplyAsk, DryRun, PlanFailure, Ready, ReleaseDraft, Target};
use serde_json::json;

use crate::lab::Lab;
use crate::objects::{config_map, namespace, secret, spec};

const CANARY: &str = "Q0FOQVJZLTkxMTc=";

#[tokio::test(start_paused = true)]
async fn canary_is_in_no_event_no_report_and_not_on_the_disk() {
    let lab = Lab::new();
    let mut user = config_map("user", "1");
    user["data"]["dsn"] = json!(r#"x:${kusion_path["v1:Secret:lab:s"].data.pw}"#);
    let wanted = spec(&[namespace(), secret("s", CANARY), user.clone()]);
    let report = lab.apply(&wanted).await;
    assert!(report.is_success());
    let live = lab.objects();
    assert_eq!(live["v1:Secret:lab:s"]["data"]["pw"], CANARY, "the platform gets the value");
    assert_eq!(live["v1:ConfigMap:lab:user"]["data"]["dsn"], format!("x:{CANARY}"), "and where it is used");
    let events = serde_json::to_string(&*lab.events.lock().unwrap()).unwrap();
    let told = lab.told.lock().unwrap().join(" ");
    let report = format!("{report:?} {}", serde_json::to_string(&report).unwrap());
    assert!(!format!("{events} {told} {report} {:?}", lab.state()).contains(CANARY));
    assert!(!String::from_utf8_lossy(&lab.medium.dump()).contains(CANARY));
    lab.assert_converged(&wanted, "with a secret").await;
    let ready = lab.plan(&spec(&[namespace(), secret("s", "bmV3"), user])).await;
    let changes = ready.plan().steps.iter().flat_map(|step| &step.changes);
    assert_eq!(changes.filter(|change| change.is_secret()).count(), 2, "also where it is used");
}

#[tokio::test(start_paused = true)]
async fn refusals_do_not_quote_the_secret() {
    let lab = Lab::new();
    let target = lab.target();
    let wanted = spec(&[namespace(), secret("s", "not base64: CANARY-9117")]);
    let wanted = Spec::from_value(wanted, &kusion::platforms(), &target.key).unwrap();
    let refused = lab.engine().plan(&target, wanted, DryRun::Updates).await.err().unwrap();
    let text = format!("{refused} {refused:?}");
    assert!(text.contains("v1:Secret:lab:s") && !text.contains("CANARY-9117"), "{text}");
}

/// A stack whose secrets come from a file.
struct Vaulted {
    lab: Lab,
    folder: tempfile::TempDir,
}

impl Vaulted {
    fn new() -> Self {
        let vaulted = Vaulted { lab: Lab::new(), folder: tempfile::tempdir().unwrap() };
        vaulted.keep("CANARY-first");
        vaulted
    }

    fn keep(&self, value: &str) {
        let path = self.folder.path().join("secrets.yaml");
        std::fs::write(&path, format!("db: {{password: {value}}}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn target(&self) -> Target {
        let mut target = self.lab.target();
        let store = json!({"provider": {"file": {"path": "secrets.yaml"}}});
        target.secret_stores.insert(String::new(), StoreConfig::from_value(&store).unwrap());
        target.project_dir = self.folder.path().to_owned();
        target
    }

    async fn plan(&self, reference: &str) -> Result<Ready, PlanFailure> {
        let mut plain = config_map("user", "1");
        plain["data"]["dsn"] = json!(reference);
        let wanted = spec(&[namespace(), secret("s", reference), plain]);
        let target = self.target();
        let wanted = Spec::from_value(wanted, &kusion::platforms(), &target.key).unwrap();
        self.lab.engine().plan(&target, wanted, DryRun::Updates).await
    }
}

#[tokio::test(start_paused = true)]
async fn references_to_a_store_reach_the_platform_and_a_changed_value_is_a_planned_change() {
    let vaulted = Vaulted::new();
    let (lab, reference) = (&vaulted.lab, "ref://db/password");
    let ready = vaulted.plan(reference).await.unwrap();
    let told = format!(
        "{} {}",
        serde_json::to_string(ready.plan()).unwrap(),
        serde_json::to_string(&ready.spec).unwrap()
    );
    assert!(told.contains(reference) && !told.contains("CANARY"), "{told}");
    let report =
        lab.engine().apply(&vaulted.target(), &ready, &ApplyAsk::new(ReleaseDraft::default())).await.unwrap();
    assert!(report.is_success());
    let live = lab.objects();
    assert_eq!(live["v1:Secret:lab:s"]["data"]["pw"], "Q0FOQVJZLWZpcnN0", "encoded, as data has it");
    assert_eq!(live["v1:ConfigMap:lab:user"]["data"]["dsn"], "CANARY-first");
    let kept = String::from_utf8_lossy(&lab.medium.dump()).into_owned();
    assert!(!kept.contains("CANARY") && !kept.contains("Q0FOQVJZ"), "nothing of it is stored");
    assert!(vaulted.plan(reference).await.unwrap().changes_nothing());
    vaulted.keep("CANARY-second");
    let again = vaulted.plan(reference).await.unwrap();
    let changes: Vec<_> = again.plan().steps.iter().flat_map(|step| &step.changes).collect();
    assert_eq!(changes.len(), 2);
    assert!(changes.iter().all(|change| change.is_secret()), "the change is told, the value is not");
    assert!(!format!("{changes:?}").contains("CANARY"));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_not_to_be_had_stops_the_plan() {
    let vaulted = Vaulted::new();
    for (reference, what) in [
        ("ref://db/user", "has no `user`"),
        ("ref://db/password?store=other", "there is no secret store `other`"),
        ("ref://db/password?version=1", "keeps no versions"),
    ] {
        let Err(PlanFailure::Secrets(problems)) = vaulted.plan(reference).await else {
            panic!("{reference}")
        };
        assert_eq!(problems[0].uses.len(), 2);
        let text = problems[0].to_string();
        assert!(text.starts_with(reference) && text.contains(what), "{text}");
    }
    let Err(PlanFailure::Spec(problems)) = vaulted.plan("ref://db").await else { panic!("unreadable") };
    assert!(problems[0].to_string().contains("no property"), "{}", problems[0]);
}

#[tokio::test(start_paused = true)]
async fn rollback_goes_back_over_a_changed_secret() {
    let lab = Lab::new();
    assert!(lab.apply(&spec(&[namespace(), secret("s", "Zmlyc3Q=")])).await.is_success());
    assert!(lab.apply(&spec(&[namespace(), secret("s", "c2Vjb25k")])).await.is_success());
    let back = kusion::rollback_target(&lab.target().store, kusion::model::ReleaseNo(1)).await.unwrap();
    let ready = lab.plan_spec(&back).await;
    let report = lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap();
    assert!(report.is_success());
    assert_eq!(lab.objects()["v1:Secret:lab:s"]["data"]["pw"], "Zmlyc3Q=", "the value of that time");
}
