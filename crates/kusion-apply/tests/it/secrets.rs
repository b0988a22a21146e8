//! A planted secret reaches the platform and nothing else.

use serde_json::json;

use crate::lab::{Lab, config_map};

const CANARY: &str = "Q0FOQVJZLTkxMTc=";

#[test]
fn canary_is_in_no_event_no_report_and_not_on_the_disk() {
    let lab = Lab::new();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ns"},
                        "data": {"pw": CANARY}});
    let mut user = config_map("user", 1, &[]);
    user["attributes"]["data"]["dsn"] = json!(r#"x:${kusion_path["v1:Secret:ns:s"].data.pw}"#);
    let spec = json!([secret, user]);
    let report = lab.apply(&spec);
    assert!(report.is_success());
    {
        let inner = lab.world.lock();
        let sent = inner.objects.values().map(|(value, _)| value.to_string()).collect::<String>();
        assert_eq!(sent.matches(CANARY).count(), 2, "the platform gets the values");
    }
    let events = serde_json::to_string(&*lab.events.lock().unwrap()).unwrap();
    let shown = format!("{events} {report:?} {} {:?}", serde_json::to_string(&report).unwrap(), lab.state());
    assert!(!shown.contains(CANARY));
    assert!(!String::from_utf8_lossy(&lab.disk.dump()).contains(CANARY));
    lab.assert_converged(&spec, "with a secret");
    let mut changed = spec.clone();
    changed[0]["data"]["pw"] = json!("bmV3");
    let state = lab.state();
    let ready = lab.plan(&changed, &state);
    let secret_changes =
        ready.plan.steps.iter().flat_map(|step| &step.changes).filter(|change| change.is_secret());
    assert_eq!(secret_changes.count(), 2, "a changed secret is seen, also where it is used");
}
