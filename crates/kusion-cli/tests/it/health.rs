//! Health of files.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::{kusion, run, text};

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: n}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: n, uid: u1}
  spec: {containers: [{name: c, image: x}]}
  status:
    phase: Pending
    containerStatuses:
    - {name: c, ready: false, restartCount: 0, image: x, state: {waiting: {reason: ImagePullBackOff, message: nope}}}
";

#[test]
fn health_reads_yaml_from_standard_input_and_prints_rows_in_input_order() {
    let home = tempfile::tempdir().unwrap();
    let mut child = kusion(home.path())
        .args(["health", "-f", "-", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(OBJECTS.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    // An array, without a schema: whoever judges many objects reads rows.
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["v1:ConfigMap:n:a", "v1:Pod:n:p"]);
    assert_eq!(rows[0]["verdict"], "healthy");
    assert!(rows[0]["cause"].is_null());
    assert_eq!(rows[1]["verdict"], "failed");
    let keys: Vec<&String> = rows[1].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "verdict", "reason", "message", "cause", "next"]);
}

#[test]
fn health_of_a_missing_or_broken_file_is_a_usage_error() {
    let home = tempfile::tempdir().unwrap();
    let missing = run(kusion(home.path()).args(["health", "-f", "/nowhere.yaml"]), 1);
    assert!(text(&missing.stderr).contains("cause"));
    let broken = home.path().join("broken.yaml");
    std::fs::write(&broken, "a: [\n").unwrap();
    run(kusion(home.path()).args(["health", "-f", broken.to_str().unwrap()]), 1);
    run(kusion(home.path()).arg("health"), 1);
}
