//! `kusion port-forward`: a port of this machine that leads to a pod of the stack.

use std::sync::Arc;
use std::time::Duration;

use kube_meaning::id::KubeId;
use kusion_health::Snapshot;
use kusion_model::ResourceKey;
use kusion_runtime_k8s::KubeRuntime;
use kusion_store::wait;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::commands::logs::unseen;
use crate::input::chosen::open_named;
use crate::input::cluster::tokio;
use crate::input::flags::{Arg, Given, flag};
use crate::input::sight::{look, named, pods};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, tell};
use crate::views::progress::EVENT;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("output", Some('o'), "FORMAT", "text, or json: one line per port")]
}

/// `8080:80`; a local port of 0 is any free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ports {
    local: u16,
    remote: u16,
}

/// Where the connections go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Goal {
    namespace: String,
    pod: String,
    ports: Vec<Ports>,
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let (names, ports) = words(&given.rest)?;
    let (stack, wanted) = match names.as_slice() {
        [resource] => (given.last("workdir"), resource.clone()),
        [stack, resource] => (Some(stack.clone()), resource.clone()),
        _ => {
            return Err(Failure::usage("a stack and a resource, then ports")
                .next("kusion port-forward dev Service/web 8080:80"));
        }
    };
    let chosen = match open_named(given, stack.as_deref()) {
        // The one word that was given names a stack.
        Err(_) if stack.is_none() && open_named(given, Some(&wanted)).is_ok() => {
            return Err(Failure::usage(format!("which resource of `{wanted}`?")).next(format!(
                "kusion port-forward {wanted} Service/web 8080:80; `kusion ls {wanted}` lists them"
            )));
        }
        chosen => chosen?,
    };
    let state = wait(chosen.target.store.read())?;
    let mut keys = named(&chosen, &state, Some(&wanted))?;
    // Of several with one name those first that lead to pods most directly.
    let kind = |key: &ResourceKey| KubeId::from_parts(key.id.parts()).map(|id| id.kind).unwrap_or_default();
    keys.sort_by_key(|key| !matches!(kind(key).as_str(), "Service" | "Pod"));
    tokio()?.block_on(async {
        let sight = look(given, &chosen, &state, &keys).await?;
        for key in &keys {
            let Some((object, snapshot)) = sight.object(key) else { continue };
            let Some(goal) = goal(object, snapshot, &ports) else { continue };
            let Some(runtime) = sight.runtime(&key.cluster) else { continue };
            return serve(Arc::clone(runtime), &goal, format).await;
        }
        let unreadable = sight.unreadable();
        if !unreadable.is_empty() {
            return Err(unseen(&unreadable, &sight.server));
        }
        Err(Failure::new(Exit::Remote, format!("no pod of `{wanted}` can be reached"))
            .cause("none of its pods is running on a node")
            .place(sight.server.clone())
            .next(format!(
                "kusion status {}; a bare control plane runs no pods",
                chosen.target.called.there()
            )))
    })
}

/// Tells names from ports: ports come last and are numbers.
fn words(rest: &[String]) -> Result<(Vec<String>, Vec<Ports>), Failure> {
    let is_port = |word: &&String| word.starts_with(|c: char| c.is_ascii_digit() || c == ':');
    let at = rest.iter().position(|word| is_port(&word)).unwrap_or(rest.len());
    let ports = rest[at..].iter().map(|word| {
        let wrong =
            || Failure::usage(format!("`{word}` is no port")).next("8080:80, 8080, or :80 for any free port");
        let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
        let (local, remote) = match word.split_once(':') {
            Some(("", remote)) => (0, number(remote)?),
            Some((local, remote)) => (number(local)?, number(remote)?),
            None => (number(word)?, number(word)?),
        };
        if remote == 0 { Err(wrong()) } else { Ok(Ports { local, remote }) }
    });
    Ok((rest[..at].to_vec(), ports.collect::<Result<_, _>>()?))
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn port_at(value: &Value, pointer: &str) -> Option<u16> {
    value.pointer(pointer).and_then(Value::as_u64).and_then(|number| u16::try_from(number).ok())
}

fn goal(object: &Value, snapshot: &Snapshot, ports: &[Ports]) -> Option<Goal> {
    if text(object, "/kind") == "Service" {
        return behind_service(object, snapshot, ports);
    }
    let mut pods = pods(object, snapshot);
    // A ready one before one that only runs.
    pods.sort_by_key(|pod| !is_ready(pod));
    let pod = pods.into_iter().find(|pod| text(pod, "/status/phase") == "Running")?;
    let own = || {
        let containers = list(pod, "/spec/containers");
        let declared = containers.flat_map(|container| list(container, "/ports"));
        let numbers = declared.filter_map(|port| port_at(port, "/containerPort"));
        numbers.map(|port| Ports { local: port, remote: port }).collect()
    };
    let ports: Vec<Ports> = if ports.is_empty() { own() } else { ports.to_vec() };
    let goal = |ports| Goal {
        namespace: text(pod, "/metadata/namespace").to_owned(),
        pod: text(pod, "/metadata/name").to_owned(),
        ports,
    };
    (!ports.is_empty()).then(|| goal(ports))
}

fn is_ready(pod: &Value) -> bool {
    list(pod, "/status/conditions").any(|c| text(c, "/type") == "Ready" && text(c, "/status") == "True")
}

/// A ready endpoint of a Service, and its ports as the pod has them: the slices have them resolved.
fn behind_service(service: &Value, snapshot: &Snapshot, ports: &[Ports]) -> Option<Goal> {
    let (namespace, name) = (text(service, "/metadata/namespace"), text(service, "/metadata/name"));
    let label = "kubernetes.io/service-name";
    let mut slices = snapshot.objects().filter(|slice| {
        text(slice, "/kind") == "EndpointSlice"
            && text(slice, "/metadata/namespace") == namespace
            && slice.pointer("/metadata/labels").and_then(|labels| labels.get(label)).and_then(Value::as_str)
                == Some(name)
    });
    slices.find_map(|slice| {
        let ready = |endpoint: &&Value| {
            endpoint.pointer("/conditions/ready").and_then(Value::as_bool).unwrap_or(true)
                && text(endpoint, "/targetRef/kind") == "Pod"
        };
        let endpoint = list(slice, "/endpoints").find(ready)?;
        let named = |name: &str| list(slice, "/ports").find(|port| text(port, "/name") == name);
        let resolve = |port: &Value| port_at(named(text(port, "/name"))?, "/port");
        let of_service =
            |number: u16| list(service, "/spec/ports").find(|p| port_at(p, "/port") == Some(number));
        let mut found = Vec::new();
        if ports.is_empty() {
            for port in list(service, "/spec/ports") {
                found.push(Ports { local: port_at(port, "/port")?, remote: resolve(port)? });
            }
        }
        for asked in ports {
            // A number that the Service does not have is meant for the pod itself.
            let remote = of_service(asked.remote).and_then(resolve).unwrap_or(asked.remote);
            found.push(Ports { local: asked.local, remote });
        }
        let pod = text(endpoint, "/targetRef/name").to_owned();
        (!found.is_empty()).then(|| Goal { namespace: namespace.to_owned(), pod, ports: found })
    })
}

/// Listens on this machine only, until it is interrupted.
async fn serve(runtime: Arc<KubeRuntime>, goal: &Goal, format: Format) -> Result<(), Failure> {
    let mut listeners = Vec::new();
    for ports in &goal.ports {
        let listener = TcpListener::bind(("127.0.0.1", ports.local)).await.map_err(|error| {
            Failure::usage(format!("port {} of this machine cannot be used", ports.local))
                .cause(error.to_string())
                .next(format!("choose another, or any free one: :{}", ports.remote))
        })?;
        let local = listener.local_addr().map_or_else(|_| String::new(), |address| address.to_string());
        let line = match format {
            Format::Json => {
                json!({"schema": EVENT, "event": "forwarding", "local": local, "namespace": goal.namespace, "pod": goal.pod, "port": ports.remote})
                    .to_string()
            }
            Format::Text => format!("{local} leads to port {} of pod {}/{}", ports.remote, goal.namespace, goal.pod),
        };
        print(&format!("{line}\n"))?;
        listeners.push((listener, ports.remote));
    }
    let waits =
        listeners.into_iter().map(|(listener, port)| accept(listener, Arc::clone(&runtime), goal, port));
    futures::future::join_all(waits).await;
    Ok(())
}

async fn accept(listener: TcpListener, runtime: Arc<KubeRuntime>, goal: &Goal, port: u16) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is free, for example: it must not be asked again and again without a pause.
            ::tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (runtime, goal) = (Arc::clone(&runtime), goal.clone());
        ::tokio::spawn(async move {
            if let Err(problem) = carry(&runtime, &goal, port, stream).await {
                tell(&format!("port {port} of pod {}: {problem}\n", goal.pod));
            }
        });
    }
}

async fn carry(runtime: &KubeRuntime, goal: &Goal, port: u16, mut stream: TcpStream) -> Result<(), String> {
    let forward = runtime.forward(&goal.namespace, &goal.pod, port).await.map_err(|error| error.message)?;
    forward.carry(&mut stream).await.map_err(|error| error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<String>, Vec<Ports>), Failure> {
        words(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn ports_come_after_the_names() {
        let (names, ports) = read("dev Service/web 8080:80 :443 9000").unwrap();
        assert_eq!(names, ["dev", "Service/web"]);
        let pairs: Vec<(u16, u16)> = ports.iter().map(|ports| (ports.local, ports.remote)).collect();
        assert_eq!(pairs, [(8080, 80), (0, 443), (9000, 9000)]);
        assert_eq!(read("web 8080:http").unwrap_err().what, "`8080:http` is no port");
        assert!(read("web 80:0").is_err());
    }

    #[test]
    fn ports_of_a_service_are_those_of_its_pods() {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "n"},
            "spec": {"ports": [{"name": "http", "port": 80, "targetPort": "web"}]}});
        let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "web-1", "namespace": "n", "labels": {"kubernetes.io/service-name": "web"}},
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": [{"conditions": {"ready": false}, "targetRef": {"kind": "Pod", "name": "web-a"}},
                          {"conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": "web-b"}}]});
        let snapshot = Snapshot::of([service.clone(), slice]);
        let found = goal(&service, &snapshot, &[]).unwrap();
        assert_eq!((found.pod.as_str(), found.ports[0].local, found.ports[0].remote), ("web-b", 80, 8080));
        let asked = goal(&service, &snapshot, &[Ports { local: 9, remote: 80 }]).unwrap();
        assert_eq!(asked.ports, [Ports { local: 9, remote: 8080 }]);
    }

    #[test]
    fn workload_leads_to_a_pod_that_is_ready() {
        let pod = |name: &str, ready: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "n",
                "ownerReferences": [{"kind": "StatefulSet", "apiVersion": "apps/v1", "name": "db", "uid": "u"}]},
                "spec": {"containers": [{"name": "main", "ports": [{"containerPort": 5432}]}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
        };
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "n", "uid": "u"}});
        let snapshot = Snapshot::of([set.clone(), pod("db-0", "False"), pod("db-1", "True")]);
        let found = goal(&set, &snapshot, &[]).unwrap();
        assert_eq!((found.pod.as_str(), found.ports[0].remote), ("db-1", 5432));
    }
}
