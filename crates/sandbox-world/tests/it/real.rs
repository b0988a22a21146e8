//! The same manifests on the real control plane and here: the same objects, conditions, reasons and Events.
//!
//! The plane has real controllers and a scheduler; its nodes are simulated by kwok, so what a kubelet writes is not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testenv::http::Client;

use crate::rig::{Rig, secs};

/// What is looked at: group, version, plural.
const LOOKED_AT: [(&str, &str, &str); 14] = [
    ("", "v1", "configmaps"),
    ("", "v1", "endpoints"),
    ("", "v1", "events"),
    ("", "v1", "persistentvolumeclaims"),
    ("", "v1", "pods"),
    ("", "v1", "serviceaccounts"),
    ("apps", "v1", "controllerrevisions"),
    ("apps", "v1", "daemonsets"),
    ("apps", "v1", "deployments"),
    ("apps", "v1", "replicasets"),
    ("apps", "v1", "statefulsets"),
    ("batch", "v1", "cronjobs"),
    ("batch", "v1", "jobs"),
    ("discovery.k8s.io", "v1", "endpointslices"),
];

/// How long the plane may stand still in a state that is not ours before that counts as its answer.
const STUCK: Duration = Duration::from_secs(25);

/// What there is, one line for each fact, and how often.
type Lines = BTreeMap<String, usize>;

/// One step of a scenario.
enum Step {
    Apply(Value),
    /// DELETE of a path below the namespace, with a propagation policy.
    Delete(&'static str, &'static str, &'static str, &'static str),
}

/// Texts that differ by nature, and what stands for them.
fn learn(known: &mut BTreeMap<String, String>, objects: &[Value]) {
    for object in objects {
        let meta = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (name, prefix) = (text(&meta["name"]), text(&meta["generateName"]));
        if !prefix.is_empty()
            && object["kind"] != "Event"
            && !name.ends_with(|c: char| c.is_ascii_digit() && prefix.starts_with("db-"))
        {
            known.insert(name, format!("{prefix}*"));
        }
        known.insert(text(&meta["uid"]), "UID".to_owned());
        for label in ["pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash"] {
            let value = text(&meta["labels"][label]);
            let hash = value.rsplit('-').next().unwrap_or_default().to_owned();
            known.insert(hash, "HASH".to_owned());
        }
        for ip in ["podIP", "hostIP"] {
            known.insert(text(&object["status"][ip]), "IP".to_owned());
        }
        known.insert(text(&object["spec"]["nodeName"]), "NODE".to_owned());
    }
    known.remove("");
}

fn is_time(text: &str) -> bool {
    text.len() >= 20 && text.ends_with('Z') && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b'T'
}

/// Parts that are another's work, or differ by nature.
fn prune(object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(meta) = object["metadata"].as_object_mut() {
        for key in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "selfLink"] {
            meta.remove(key);
        }
    }
    if kind == "EndpointSlice" || kind == "Endpoints" {
        // How often a slice was written, and after what, is a matter of timing.
        object["metadata"]["generation"] = Value::Null;
        object["metadata"]["annotations"] = Value::Null;
    }
    if kind == "Pod" && !object["spec"]["nodeName"].is_null() {
        object["status"] = Value::Null;
    }
    if kind == "ConfigMap" {
        object["data"] = Value::Null;
    }
    if let Some(list) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
        list.sort_by_key(|condition| condition["type"].as_str().unwrap_or_default().to_owned());
    }
    if let Some(list) = object.pointer_mut("/endpoints").and_then(Value::as_array_mut) {
        list.sort_by_key(|endpoint| endpoint["targetRef"]["name"].as_str().unwrap_or_default().to_owned());
    }
}

fn replace(text: &str, known: &BTreeMap<String, String>) -> String {
    if is_time(text) {
        return "TIME".to_owned();
    }
    let mut out = text.to_owned();
    let mut longest: Vec<(&String, &String)> = known.iter().collect();
    longest.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    for (from, to) in longest {
        out = out.replace(from.as_str(), to);
    }
    // A pod that was never made has a name in messages only.
    if let Some(at) = out.find("-HASH-").map(|at| at + 6)
        && out.len() >= at + 5
        && out[at..at + 5].bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
    {
        out.replace_range(at..at + 5, "*");
    }
    // The token volume of a pod, and the minutes of a CronJob's run.
    match out.find("kube-api-access-") {
        Some(at) => format!("{}kube-api-access-*", &out[..at]),
        None => out,
    }
}

fn flatten(value: &Value, at: &str, known: &BTreeMap<String, String>, lines: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                flatten(value, &format!("{at}.{key}"), known, lines);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                flatten(value, &format!("{at}[{index}]"), known, lines);
            }
        }
        Value::Null => {}
        Value::String(_) if at.ends_with(".uid") => {}
        Value::String(text) => lines.push(format!("{at} = {}", replace(text, known))),
        other => lines.push(format!("{at} = {other}")),
    }
}

/// All that there is, as lines that can be compared.
fn tidy(objects: &[Value], known: &mut BTreeMap<String, String>) -> Lines {
    learn(known, objects);
    let known = &*known;
    let mut lines = Vec::new();
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        if kind == "Event" {
            let word = |name: &str| object[name].as_str().unwrap_or_default();
            let source = object["source"]["component"].as_str().filter(|source| !source.is_empty());
            let component = source.unwrap_or_else(|| word("reportingComponent"));
            // Lost races of controllers; and a summary that comes with the tenth repeat, by when one may have looked already.
            let lost = ["FailedToUpdateEndpoint", "FailedToCreateEndpoint", "FailedToUpdateEndpointSlices"];
            let timely = ["running Bind plugin", "(combined from similar events)"];
            let raced = timely.iter().any(|start| word("message").starts_with(start));
            let passing = word("reason") == "Scheduled" || lost.contains(&word("reason")) || raced;
            if ["kubelet", "ipallocator-repair-controller"].contains(&component) || passing {
                continue;
            }
            let about = &object["involvedObject"];
            let name = replace(about["name"].as_str().unwrap_or_default(), known);
            let message = replace(word("message"), known);
            lines.push(format!(
                "event {} {name} {} {}: {message} [{component}]",
                about["kind"], object["type"], object["reason"]
            ));
            continue;
        }
        let mut object = object.clone();
        prune(&mut object);
        let name = replace(object["metadata"]["name"].as_str().unwrap_or_default(), known);
        flatten(
            &object,
            &format!("{} {name}", object["kind"].as_str().unwrap_or_default()),
            known,
            &mut lines,
        );
    }
    let mut counted = BTreeMap::new();
    for line in lines {
        *counted.entry(line).or_default() += 1;
    }
    counted
}

struct Real {
    client: Client,
    known: BTreeMap<String, String>,
    namespace: String,
}

impl Real {
    fn base(&self, group: &str, version: &str) -> String {
        let api =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        format!("{api}/namespaces/{}", self.namespace)
    }

    fn apply(&mut self, object: &Value) {
        let api = object["apiVersion"].as_str().unwrap();
        let (group, version) = api.split_once('/').unwrap_or(("", api));
        let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{plural}/{name}?fieldManager=kusion&force=true", self.base(group, version));
        let body = object.to_string();
        let answer =
            self.client.request("PATCH", &path, "application/apply-patch+yaml", body.as_bytes()).unwrap();
        assert!(answer.status < 300, "{path}: {}", answer.text());
    }

    fn all(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for (group, version, plural) in LOOKED_AT {
            let answer = self.client.get(&format!("{}/{plural}", self.base(group, version))).unwrap();
            let list: Value = serde_json::from_slice(&answer.body).unwrap();
            let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
            for item in list["items"].as_array().into_iter().flatten() {
                let mut item = item.clone();
                item["kind"] = json!(kind);
                item["apiVersion"] = list["apiVersion"].clone();
                all.push(item);
            }
        }
        all
    }

    /// Waits until nothing changed for a while. What is not as `expected` gets more time: a controller that was refused tries again
    /// after 5 ms, 10 ms, … 5 s, 10 s, so on a busy machine the plane can be still long before it is done.
    fn settle(&mut self, quiet: Duration, expected: Option<&Lines>) -> Lines {
        let start = Instant::now();
        let (mut last, mut since) = (BTreeMap::new(), Instant::now());
        loop {
            let now = tidy(&self.all(), &mut self.known);
            let patience =
                if expected.is_none_or(|expected| *expected == now) { quiet } else { quiet.max(STUCK) };
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > patience {
                return now;
            }
            assert!(start.elapsed() < Duration::from_secs(90), "the plane does not settle");
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

/// Runs a scenario on both and returns the lines that only one has, after each step.
fn differences(name: &str, quiet: Duration, steps: &[Step]) -> Option<Vec<String>> {
    let plane = testenv::shared()?;
    let namespace = format!("ctl-{name}");
    let mut real = Real { client: plane.http(), known: BTreeMap::new(), namespace: namespace.clone() };
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let path = format!("/api/v1/namespaces/{namespace}?fieldManager=kusion");
    real.client
        .request("PATCH", &path, "application/apply-patch+yaml", object.to_string().as_bytes())
        .unwrap();
    let mut rig = Rig::new();
    rig.apply(object);
    rig.world.settle(secs(5));
    real.settle(quiet, None);
    let mut found = Vec::new();
    let mut known = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Apply(object) => {
                real.apply(object);
                let mut object = object.clone();
                object["metadata"]["namespace"] = json!(namespace);
                rig.apply(object);
            }
            Step::Delete(group, plural, name, policy) => {
                let path = format!("{}/{plural}/{name}", real.base(group, "v1"));
                let body = json!({"propagationPolicy": policy}).to_string();
                let answer =
                    real.client.request("DELETE", &path, "application/json", body.as_bytes()).unwrap();
                assert!(answer.status < 300, "{}", answer.text());
                rig.delete_in(&namespace, group, plural, name, policy);
            }
        }
        rig.world.settle(secs(120));
        learn(&mut known, &rig.journal());
        let ours = rig.all_in(&namespace, &LOOKED_AT.map(|(group, _, plural)| (group, plural)));
        let ours = tidy(&ours, &mut known);
        let theirs = real.settle(quiet, Some(&ours));
        for line in theirs.keys().chain(ours.keys()).collect::<BTreeSet<&String>>() {
            let (real, here) = (theirs.get(line).copied().unwrap_or(0), ours.get(line).copied().unwrap_or(0));
            if real != here {
                found.push(format!("step {at}: real {real}, here {here}: {line}"));
            }
        }
    }
    let _ = real.client.request("DELETE", &format!("/api/v1/namespaces/{namespace}"), "", &[]);
    Some(found)
}

fn agree(name: &str, steps: &[Step]) {
    agree_after(name, Duration::from_millis(2500), steps);
}

fn agree_after(name: &str, quiet: Duration, steps: &[Step]) {
    let Some(found) = differences(name, quiet, steps) else { return };
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}

fn web(replicas: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"team": "a"}, "annotations": {"note": "n"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": image, "ports": [{"containerPort": 8080, "protocol": "TCP", "name": "http"}]}]},
        }},
    })
}

#[test]
fn deployment_and_service_agree_with_a_real_cluster() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"team": "a"}},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "protocol": "TCP", "targetPort": "http"}]}});
    agree(
        "deployment",
        &[
            Step::Apply(service),
            Step::Apply(web(2, "gocity:v1")),
            Step::Apply(web(2, "gocity:v2")),
            Step::Apply(web(4, "gocity:v2")),
            Step::Apply(web(1, "gocity:v1")),
            Step::Delete("apps", "deployments", "web", "Orphan"),
            Step::Apply(web(1, "gocity:v1")),
            Step::Delete("apps", "deployments", "web", "Foreground"),
        ],
    );
}

#[test]
fn deployments_in_trouble_agree_with_a_real_cluster() {
    let with = |key: &str, value: Value, image: &str| {
        let mut object = web(2, image);
        object["spec"][key] = value;
        object
    };
    let mut nowhere = with("progressDeadlineSeconds", json!(2), "gocity:v4");
    nowhere["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    let mut nobody = web(2, "gocity:v5");
    nobody["spec"]["template"]["spec"]["serviceAccountName"] = json!("nobody");
    let quota = |pods: &str| json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": pods}}});
    agree_after(
        "trouble",
        Duration::from_millis(4500),
        &[
            Step::Apply(quota("1")),
            Step::Apply(web(2, "gocity:v1")),
            Step::Apply(quota("9")),
            Step::Apply(with("paused", json!(true), "gocity:v2")),
            Step::Apply(with("paused", json!(false), "gocity:v2")),
            Step::Delete("apps", "deployments", "web", "Background"),
            Step::Apply(with("strategy", json!({"type": "Recreate"}), "gocity:v2")),
            Step::Apply(with("strategy", json!({"type": "Recreate"}), "gocity:v3")),
            Step::Delete("apps", "deployments", "web", "Background"),
            Step::Apply(web(2, "gocity:v3")),
            Step::Apply(nowhere),
            Step::Apply(nobody),
            Step::Apply(with("revisionHistoryLimit", json!(1), "gocity:v6")),
        ],
    );
}

#[test]
fn stateful_set_agrees_with_a_real_cluster() {
    let set = |replicas: i64, image: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
            "spec": {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": image}]}}},
        })
    };
    agree(
        "statefulset",
        &[
            Step::Apply(set(2, "db:v1")),
            Step::Apply(set(2, "db:v2")),
            Step::Apply(set(1, "db:v2")),
            Step::Delete("apps", "statefulsets", "db", "Background"),
        ],
    );
}

#[test]
fn daemon_set_agrees_with_a_real_cluster() {
    let set = |image: &str| {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
            "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "main", "image": image}]}}}})
    };
    agree("daemonset", &[Step::Apply(set("agent:v1")), Step::Apply(set("agent:v2"))]);
}

#[test]
fn job_agrees_with_a_real_cluster() {
    let job = |name: &str, spec: Value| {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "tools:v1"}]}}}});
        for (key, value) in spec.as_object().unwrap() {
            job["spec"][key] = value.clone();
        }
        job
    };
    agree(
        "job",
        &[
            Step::Apply(job("once", json!({"completions": 3, "parallelism": 2}))),
            Step::Apply(job(
                "indexed",
                json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"}),
            )),
            Step::Apply(job("later", json!({"suspend": true}))),
            Step::Apply(job("later", json!({"suspend": false}))),
            Step::Delete("batch", "jobs", "once", "Background"),
        ],
    );
}

#[test]
fn the_end_of_a_namespace_agrees_with_a_real_cluster() {
    let Some(plane) = testenv::shared() else { return };
    let mut client = plane.http();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ctl-end"}});
    let mut post = |path: &str, object: &Value| {
        let answer = client.request("POST", path, "application/json", object.to_string().as_bytes()).unwrap();
        assert!(answer.status < 300, "{}", answer.text());
    };
    post("/api/v1/namespaces", &namespace);
    post("/api/v1/namespaces/ctl-end/configmaps", &held);
    client.request("DELETE", "/api/v1/namespaces/ctl-end", "", &[]).unwrap();
    let start = Instant::now();
    let theirs = loop {
        let answer = client.get("/api/v1/namespaces/ctl-end").unwrap();
        let found: Value = serde_json::from_slice(&answer.body).unwrap();
        if found["status"]["conditions"].as_array().is_some_and(|list| list.len() == 5) {
            break found;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{found}");
        std::thread::sleep(Duration::from_millis(250));
    };
    let mut rig = Rig::new();
    rig.apply(namespace);
    let mut here = held.clone();
    here["metadata"]["namespace"] = json!("ctl-end");
    rig.world.settle(secs(1));
    rig.apply(here);
    rig.world.settle(secs(1));
    rig.delete("", "namespaces", "ctl-end", sandbox_world::Removal::default());
    rig.world.settle(secs(30));
    let ours = rig.world.view().get("", "namespaces", "", "ctl-end").cloned().unwrap();
    let told = |object: &Value| tidy(std::slice::from_ref(object), &mut BTreeMap::new());
    assert_eq!(told(&theirs), told(&ours));
    let free = json!({"metadata": {"finalizers": null}}).to_string();
    let path = "/api/v1/namespaces/ctl-end/configmaps/held";
    client.request("PATCH", path, "application/merge-patch+json", free.as_bytes()).unwrap();
}

#[test]
fn a_cron_job_agrees_with_a_real_cluster() {
    let cron = |suspend: bool| {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
            "spec": {"schedule": "* * * * *", "suspend": suspend, "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "tools:v1"}]}}}}}})
    };
    let Some(plane) = testenv::shared() else { return };
    let mut real = Real { client: plane.http(), known: BTreeMap::new(), namespace: "default".to_owned() };
    real.apply(&cron(false));
    let start = Instant::now();
    let theirs = loop {
        let all: Vec<Value> = real.all().into_iter().filter(is_of_tick).collect();
        let done = |object: &Value| {
            object["metadata"]["name"] == "tick" && object["status"]["lastSuccessfulTime"].is_string()
        };
        if all.iter().any(done) {
            std::thread::sleep(Duration::from_secs(5));
            break real.all();
        }
        assert!(start.elapsed() < Duration::from_secs(90), "{all:?}");
        std::thread::sleep(Duration::from_millis(500));
    };
    let _ = real.client.request("DELETE", "/apis/batch/v1/namespaces/default/cronjobs/tick", "", &[]);
    let mut rig = Rig::new();
    let mut object = cron(false);
    object["metadata"]["namespace"] = json!("default");
    rig.apply(object);
    rig.world.advance(secs(75));
    let ours = rig.all_in("default", &LOOKED_AT.map(|(group, _, plural)| (group, plural)));
    let told = |all: Vec<Value>| {
        let all: Vec<Value> =
            all.into_iter().filter(is_of_tick).map(|object| without_minute(&object)).collect();
        tidy(&all, &mut BTreeMap::new())
    };
    let (theirs, ours) = (told(theirs), told(ours));
    let found: Vec<String> = theirs
        .keys()
        .chain(ours.keys())
        .filter(|line| theirs.get(*line) != ours.get(*line))
        .map(|line| format!("real {:?}, here {:?}: {line}", theirs.get(line), ours.get(line)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn is_of_tick(object: &Value) -> bool {
    let name = match object["kind"] == "Event" {
        true => &object["involvedObject"]["name"],
        false => &object["metadata"]["name"],
    };
    name.as_str().is_some_and(|name| name.starts_with("tick"))
}

/// The Job's name ends with the minute it was due.
fn without_minute(object: &Value) -> Value {
    let text = object.to_string();
    let Some(at) = text.find("tick-") else { return object.clone() };
    let digits: String = text[at + 5..].chars().take_while(char::is_ascii_digit).collect();
    serde_json::from_str(&text.replace(&format!("tick-{digits}"), "tick-MINUTE")).unwrap()
}
