//! Replace, references, removal, deletes that wait, refusals.

use kusion_apply::StepEnd;
use kusion_model::{Action, ResourceId, ResourceKey};
use serde_json::{Value, json};

use crate::lab::Lab;

fn namespace(lab: &Lab) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": lab.namespace}})
}

fn config_map(lab: &Lab, name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": lab.namespace}, "data": data})
}

fn key(lab: &Lab, api_version: &str, kind: &str, name: &str) -> ResourceKey {
    ResourceKey::new(ResourceId::from_parts([api_version, kind, &lab.namespace, name]))
}

#[test]
fn immutable_field_becomes_a_replace_that_says_what_is_lost() {
    let Some(lab) = Lab::new() else { return };
    let job = |image: &str| {
        json!([namespace(&lab), {"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "migrate", "namespace": lab.namespace}, "spec": {"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "m", "image": image}]}}}}])
    };
    lab.apply(&job("a:1"));
    let ready = lab.plan(&job("a:2"));
    let step = ready.plan.step(&key(&lab, "batch/v1", "Job", "migrate")).unwrap();
    assert_eq!(step.action, Action::Replace);
    assert!(step.reason.to_string().contains("spec.template"), "{}", step.reason);
    assert!(step.lost.as_deref().unwrap().contains("pods are lost"));
    lab.apply(&job("a:2"));
    assert_eq!(lab.pending(&job("a:2")), Vec::<String>::new());
}

#[test]
fn reference_to_a_dotted_group_and_to_what_the_server_gives() {
    let Some(lab) = Lab::new() else { return };
    let ns = &lab.namespace;
    let spec = json!([
        namespace(&lab),
        config_map(&lab, "user", json!({
            "host": format!("$kusion_path.networking.k8s.io/v1:Ingress:{ns}:web.spec.rules[0].host"),
            "url": format!("http://${{kusion_path[\"v1:Service:{ns}:svc\"].spec.clusterIP}}:80")})),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc", "namespace": ns}, "spec": {"ports": [{"port": 80}]}},
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web", "namespace": ns},
         "spec": {"rules": [{"host": "a.example", "http": {"paths": [{"path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "svc", "port": {"number": 80}}}}]}}]}},
    ]);
    lab.apply(&spec);
    let data =
        lab.kubectl(&["get", "configmap", "user", "-n", ns, "-o", "jsonpath={.data.host} {.data.url}"]);
    assert!(data.starts_with("a.example http://10."), "{data}");
    assert_eq!(lab.pending(&spec), Vec::<String>::new());
}

#[test]
fn removing_one_of_two_services_then_everything() {
    let Some(lab) = Lab::new() else { return };
    let service = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": lab.namespace},
        "spec": {"ports": [{"port": 80}]}})
    };
    lab.apply(&json!([namespace(&lab), service("a"), service("b")]));
    let report = lab.apply(&json!([namespace(&lab), service("a")]));
    assert_eq!((report.tally.delete, report.tally.unchanged), (1, 2));
    let report = lab.apply(&json!([]));
    assert_eq!(report.tally.delete, 2);
    assert!(lab.state().records.is_empty());
}

#[test]
fn object_deleted_outside_is_made_again() {
    let Some(lab) = Lab::new() else { return };
    let spec = json!([namespace(&lab), config_map(&lab, "cm", json!({"a": "1"}))]);
    lab.apply(&spec);
    lab.kubectl(&["delete", "configmap", "cm", "-n", &lab.namespace]);
    let ready = lab.plan(&spec);
    let step = ready.plan.step(&key(&lab, "v1", "ConfigMap", "cm")).unwrap();
    assert_eq!((step.action, step.reason.to_string().as_str()), (Action::Create, "deleted outside"));
    lab.apply(&spec);
}

#[test]
fn delete_that_a_finalizer_holds_is_named() {
    let Some(lab) = Lab::new() else { return };
    let mut held = config_map(&lab, "held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    lab.apply(&json!([namespace(&lab), held]));
    let ready = lab.plan(&json!([namespace(&lab)]));
    let release = std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(2));
            let patch = r#"{"metadata":{"finalizers":null}}"#;
            lab.kubectl(&["patch", "configmap", "held", "-n", &lab.namespace, "--type=merge", "-p", patch])
        });
        lab.execute(&ready).0.unwrap()
    });
    assert_eq!(release.end_of(&key(&lab, "v1", "ConfigMap", "held")), Some(&StepEnd::Applied));
}

#[test]
fn wrong_manifest_is_refused_while_planning_with_the_field() {
    let Some(lab) = Lab::new() else { return };
    let wrong = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"prts": []}});
    let error = lab.try_plan(&json!([wrong])).err().unwrap();
    assert!(error.message.contains(".spec.prts: field not declared in schema"), "{error}");
    let in_new_namespace = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "s", "namespace": lab.namespace}, "spec": {"prts": []}});
    let error = lab.try_plan(&json!([namespace(&lab), in_new_namespace])).err().unwrap();
    assert!(error.message.contains("prts"), "{error}");
}

#[test]
fn unknown_kind_is_named() {
    let Some(lab) = Lab::new() else { return };
    let foreign = json!({"apiVersion": "nowhere.example/v1", "kind": "Thing", "metadata": {"name": "t"}});
    let error = lab.try_plan(&json!([foreign])).err().unwrap();
    assert!(error.message.contains("CustomResourceDefinition"), "{error}");
}

#[test]
fn rollback_takes_an_unchanged_secret_from_the_cluster_and_refuses_to_invent_a_changed_one() {
    let Some(lab) = Lab::new() else { return };
    let spec = |value: &str, password: &str| {
        json!([namespace(&lab), config_map(&lab, "cm", json!({"a": value})), {"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "s", "namespace": lab.namespace}, "stringData": {"pw": password}}])
    };
    let back_to = |no: u64| {
        let records = kusion_store::wait(lab.store().state_at(kusion_model::ReleaseNo(no))).unwrap();
        serde_json::to_value(kusion_plan::rollback_spec(&records)).unwrap()
    };
    lab.apply(&spec("1", "first-word"));
    lab.apply(&spec("2", "first-word"));
    let report = lab.apply(&back_to(1));
    assert_eq!((report.tally.update, report.tally.unchanged), (1, 2));
    let value = lab.kubectl(&["get", "configmap", "cm", "-n", &lab.namespace, "-o", "jsonpath={.data.a}"]);
    assert_eq!(value, "1");
    lab.apply(&spec("2", "second-word"));
    let error = lab.try_plan(&back_to(1)).err().unwrap();
    assert!(error.message.contains("secret field `data.pw` is not known"), "{error}");
}
