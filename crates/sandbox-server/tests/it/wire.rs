//! Speed and access over TLS.

use std::time::{Duration, Instant};

use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::client::Wire;

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

#[test]
fn start_takes_a_tenth_of_a_second_and_two_thousand_applies_a_few() {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let sandbox = crate::start(folder.path());
    let ready = started.elapsed();
    let wire = Wire::new(&sandbox);
    let base = "/api/v1/namespaces/default/configmaps";
    let ask = |n| (format!("{base}/c{n}?fieldManager=t"), config_map(&format!("c{n}")));
    let objects: Vec<(String, Value)> = (0..2000).map(ask).collect();
    let started = Instant::now();
    wire.apply_all(&objects);
    let applied = started.elapsed();
    eprintln!("ready after {ready:?}, 2,000 applies in {applied:?}");
    // Generous, because tests run on busy machines in a debug build; the figures are in docs/evidence.md.
    assert!(ready < Duration::from_secs(30) && applied < Duration::from_secs(60));
    let list = wire.call("GET", base, None).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 2001);
}

#[test]
fn a_wrong_token_is_nobody_and_no_token_is_anonymous() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let text = std::fs::read_to_string(sandbox.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    let call = |config: &Value, path: &str| {
        let config: Kubeconfig = serde_json::from_value(config.clone()).unwrap();
        Wire::with(&config).call("GET", path, None)
    };
    assert!(call(&config, "/api/v1/namespaces").is_ok());
    config["users"][0]["user"]["token"] = json!("wrong");
    assert_eq!(call(&config, "/api/v1/namespaces").unwrap_err()["code"], 401);
    config["users"][0]["user"] = json!({});
    assert_eq!(call(&config, "/api/v1/namespaces").unwrap_err()["code"], 403);
    assert!(call(&config, "/version").is_ok());
}
