//! Short words for requests, so that a statement reads like one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::wire::{Lines, Reply, Wire};

pub type Check = Result<(), String>;

/// Returns from a statement with a reason unless something holds.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($why:tt)*) => {
        if !$holds {
            return Err(format!($($why)*));
        }
    };
}

/// A server and a namespace of the statement's own.
pub struct Ask<'w> {
    pub wire: &'w dyn Wire,
    pub ns: String,
}

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

impl<'w> Ask<'w> {
    pub fn new(wire: &'w dyn Wire, name: &str) -> Result<Ask<'w>, String> {
        let ask = Ask { wire, ns: format!("{name}{}", wire.mark()) };
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ask.ns}});
        ask.post("/api/v1/namespaces", &body).is(201)?;
        Ok(ask)
    }

    /// Paths in the own namespace; an empty name means the collection.
    pub fn core(&self, plural: &str, name: &str) -> String {
        join(format!("/api/v1/namespaces/{}/{plural}", self.ns), name)
    }

    pub fn group(&self, group: &str, plural: &str, name: &str) -> String {
        join(format!("/apis/{group}/namespaces/{}/{plural}", self.ns), name)
    }

    pub fn cm(&self, name: &str) -> String {
        self.core("configmaps", name)
    }

    pub fn dep(&self, name: &str) -> String {
        self.group("apps/v1", "deployments", name)
    }

    pub fn send(&self, method: &str, target: &str, kind: &str, body: &[u8]) -> Reply {
        let mut headers = vec![("Accept", "application/json"), ("User-Agent", "checklist/1")];
        if !kind.is_empty() {
            headers.push(("Content-Type", kind));
        }
        self.wire.call(method, target, &headers, body)
    }

    pub fn get(&self, target: &str) -> Reply {
        self.send("GET", target, "", b"")
    }

    pub fn get_as(&self, target: &str, accept: &str) -> Reply {
        self.wire.call("GET", target, &[("Accept", accept)], b"")
    }

    pub fn post(&self, target: &str, body: &Value) -> Reply {
        self.send("POST", target, "application/json", body.to_string().as_bytes())
    }

    pub fn put(&self, target: &str, body: &Value) -> Reply {
        self.send("PUT", target, "application/json", body.to_string().as_bytes())
    }

    pub fn merge(&self, target: &str, body: &Value) -> Reply {
        self.send("PATCH", target, MERGE, body.to_string().as_bytes())
    }

    pub fn json_patch(&self, target: &str, body: &Value) -> Reply {
        self.send("PATCH", target, JSON_PATCH, body.to_string().as_bytes())
    }

    pub fn strategic(&self, target: &str, body: &Value) -> Reply {
        self.send("PATCH", target, STRATEGIC, body.to_string().as_bytes())
    }

    pub fn apply(&self, target: &str, manager: &str, body: &Value) -> Reply {
        let sign = if target.contains('?') { '&' } else { '?' };
        let target = format!("{target}{sign}fieldManager={manager}");
        self.send("PATCH", &target, APPLY, body.to_string().as_bytes())
    }

    pub fn delete(&self, target: &str) -> Reply {
        self.send("DELETE", target, "", b"")
    }

    pub fn delete_with(&self, target: &str, options: &Value) -> Reply {
        self.send("DELETE", target, "application/json", options.to_string().as_bytes())
    }

    pub fn watch(&self, target: &str) -> Box<dyn Lines + '_> {
        self.wire.open(target, &[("Accept", "application/json")])
    }

    /// Makes a ConfigMap with one entry and returns it.
    pub fn make_cm(&self, name: &str, data: &Value) -> Result<Value, String> {
        let body = json!({"metadata": {"name": name}, "data": data});
        self.post(&self.cm(""), &body).is(201)
    }

    /// Asks until something holds; a minute at most.
    pub fn eventually<T>(&self, mut test: impl FnMut() -> Result<T, String>) -> Result<T, String> {
        let mut last = String::new();
        for _ in 0..600 {
            match test() {
                Ok(value) => return Ok(value),
                Err(why) => last = why,
            }
            self.wire.pass(Duration::from_millis(100));
        }
        Err(format!("not in time: {last}"))
    }

    /// The default service account is there: pods can be made.
    pub fn ready_for_pods(&self) -> Check {
        self.eventually(|| self.get(&self.core("serviceaccounts", "default")).is(200)).map(drop)
    }

    /// Makes a pod that no scheduler takes.
    pub fn make_pod(&self, name: &str, spec: Value) -> Result<Value, String> {
        self.ready_for_pods()?;
        let mut body = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": {
            "schedulerName": "nobody", "containers": [{"name": "c", "image": "nginx:1"}]}});
        for (key, value) in spec.as_object().into_iter().flatten() {
            body["spec"][key] = value.clone();
        }
        self.post(&self.core("pods", ""), &body).is(201)
    }
}

fn join(path: String, name: &str) -> String {
    if name.is_empty() { path } else { format!("{path}/{name}") }
}

/// A Deployment of one container `c`.
pub fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}}})
}

pub fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The entry of a manager.
pub fn entry<'v>(object: &'v Value, manager: &str) -> Option<&'v Value> {
    object["metadata"]["managedFields"].as_array()?.iter().find(|entry| entry["manager"] == manager)
}

/// The fields that a manager owns.
pub fn fields(object: &Value, manager: &str) -> Value {
    entry(object, manager).map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

/// Causes of a refusal as (reason, field).
pub fn causes(status: &Value) -> Vec<(String, String)> {
    let list = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list.iter().map(|cause| (text(&cause["reason"]), text(&cause["field"]))).collect()
}

pub fn has_cause(status: &Value, reason: &str, field: &str) -> Check {
    let found = causes(status);
    match found.iter().any(|(r, f)| r == reason && f == field) {
        true => Ok(()),
        false => Err(format!("no cause {reason} {field}: {status}")),
    }
}

/// A custom resource definition of a group of one's own.
pub fn definition(group: &str, plural: &str, kind: &str, schema: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural.trim_end_matches('s'), "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}}}]}})
}

pub const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Ask<'_> {
    /// A group of this statement's own.
    pub fn own_group(&self) -> String {
        format!("{}.example.com", self.ns)
    }

    /// Defines a kind and waits until it is served; returns the path of its collection.
    pub fn define(&self, crd: &Value) -> Result<String, String> {
        self.post(CRDS, crd).is(201)?;
        let group = crd["spec"]["group"].as_str().unwrap_or_default();
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap_or_default();
        let version = crd["spec"]["versions"][0]["name"].as_str().unwrap_or_default();
        let path = self.group(&format!("{group}/{version}"), plural, "");
        self.eventually(|| {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            let stored = self.get(&format!("{CRDS}/{name}")).is(200)?;
            let list = stored["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let done = list.iter().any(|c| c["type"] == "Established" && c["status"] == "True");
            ensure!(done, "not established: {}", stored["status"]);
            self.get(&path).is(200)
        })?;
        Ok(path)
    }
}
