//! Objects that another tool made are imported, also when the apply is killed between any two of its writes.

use kube_meaning::managed::Managed;
use serde_json::{Value, json};

use crate::lab::{Kill, Lab};
use crate::objects::{config_map, deployment, namespace, service, spec};

/// What the other tool made: one value differs, one field and one label are not in our configuration.
fn theirs() -> Vec<(&'static str, Value)> {
    let mut map = config_map("c0", "old");
    map["data"]["extra"] = json!("kept");
    let mut web = deployment("web", "web:v0");
    web["metadata"]["labels"] = json!({"team": "blue"});
    vec![
        ("/api/v1/namespaces", namespace()),
        ("/api/v1/namespaces/lab/configmaps", map),
        ("/api/v1/namespaces/lab/configmaps", config_map("c1", "1")),
        ("/apis/apps/v1/namespaces/lab/deployments", web),
        ("/api/v1/namespaces/lab/services", service("web")),
    ]
}

fn wanted() -> Value {
    spec(&[
        namespace(),
        config_map("c0", "1"),
        config_map("c1", "1"),
        deployment("web", "web:v1"),
        service("web"),
    ])
}

async fn made_by(manager: &str) -> Lab {
    let lab = Lab::new();
    let client = kube::Client::new(lab.wire.clone(), "default");
    for (path, object) in theirs() {
        let request = http::Request::post(format!("{path}?fieldManager={manager}"))
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&object).unwrap())
            .unwrap();
        client.request::<Value>(request).await.unwrap();
    }
    lab
}

/// Who owns a field of an object, by name.
fn owners(object: &Value, path: &[&str]) -> Vec<String> {
    let managed = Managed::of(object);
    let owns = |entry: &&kube_meaning::managed::Entry| {
        let mut set = Some(&entry.fields);
        for (at, name) in path.iter().enumerate() {
            let node = set.and_then(|set| set.get_field(name));
            if at + 1 == path.len() {
                return node.is_some();
            }
            set = node.map(|node| &node.below);
        }
        false
    };
    managed.entries.iter().filter(owns).map(|entry| entry.manager.name.to_string()).collect()
}

async fn get(lab: &Lab, path: &str) -> Value {
    let client = kube::Client::new(lab.wire.clone(), "default");
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
}

async fn assert_taken_over(lab: &Lab, manager: &str, context: &str) {
    let map = &get(lab, "/api/v1/namespaces/lab/configmaps/c0").await;
    assert_eq!(map["data"], json!({"v": "1", "extra": "kept"}), "{context}: no field is lost");
    assert_eq!(owners(map, &["data", "v"]), ["kusion"], "{context}");
    assert_eq!(owners(map, &["data", "extra"]), [manager], "{context}: what we do not mention stays theirs");
    let web = &get(lab, "/apis/apps/v1/namespaces/lab/deployments/web").await;
    assert_eq!(web["metadata"]["labels"]["team"], "blue", "{context}");
    assert_eq!(owners(web, &["spec", "replicas"]), ["kusion"], "{context}");
    let records = lab.state().records;
    assert!(records.values().all(|record| record.imported), "{context}: recorded as imported");
}

async fn import_killed_everywhere(manager: &str) {
    for at in [Kill::Before as fn(usize) -> Kill, Kill::After] {
        let mut finished = false;
        for number in 0..40 {
            let lab = made_by(manager).await;
            let context = format!("{manager}, {:?}", at(number));
            lab.kill(at(number));
            finished = lab.try_apply(&wanted()).await.is_some();
            lab.kill(Kill::Never);
            let report = lab.apply(&wanted()).await;
            assert!(report.is_success(), "{context}: {report:#?}");
            lab.assert_converged(&wanted(), &context).await;
            assert_taken_over(&lab, manager, &context).await;
            if finished {
                break;
            }
        }
        assert!(finished, "the import never ran to its end");
    }
}

#[tokio::test(start_paused = true)]
async fn import_from_client_side_apply_killed_at_any_write() {
    import_killed_everywhere("kubectl-client-side-apply").await;
}

#[tokio::test(start_paused = true)]
async fn import_from_helm_killed_at_any_write() {
    import_killed_everywhere("helm").await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_stranger_are_not_taken() {
    let lab = made_by("argocd-controller").await;
    let ready = lab.plan(&wanted()).await;
    let found = kusion_plan::conflicts(ready.plan());
    let fields: Vec<String> =
        found.iter().map(|(step, change)| format!("{} {}", step.key, change.path)).collect();
    let image = "apps/v1:Deployment:lab:web spec.template.spec.containers[main].image";
    assert_eq!(fields, ["v1:ConfigMap:lab:c0 data.v", image]);
}

#[tokio::test(start_paused = true)]
async fn field_that_is_dropped_after_an_import_goes() {
    let lab = made_by("kubectl-client-side-apply").await;
    assert!(lab.apply(&wanted()).await.is_success());
    let mut map = config_map("c0", "1");
    map["data"] = json!({"other": "2"});
    let fewer = spec(&[namespace(), map, config_map("c1", "1"), deployment("web", "web:v1"), service("web")]);
    assert!(lab.apply(&fewer).await.is_success());
    assert_eq!(lab.objects()["v1:ConfigMap:lab:c0"]["data"], json!({"other": "2", "extra": "kept"}));
    lab.assert_converged(&fewer, "after the drop").await;
}
