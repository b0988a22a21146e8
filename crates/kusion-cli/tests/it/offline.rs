//! What needs no cluster: health of files, generate, wrong inputs.

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

#[test]
fn generate_prints_the_resources_of_a_stack_by_folder_and_by_name() {
    let home = tempfile::tempdir().unwrap();
    let by_folder = run(kusion(home.path()).args(["generate", "konfig/appops/nginx/dev", "-o", "json"]), 0);
    let by_name = run(kusion(home.path()).args(["compile", "nginx/dev", "-o", "json"]), 0);
    assert_eq!(by_folder.stdout, by_name.stdout);
    let spec: Value = serde_json::from_slice(&by_folder.stdout).unwrap();
    let ids: Vec<&str> =
        spec["resources"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert!(ids.iter().any(|id| id.starts_with("apps/v1:Deployment:")), "{ids:?}");
    assert!(ids.iter().any(|id| id.starts_with("v1:Service:")), "{ids:?}");
}

#[test]
fn wrong_words_are_answered_with_the_right_ones() {
    let home = tempfile::tempdir().unwrap();
    let typo = run(kusion(home.path()).arg("aply"), 1);
    assert!(text(&typo.stderr).contains("did you mean `kusion apply`"), "{}", text(&typo.stderr));
    let flag = run(kusion(home.path()).args(["preview", "--contxt", "x"]), 1);
    assert!(text(&flag.stderr).contains("--context"));
    let outside = run(kusion(home.path()).arg("preview").current_dir(home.path()), 1);
    assert!(text(&outside.stderr).contains("kusion init") || text(&outside.stderr).contains("stack.yaml"));
    let stack = run(kusion(home.path()).args(["preview", "guestbook/nope"]), 1);
    assert!(text(&stack.stderr).contains("guestbook/dev"), "{}", text(&stack.stderr));
}

#[test]
fn a_program_with_a_mistake_is_shown_with_its_line() {
    let home = tempfile::tempdir().unwrap();
    let stack = home.path().join("p/dev");
    std::fs::create_dir_all(&stack).unwrap();
    std::fs::write(home.path().join("p/project.yaml"), "name: p\n").unwrap();
    std::fs::write(stack.join("stack.yaml"), "name: dev\n").unwrap();
    run(kusion(home.path()).args(["generate", "-w"]).arg(&stack), 1);
    std::fs::write(stack.join("main.k"), "a = 1\nb = nowhere\n").unwrap();
    let wrong = run(kusion(home.path()).args(["generate", "-w"]).arg(&stack), 1);
    assert!(text(&wrong.stderr).contains("main.k:2"), "{}", text(&wrong.stderr));
}
