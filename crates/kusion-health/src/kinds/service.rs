//! Service, Endpoints, EndpointSlice: a load balancer needs an address, everything else is there at once.

use crate::cause::shorten;
use crate::context::Context;
use crate::verdict::Verdict;
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let kind = object.str("/spec/type");
    if kind == "ExternalName" {
        return Verdict::healthy("ExternalName", format!("alias of {}", object.str("/spec/externalName")));
    }
    let address = object.str("/spec/clusterIP");
    if address.is_empty() && object.stored() {
        return Verdict::progressing("NoClusterIP", "no cluster address has been assigned yet");
    }
    if kind == "LoadBalancer" {
        return load_balancer(object, context);
    }
    let message = if address.is_empty() {
        "nothing to wait for".to_owned()
    } else {
        format!("cluster address {address}")
    };
    endpoints_warning(Verdict::healthy("Available", message), object, context)
}

/// Addresses a load balancer has published; an entry with neither ip nor hostname does not count.
pub(crate) fn addresses<'a>(object: View<'a>) -> Vec<&'a str> {
    let entries = object.items("/status/loadBalancer/ingress");
    let text = |entry: View<'a>| {
        ["/ip", "/hostname"].iter().map(|field| entry.str(field)).find(|text| !text.is_empty())
    };
    entries.filter_map(text).collect()
}

fn load_balancer(object: View<'_>, context: &Context<'_>) -> Verdict {
    let mut found = addresses(object);
    found.extend(object.list("/spec/externalIPs").iter().filter_map(serde_json::Value::as_str));
    if !found.is_empty() {
        return endpoints_warning(Verdict::healthy("Address", found.join(", ")), object, context);
    }
    let verdict = Verdict::progressing("LoadBalancerPending", "the load balancer has no address yet");
    let events = context.events(object);
    if let Some(event) = events.iter().find(|event| event.reason == "SyncLoadBalancerFailed") {
        let text =
            format!("the load balancer of {} cannot be made: {}", object.name(), shorten(event.message, 300));
        let verdict = verdict.because(text).naming(object.name());
        return verdict.then("look at the cloud controller and its rights");
    }
    let conditions = crate::condition::Conditions::of(object);
    if let Some(ports) = conditions.truly("LoadBalancerPortsError") {
        let text = format!("the load balancer of {} cannot be made: {}", object.name(), ports.says());
        return verdict.because(text).naming(object.name());
    }
    if events.iter().any(|event| event.reason == "EnsuringLoadBalancer") {
        let text = format!("the cloud is still making the load balancer of {}", object.name());
        return verdict.because(text).naming(object.name());
    }
    verdict
        .because("nobody serves LoadBalancer services here: no controller has reported on it")
        .then("install a load balancer controller, or use type NodePort or ClusterIP")
}

/// Endpoints belong to the workload: missing ones are a warning, never a verdict.
fn endpoints_warning(verdict: Verdict, object: View<'_>, context: &Context<'_>) -> Verdict {
    let selects = !object.keys("/spec/selector").is_empty();
    match ready_endpoints(object, context) {
        Some(0) if selects => verdict.warn("NoEndpoints: no ready endpoint"),
        _ => verdict,
    }
}

/// Ready endpoints over all slices of a Service; `None` when neither slices nor Endpoints are known.
pub(crate) fn ready_endpoints(service: View<'_>, context: &Context<'_>) -> Option<usize> {
    let slices = context.snapshot.of_kind("discovery.k8s.io", "EndpointSlice").filter(|slice| {
        slice.namespace() == service.namespace()
            && slice.label("kubernetes.io/service-name") == Some(service.name())
    });
    let counts: Vec<usize> = slices.map(slice_ready).collect();
    if !counts.is_empty() {
        return Some(counts.into_iter().sum());
    }
    let endpoints = context.snapshot.find("", "Endpoints", service.namespace(), service.name())?;
    Some(endpoints.items("/subsets").map(|subset| subset.list("/addresses").len()).sum())
}

/// An endpoint without a `ready` value counts as ready.
fn slice_ready(slice: View<'_>) -> usize {
    let ready = |endpoint: &View<'_>| {
        let value = endpoint.get("/conditions/ready");
        value.is_none_or(|ready| ready.as_bool().unwrap_or(true))
    };
    slice.items("/endpoints").filter(ready).count()
}

pub(crate) fn endpoints(object: View<'_>) -> Verdict {
    let count: usize = object.items("/subsets").map(|subset| subset.list("/addresses").len()).sum();
    let verdict = Verdict::healthy("Exists", format!("{count} addresses"));
    if count == 0 { verdict.warn("no ready address") } else { verdict }
}

pub(crate) fn slice(object: View<'_>) -> Verdict {
    Verdict::healthy("Exists", format!("{} ready endpoints", slice_ready(object)))
}
