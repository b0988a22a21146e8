//! The columns of built-in kinds: one line each. `*` = only with `-o wide`, `:i` integer, `:b` boolean.

use kube_meaning::schema::Resource;
use serde_json::{Value, json};

/// Kind and columns.
const COLUMNS: [(&str, &str); 44] = [
    ("Pod", "Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*"),
    ("Deployment", "Name|Ready|Up-to-date|Available|Age|Containers*|Images*|Selector*"),
    ("ReplicaSet", "Name|Desired:i|Current:i|Ready:i|Age|Containers*|Images*|Selector*"),
    ("ReplicationController", "Name|Desired:i|Current:i|Ready:i|Age|Containers*|Images*|Selector*"),
    ("StatefulSet", "Name|Ready|Age|Containers*|Images*"),
    (
        "DaemonSet",
        "Name|Desired:i|Current:i|Ready:i|Up-to-date:i|Available:i|Node Selector|Age|Containers*|Images*|Selector*",
    ),
    ("Job", "Name|Status|Completions|Duration|Age|Containers*|Images*|Selector*"),
    ("CronJob", "Name|Schedule|Timezone|Suspend:b|Active:i|Last Schedule|Age|Containers*|Images*|Selector*"),
    ("Service", "Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*"),
    ("Endpoints", "Name|Endpoints|Age"),
    ("EndpointSlice", "Name|AddressType|Ports|Endpoints|Age"),
    ("Ingress", "Name|Class|Hosts|Address|Ports|Age"),
    ("IngressClass", "Name|Controller|Parameters|Age"),
    ("NetworkPolicy", "Name|Pod-Selector|Age"),
    ("ConfigMap", "Name|Data|Age"),
    ("Secret", "Name|Type|Data:i|Age"),
    ("ServiceAccount", "Name|Age"),
    (
        "PersistentVolumeClaim",
        "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*",
    ),
    (
        "PersistentVolume",
        "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode*",
    ),
    ("StorageClass", "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"),
    ("HorizontalPodAutoscaler", "Name|Reference|Targets|MinPods|MaxPods|Replicas|Age"),
    ("PodDisruptionBudget", "Name|Min Available|Max Unavailable|Allowed Disruptions:i|Age"),
    ("Namespace", "Name|Status|Age"),
    (
        "Node",
        "Name|Status|Roles|Age|Version|Internal-IP*|External-IP*|OS-Image*|Kernel-Version*|Container-Runtime*",
    ),
    ("Event", "Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|Name*"),
    ("RoleBinding", "Name|Role|Age|Users*|Groups*|ServiceAccounts*"),
    ("ClusterRoleBinding", "Name|Role|Age|Users*|Groups*|ServiceAccounts*"),
    ("ResourceQuota", "Name|Request|Limit|Age"),
    ("Lease", "Name|Holder|Age"),
    ("PriorityClass", "Name|Value:i|Global-Default:b|Age|PreemptionPolicy"),
    ("RuntimeClass", "Name|Handler|Age"),
    ("ControllerRevision", "Name|Controller|Revision|Age"),
    ("PodTemplate", "Name|Containers|Images|Pod Labels"),
    ("ValidatingWebhookConfiguration", "Name|Webhooks:i|Age"),
    ("MutatingWebhookConfiguration", "Name|Webhooks:i|Age"),
    ("ValidatingAdmissionPolicy", "Name|Validations:i|ParamKind|Age"),
    ("ValidatingAdmissionPolicyBinding", "Name|PolicyName|ParamRef|Age"),
    (
        "CSIDriver",
        "Name|AttachRequired:b|PodInfoOnMount:b|StorageCapacity:b|TokenRequests|RequiresRepublish:b|Modes|Age",
    ),
    ("CSINode", "Name|Drivers:i|Age"),
    ("VolumeAttachment", "Name|Attacher|PV|Node|Attached:b|Age"),
    ("CertificateSigningRequest", "Name|Age|SignerName|Requestor|RequestedDuration|Condition"),
    ("FlowSchema", "Name|PriorityLevel|MatchingPrecedence:i|DistinguisherMethod|Age|MissingPL"),
    ("PriorityLevelConfiguration", "Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age"),
    ("VolumeAttributesClass", "Name|DriverName|Age"),
];

/// The line of a kind; kinds without a printer have name and creation time, custom ones name and age.
pub(crate) fn line(resource: &Resource) -> &'static str {
    if resource.custom {
        return "Name|Age";
    }
    COLUMNS.iter().find(|(kind, _)| *kind == resource.kind).map_or("Name|Created At", |(_, line)| line)
}

/// The column definitions of a kind.
pub(crate) fn definitions(resource: &Resource) -> Value {
    let columns = line(resource).split('|').map(|column| {
        let (column, priority) = match column.strip_suffix('*') {
            Some(column) => (column, 1),
            None => (column, 0),
        };
        let (name, kind) = match column.split_once(':') {
            Some((name, "i")) => (name, "integer"),
            Some((name, "b")) => (name, "boolean"),
            _ => (column, if column == "Created At" { "date" } else { "string" }),
        };
        let format = if name == "Name" { "name" } else { "" };
        definition(name, kind, format, priority)
    });
    columns.collect()
}

/// One column definition.
pub(crate) fn definition(name: &str, kind: &str, format: &str, priority: i64) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority})
}
