//! How fast the API is in process, on one core: `cargo run --release -p sandbox-world --example world_speed`.

// A tool for people: its output is its purpose.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use sandbox_world::{Answer, Request, Time, World};

const NAMESPACE: &str = "/api/v1/namespaces";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/bench/deployments";

fn call(world: &mut World, method: &str, path: &str, query: &str, kind: &str, body: &str) -> u16 {
    let headers = [("content-type".to_owned(), kind.to_owned())];
    let request = Request { method, path, query, headers: &headers, body: body.as_bytes() };
    match world.handle(&request) {
        Answer::Whole(response) => response.status,
        Answer::Stream { .. } | Answer::Upgrade { .. } | Answer::Broken => 0,
    }
}

fn deployment(at: usize, image: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d{at}","labels":{{"app":"d{at}","team":"x"}}}},"spec":{{"replicas":2,"selector":{{"matchLabels":{{"app":"d{at}"}}}},"template":{{"metadata":{{"labels":{{"app":"d{at}"}}}},"spec":{{"containers":[{{"name":"main","image":"{image}","ports":[{{"containerPort":80}}],"env":[{{"name":"A","value":"1"}},{{"name":"B","value":"2"}}],"resources":{{"limits":{{"cpu":"500m","memory":"128Mi"}}}}}}]}}}}}}}}"#
    )
}

/// CPU time of this process: neighbours on the machine do not count.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}

fn row(what: &str, count: usize, took: Duration) {
    println!(
        "{what:<34} {count:>8} in {:>8.1} ms: {:>10.0} a second",
        took.as_secs_f64() * 1e3,
        count as f64 / took.as_secs_f64()
    );
}

/// Ten thousand objects as an application has them: a ConfigMap, a Service, a ServiceAccount and a Deployment in turn.
fn mixed() {
    let mut world = World::new(1, Time::from_millis(1_767_225_600_000));
    call(&mut world, "POST", NAMESPACE, "", "application/json", r#"{"metadata":{"name":"bench"}}"#);
    let before = resident();
    let objects = 10_000;
    let start = cpu();
    for at in 0..objects {
        let (plural, body) = match at % 4 {
            0 => (
                "configmaps",
                format!(
                    r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"d{at}"}},"data":{{"a":"1","b":"2"}}}}"#
                ),
            ),
            1 => (
                "services",
                format!(
                    r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"d{at}"}},"spec":{{"selector":{{"app":"d{at}"}},"ports":[{{"port":80}}]}}}}"#
                ),
            ),
            2 => (
                "serviceaccounts",
                format!(r#"{{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"name":"d{at}"}}}}"#),
            ),
            _ => ("deployments", deployment(at, "nginx:1")),
        };
        let path = match plural {
            "deployments" => format!("{DEPLOYMENTS}/d{at}"),
            _ => format!("{NAMESPACE}/bench/{plural}/d{at}"),
        };
        let code =
            call(&mut world, "PATCH", &path, "fieldManager=kusion", "application/apply-patch+yaml", &body);
        assert_eq!(code, 201, "{path}");
    }
    row("apply, new, mixed kinds", objects, cpu() - start);
    println!("memory for {objects} mixed objects: {} MB", (resident() - before) / 1024);
}

fn main() {
    mixed();
    let mut world = World::new(1, Time::from_millis(1_767_225_600_000));
    let apply = "application/apply-patch+yaml";
    let namespace = r#"{"metadata":{"name":"bench"}}"#;
    assert_eq!(call(&mut world, "POST", NAMESPACE, "", "application/json", namespace), 201);
    let before = resident();

    let objects = 10_000;
    let start = cpu();
    for at in 0..objects {
        let path = format!("{DEPLOYMENTS}/d{at}");
        let code = call(
            &mut world,
            "PATCH",
            &path,
            "fieldManager=kusion&force=true",
            apply,
            &deployment(at, "nginx:1"),
        );
        assert_eq!(code, 201);
    }
    row("apply, new", objects, cpu() - start);
    println!("memory for {objects} Deployments: {} MB", (resident() - before) / 1024);

    let start = cpu();
    for at in 0..objects {
        let path = format!("{DEPLOYMENTS}/d{at}");
        call(&mut world, "PATCH", &path, "fieldManager=kusion", apply, &deployment(at, "nginx:1"));
    }
    row("apply, nothing to do", objects, cpu() - start);

    let start = cpu();
    for at in 0..objects {
        let path = format!("{DEPLOYMENTS}/d{at}");
        call(&mut world, "PATCH", &path, "fieldManager=kusion", apply, &deployment(at, "nginx:2"));
    }
    row("apply, changed", objects, cpu() - start);

    let paths: Vec<String> = (0..objects).map(|at| format!("{DEPLOYMENTS}/d{at}")).collect();
    for path in &paths {
        call(&mut world, "GET", path, "", "", "");
    }
    let reads = 400_000;
    let start = cpu();
    for at in 0..reads {
        assert_eq!(call(&mut world, "GET", &paths[at % objects], "", "", ""), 200);
    }
    row("get", reads, cpu() - start);

    let lists = 20;
    let start = cpu();
    for _ in 0..lists {
        call(&mut world, "GET", DEPLOYMENTS, "limit=500", "", "");
    }
    row("list of 500", lists, cpu() - start);
    println!("memory at the end, one older revision kept for watches: {} MB", (resident() - before) / 1024);
}
