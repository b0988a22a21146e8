//! Rows of kinds that are about the network.

use serde_json::{Value, json};

use super::cells::{View, joined, labels};

/// Cells of Services, endpoints, ingresses and policies.
pub(crate) fn cells(kind: &str, view: &View<'_>) -> Vec<Value> {
    let mut out = vec![view.name()];
    match kind {
        "Service" => out.extend(service(view)),
        "Endpoints" => {
            let mut all = Vec::new();
            for subset in view.list("/subsets") {
                for address in subset["addresses"].as_array().into_iter().flatten() {
                    for port in subset["ports"].as_array().into_iter().flatten() {
                        all.push(format!("{}:{}", address["ip"].as_str().unwrap_or_default(), port["port"]));
                    }
                }
            }
            let more = all.len().saturating_sub(3);
            all.truncate(3);
            let mut text = if all.is_empty() { "<none>".to_owned() } else { all.join(",") };
            if more > 0 {
                text.push_str(&format!(" + {more} more..."));
            }
            out.extend([json!(text), view.age()]);
        }
        "EndpointSlice" => {
            let ports: Vec<String> =
                view.list("/ports").iter().map(|port| port["port"].to_string()).collect();
            let addresses =
                view.list("/endpoints").iter().flat_map(|e| e["addresses"].as_array().into_iter().flatten());
            let addresses: Vec<String> = addresses.filter_map(Value::as_str).map(str::to_owned).collect();
            out.extend([
                view.at("/addressType").clone(),
                joined(&ports, "<unset>"),
                joined(&addresses, "<unset>"),
                view.age(),
            ]);
        }
        "Ingress" => {
            let hosts: Vec<String> = view
                .list("/spec/rules")
                .iter()
                .filter_map(|rule| rule["host"].as_str())
                .map(str::to_owned)
                .collect();
            let addresses = view.list("/status/loadBalancer/ingress").iter();
            let addresses: Vec<String> = addresses
                .filter_map(|a| a["ip"].as_str().or(a["hostname"].as_str()))
                .map(str::to_owned)
                .collect();
            let ports = if view.list("/spec/tls").is_empty() { "80" } else { "80, 443" };
            out.extend([
                view.or("/spec/ingressClassName", "<none>"),
                joined(&hosts, "*"),
                joined(&addresses, ""),
                json!(ports),
                view.age(),
            ]);
        }
        "IngressClass" => {
            let parameters = match view.at("/spec/parameters") {
                Value::Null => "<none>".to_owned(),
                p => {
                    let text = |key: &str| p[key].as_str().unwrap_or_default();
                    let group = if text("apiGroup").is_empty() {
                        String::new()
                    } else {
                        format!(".{}", text("apiGroup"))
                    };
                    format!("{}{group}/{}", text("kind"), text("name"))
                }
            };
            out.extend([view.or("/spec/controller", ""), json!(parameters), view.age()]);
        }
        _ => out.extend([view.selector("/spec/podSelector"), view.age()]),
    }
    out
}

fn service(view: &View<'_>) -> Vec<Value> {
    let kind = view.text("/spec/type");
    let ingress = view.list("/status/loadBalancer/ingress").iter();
    let balancers: Vec<String> =
        ingress.filter_map(|a| a["ip"].as_str().or(a["hostname"].as_str())).map(str::to_owned).collect();
    let own: Vec<String> =
        view.list("/spec/externalIPs").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let external = match kind {
        "LoadBalancer" => joined(&[balancers, own].concat(), "<pending>"),
        "ExternalName" => view.or("/spec/externalName", "<none>"),
        _ => joined(&own, "<none>"),
    };
    let ports: Vec<String> = view
        .list("/spec/ports")
        .iter()
        .map(|port| {
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            match port["nodePort"].as_i64().filter(|node| *node > 0) {
                Some(node) => format!("{}:{node}/{protocol}", port["port"]),
                None => format!("{}/{protocol}", port["port"]),
            }
        })
        .collect();
    let selector = labels(view.at("/spec/selector"));
    vec![
        json!(kind),
        view.or("/spec/clusterIP", "<none>"),
        external,
        joined(&ports, "<none>"),
        view.age(),
        selector,
    ]
}
