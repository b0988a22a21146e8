//! Admission: what the server adds to or refuses of an object because of what else there is in the cluster.
//!
//! In: the prepared object and the store. Out, in place: the additions of the built-in admission plug-ins (namespace life
//! cycle, service accounts, default tolerations, priorities, default storage class, protection finalizers, taints, limit
//! ranges, quota)
//! and Service addresses. Each is one small function; ownership was counted before, so that nobody owns what is added here.

use kube_meaning::reach::Reach;
use kube_meaning::service::{Pool, allocate};
use kube_meaning::status::{Cause, Refusal};
use kube_meaning::write::Verb;
use serde_json::{Value, json};

use crate::limits;
use crate::quota;
use crate::seed::Seed;
use crate::store::{ObjectKey, ResourceKey, Store, meta_text};
use crate::time::Time;
use crate::write::{Write, forbidden};

/// What admission sees.
pub(crate) struct Admission<'w, 'a> {
    pub(crate) store: &'w Store,
    pub(crate) seed: &'w mut Seed,
    pub(crate) ask: &'w Write<'a>,
    pub(crate) name: &'w str,
    pub(crate) now: Time,
}

impl Admission<'_, '_> {
    /// A new object's namespace must be there and not on its way out.
    pub(crate) fn namespace(&self) -> Result<(), Refusal> {
        let served = &self.ask.served;
        if !served.resource().namespaced {
            return Ok(());
        }
        let namespace = self.ask.namespace;
        let key = ObjectKey::new("", namespace);
        let Some(found) = self.store.get(&ResourceKey::new("", "namespaces"), &key) else {
            let refusal = Refusal::new(404, "NotFound", format!("namespaces \"{namespace}\" not found"));
            return Err(Refusal { name: namespace.into(), kind: "namespaces".into(), ..refusal });
        };
        let Some(since) = found.value.at("/metadata/deletionTimestamp") else { return Ok(()) };
        let text =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut refusal = forbidden(served, self.name, &text);
        let since = since.as_str().unwrap_or_default();
        refusal.causes.push(Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated since {since}"),
            field: "metadata.namespace".to_owned(),
        });
        Err(refusal)
    }

    /// Everything between ownership and validation.
    pub(crate) fn admit(&mut self, object: &mut Value, live: Option<&Value>) -> Result<(), Refusal> {
        let resource = self.ask.served.resource();
        if resource.namespaced {
            object["metadata"]["namespace"] = json!(self.ask.namespace);
        }
        if !self.name.is_empty() {
            object["metadata"]["name"] = json!(self.name);
        }
        if resource.custom || !matches!(self.ask.subresource, "" | "scale") {
            return Ok(());
        }
        match (resource.group.as_str(), resource.kind.as_str()) {
            ("", "Service") => self.addresses(object, live)?,
            ("", "Pod") if live.is_none() => {
                self.service_account(object)?;
                tolerations(object);
                self.priority(object)?;
                object["status"] = crate::qos::first_status(object, self.now);
            }
            ("", "PersistentVolumeClaim") if live.is_none() => {
                self.storage_class(object);
                add_finalizer(object, "kubernetes.io/pvc-protection");
            }
            ("", "PersistentVolume") if live.is_none() => {
                add_finalizer(object, "kubernetes.io/pv-protection");
            }
            ("storage.k8s.io", "VolumeAttributesClass") if live.is_none() => {
                add_finalizer(object, "kubernetes.io/vac-protection");
            }
            // Nodes of a new world are ready from the beginning.
            ("", "Node") if live.is_none() && self.ask.manager != "kube-apiserver" => taint(object),
            _ => {}
        }
        if live.is_none() {
            if resource.group.is_empty() {
                limits::apply(self.store, &self.ask.served, (self.ask.namespace, self.name), object)?;
            }
            quota::check(self.store, &self.ask.served, self.name, object)?;
        }
        Ok(())
    }

    fn addresses(&mut self, object: &mut Value, live: Option<&Value>) -> Result<(), Refusal> {
        let dry_run = self.ask.dry_run;
        let mut pool = Addresses { seed: self.seed, store: self.store, dry_run };
        allocate(object, live, &mut pool)
    }

    /// The name as far as it is known before one is drawn: what refusals of that early hour show.
    fn asked_name(&self) -> &str {
        match self.ask.verb {
            Verb::Create(body) if meta_text(body, "name").is_empty() => meta_text(body, "generateName"),
            _ => self.name,
        }
    }

    /// A pod runs as a service account of its namespace and gets that one's token as a volume.
    fn service_account(&mut self, pod: &mut Value) -> Result<(), Refusal> {
        let spec = &mut pod["spec"];
        if !spec.is_object() {
            return Ok(());
        }
        let account = match spec["serviceAccountName"].as_str() {
            None | Some("") => "default".to_owned(),
            Some(name) => name.to_owned(),
        };
        spec["serviceAccountName"] = json!(account);
        spec["serviceAccount"] = json!(account);
        let namespace = self.ask.namespace;
        let key = ObjectKey::new(namespace, &account);
        let Some(found) = self.store.get(&ResourceKey::new("", "serviceaccounts"), &key) else {
            let text = format!(
                "error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"
            );
            return Err(forbidden(&self.ask.served, self.asked_name(), &text));
        };
        let wants = |value: &Value| value.get("automountServiceAccountToken").and_then(Value::as_bool);
        if wants(spec).or_else(|| wants(&found.value)) == Some(false) {
            return Ok(());
        }
        let volume = format!("kube-api-access-{}", self.seed.suffix(5));
        mount_token(spec, &volume);
        Ok(())
    }

    fn priority(&self, pod: &mut Value) -> Result<(), Refusal> {
        let class = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
        let classes = ResourceKey::new("scheduling.k8s.io", "priorityclasses");
        let found = match class.as_str() {
            "" => {
                let mut all = self.store.list(&classes, None);
                all.find(|(_, object)| object.value["globalDefault"] == true).map(|(_, object)| object)
            }
            name => self.store.get(&classes, &ObjectKey::new("", name)),
        };
        let (value, policy) = match (found, class.as_str()) {
            (Some(found), _) => (found.value["value"].clone(), found.value["preemptionPolicy"].clone()),
            (None, "") => (json!(0), Value::Null),
            (None, "system-cluster-critical") => (json!(2_000_000_000), Value::Null),
            (None, "system-node-critical") => (json!(2_000_001_000), Value::Null),
            (None, name) => {
                let text = format!("no PriorityClass with name {name} was found");
                return Err(forbidden(&self.ask.served, self.name, &text));
            }
        };
        if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("priority".to_owned(), value);
            if spec.get("preemptionPolicy").is_none_or(Value::is_null) {
                let policy = if policy.is_null() { json!("PreemptLowerPriority") } else { policy };
                spec.insert("preemptionPolicy".to_owned(), policy);
            }
        }
        Ok(())
    }

    fn storage_class(&self, claim: &mut Value) {
        if claim["spec"].get("storageClassName").is_some_and(|class| !class.is_null()) {
            return;
        }
        let default =
            self.store.list(&ResourceKey::new("storage.k8s.io", "storageclasses"), None).find(|(_, c)| {
                c.value
                    .at("/metadata/annotations/storageclass.kubernetes.io~1is-default-class")
                    .is_some_and(|v| v == "true")
            });
        if let Some((key, _)) = default {
            claim["spec"]["storageClassName"] = json!(key.name.as_str());
        }
    }
}

const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

fn mount_token(spec: &mut Value, volume: &str) {
    let mut mounted = false;
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let mounts = container.entry("volumeMounts").or_insert_with(|| json!([]));
            if mounts.is_null() {
                *mounts = json!([]);
            }
            let Some(mounts) = mounts.as_array_mut() else { continue };
            if mounts.iter().all(|mount| mount["mountPath"] != TOKEN_PATH) {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": TOKEN_PATH}));
                mounted = true;
            }
        }
    }
    let Some(spec) = spec.as_object_mut().filter(|_| mounted) else { return };
    let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
    if volumes.is_null() {
        *volumes = json!([]);
    }
    if let Some(volumes) = volumes.as_array_mut() {
        volumes.push(json!({"name": volume, "projected": {"sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace",
                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ], "defaultMode": 420}}));
    }
}

fn tolerations(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let list = spec.entry("tolerations").or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = list.iter().any(|t| {
            let any_key = t.get("key").is_none_or(|k| k == "") && t["operator"] == "Exists";
            (any_key || t["key"] == key) && t.get("effect").is_none_or(|e| e == "" || e == "NoExecute")
        });
        if !tolerated {
            let more =
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
            list.push(more);
        }
    }
}

fn add_finalizer(object: &mut Value, finalizer: &str) {
    let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let list = meta.entry("finalizers").or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut().filter(|list| !list.iter().any(|f| f == finalizer)) {
        list.push(json!(finalizer));
    }
}

/// A new node takes no pods before it is ready.
fn taint(node: &mut Value) {
    let key = "node.kubernetes.io/not-ready";
    let Some(node) = node.as_object_mut() else { return };
    let spec = node.entry("spec").or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else { return };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    if let Some(taints) = taints.as_array_mut().filter(|taints| !taints.iter().any(|t| t["key"] == key)) {
        taints.push(json!({"key": key, "effect": "NoSchedule"}));
    }
}

struct Addresses<'s> {
    seed: &'s mut Seed,
    store: &'s Store,
    dry_run: bool,
}

/// How often a free address or port is looked for before any is taken.
const POOL_TRIES: usize = 64;

impl Pool for Addresses<'_> {
    fn address(&mut self) -> String {
        if self.dry_run {
            return "10.96.0.0".to_owned();
        }
        let mut address = String::new();
        for _ in 0..POOL_TRIES {
            address = format!("10.96.{}.{}", self.seed.below(255), 1 + self.seed.below(254));
            if !self.store.is_claimed(&address) {
                break;
            }
        }
        address
    }

    fn node_port(&mut self) -> u16 {
        let mut port = 30000;
        for _ in 0..POOL_TRIES {
            port = 30000 + self.seed.below(2768) as u16;
            if !self.store.is_claimed(&port.to_string()) {
                break;
            }
        }
        port
    }

    fn refuses_address(&self, address: &str) -> Option<String> {
        if !address.starts_with("10.96.") {
            return Some("the provided network does not match the current range".to_owned());
        }
        self.store.is_claimed(address).then(|| "provided IP is already allocated".to_owned())
    }

    fn refuses_port(&self, port: i64) -> Option<String> {
        if !(30000..=32767).contains(&port) {
            let range = "The range of valid ports is 30000-32767";
            return Some(format!("provided port is not in the valid range. {range}"));
        }
        self.store.is_claimed(&port.to_string()).then(|| "provided port is already allocated".to_owned())
    }
}
