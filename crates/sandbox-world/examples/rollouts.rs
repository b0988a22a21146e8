//! What rollouts cost in virtual time, in CPU time of one core: `cargo run --release -p sandbox-world --example rollouts`.

// A tool for people: its output is its purpose.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use sandbox_world::{Answer, Request, Time, World};

fn call(world: &mut World, method: &str, path: &str, body: &str) -> u16 {
    let headers = [("content-type".to_owned(), "application/apply-patch+yaml".to_owned())];
    let query = "fieldManager=kusion&force=true";
    let request = Request { method, path, query, headers: &headers, body: body.as_bytes() };
    match world.handle(&request) {
        Answer::Whole(response) => response.status,
        Answer::Stream { .. } | Answer::Upgrade { .. } | Answer::Broken => 0,
    }
}

fn deployment(at: usize, image: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d{at}"}},"spec":{{"replicas":2,"selector":{{"matchLabels":{{"app":"d{at}"}}}},"template":{{"metadata":{{"labels":{{"app":"d{at}"}}}},"spec":{{"containers":[{{"name":"main","image":"{image}"}}]}}}}}}}}"#
    )
}

/// CPU time of this process: neighbours on the machine do not count.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

fn main() {
    for count in [1, 100] {
        let mut world = World::with_defaults(1, Time::from_millis(1_767_225_600_000));
        let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bench"}}"#;
        call(&mut world, "PATCH", "/api/v1/namespaces/bench", namespace);
        world.advance(Duration::ZERO);
        for image in ["nginx:1", "nginx:2"] {
            let start = cpu();
            let revision = world.revision();
            for at in 0..count {
                let path = format!("/apis/apps/v1/namespaces/bench/deployments/d{at}");
                let code = call(&mut world, "PATCH", &path, &deployment(at, image));
                assert!(code < 300, "{code}");
            }
            let passed = world.settle(Duration::from_secs(600));
            let took = cpu() - start;
            println!(
                "{count} deployments of 2 to {image}: {:.1} ms, {} writes, {:.1} s of the world",
                took.as_secs_f64() * 1e3,
                world.revision() - revision,
                passed.as_secs_f64()
            );
        }
    }
}
