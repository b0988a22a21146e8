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

/// Rolls `count` Deployments out, twice; the time of each.
fn roll(count: usize, show: bool) -> [Duration; 2] {
    let mut world = World::with_defaults(1, Time::from_millis(1_767_225_600_000));
    let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bench"}}"#;
    call(&mut world, "PATCH", "/api/v1/namespaces/bench", namespace);
    world.advance(Duration::ZERO);
    ["nginx:1", "nginx:2"].map(|image| {
        let (start, revision) = (cpu(), world.revision());
        for at in 0..count {
            let path = format!("/apis/apps/v1/namespaces/bench/deployments/d{at}");
            let code = call(&mut world, "PATCH", &path, &deployment(at, image));
            assert!(code < 300, "{code}");
        }
        let passed = world.settle(Duration::from_secs(600));
        let took = cpu() - start;
        if show {
            println!(
                "{count} deployments of 2 to {image}: {:.1} ms, {} writes, {:.1} s of the world",
                took.as_secs_f64() * 1e3,
                world.revision() - revision,
                passed.as_secs_f64()
            );
        }
        took
    })
}

fn main() {
    roll(1, true);
    // The clock of the processor is coarse: one rollout is a share of many, each in a world of its own.
    let worlds = 100;
    let mut sums = [Duration::ZERO; 2];
    for _ in 0..worlds {
        for (sum, took) in sums.iter_mut().zip(roll(1, false)) {
            *sum += took;
        }
    }
    let each = sums.map(|sum| sum.as_secs_f64() * 1e3 / f64::from(worlds));
    println!("a rollout of 2 pods, mean of {worlds}: new {:.2} ms, another image {:.2} ms", each[0], each[1]);
    roll(100, true);
}
