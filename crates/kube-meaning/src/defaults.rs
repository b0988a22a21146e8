//! Defaulting: the values the server fills in, kind by kind.
//!
//! In: an object of a built-in kind. Out, in place: absent fields filled as the server's own defaulting does, wherever the
//! type occurs (a container is a container in every workload). Values from allocators and admission (cluster IPs, service
//! account tokens) are not defaults and are left to the caller. Invariant: idempotent, and never changes a value that is there.

use serde_json::{Map, Value};

use crate::default_hooks as hooks;
use crate::schema::{Resource, Schema, Ty};

/// A value to fill in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fill {
    Str(&'static str),
    Int(i64),
    Bool(bool),
    Json(&'static str),
}

/// What is filled in for one type: plain fields, then a function for what depends on other fields.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) ty: &'static str,
    pub(crate) fields: &'static [(&'static str, Fill)],
    pub(crate) hook: Option<fn(&mut Map<String, Value>)>,
}

/// Fills in the defaults of an object.
pub fn fill(schema: &Schema, resource: &Resource, object: &mut Value) {
    if resource.custom {
        return;
    }
    walk(schema, &resource.ty, object);
}

/// What reading a stored object fills in that a write through a sub-resource may have left out: the labels of a Job or a
/// ReplicationController are those of its pods, when it has none.
pub(crate) fn fill_read(resource: &Resource, object: &mut Value) {
    let labelled = object.get("metadata").and_then(|meta| meta.get("labels")).is_some();
    let hook = match resource.kind.as_str() {
        "Job" => hooks::job,
        "ReplicationController" => hooks::replication_controller,
        _ => return,
    };
    if !resource.custom && !labelled {
        object.as_object_mut().map(hook);
    }
}

/// Fills in the defaults of one value.
pub(crate) fn fill_value(schema: &Schema, ty: &Ty, value: &mut Value) {
    walk(schema, ty, value);
}

fn walk(schema: &Schema, ty: &Ty, value: &mut Value) {
    match (ty, value) {
        (Ty::List(list), Value::Array(items)) => {
            if matches!(list.item, Ty::Named { .. } | Ty::List(_) | Ty::Map(_)) {
                for item in items {
                    // An item that is null is one without any field.
                    if item.is_null() && matches!(list.item, Ty::Named { .. }) {
                        *item = Value::Object(Map::new());
                    }
                    walk(schema, &list.item, item);
                }
            }
        }
        (Ty::Map(map), Value::Object(values)) => {
            if matches!(map.value, Ty::Named { .. } | Ty::List(_) | Ty::Map(_)) {
                values.values_mut().for_each(|item| walk(schema, &map.value, item));
            }
        }
        (Ty::Named { id, .. }, Value::Object(map)) => {
            let strukt = schema.get(*id);
            // Structs that are always written exist before their defaults are asked for.
            for &at in &strukt.always {
                let slot = map.entry(strukt.fields[at as usize].name.as_str()).or_insert(Value::Null);
                if slot.is_null() {
                    *slot = Value::Object(Map::new());
                }
            }
            if let Some(rule) = strukt.defaults {
                apply(rule, map);
            }
            for (key, child) in map.iter_mut() {
                if let Some(field) = strukt.field(key)
                    && !matches!(field.ty, Ty::Scalar(_) | Ty::Any)
                {
                    walk(schema, &field.ty, child);
                }
            }
        }
        _ => {}
    }
}

fn apply(rule: &Rule, map: &mut Map<String, Value>) {
    for (name, fill) in rule.fields {
        put(map, name, *fill);
    }
    if let Some(hook) = rule.hook {
        hook(map);
    }
}

/// Puts a default where nothing (or an empty string) is.
pub(crate) fn put(map: &mut Map<String, Value>, name: &str, fill: Fill) {
    let absent = match map.get(name) {
        None | Some(Value::Null) => true,
        // Optional strings of the server's types cannot be told from absent ones.
        Some(Value::String(s)) => s.is_empty(),
        Some(_) => false,
    };
    if absent {
        map.insert(name.to_owned(), fill.to_json());
    }
}

impl Fill {
    fn to_json(self) -> Value {
        match self {
            Fill::Str(s) => Value::from(s),
            Fill::Int(i) => Value::from(i),
            Fill::Bool(b) => Value::from(b),
            Fill::Json(text) => serde_json::from_str(text).unwrap_or_default(),
        }
    }
}

/// The rule of a type, by its name.
pub(crate) fn rule_of(name: &str) -> Option<&'static Rule> {
    let short = name.strip_prefix("io.k8s.").map(|n| n.strip_prefix("api.").unwrap_or(n))?;
    RULES.iter().find(|rule| rule.ty == short)
}

const fn rule(ty: &'static str, fields: &'static [(&'static str, Fill)]) -> Rule {
    Rule { ty, fields, hook: None }
}

const fn hooked(
    ty: &'static str,
    fields: &'static [(&'static str, Fill)],
    hook: fn(&mut Map<String, Value>),
) -> Rule {
    Rule { ty, fields, hook: Some(hook) }
}

use Fill::{Bool, Int, Json, Str};

const WEBHOOK: &[(&str, Fill)] = &[
    ("failurePolicy", Str("Fail")),
    ("matchPolicy", Str("Equivalent")),
    ("namespaceSelector", Json("{}")),
    ("objectSelector", Json("{}")),
    ("timeoutSeconds", Int(10)),
];
const MATCH: &[(&str, Fill)] =
    &[("namespaceSelector", Json("{}")), ("objectSelector", Json("{}")), ("matchPolicy", Str("Equivalent"))];
const MODE: &[(&str, Fill)] = &[("defaultMode", Int(420))];

static RULES: &[Rule] = &[
    // Pods and their parts.
    hooked(
        "core.v1.PodSpec",
        &[
            ("restartPolicy", Str("Always")),
            ("terminationGracePeriodSeconds", Int(30)),
            ("dnsPolicy", Str("ClusterFirst")),
            ("securityContext", Json("{}")),
            ("schedulerName", Str("default-scheduler")),
        ],
        hooks::pod_spec,
    ),
    hooked("core.v1.Pod", &[], hooks::pod),
    hooked(
        "core.v1.Container",
        &[("terminationMessagePath", Str("/dev/termination-log")), ("terminationMessagePolicy", Str("File"))],
        hooks::container,
    ),
    hooked(
        "core.v1.EphemeralContainer",
        &[("terminationMessagePath", Str("/dev/termination-log")), ("terminationMessagePolicy", Str("File"))],
        hooks::container,
    ),
    rule("core.v1.ContainerPort", &[("protocol", Str("TCP"))]),
    hooked("core.v1.Probe", &[], hooks::probe),
    rule("core.v1.HTTPGetAction", &[("path", Str("/")), ("scheme", Str("HTTP"))]),
    rule("core.v1.GRPCAction", &[("service", Str(""))]),
    rule("core.v1.ObjectFieldSelector", &[("apiVersion", Str("v1"))]),
    // Volumes.
    hooked("core.v1.Volume", &[], hooks::volume),
    rule("core.v1.SecretVolumeSource", MODE),
    rule("core.v1.ConfigMapVolumeSource", MODE),
    rule("core.v1.ProjectedVolumeSource", MODE),
    rule("core.v1.DownwardAPIVolumeSource", MODE),
    rule("core.v1.ServiceAccountTokenProjection", &[("expirationSeconds", Int(3600))]),
    hooked("core.v1.ImageVolumeSource", &[], hooks::image_volume),
    rule("core.v1.HostPathVolumeSource", &[("type", Str(""))]),
    rule("core.v1.ISCSIVolumeSource", &[("iscsiInterface", Str("default"))]),
    rule("core.v1.ISCSIPersistentVolumeSource", &[("iscsiInterface", Str("default"))]),
    rule(
        "core.v1.AzureDiskVolumeSource",
        &[
            ("cachingMode", Str("ReadWrite")),
            ("kind", Str("Shared")),
            ("fsType", Str("ext4")),
            ("readOnly", Bool(false)),
        ],
    ),
    rule("core.v1.PersistentVolumeClaimSpec", &[("volumeMode", Str("Filesystem"))]),
    hooked("core.v1.PersistentVolumeClaim", &[], hooks::claim),
    hooked("core.v1.PersistentVolume", &[], hooks::claim),
    rule(
        "core.v1.PersistentVolumeSpec",
        &[("persistentVolumeReclaimPolicy", Str("Retain")), ("volumeMode", Str("Filesystem"))],
    ),
    // Core kinds.
    hooked(
        "core.v1.ServiceSpec",
        &[("sessionAffinity", Str("None")), ("type", Str("ClusterIP"))],
        hooks::service_spec,
    ),
    rule("core.v1.Secret", &[("type", Str("Opaque"))]),
    rule("core.v1.EndpointPort", &[("protocol", Str("TCP"))]),
    hooked("core.v1.Namespace", &[], hooks::namespace),
    hooked("core.v1.NodeSpec", &[], hooks::node_spec),
    hooked("core.v1.ReplicationController", &[], hooks::replication_controller),
    hooked("core.v1.LimitRangeItem", &[], hooks::limit_range_item),
    // Workloads.
    rule(
        "apps.v1.DeploymentSpec",
        &[("replicas", Int(1)), ("revisionHistoryLimit", Int(10)), ("progressDeadlineSeconds", Int(600))],
    ),
    hooked("apps.v1.DeploymentStrategy", &[("type", Str("RollingUpdate"))], hooks::deployment_strategy),
    rule("apps.v1.ReplicaSetSpec", &[("replicas", Int(1))]),
    hooked(
        "apps.v1.StatefulSetSpec",
        &[
            ("replicas", Int(1)),
            ("podManagementPolicy", Str("OrderedReady")),
            ("revisionHistoryLimit", Int(10)),
            ("persistentVolumeClaimRetentionPolicy", Json("{}")),
        ],
        hooks::claim_templates,
    ),
    hooked("apps.v1.StatefulSetUpdateStrategy", &[], hooks::stateful_set_strategy),
    rule(
        "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
        &[("whenDeleted", Str("Retain")), ("whenScaled", Str("Retain"))],
    ),
    rule("apps.v1.DaemonSetSpec", &[("revisionHistoryLimit", Int(10))]),
    hooked("apps.v1.DaemonSetUpdateStrategy", &[("type", Str("RollingUpdate"))], hooks::daemon_set_strategy),
    hooked("batch.v1.Job", &[], hooks::job),
    hooked("batch.v1.CronJob", &[], hooks::cron_job),
    // Autoscaling and policy.
    hooked("autoscaling.v2.HorizontalPodAutoscalerSpec", &[("minReplicas", Int(1))], hooks::autoscaler_v2),
    rule(
        "autoscaling.v1.HorizontalPodAutoscalerSpec",
        &[("minReplicas", Int(1)), ("targetCPUUtilizationPercentage", Int(80))],
    ),
    // Networking.
    rule("networking.v1.NetworkPolicyPort", &[("protocol", Str("TCP"))]),
    hooked("networking.v1.NetworkPolicySpec", &[], hooks::network_policy),
    rule("networking.v1.IngressClassParametersReference", &[("scope", Str("Cluster"))]),
    rule("discovery.v1.EndpointPort", &[("name", Str("")), ("protocol", Str("TCP"))]),
    // Access.
    rule("rbac.v1.RoleRef", &[("apiGroup", Str("rbac.authorization.k8s.io"))]),
    hooked("rbac.v1.Subject", &[], hooks::subject),
    // Storage and scheduling.
    rule(
        "storage.v1.StorageClass",
        &[("reclaimPolicy", Str("Delete")), ("volumeBindingMode", Str("Immediate"))],
    ),
    rule(
        "storage.v1.CSIDriverSpec",
        &[
            ("attachRequired", Bool(true)),
            ("podInfoOnMount", Bool(false)),
            ("volumeLifecycleModes", Json(r#"["Persistent"]"#)),
            ("storageCapacity", Bool(false)),
            ("fsGroupPolicy", Str("ReadWriteOnceWithFSType")),
            ("requiresRepublish", Bool(false)),
            ("seLinuxMount", Bool(false)),
        ],
    ),
    rule("scheduling.v1.PriorityClass", &[("preemptionPolicy", Str("PreemptLowerPriority"))]),
    hooked("resource.v1.ExactDeviceRequest", &[("allocationMode", Str("ExactCount"))], hooks::device_request),
    hooked("resource.v1.DeviceSubRequest", &[("allocationMode", Str("ExactCount"))], hooks::device_request),
    // Admission and aggregation.
    rule("admissionregistration.v1.ValidatingWebhook", WEBHOOK),
    hooked("admissionregistration.v1.MutatingWebhook", WEBHOOK, hooks::mutating_webhook),
    rule("admissionregistration.v1.ServiceReference", &[("port", Int(443))]),
    rule("admissionregistration.v1.RuleWithOperations", &[("scope", Str("*"))]),
    rule("admissionregistration.v1.NamedRuleWithOperations", &[("scope", Str("*"))]),
    rule("admissionregistration.v1.ValidatingAdmissionPolicySpec", &[("failurePolicy", Str("Fail"))]),
    rule("admissionregistration.v1.MutatingAdmissionPolicySpec", &[("failurePolicy", Str("Fail"))]),
    rule("admissionregistration.v1.MatchResources", MATCH),
    rule("flowcontrol.v1.FlowSchemaSpec", &[("matchingPrecedence", Int(1000))]),
    rule(
        "flowcontrol.v1.LimitedPriorityLevelConfiguration",
        &[("nominalConcurrencyShares", Int(30)), ("lendablePercent", Int(0))],
    ),
    rule(
        "flowcontrol.v1.ExemptPriorityLevelConfiguration",
        &[("nominalConcurrencyShares", Int(0)), ("lendablePercent", Int(0))],
    ),
    hooked("flowcontrol.v1.QueuingConfiguration", &[], hooks::queuing),
    rule("kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference", &[("port", Int(443))]),
    hooked(
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec",
        &[("conversion", Json(r#"{"strategy":"None"}"#))],
        hooks::crd_spec,
    ),
    rule("apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference", &[("port", Int(443))]),
];
