//! Cells of built-in kinds, in the order of [`super::columns`].

use kube_meaning::reach::Reach;
use kube_meaning::schema::Resource;
use kube_meaning::selectors::selector_text;
use serde_json::{Value, json};

use super::{age, columns, network, pods, storage};
use crate::time::Time;

/// The cells of an object.
pub(crate) fn cells(resource: &Resource, object: &Value, now: Time) -> Vec<Value> {
    let view = View { object, now };
    if resource.custom {
        return vec![view.name(), view.age()];
    }
    let cells = match resource.kind.as_str() {
        "Pod" => pods::cells(object, now),
        "Deployment"
        | "ReplicaSet"
        | "ReplicationController"
        | "StatefulSet"
        | "DaemonSet"
        | "Job"
        | "CronJob" => workload(&resource.kind, &view),
        "Service" | "Endpoints" | "EndpointSlice" | "Ingress" | "IngressClass" | "NetworkPolicy" => {
            network::cells(&resource.kind, &view)
        }
        "PersistentVolumeClaim"
        | "PersistentVolume"
        | "StorageClass"
        | "CSIDriver"
        | "CSINode"
        | "VolumeAttachment"
        | "VolumeAttributesClass" => storage::cells(&resource.kind, &view),
        "Event" => event(&resource.group, &view),
        "Node" => node(&view),
        _ => other(&resource.kind, &view),
    };
    debug_assert_eq!(cells.len(), columns::line(resource).split('|').count(), "{}", resource.kind);
    cells
}

/// An object with shorthands.
pub(crate) struct View<'v> {
    pub(crate) object: &'v Value,
    now: Time,
}

impl View<'_> {
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.object.at(pointer).unwrap_or(&Value::Null)
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// The text, or what stands for none.
    pub(crate) fn or(&self, pointer: &str, none: &str) -> Value {
        match self.at(pointer) {
            Value::Null => json!(none),
            Value::String(text) if text.is_empty() => json!(none),
            Value::String(text) => json!(text),
            other => json!(other.to_string()),
        }
    }

    fn number(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or(0)
    }

    pub(crate) fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn name(&self) -> Value {
        self.at("/metadata/name").clone()
    }

    pub(crate) fn age(&self) -> Value {
        json!(age::since(self.object["metadata"].get("creationTimestamp"), self.now))
    }

    fn since(&self, pointer: &str) -> String {
        age::since(self.object.at(pointer), self.now)
    }

    /// Containers, images and selector of a template: the wide columns of workloads.
    fn template(&self, pointer: &str) -> [Value; 2] {
        let containers = self.list(&format!("{pointer}/spec/containers"));
        let join = |key: &str| {
            let texts: Vec<&str> = containers.iter().filter_map(|c| c[key].as_str()).collect();
            json!(texts.join(","))
        };
        [join("name"), join("image")]
    }

    pub(crate) fn selector(&self, pointer: &str) -> Value {
        match selector_text(self.at(pointer)) {
            text if text.is_empty() => json!("<none>"),
            text => json!(text),
        }
    }
}

fn workload(kind: &str, view: &View<'_>) -> Vec<Value> {
    let mut out = vec![view.name()];
    let count = |name: &str| json!(view.number(&format!("/status/{name}")));
    let ready =
        || json!(format!("{}/{}", view.number("/status/readyReplicas"), view.number("/spec/replicas")));
    match kind {
        "Deployment" => {
            let updated = view.number("/status/updatedReplicas").to_string();
            let available = view.number("/status/availableReplicas").to_string();
            out.extend([ready(), json!(updated), json!(available), view.age()]);
        }
        "StatefulSet" => out.extend([ready(), view.age()]),
        "DaemonSet" => {
            out.extend([
                count("desiredNumberScheduled"),
                count("currentNumberScheduled"),
                count("numberReady"),
                count("updatedNumberScheduled"),
                count("numberAvailable"),
                labels(view.at("/spec/template/spec/nodeSelector")),
                view.age(),
            ]);
        }
        "Job" => out.extend(job(view)),
        "CronJob" => {
            let last = view.at("/status/lastScheduleTime");
            let last = if last.is_null() { "<none>".to_owned() } else { age::since(Some(last), view.now) };
            out.extend([
                view.at("/spec/schedule").clone(),
                view.or("/spec/timeZone", "<none>"),
                json!(if view.at("/spec/suspend") == true { "True" } else { "False" }),
                json!(view.list("/status/active").len()),
                json!(last),
                view.age(),
            ]);
        }
        _ => out.extend([
            json!(view.number("/spec/replicas")),
            count("replicas"),
            count("readyReplicas"),
            view.age(),
        ]),
    }
    let template = if kind == "CronJob" { "/spec/jobTemplate/spec/template" } else { "/spec/template" };
    out.extend(view.template(template));
    match kind {
        "StatefulSet" => {}
        "CronJob" => out.push(view.selector("/spec/jobTemplate/spec/selector")),
        _ => out.push(view.selector("/spec/selector")),
    }
    out
}

fn job(view: &View<'_>) -> Vec<Value> {
    let has = |kind: &str| {
        view.list("/status/conditions").iter().any(|c| c["type"] == kind && c["status"] == "True")
    };
    let status = match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if view.object["metadata"].get("deletionTimestamp").is_some() => "Terminating",
        () if has("Suspended") || view.at("/spec/suspend") == true => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    let done = view.number("/status/succeeded");
    let completions = match (view.at("/spec/completions").as_i64(), view.number("/spec/parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        _ => format!("{done}/1"),
    };
    let moment = |pointer: &str| view.at(pointer).as_str().and_then(Time::parse);
    let duration = match (moment("/status/startTime"), moment("/status/completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => age::short((end.unwrap_or(view.now).millis() - start.millis()) / 1000),
    };
    vec![json!(status), json!(completions), json!(duration), view.age()]
}

pub(crate) fn labels(map: &Value) -> Value {
    let pairs: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    json!(if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") })
}

pub(crate) fn joined(texts: &[String], none: &str) -> Value {
    json!(if texts.is_empty() { none.to_owned() } else { texts.join(",") })
}

fn event(group: &str, view: &View<'_>) -> Vec<Value> {
    let old = group.is_empty();
    let about = if old { "/involvedObject" } else { "/regarding" };
    let kind = view.text(&format!("{about}/kind")).to_lowercase();
    let name = view.text(&format!("{about}/name"));
    let object = if kind.is_empty() { name.to_owned() } else { format!("{kind}/{name}") };
    let (first, last, count, source, message) = match old {
        true => ("/firstTimestamp", "/lastTimestamp", "/count", "/source/component", "/message"),
        false => (
            "/deprecatedFirstTimestamp",
            "/deprecatedLastTimestamp",
            "/deprecatedCount",
            "/deprecatedSource/component",
            "/note",
        ),
    };
    let or_event_time = |pointer: &str| match view.at(pointer) {
        Value::Null => view.since("/eventTime"),
        moment => age::since(Some(moment), view.now),
    };
    let source = match view.text(source) {
        "" => view.or("/reportingComponent", ""),
        source => json!(source),
    };
    vec![
        json!(or_event_time(last)),
        view.or("/type", ""),
        view.or("/reason", ""),
        json!(object),
        view.or(&format!("{about}/fieldPath"), ""),
        source,
        json!(view.text(message).trim()),
        json!(or_event_time(first)),
        json!(view.number(count).max(1).to_string()),
        view.name(),
    ]
}

fn node(view: &View<'_>) -> Vec<Value> {
    let ready = view.list("/status/conditions").iter().find(|c| c["type"] == "Ready");
    let mut status = match ready.map(|c| &c["status"]) {
        Some(status) if status == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if view.at("/spec/unschedulable") == true {
        status.push_str(",SchedulingDisabled");
    }
    let labels = view.at("/metadata/labels").as_object();
    let roles =
        labels.into_iter().flatten().filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"));
    let roles: Vec<String> = roles.map(str::to_owned).collect();
    let address = |kind: &str| {
        let found = view.list("/status/addresses").iter().find(|a| a["type"] == kind);
        json!(found.and_then(|a| a["address"].as_str()).unwrap_or("<none>"))
    };
    vec![
        view.name(),
        json!(status),
        joined(&roles, "<none>"),
        view.age(),
        view.or("/status/nodeInfo/kubeletVersion", ""),
        address("InternalIP"),
        address("ExternalIP"),
        view.or("/status/nodeInfo/osImage", "<unknown>"),
        view.or("/status/nodeInfo/kernelVersion", "<unknown>"),
        view.or("/status/nodeInfo/containerRuntimeVersion", "<unknown>"),
    ]
}

fn other(kind: &str, view: &View<'_>) -> Vec<Value> {
    let mut out = vec![view.name()];
    let count = |pointer: &str| view.at(pointer).as_object().map_or(0, serde_json::Map::len);
    let items = |pointer: &str| json!(view.list(pointer).len());
    match kind {
        "ConfigMap" => out.extend([json!(count("/data") + count("/binaryData")), view.age()]),
        "Secret" => out.extend([view.or("/type", "Opaque"), json!(count("/data")), view.age()]),
        "Namespace" => out.extend([view.or("/status/phase", ""), view.age()]),
        "HorizontalPodAutoscaler" => out.extend(autoscaler(view)),
        "PodDisruptionBudget" => out.extend([
            view.or("/spec/minAvailable", "N/A"),
            view.or("/spec/maxUnavailable", "N/A"),
            json!(view.number("/status/disruptionsAllowed")),
            view.age(),
        ]),
        "RoleBinding" | "ClusterRoleBinding" => out.extend(binding(view)),
        "ResourceQuota" => out.extend(quota(view)),
        "Lease" => out.extend([view.or("/spec/holderIdentity", ""), view.age()]),
        "PriorityClass" => out.extend([
            json!(view.number("/value")),
            json!(view.at("/globalDefault").as_bool().unwrap_or(false)),
            view.age(),
            view.or("/preemptionPolicy", ""),
        ]),
        "RuntimeClass" => out.extend([view.or("/handler", ""), view.age()]),
        "ControllerRevision" => out.extend(revision(view)),
        "PodTemplate" => {
            out.extend(view.template("/template"));
            out.push(labels(view.at("/template/metadata/labels")));
        }
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            out.extend([items("/webhooks"), view.age()]);
        }
        "ValidatingAdmissionPolicy" => out.extend(admission(view)),
        "ValidatingAdmissionPolicyBinding" => {
            out.extend([
                view.or("/spec/policyName", ""),
                view.or("/spec/paramRef/name", "<unset>"),
                view.age(),
            ]);
        }
        "CertificateSigningRequest" => out.extend(signing(view)),
        "FlowSchema" => out.extend([
            view.or("/spec/priorityLevelConfiguration/name", ""),
            json!(view.number("/spec/matchingPrecedence")),
            view.or("/spec/distinguisherMethod/type", "<none>"),
            view.age(),
            json!("False"),
        ]),
        "PriorityLevelConfiguration" => out.extend([
            view.or("/spec/type", ""),
            view.or("/spec/limited/nominalConcurrencyShares", "<none>"),
            view.or("/spec/limited/limitResponse/queuing/queues", "<none>"),
            view.or("/spec/limited/limitResponse/queuing/handSize", "<none>"),
            view.or("/spec/limited/limitResponse/queuing/queueLengthLimit", "<none>"),
            view.age(),
        ]),
        "ServiceAccount" => out.push(view.age()),
        _ => out.push(view.at("/metadata/creationTimestamp").clone()),
    }
    out
}

fn revision(view: &View<'_>) -> Vec<Value> {
    let owner = view.list("/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true);
    let owner = owner.map_or("<none>".to_owned(), |owner| {
        let text = |key: &str| owner[key].as_str().unwrap_or_default();
        let group =
            text("apiVersion").split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        format!("{}{group}/{}", text("kind").to_lowercase(), text("name"))
    });
    vec![json!(owner), json!(view.number("/revision")), view.age()]
}

fn admission(view: &View<'_>) -> Vec<Value> {
    let text = |pointer: &str| view.text(pointer);
    let param = match view.at("/spec/paramKind") {
        Value::Null => json!("<unset>"),
        _ => json!(format!("{}/{}", text("/spec/paramKind/apiVersion"), text("/spec/paramKind/kind"))),
    };
    vec![json!(view.list("/spec/validations").len()), param, view.age()]
}

fn signing(view: &View<'_>) -> Vec<Value> {
    let conditions =
        view.list("/status/conditions").iter().filter_map(|condition| condition["type"].as_str());
    let conditions: Vec<String> = conditions.map(str::to_owned).collect();
    vec![
        view.age(),
        view.or("/spec/signerName", "<none>"),
        view.or("/spec/username", ""),
        view.or("/spec/expirationSeconds", "<none>"),
        joined(&conditions, "Pending"),
    ]
}

fn autoscaler(view: &View<'_>) -> Vec<Value> {
    let reference =
        format!("{}/{}", view.text("/spec/scaleTargetRef/kind"), view.text("/spec/scaleTargetRef/name"));
    let mut targets = Vec::new();
    for metric in view.list("/spec/metrics") {
        let name = metric.at("/resource/name").and_then(Value::as_str);
        let Some(name) = name else {
            targets.push("<unknown>".to_owned());
            continue;
        };
        let current =
            view.list("/status/currentMetrics").iter().find(|m| m.at("/resource/name") == Some(&json!(name)));
        let now = current.and_then(|m| m.at("/resource/current/averageUtilization"));
        let now = now.map_or("<unknown>".to_owned(), |now| format!("{now}%"));
        let wanted = metric.at("/resource/target/averageUtilization").map(|n| format!("{n}%"));
        let wanted = wanted.or_else(|| {
            metric.at("/resource/target/averageValue").and_then(Value::as_str).map(str::to_owned)
        });
        targets.push(format!("{name}: {now}/{}", wanted.unwrap_or_else(|| "<auto>".to_owned())));
    }
    if let Some(cpu) = view.at("/spec/targetCPUUtilizationPercentage").as_i64() {
        targets.push(format!("cpu: <unknown>/{cpu}%"));
    }
    let more = targets.len().saturating_sub(2);
    targets.truncate(2);
    let mut text = if targets.is_empty() { "<none>".to_owned() } else { targets.join(", ") };
    if more > 0 {
        text.push_str(&format!(" + {more} more..."));
    }
    vec![
        json!(reference),
        json!(text),
        view.or("/spec/minReplicas", "<unset>"),
        json!(view.number("/spec/maxReplicas").to_string()),
        json!(view.number("/status/currentReplicas").to_string()),
        view.age(),
    ]
}

fn binding(view: &View<'_>) -> Vec<Value> {
    let role = format!("{}/{}", view.text("/roleRef/kind"), view.text("/roleRef/name"));
    let of = |kind: &str| {
        let subjects = view.list("/subjects").iter().filter(|subject| subject["kind"] == kind);
        let names: Vec<String> = subjects
            .map(|subject| {
                let name = subject["name"].as_str().unwrap_or_default();
                match subject["namespace"].as_str() {
                    Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
                    _ => name.to_owned(),
                }
            })
            .collect();
        json!(names.join(", "))
    };
    vec![json!(role), view.age(), of("User"), of("Group"), of("ServiceAccount")]
}

fn quota(view: &View<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let hard = match view.at("/status/hard").as_object() {
        Some(hard) => Some(hard),
        None => view.at("/spec/hard").as_object(),
    };
    let mut names: Vec<&String> = hard.into_iter().flat_map(|hard| hard.keys()).collect();
    names.sort();
    for name in names {
        let text = |value: Option<&Value>| {
            value
                .and_then(|v| v.as_str().map(str::to_owned).or_else(|| Some(v.to_string())))
                .unwrap_or_else(|| "0".to_owned())
        };
        let used = text(view.at("/status/used").get(name));
        let most = text(hard.and_then(|hard| hard.get(name)));
        let shown = format!("{name}: {used}/{most}");
        if name.starts_with("limits") { limits.push(shown) } else { requests.push(shown) }
    }
    vec![json!(requests.join(", ")), json!(limits.join(", ")), view.age()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_as_many_cells_as_columns_whatever_the_object_holds() {
        let now = Time::from_millis(0);
        for resource in kube_meaning::builtin().resources() {
            let columns = columns::line(resource).split('|').count();
            for object in
                [json!({"metadata": {"name": "x"}}), json!({"spec": [], "status": "odd", "metadata": 7})]
            {
                assert_eq!(cells(resource, &object, now).len(), columns, "{}", resource.kind);
            }
        }
    }
}
