//! Validation in the server's words: names, labels, and the rules that people break most often per kind.
//!
//! In: a decoded object. Out: one 422 with all causes. This is not the whole of the server's validation: it covers what a
//! generated or edited manifest commonly gets wrong; an object that passes here may still be refused by a real server.

use serde_json::Value;

use crate::crd;
use crate::names::{label_value, name_check, qualified_name};
use crate::owners::check_owners;
use crate::reach::Reach;
use crate::schedule::Schedule;
use crate::selectors::LabelSelector;
use crate::ssa::Target;
use crate::status::{Cause, Refusal};
use crate::validate_webhooks::webhooks;

/// Checks an object; `live` is the present one on updates.
pub fn validate(target: Target<'_>, object: &Value, live: Option<&Value>) -> Result<(), Refusal> {
    let causes = problems(target, object, live);
    if causes.is_empty() {
        return Ok(());
    }
    let name = object.at("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Refusal::invalid(&target.resource.group, &target.resource.kind, name, causes))
}

/// Everything that is wrong with an object.
pub fn problems(target: Target<'_>, object: &Value, live: Option<&Value>) -> Vec<Cause> {
    let resource = target.resource;
    let mut causes = Vec::new();
    metadata(target, object, &mut causes);
    match &resource.structural {
        Some(structural) => causes.extend(crd::check_values(structural, object, live, None)),
        None if target.subresource.is_empty() => by_kind(resource.kind.as_str(), object, &mut causes),
        None if target.subresource == "status" && resource.kind == "Service" => balancer(object, &mut causes),
        None => {}
    }
    causes
}

fn metadata(target: Target<'_>, object: &Value, causes: &mut Vec<Cause>) {
    let empty = Value::Null;
    let meta = object.get("metadata").unwrap_or(&empty);
    let name = meta.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Some(text) = name_check(&target.resource.group, &target.resource.kind)(name) {
        causes.push(Cause::invalid("metadata.name", &Value::from(name), &text));
    }
    labels(meta.get("labels"), "metadata.labels", causes);
    check_owners(meta.get("ownerReferences"), causes);
    for (key, _) in meta.get("annotations").and_then(Value::as_object).into_iter().flatten() {
        if let Some(text) = qualified_name(&key.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &Value::from(key.as_str()), &text));
        }
    }
    for (i, finalizer) in meta.get("finalizers").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let text = finalizer.as_str().unwrap_or_default();
        let known = matches!(text, "orphan" | "foregroundDeletion" | "kubernetes");
        if let Some(problem) = qualified_name(text) {
            causes.push(Cause::invalid(&format!("metadata.finalizers[{i}]"), finalizer, &problem));
        } else if !known && !text.contains('/') {
            causes.push(Cause::invalid(
                "metadata.finalizers",
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
}

fn labels(value: Option<&Value>, field: &str, causes: &mut Vec<Cause>) {
    for (key, value) in value.and_then(Value::as_object).into_iter().flatten() {
        if let Some(text) = qualified_name(key) {
            causes.push(Cause::invalid(field, &Value::from(key.as_str()), &text));
        }
        if let Some(text) = value.as_str().and_then(label_value) {
            causes.push(Cause::invalid(field, value, &text));
        }
    }
}

fn by_kind(kind: &str, object: &Value, causes: &mut Vec<Cause>) {
    match kind {
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" => workload(kind, object, causes),
        "Job" => {
            job_selector(object, causes);
            job_template(&object["spec"]["template"]["spec"], "spec.template.spec", causes);
            pod(&object["spec"]["template"]["spec"], "spec.template.spec", causes);
        }
        "CronJob" => {
            let spec = &object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
            match object["spec"]["schedule"].as_str().unwrap_or_default() {
                "" => causes.push(Cause::required("spec.schedule", "")),
                schedule => {
                    if let Err(why) = Schedule::parse(schedule) {
                        let given = &object["spec"]["schedule"];
                        causes.push(Cause::invalid("spec.schedule", given, &why.to_string()));
                    }
                }
            }
            job_template(spec, "spec.jobTemplate.spec.template.spec", causes);
            pod(spec, "spec.jobTemplate.spec.template.spec", causes);
        }
        "Pod" => pod(&object["spec"], "spec", causes),
        "Service" => service(&object["spec"], causes),
        "Ingress" => ingress(&object["spec"], causes),
        "Role" | "ClusterRole" => rules(object, causes),
        "ConfigMap" => data_size(object, &["data", "binaryData"], "", causes),
        "Secret" => {
            data_size(object, &["data"], "data", causes);
            secret_keys(object, causes);
        }
        "HorizontalPodAutoscaler" => autoscaler(&object["spec"], causes),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => webhooks(object, causes),
        _ => {}
    }
}

/// Types of Secrets say what must be in them.
fn secret_keys(object: &Value, causes: &mut Vec<Cause>) {
    let needed: &[&str] = match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    };
    for key in needed.iter().filter(|key| object["data"].get(**key).is_none()) {
        causes.push(Cause::required(&format!("data[{key}]"), ""));
    }
}

fn workload(kind: &str, object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let selector = &spec["selector"];
    let labels_field = "spec.template.metadata.labels";
    if selector.is_null() {
        causes.push(Cause::required("spec.selector", ""));
    } else if selector.as_object().is_some_and(serde_json::Map::is_empty) {
        let name = kind.to_lowercase();
        causes.push(Cause::invalid(
            "spec.selector",
            selector,
            &format!("empty selector is invalid for {name}"),
        ));
    }
    let template = spec["template"]["metadata"].get("labels");
    labels(template, labels_field, causes);
    let matches = LabelSelector::from_json(selector)
        .is_ok_and(|s| !s.is_empty() && s.matches(template.and_then(Value::as_object)));
    if !matches {
        let text = "`selector` does not match template `labels`";
        causes.push(Cause::invalid(labels_field, template.unwrap_or(&Value::Null), text));
    }
    pod(&spec["template"]["spec"], "spec.template.spec", causes);
    // The volumes of a StatefulSet's claims are there when its pods are.
    let claims = spec["volumeClaimTemplates"].as_array().into_iter().flatten();
    let claims: Vec<String> =
        claims.map(|claim| format!("Not found: {}", claim["metadata"]["name"])).collect();
    causes.retain(|cause| cause.reason != "FieldValueNotFound" || !claims.contains(&cause.message));
    let policy = &spec["template"]["spec"]["restartPolicy"];
    if policy.as_str().is_some_and(|p| p != "Always") {
        causes.push(Cause::not_supported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
    if kind == "Deployment"
        && spec["strategy"]["type"] == "Recreate"
        && !spec["strategy"]["rollingUpdate"].is_null()
    {
        let text = "may not be specified when strategy `type` is 'Recreate'";
        causes.push(Cause::forbidden("spec.strategy.rollingUpdate", text));
    }
    if kind == "StatefulSet"
        && spec["updateStrategy"]["type"] == "OnDelete"
        && !spec["updateStrategy"]["rollingUpdate"].is_null()
    {
        let partition = &spec["updateStrategy"]["rollingUpdate"];
        causes.push(Cause::invalid(
            "spec.updateStrategy.rollingUpdate",
            partition,
            "only allowed for updateStrategy 'RollingUpdate'",
        ));
    }
    if spec["replicas"].as_i64().is_some_and(|n| n < 0) {
        causes.push(Cause::invalid("spec.replicas", &spec["replicas"], "must be greater than or equal to 0"));
    }
}

/// A Job selects its own pods by its uid, unless it says that it does not.
fn job_selector(object: &Value, causes: &mut Vec<Cause>) {
    let labels = object.at("/spec/template/metadata/labels");
    let selector = object.at("/spec/selector").unwrap_or(&Value::Null);
    let field = "spec.template.metadata.labels";
    if object.at("/spec/manualSelector") != Some(&Value::Bool(true)) {
        let text = |pointer: &str| object.at(pointer).and_then(Value::as_str).unwrap_or_default();
        for (key, wanted) in [("controller-uid", text("/metadata/uid")), ("job-name", text("/metadata/name"))]
        {
            if labels.and_then(|l| l.get(key)).and_then(Value::as_str) != Some(wanted) {
                causes.push(Cause::required(&format!("{field}[{key}]"), &format!("must be '{wanted}'")));
            }
        }
        if selector.at("/matchLabels/batch.kubernetes.io~1controller-uid").is_none() {
            causes.push(Cause::invalid("spec.selector", selector, "`selector` not auto-generated"));
        }
    }
    if !LabelSelector::from_json(selector).is_ok_and(|s| s.matches(labels.and_then(Value::as_object))) {
        let text = "`selector` does not match template `labels`";
        causes.push(Cause::invalid(field, labels.unwrap_or(&Value::Null), text));
    }
}

fn job_template(spec: &Value, field: &str, causes: &mut Vec<Cause>) {
    if spec["restartPolicy"] == "Always" {
        let text = "valid values: \"OnFailure\", \"Never\"";
        causes.push(Cause::required(&format!("{field}.restartPolicy"), text));
    }
}

fn pod(spec: &Value, field: &str, causes: &mut Vec<Cause>) {
    let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if containers.is_empty() {
        causes.push(Cause::required(&format!("{field}.containers"), ""));
    }
    let init = spec["initContainers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let volumes: Vec<&str> =
        spec["volumes"].as_array().into_iter().flatten().filter_map(|v| v["name"].as_str()).collect();
    for (i, name) in volumes.iter().enumerate() {
        if volumes[..i].contains(name) {
            causes.push(Cause::duplicate(&format!("{field}.volumes[{i}].name"), &Value::from(*name)));
        }
    }
    for (i, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        require(volume, &["name"], &format!("{field}.volumes[{i}]"), causes);
        for source in ["configMap", "secret"] {
            for (j, item) in volume[source]["items"].as_array().into_iter().flatten().enumerate() {
                require(item, &["key", "path"], &format!("{field}.volumes[{i}].{source}.items[{j}]"), causes);
            }
        }
    }
    for (i, spread) in spec["topologySpreadConstraints"].as_array().into_iter().flatten().enumerate() {
        if spread["maxSkew"].as_i64().unwrap_or(0) <= 0 {
            let at = format!("{field}.topologySpreadConstraints[{i}].maxSkew");
            causes.push(Cause::invalid(&at, &spread["maxSkew"], "must be greater than zero"));
        }
    }
    let mut seen: Vec<&str> = Vec::new();
    for (list, items) in [("containers", containers), ("initContainers", init)] {
        for (i, container) in items.iter().enumerate() {
            let at = format!("{field}.{list}[{i}]");
            let name = container["name"].as_str().unwrap_or_default();
            match name {
                "" => causes.push(Cause::required(&format!("{at}.name"), "")),
                name if seen.contains(&name) => {
                    causes.push(Cause::duplicate(&format!("{at}.name"), &container["name"]))
                }
                name => {
                    if let Some(text) = crate::names::label(name) {
                        causes.push(Cause::invalid(&format!("{at}.name"), &container["name"], &text));
                    }
                    seen.push(name);
                }
            }
            if container["image"].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::required(&format!("{at}.image"), ""));
            }
            self::container(container, &at, causes);
            mounts(container, &volumes, &at, causes);
        }
    }
}

fn container(container: &Value, at: &str, causes: &mut Vec<Cause>) {
    for (i, env) in container["env"].as_array().into_iter().flatten().enumerate() {
        if env["name"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(&format!("{at}.env[{i}].name"), ""));
        }
        for source in ["configMapKeyRef", "secretKeyRef"] {
            if let Some(from) = env["valueFrom"].get(source) {
                require(from, &["name", "key"], &format!("{at}.env[{i}].valueFrom.{source}"), causes);
            }
        }
    }
    for (i, from) in container["envFrom"].as_array().into_iter().flatten().enumerate() {
        for source in ["configMapRef", "secretRef"] {
            if let Some(reference) = from.get(source) {
                require(reference, &["name"], &format!("{at}.envFrom[{i}].{source}"), causes);
            }
        }
    }
    for (i, port) in container["ports"].as_array().into_iter().flatten().enumerate() {
        let number = port["containerPort"].as_i64().unwrap_or(0);
        match number {
            0 => causes.push(Cause::required(&format!("{at}.ports[{i}].containerPort"), "")),
            1..=65535 => {}
            _ => causes.push(Cause::invalid(
                &format!("{at}.ports[{i}].containerPort"),
                &port["containerPort"],
                "must be between 1 and 65535, inclusive",
            )),
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        for action in ["httpGet", "tcpSocket"] {
            if let Some(port) =
                container[probe].get(action).and_then(|a| a.get("port")).and_then(Value::as_str)
                && !port.bytes().any(|b| b.is_ascii_lowercase())
            {
                let field = format!("{at}.{probe}.{action}.port");
                causes.push(Cause::invalid(
                    &field,
                    &Value::from(port),
                    "must contain at least one letter (a-z)",
                ));
            }
        }
    }
    for hook in ["preStop", "postStart"] {
        let Some(exec) = container["lifecycle"][hook].get("exec") else { continue };
        if exec["command"].as_array().is_none_or(Vec::is_empty) {
            causes.push(Cause::required(&format!("{at}.lifecycle.{hook}.exec.command"), ""));
        }
    }
}

/// Texts that must not be empty.
fn require(value: &Value, keys: &[&str], at: &str, causes: &mut Vec<Cause>) {
    for key in keys {
        if value[*key].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(&format!("{at}.{key}"), ""));
        }
    }
}

fn mounts(container: &Value, volumes: &[&str], at: &str, causes: &mut Vec<Cause>) {
    for (i, mount) in container["volumeMounts"].as_array().into_iter().flatten().enumerate() {
        let name = mount["name"].as_str().unwrap_or_default();
        let field = format!("{at}.volumeMounts[{i}].name");
        require(mount, &["mountPath"], &format!("{at}.volumeMounts[{i}]"), causes);
        if name.is_empty() {
            causes.push(Cause::required(&field, ""));
        } else if !volumes.contains(&name) {
            let message = format!("Not found: {name:?}");
            causes.push(Cause { reason: "FieldValueNotFound", message, field });
        }
    }
}

fn service(spec: &Value, causes: &mut Vec<Cause>) {
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let headless = spec["clusterIP"] == "None" || spec["type"] == "ExternalName";
    if ports.is_empty() && !headless {
        causes.push(Cause::required("spec.ports", ""));
    }
    for (i, port) in ports.iter().enumerate() {
        if ports.len() > 1 && port["name"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(&format!("spec.ports[{i}].name"), ""));
        }
        if !port["port"].as_i64().is_some_and(|p| (1..=65535).contains(&p)) {
            causes.push(Cause::invalid(
                &format!("spec.ports[{i}].port"),
                &port["port"],
                "must be between 1 and 65535, inclusive",
            ));
        }
        let twin = ports[..i].iter().any(|p| p["port"] == port["port"] && p["protocol"] == port["protocol"]);
        if twin {
            causes.push(Cause::duplicate(&format!("spec.ports[{i}]"), port));
        }
    }
    if spec["type"] == "ExternalName" && spec["externalName"].as_str().unwrap_or_default().is_empty() {
        causes.push(Cause::required("spec.externalName", ""));
    }
}

fn balancer(object: &Value, causes: &mut Vec<Cause>) {
    let ingress = object["status"]["loadBalancer"]["ingress"].as_array().is_some_and(|l| !l.is_empty());
    if ingress && object["spec"]["type"] != "LoadBalancer" {
        let text = "may only be used when `spec.type` is 'LoadBalancer'";
        causes.push(Cause::forbidden("status.loadBalancer.ingress", text));
    }
}

fn ingress(spec: &Value, causes: &mut Vec<Cause>) {
    let rules = spec["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    if rules.is_empty() && spec["defaultBackend"].is_null() {
        causes.push(Cause::invalid(
            "spec",
            &Value::Null,
            "either `defaultBackend` or `rules` must be specified",
        ));
    }
    let backend = |backend: &Value, field: &str, causes: &mut Vec<Cause>| {
        if let Some(service) = backend.get("service") {
            if service["name"].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::required(&format!("{field}.service.name"), ""));
            } else if service["port"]["name"].is_null()
                && service["port"]["number"].as_i64().unwrap_or(0) == 0
            {
                causes.push(Cause::required(field, "port name or number is required"));
            } else if !service["port"]["name"].is_null()
                && service["port"]["number"].as_i64().unwrap_or(0) != 0
            {
                causes.push(Cause::invalid(
                    field,
                    &Value::from(""),
                    "cannot set both port name & port number",
                ));
            }
        }
    };
    let default = &spec["defaultBackend"];
    if default.is_object() && default["service"].is_null() && default["resource"].is_null() {
        let text = "resource or service backend is required";
        causes.push(Cause::invalid("spec.defaultBackend", &Value::from(""), text));
    }
    backend(default, "spec.defaultBackend", causes);
    for (i, rule) in rules.iter().enumerate() {
        for (j, path) in rule["http"]["paths"].as_array().into_iter().flatten().enumerate() {
            let field = format!("spec.rules[{i}].http.paths[{j}]");
            if path["pathType"].is_null() {
                causes.push(Cause::required(&format!("{field}.pathType"), "pathType must be specified"));
            }
            let kind = path["pathType"].as_str().unwrap_or_default();
            if matches!(kind, "Exact" | "Prefix")
                && !path["path"].as_str().unwrap_or_default().starts_with('/')
            {
                let given = path["path"].as_str().unwrap_or_default();
                causes.push(Cause::invalid(
                    &format!("{field}.path"),
                    &Value::from(given),
                    "must be an absolute path",
                ));
            }
            backend(&path["backend"], &format!("{field}.backend"), causes);
        }
    }
}

fn rules(object: &Value, causes: &mut Vec<Cause>) {
    for (i, rule) in object["rules"].as_array().into_iter().flatten().enumerate() {
        let filled = |key: &str| rule[key].as_array().is_some_and(|l| !l.is_empty());
        if !filled("verbs") {
            causes
                .push(Cause::required(&format!("rules[{i}].verbs"), "verbs must contain at least one value"));
        }
        if filled("nonResourceURLs") {
            continue;
        }
        if !filled("apiGroups") {
            causes.push(Cause::required(
                &format!("rules[{i}].apiGroups"),
                "resource rules must supply at least one api group",
            ));
        }
        if !filled("resources") {
            causes.push(Cause::required(
                &format!("rules[{i}].resources"),
                "resource rules must supply at least one resource",
            ));
        }
    }
}

/// Data of config maps and secrets is limited to 1 MiB.
const MAX_DATA: usize = 1 << 20;

fn data_size(object: &Value, fields: &[&str], at: &str, causes: &mut Vec<Cause>) {
    let size: usize = fields
        .iter()
        .flat_map(|f| object.get(*f).and_then(Value::as_object).into_iter().flatten())
        .map(|(_, v)| v.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_DATA {
        let message = format!("Too long: may not be more than {MAX_DATA} bytes");
        causes.push(Cause { reason: "FieldValueTooLong", message, field: at.to_owned() });
    }
}

fn autoscaler(spec: &Value, causes: &mut Vec<Cause>) {
    let max = spec["maxReplicas"].as_i64().unwrap_or(0);
    if max < 1 {
        causes.push(Cause::invalid("spec.maxReplicas", &spec["maxReplicas"], "must be greater than 0"));
    }
    if spec["minReplicas"].as_i64().is_some_and(|min| min > max) {
        causes.push(Cause::invalid(
            "spec.maxReplicas",
            &spec["maxReplicas"],
            "must be greater than or equal to `minReplicas`",
        ));
    }
    // Absent ones got their defaults: these were given as an empty list.
    for way in ["scaleUp", "scaleDown"] {
        let rules = &spec["behavior"][way];
        if rules.is_object() && rules["policies"].is_null() {
            let field = format!("spec.behavior.{way}.policies");
            causes.push(Cause::required(&field, "must specify at least one Policy"));
        }
    }
}
