//! Addresses of Services: what the server allocates and checks beyond plain fields.
//!
//! In: the prepared Service, the live one, and the caller's pool of addresses. Out, in place: `clusterIP(s)`, IP families,
//! node ports; or the refusals of a single-stack cluster. The pool is the caller's, because only the world knows what is free.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::elem::Elem;
use crate::managed::Managed;
use crate::reach::Reach;
use crate::status::{Cause, Refusal};

/// Where free addresses and ports come from.
pub trait Pool {
    /// A free cluster address.
    fn address(&mut self) -> String;
    /// A free node port.
    fn node_port(&mut self) -> u16;
    /// Why an address that a Service asks for cannot be given.
    fn refuses_address(&self, _address: &str) -> Option<String> {
        None
    }
    /// Why a node port that a Service asks for cannot be given.
    fn refuses_port(&self, _port: i64) -> Option<String> {
        None
    }
}

/// Completes a Service of a single-stack IPv4 cluster.
pub fn allocate(service: &mut Value, live: Option<&Value>, pool: &mut dyn Pool) -> Result<(), Refusal> {
    let external = service["spec"]["type"] == "ExternalName";
    if external {
        return release(service, live);
    }
    let before = live.map(|l| &l["spec"]);
    let refuse = |causes: Vec<Cause>| {
        Refusal::invalid("", "Service", service["metadata"]["name"].as_str().unwrap_or_default(), causes)
    };
    let asked = asked_address(&service["spec"], before, pool).map(|cause| refuse(vec![cause]));
    let ports = asked_ports(&service["spec"], before, pool).map(|cause| refuse(vec![cause]));
    addresses(&mut service["spec"], pool);
    families(&mut service["spec"], before);
    check_stack(service)?;
    if let Some(refusal) = asked.or(ports) {
        return Err(refusal);
    }
    node_ports(&mut service["spec"], pool);
    drop_traffic_policy(&mut service["spec"], before);
    Ok(())
}

/// The address a Service asks for, if it cannot have it. One that has an address cannot change it: validation says so.
fn asked_address(spec: &Value, live: Option<&Value>, pool: &dyn Pool) -> Option<Cause> {
    let asked = spec["clusterIP"].as_str().or_else(|| spec["clusterIPs"][0].as_str())?;
    let has_one =
        live.is_some_and(|live| live["clusterIP"].as_str().is_some_and(|address| !address.is_empty()));
    if has_one || matches!(asked, "" | "None") {
        return None;
    }
    if asked.parse::<IpAddr>().is_err() {
        let text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        return Some(Cause::invalid("spec.clusterIPs[0]", &json!(asked), text));
    }
    let why = pool.refuses_address(asked)?;
    Some(Cause::invalid("spec.clusterIPs", &json!([asked]), &format!("failed to allocate IP {asked}: {why}")))
}

/// The first node port a Service asks for and cannot have. Two protocols of one port may share one.
fn asked_ports(spec: &Value, live: Option<&Value>, pool: &dyn Pool) -> Option<Cause> {
    if !has_node_ports(spec) {
        return None;
    }
    let of = |spec: &Value| -> Vec<(i64, Value)> {
        let ports = spec["ports"].as_array().into_iter().flatten();
        ports.map(|port| (port["nodePort"].as_i64().unwrap_or(0), port["port"].clone())).collect()
    };
    let kept = live.map(of).unwrap_or_default();
    let asked = of(spec);
    asked.iter().enumerate().filter(|(_, (port, _))| *port != 0).find_map(|(at, (port, inner))| {
        let path = format!("spec.ports[{at}].nodePort");
        let earlier = &asked[..at];
        if earlier.iter().any(|other| other.0 == *port && other.1 != *inner) {
            return Some(Cause::invalid(&path, &json!(port), "provided port is already allocated"));
        }
        let ours = kept.iter().chain(earlier).any(|other| other.0 == *port);
        let why = if ours { None } else { pool.refuses_port(*port) };
        why.map(|why| Cause::invalid(&path, &json!(port), &why))
    })
}

/// An external name has no addresses: kept ones are released, asked-for ones refused.
fn release(service: &mut Value, live: Option<&Value>) -> Result<(), Refusal> {
    let name = service["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
    let kept = |key: &str| live.is_some_and(|l| l["spec"].get(key) == spec.get(key));
    let asked = spec.get("clusterIP").and_then(Value::as_str).is_some_and(|ip| !ip.is_empty());
    if asked && !kept("clusterIP") {
        let cause = Cause::forbidden("spec.clusterIPs", "may not be set for ExternalName services");
        return Err(Refusal::invalid("", "Service", &name, vec![cause]));
    }
    let fields = [
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "allocateLoadBalancerNodePorts",
        "loadBalancerClass",
    ];
    for key in fields {
        spec.shift_remove(key);
    }
    Ok(())
}

fn addresses(spec: &mut Value, pool: &mut dyn Pool) {
    let given = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    if given.is_empty() {
        let first = spec["clusterIPs"][0].as_str().map(str::to_owned);
        spec["clusterIP"] = Value::from(first.unwrap_or_else(|| pool.address()));
    }
    if spec["clusterIPs"].as_array().is_none_or(Vec::is_empty) {
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
    }
}

fn has_selector(spec: &Value) -> bool {
    spec["selector"].as_object().is_some_and(|s| !s.is_empty())
}

fn families(spec: &mut Value, live: Option<&Value>) {
    // A headless Service without selector may have any family: its endpoints are written by hand.
    let free = spec["clusterIP"] == "None" && !has_selector(spec);
    let single = spec["ipFamilyPolicy"] == "SingleStack";
    if single && live.is_some_and(|l| l["ipFamilyPolicy"] != "SingleStack") {
        if let Some(families) = spec.get_mut("ipFamilies").and_then(Value::as_array_mut) {
            families.truncate(1);
        }
        if let Some(addresses) = spec.get_mut("clusterIPs").and_then(Value::as_array_mut) {
            addresses.truncate(1);
        }
    }
    if spec["ipFamilies"].is_null() {
        spec["ipFamilies"] = if free && !single { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) };
    }
    if spec["ipFamilyPolicy"].is_null() {
        let dual = spec["ipFamilies"].as_array().is_some_and(|f| f.len() > 1);
        spec["ipFamilyPolicy"] = Value::from(if dual { "RequireDualStack" } else { "SingleStack" });
    }
}

fn has_node_ports(spec: &Value) -> bool {
    let balanced = spec["type"] == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != false;
    spec["type"] == "NodePort" || balanced
}

fn node_ports(spec: &mut Value, pool: &mut dyn Pool) {
    let wanted = has_node_ports(spec);
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let present = port.get("nodePort").and_then(Value::as_i64).is_some_and(|n| n != 0);
        match (wanted, present) {
            (true, false) => {
                port.insert("nodePort".to_owned(), Value::from(pool.node_port()));
            }
            (false, true) if !wanted => {
                port.shift_remove("nodePort");
            }
            _ => {}
        }
    }
}

/// A Service that became an external name keeps its internal traffic policy in the store; readers never see it, but ownership
/// and patches do. Returns the object as it is stored, when that differs from what is read.
pub(crate) fn as_stored(service: &Value, managed: &Managed) -> Option<Value> {
    let spec = service.get("spec")?;
    let hidden = spec.get("type")? == "ExternalName" && spec.get("internalTrafficPolicy").is_none();
    let path = [Elem::field("spec"), Elem::field("internalTrafficPolicy")];
    let tracked = hidden && managed.entries.iter().any(|e| e.fields.has(&path));
    tracked.then(|| {
        let mut stored = service.clone();
        stored["spec"]["internalTrafficPolicy"] = Value::from("Cluster");
        stored
    })
}

/// Hides what readers of an external name never see.
pub fn hide(service: &mut Value) {
    if service.at("/spec/type").is_some_and(|t| t == "ExternalName")
        && let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.shift_remove("internalTrafficPolicy");
    }
}

/// Whether the Service can be reached from outside, so that an external traffic policy means something.
pub(crate) fn is_reachable(spec: &Value) -> bool {
    let addresses = spec["externalIPs"].as_array().is_some_and(|l| !l.is_empty());
    match spec["type"].as_str() {
        Some("NodePort" | "LoadBalancer") => true,
        Some("ClusterIP") | None => addresses,
        Some(_) => false,
    }
}

fn drop_traffic_policy(spec: &mut Value, live: Option<&Value>) {
    let Some(live) = live else { return };
    let same = spec["externalTrafficPolicy"] == live["externalTrafficPolicy"];
    if is_reachable(live)
        && !is_reachable(spec)
        && same
        && let Some(map) = spec.as_object_mut()
    {
        map.shift_remove("externalTrafficPolicy");
    }
}

fn check_stack(service: &Value) -> Result<(), Refusal> {
    let spec = &service["spec"];
    let free = spec["clusterIP"] == "None" && !has_selector(spec);
    if free {
        return Ok(());
    }
    let mut causes = Vec::new();
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let text = "this cluster is not configured for dual-stack services";
        causes.push(Cause::invalid("spec.ipFamilyPolicy", &spec["ipFamilyPolicy"], text));
    }
    for (i, family) in spec["ipFamilies"].as_array().into_iter().flatten().enumerate() {
        if family == "IPv6" {
            causes.push(Cause::invalid(
                &format!("spec.ipFamilies[{i}]"),
                family,
                "not configured on this cluster",
            ));
        }
    }
    match causes.is_empty() {
        true => Ok(()),
        false => Err(Refusal::invalid(
            "",
            "Service",
            service["metadata"]["name"].as_str().unwrap_or_default(),
            causes,
        )),
    }
}
