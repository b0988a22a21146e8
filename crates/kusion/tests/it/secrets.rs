//! A planted secret reaches the platform and nothing else.

use kusion::DryRun;
use kusion::model::Spec;
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
    let changes = ready.planned.plan.steps.iter().flat_map(|step| &step.changes);
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
