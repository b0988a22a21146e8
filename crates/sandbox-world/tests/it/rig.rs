//! A world for tests: apply manifests, let time pass, look at objects and verdicts.

use std::sync::Arc;
use std::time::Duration;

use kube_meaning::write::Verb;
use kusion_health::{Profile, Snapshot, Verdict, WaitOutcome, Waiter, judge};
use sandbox_world::write::Propagation;
use sandbox_world::{ObjectKey, Removal, ResourceKey, Time, World, Write};
use serde_json::{Value, json};

pub(crate) const NS: &str = "shop";

pub(crate) struct Rig {
    pub(crate) world: World,
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl Rig {
    /// A fresh cluster with the namespace `shop`.
    pub(crate) fn new() -> Rig {
        let world = World::with_defaults(7, Time::parse("2026-01-01T00:00:00Z").unwrap());
        let mut rig = Rig { world };
        rig.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}}));
        rig.world.advance(Duration::ZERO);
        rig
    }

    /// Server-side apply, as the engine does it.
    pub(crate) fn apply(&mut self, mut object: Value) -> Arc<Value> {
        let served = self.world.view().registry.of_object(&object).unwrap();
        let namespaced = served.resource().namespaced;
        if namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!(NS);
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let ask = Write {
            served,
            namespace: &namespace,
            name: &name,
            subresource: "",
            verb: Verb::Apply(&object),
            manager: "kusion",
            force: true,
            dry_run: false,
        };
        self.world.write(&ask).unwrap_or_else(|refusal| panic!("{refusal:?}")).value
    }

    pub(crate) fn delete(&mut self, group: &str, plural: &str, name: &str, removal: Removal) {
        let namespaced = plural != "namespaces";
        let key = ObjectKey::new(if namespaced { NS } else { "" }, name);
        let live = self.world.view().store.get(&ResourceKey::new(group, plural), &key).unwrap().value.clone();
        let served = self.world.view().registry.of_object(&live).unwrap();
        self.world.remove(&served, &key, &removal).unwrap();
    }

    /// DELETE in another namespace, with a propagation policy by name.
    pub(crate) fn delete_in(&mut self, namespace: &str, group: &str, plural: &str, name: &str, policy: &str) {
        let key = ObjectKey::new(namespace, name);
        let live = self.world.view().store.get(&ResourceKey::new(group, plural), &key).unwrap().value.clone();
        let served = self.world.view().registry.of_object(&live).unwrap();
        let propagation = Some(match policy {
            "Foreground" => Propagation::Foreground,
            "Orphan" => Propagation::Orphan,
            _ => Propagation::Background,
        });
        self.world.remove(&served, &key, &Removal { propagation, ..Removal::default() }).unwrap();
    }

    /// Every state that any object had.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let store = &self.world.view().store;
        store
            .events_after(store.forgotten())
            .unwrap()
            .map(|event| Value::clone(&event.object.value))
            .collect()
    }

    /// The objects of some resources in a namespace.
    pub(crate) fn all_in(&self, namespace: &str, resources: &[(&str, &str)]) -> Vec<Value> {
        let view = self.world.view();
        let mut all = Vec::new();
        for (group, plural) in resources {
            let resource = ResourceKey::new(group, plural);
            all.extend(
                view.store.list(&resource, Some(namespace)).map(|(_, object)| Value::clone(&object.value)),
            );
        }
        all
    }

    pub(crate) fn get(&self, group: &str, plural: &str, name: &str) -> Option<Arc<Value>> {
        self.world.view().get(group, plural, NS, name).cloned()
    }

    pub(crate) fn list(&self, group: &str, plural: &str) -> Vec<Arc<Value>> {
        self.world.view().list(group, plural, Some(NS)).cloned().collect()
    }

    pub(crate) fn pods(&self) -> Vec<Arc<Value>> {
        self.list("", "pods")
    }

    /// `(reason, message)` of the Events about an object, oldest first.
    pub(crate) fn events(&self, kind: &str) -> Vec<(String, String)> {
        let mut events = self.list("", "events");
        events.retain(|event| event["involvedObject"]["kind"] == kind);
        events.sort_by_key(|event| {
            event["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap()
        });
        let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
        events.iter().map(|event| (text(event, "reason"), text(event, "message"))).collect()
    }

    /// What the engine would say of an object now, with everything in the world as evidence.
    pub(crate) fn verdict(&self, object: &Value) -> Verdict {
        let view = self.world.view();
        let mut all = Vec::new();
        for resource in view.store.resources() {
            all.extend(view.store.list(resource, None).map(|(_, object)| Value::clone(&object.value)));
        }
        judge(object, &Snapshot::of(all), &Profile::sandbox(), Some(self.world.now().millis()))
    }

    /// Waits for an object as the engine does, the world's clock running: how it ended, and after how long.
    pub(crate) fn wait(
        &mut self,
        group: &str,
        plural: &str,
        name: &str,
        within: Duration,
    ) -> (WaitOutcome, Duration) {
        let start = self.world.now();
        let mut waiter =
            Waiter::new(&self.get(group, plural, name).unwrap(), &Profile::sandbox(), start.millis());
        loop {
            self.world.advance(Duration::from_millis(250));
            let now = self.world.now();
            let outcome = waiter.step(self.verdict_of(group, plural, name), now.millis());
            if outcome.is_over() {
                return (outcome, now.since(start));
            }
            assert!(now.since(start) < within, "still waits: {outcome:?}");
        }
    }

    /// Waits until the object failed, and returns the cause.
    pub(crate) fn cause(&mut self, group: &str, plural: &str, name: &str, within: Duration) -> String {
        let (outcome, _) = self.wait(group, plural, name, within);
        assert!(matches!(outcome, WaitOutcome::Failed(_)), "{outcome:?}");
        outcome.verdict().cause.clone().unwrap_or_default()
    }

    pub(crate) fn verdict_of(&self, group: &str, plural: &str, name: &str) -> Verdict {
        self.verdict(&self.get(group, plural, name).unwrap())
    }
}

/// Type, status and reason of the conditions, sorted.
pub(crate) fn conditions(object: &Value) -> Vec<String> {
    let list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or("-").to_owned();
    let mut told: Vec<String> = list
        .iter()
        .map(|c| format!("{}={} {}", text(c, "type"), text(c, "status"), text(c, "reason")))
        .collect();
    told.sort();
    told
}

/// A Deployment `web` with pod annotations.
pub(crate) fn web(replicas: i64, image: &str, annotations: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}, "annotations": annotations},
            "spec": {"containers": [{"name": "main", "image": image, "ports": [{"containerPort": 8080, "protocol": "TCP"}]}]},
        }},
    })
}
