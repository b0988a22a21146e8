//! What a cluster has before anybody asks for anything: namespaces, nodes, a storage class, the API's own Service.

use kube_meaning::write::Verb;
use serde_json::{Value, json};

use crate::controllers::autoscaler::{AS_WANTED, METRICS};
use crate::controllers::ingress::INGRESS_CONTROLLER;
use crate::store::meta_text;
use crate::time::Time;
use crate::world::World;
use crate::write::Write;

/// The nodes of a new world.
const NODES: [&str; 2] = ["node-1", "node-2"];
pub(crate) const VERSION: &str = "v1.36.3";

impl World {
    /// A world as a fresh cluster has it, settled: namespaces with their accounts, two nodes, a default StorageClass.
    pub fn with_defaults(seed: u64, now: Time) -> World {
        let mut world = World::new(seed, now);
        for object in objects(now) {
            world.put_first(&object);
        }
        world.advance(std::time::Duration::ZERO);
        world.put_endpoints();
        world
    }

    /// Adds what people's clusters have beside the API: an ingress controller with the default class, and a metrics server.
    /// It says of every pod that it is as busy as its autoscaler wants, so that autoscalers settle where they are.
    pub fn add_addons(&mut self) {
        self.put_first(&json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
            "metadata": {"name": "sandbox", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
            "spec": {"controller": INGRESS_CONTROLLER},
        }));
        self.change_system(|system| system["metadata"]["annotations"][METRICS] = json!(AS_WANTED));
    }

    /// Gives the cluster an identity of its own, the uid of `kube-system`; without it two worlds of one seed are one cluster.
    pub fn set_identity(&mut self, uid: &str) {
        self.change_system(|system| system["metadata"]["uid"] = json!(uid));
    }

    /// Changes the namespace `kube-system`, which stands for the cluster.
    fn change_system(&mut self, change: impl FnOnce(&mut Value)) {
        let (resource, key) = (
            crate::store::ResourceKey::new("", "namespaces"),
            crate::store::ObjectKey::new("", "kube-system"),
        );
        if let Some(mut object) = self.store.get(&resource, &key).map(|live| Value::clone(&live.value)) {
            change(&mut object);
            self.store.put(&resource, object);
        }
    }

    /// The API's own Service has no pods: the server says itself where it is. Fixed uids: nothing is drawn for them.
    fn put_endpoints(&mut self) {
        let now = self.now.text();
        let meta = |at: u8, labels: Value| {
            json!({"name": "kubernetes", "namespace": "default", "uid": format!("00000000-0000-4000-8000-00000000e00{at}"),
                "creationTimestamp": now, "labels": labels})
        };
        let port = json!({"name": "https", "port": 6443, "protocol": "TCP"});
        let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": meta(1, json!({"kubernetes.io/service-name": "kubernetes"})),
            "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}], "ports": [port]});
        let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints",
            "metadata": meta(2, json!({"endpointslice.kubernetes.io/skip-mirror": "true"})),
            "subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [port]}]});
        self.store.put(&crate::store::ResourceKey::new("discovery.k8s.io", "endpointslices"), slice);
        self.store.put(&crate::store::ResourceKey::new("", "endpoints"), endpoints);
    }

    /// What is built in is valid by construction: a refusal would be a bug that the tests of this file show.
    fn put_first(&mut self, object: &Value) {
        let Some(served) = self.registry.of_object(object) else { return };
        let namespace = meta_text(object, "namespace").to_owned();
        let name = meta_text(object, "name").to_owned();
        let resource = served.key();
        let write = |subresource: &'static str, verb| Write {
            served: served.clone(),
            namespace: &namespace,
            name: if subresource.is_empty() { "" } else { &name },
            subresource,
            verb,
            manager: "kube-apiserver",
            force: false,
            dry_run: false,
        };
        if self.write(&write("", Verb::Create(object))).is_err() {
            return;
        }
        if let Some(status) = object.get("status") {
            let key = crate::store::ObjectKey::new(&namespace, &name);
            let live = self.store.get(&resource, &key).map(|live| Value::clone(&live.value));
            let mut body = live.unwrap_or_default();
            body["status"] = status.clone();
            let _ = self.write(&write("status", Verb::Update(&body)));
        }
    }
}

fn objects(now: Time) -> Vec<Value> {
    let mut all: Vec<Value> = ["default", "kube-node-lease", "kube-public", "kube-system"]
        .iter()
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .collect();
    all.extend(NODES.iter().enumerate().map(|(at, name)| node(name, at + 1, now)));
    all.push(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "sandbox.kusion.io/simulated", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
    }));
    for (name, value) in [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)]
    {
        all.push(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}));
    }
    all.push(json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"clusterIP": "10.96.0.1", "type": "ClusterIP",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
    }));
    all
}

fn node(name: &str, at: usize, now: Time) -> Value {
    // Large enough that a whole stack of stacks fits; a real node takes 110 pods.
    let capacity = json!({"cpu": "16", "memory": "64Gi", "pods": "1000", "ephemeral-storage": "500Gi"});
    let now = now.text();
    let condition = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "reason": reason, "message": message, "lastHeartbeatTime": now, "lastTransitionTime": now});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
        }},
        "spec": {"podCIDR": format!("10.244.{at}.0/24"), "podCIDRs": [format!("10.244.{at}.0/24")], "providerID": format!("sandbox://{name}")},
        "status": {
            "capacity": capacity, "allocatable": capacity,
            "addresses": [{"type": "InternalIP", "address": format!("192.168.0.{}", 10 + at)}, {"type": "Hostname", "address": name}],
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux", "osImage": "Kusion sandbox (simulated)",
                "kernelVersion": "0.0.0-sandbox", "kubeletVersion": VERSION, "kubeProxyVersion": VERSION,
                "containerRuntimeVersion": "sandbox://0", "bootID": name, "machineID": name, "systemUUID": name},
        },
    })
}
