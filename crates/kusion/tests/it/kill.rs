//! kill -9 at every write of an apply of ten resources: a second run converges, nothing is left over or made twice.

use serde_json::Value;

use crate::lab::{Kill, Lab, config_map, deployment, namespace, service, spec};

/// A namespace, six ConfigMaps, two workloads and a Service.
fn ten(value: &str) -> Value {
    let mut objects = vec![namespace()];
    objects.extend((0..6).map(|n| config_map(&format!("c{n}"), value)));
    objects.extend([deployment("web", "web:v1"), deployment("api", "api:v1"), service("web")]);
    spec(&objects)
}

async fn kill_everywhere(at: fn(usize) -> Kill, second: &Value) {
    for number in 0..40 {
        let lab = Lab::new();
        lab.kill(at(number));
        let finished = lab.try_apply(&ten("1")).await.is_some();
        lab.kill(Kill::Never);
        let report = lab.apply(second).await;
        assert!(report.is_success(), "{:?}: {report:#?}", at(number));
        lab.assert_converged(second, &format!("{:?}", at(number))).await;
        let nothing = spec(&[]);
        lab.apply(&nothing).await;
        lab.assert_converged(&nothing, &format!("{:?}, then destroyed", at(number))).await;
        if finished {
            return;
        }
    }
    panic!("the apply never ran to its end");
}

#[tokio::test(start_paused = true)]
async fn killed_before_any_write() {
    kill_everywhere(Kill::Before, &ten("1")).await;
}

#[tokio::test(start_paused = true)]
async fn killed_after_any_write() {
    kill_everywhere(Kill::After, &ten("1")).await;
}

#[tokio::test(start_paused = true)]
async fn killed_and_then_another_configuration() {
    let other =
        spec(&[namespace(), config_map("c0", "2"), config_map("new", "1"), deployment("web", "web:v2")]);
    kill_everywhere(Kill::After, &other).await;
}
