//! The launcher on the real executables; skipped loudly where they are not built.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use testenv::{ControlPlane, Options};

/// A plane of the test's own, or a skip by the same rule as the shared one.
fn own_plane() -> Option<ControlPlane> {
    testenv::binary()?;
    Some(ControlPlane::start(Options { controllers: false, ..Options::default() }).unwrap())
}

#[test]
fn a_deployment_becomes_available_with_its_pods_on_the_simulated_nodes() {
    let Some(plane) = testenv::shared() else { return };
    let kubectl = |arguments: &[&str]| {
        let output = plane.kubectl().args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    kubectl(&["create", "namespace", "launcher"]);
    kubectl(&["create", "deployment", "web", "--image=web:1", "--replicas=2", "-n", "launcher"]);
    kubectl(&["wait", "--for=condition=Available", "deployment/web", "-n", "launcher", "--timeout=300s"]);
    let nodes = kubectl(&["get", "pods", "-n", "launcher", "-o", "jsonpath={.items[*].spec.nodeName}"]);
    assert!(nodes.split(' ').all(|node| node.starts_with("node-")), "{nodes}");
    kubectl(&["delete", "namespace", "launcher", "--wait=false"]);
}

#[test]
fn a_dropped_plane_leaves_no_process_and_no_folder() {
    let Some(plane) = own_plane() else { return };
    let pids: Vec<u32> = plane.usage().iter().map(|usage| usage.pid).collect();
    let folder = plane.folder().to_owned();
    assert!(pids.len() >= 3 && folder.exists());
    assert_eq!(plane.http().get("/version").unwrap().status, 200);
    drop(plane);
    assert!(!folder.exists());
    let deadline = Instant::now() + Duration::from_secs(10);
    for pid in pids {
        while Path::new(&format!("/proc/{pid}")).exists() {
            assert!(Instant::now() < deadline, "process {pid} is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_plane_of_another_process_is_attached_by_its_folder_and_survives_the_drop() {
    let Some(plane) = testenv::shared() else { return };
    let attached = ControlPlane::attach(plane.folder()).unwrap();
    assert_eq!(attached.url(), plane.url());
    assert_eq!(attached.usage().len(), plane.usage().len());
    drop(attached);
    assert_eq!(plane.http().get("/readyz").unwrap().status, 200);
}
