//! Built-in kinds: one file per kind, found by group and kind.
//!
//! In: an object that passed the envelope. Out: its verdict, or `None` for kinds without a rule here. Invariant: a rule
//! looks at its object and the context only.

mod autoscaler;
mod budget;
mod claim;
mod crd;
mod cronjob;
mod daemonset;
mod deployment;
mod gateway;
mod ingress;
mod job;
mod namespace;
mod node;
mod pod;
pub(crate) mod replicaset;
mod rest;
mod service;
mod statefulset;
mod volume;

use crate::context::Context;
use crate::profile::Profile;
use crate::snapshot::Snapshot;
use crate::verdict::Verdict;
use crate::view::View;

/// Whether a kind has a rule of its own; the others are judged by their conditions.
#[must_use]
pub fn has_rule(group: &str, kind: &str) -> bool {
    let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    let object = serde_json::json!({"apiVersion": version, "kind": kind});
    let (snapshot, profile) = (Snapshot::of([]), Profile::default());
    let context = Context { snapshot: &snapshot, profile: &profile, rules: None, now: None, depth: 0 };
    judge(View(&object), &context).is_some()
}

/// The verdict of a built-in kind.
pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    let kind = object.kind();
    Some(match object.group() {
        "" => core(kind, object, context)?,
        "apps" => match kind {
            "Deployment" => deployment::judge(object, context),
            "StatefulSet" => statefulset::judge(object, context),
            "DaemonSet" => daemonset::judge(object, context),
            "ReplicaSet" => replicaset::judge(object, context),
            "ControllerRevision" => rest::plain(object),
            _ => return None,
        },
        "batch" => match kind {
            "Job" => job::judge(object, context),
            "CronJob" => cronjob::judge(object, context),
            _ => return None,
        },
        "networking.k8s.io"
        | "gateway.networking.k8s.io"
        | "policy.networking.k8s.io"
        | "discovery.k8s.io" => network(kind, object, context)?,
        "storage.k8s.io" | "snapshot.storage.k8s.io" => storage(kind, object, context)?,
        "autoscaling" if kind == "HorizontalPodAutoscaler" => autoscaler::judge(object, context),
        "policy" if kind == "PodDisruptionBudget" => budget::judge(object),
        "apiextensions.k8s.io" if kind == "CustomResourceDefinition" => crd::definition(object),
        "apiregistration.k8s.io" if kind == "APIService" => crd::api_service(object, context),
        group => system(group, kind, object, context)?,
    })
}

fn core(kind: &str, object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    Some(match kind {
        "Pod" => pod::judge(object, context),
        "ReplicationController" => replicaset::judge(object, context),
        "Service" => service::judge(object, context),
        "Endpoints" => service::endpoints(object),
        "PersistentVolumeClaim" => claim::judge(object, context),
        "PersistentVolume" => volume::volume(object),
        "Namespace" => namespace::namespace(object),
        "ResourceQuota" => namespace::quota(object),
        "Node" => node::judge(object),
        "ComponentStatus" => rest::component_status(object),
        "Secret" => rest::secret(object),
        "ConfigMap" | "ServiceAccount" | "LimitRange" | "PodTemplate" | "Event" | "Binding" => {
            rest::plain(object)
        }
        _ => return None,
    })
}

fn network(kind: &str, object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    Some(match kind {
        "Ingress" => ingress::judge(object, context),
        "IngressClass" => ingress::class(object, context),
        "EndpointSlice" => service::slice(object),
        "GatewayClass" => gateway::class(object),
        "Gateway" | "ListenerSet" | "XListenerSet" => gateway::gateway(object, context),
        "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute" => gateway::route(object, context),
        "ServiceCIDR" | "IPAddress" => rest::address_range(object),
        "NetworkPolicy" | "ReferenceGrant" | "AdminNetworkPolicy" | "BaselineAdminNetworkPolicy" => {
            rest::plain(object)
        }
        _ if object.group() == "gateway.networking.k8s.io" && kind.ends_with("Policy") => {
            gateway::policy(object)
        }
        _ => return None,
    })
}

fn storage(kind: &str, object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    Some(match kind {
        "StorageClass"
        | "CSIDriver"
        | "CSINode"
        | "VolumeAttributesClass"
        | "CSIStorageCapacity"
        | "VolumeSnapshotClass" => rest::plain(object),
        "VolumeSnapshot" | "VolumeSnapshotContent" => volume::snapshot(object, context),
        "VolumeAttachment" => volume::attachment(object),
        _ => return None,
    })
}

fn system(group: &str, kind: &str, object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    Some(match (group, kind) {
        ("certificates.k8s.io", "CertificateSigningRequest") => rest::signing_request(object),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy") => {
            rest::admission_policy(object)
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => rest::webhooks(object, context),
        ("flowcontrol.apiserver.k8s.io", _) => rest::flow_control(object),
        ("resource.k8s.io", "ResourceClaim") => rest::resource_claim(object),
        ("coordination.k8s.io", "Lease") => rest::lease(object, context),
        (
            "rbac.authorization.k8s.io"
            | "scheduling.k8s.io"
            | "node.k8s.io"
            | "admissionregistration.k8s.io"
            | "certificates.k8s.io"
            | "resource.k8s.io",
            _,
        ) => rest::plain(object),
        _ => return None,
    })
}
