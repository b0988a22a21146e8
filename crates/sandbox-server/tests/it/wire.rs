//! A client over TLS with the kubeconfig that the sandbox has written.

use std::time::{Duration, Instant};

use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use sandbox_server::Sandbox;
use serde_json::{Value, json};

pub(crate) struct Wire {
    tokio: tokio::runtime::Runtime,
    client: kube::Client,
}

impl Wire {
    pub(crate) fn new(sandbox: &Sandbox) -> Wire {
        Wire::with(&Kubeconfig::read_from(sandbox.kubeconfig()).unwrap())
    }

    pub(crate) fn with(config: &Kubeconfig) -> Wire {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = KubeConfigOptions::default();
        let client = tokio.block_on(async {
            let config = kube::Config::from_custom_kubeconfig(config.clone(), &options).await.unwrap();
            kube::Client::try_from(config).unwrap()
        });
        Wire { tokio, client }
    }

    /// The body of an answer, or the Status of a refusal.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Value> {
        self.tokio.block_on(self.ask(method, path, body))
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Value> {
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let kind = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/json" };
        let request =
            Request::builder().method(method).uri(path).header("content-type", kind).body(bytes).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(value) => Ok(value),
            Err(kube::Error::Api(status)) => Err(json!({"code": status.code, "reason": status.reason})),
            Err(error) => Err(json!({"code": 0, "reason": error.to_string()})),
        }
    }

    /// Many applies, some at a time.
    pub(crate) fn apply_all(&self, objects: &[(String, Value)]) {
        use futures::stream::{self, StreamExt as _};
        self.tokio.block_on(async {
            let asks = objects.iter().map(|(path, object)| self.ask("PATCH", path, Some(object)));
            let failed = stream::iter(asks).buffer_unordered(16).filter_map(|answer| async { answer.err() });
            assert_eq!(failed.collect::<Vec<_>>().await, Vec::<Value>::new());
        });
    }
}

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
    assert!(ready < Duration::from_secs(2) && applied < Duration::from_secs(60));
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
