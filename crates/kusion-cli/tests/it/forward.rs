//! `kusion port-forward` on the sandbox: a port of this machine that leads to a pod.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::{kusion, run, text};

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a sandbox in the foreground; its kubeconfig is there when this returns.
fn sandbox(home: &Path) -> Running {
    let folder = home.join("sandbox");
    let mut command = kusion(home);
    command.args(["sandbox", "start", "--foreground", "--memory", "--folder"]).arg(&folder);
    let child = Running(command.stdout(Stdio::null()).spawn().unwrap());
    for _ in 0..1200 {
        if folder.join("kubeconfig").is_file() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(folder.join("kubeconfig").is_file(), "the sandbox did not start");
    child
}

#[test]
fn port_of_this_machine_leads_to_a_pod_of_the_service() {
    let home = tempfile::tempdir().unwrap();
    let _sandbox = sandbox(home.path());
    let project = home.path().join("shop");
    let call = |words: &[&str]| {
        let mut command = kusion(home.path());
        command.env("KUBECONFIG", home.path().join("sandbox/kubeconfig")).args(words);
        command
    };
    let project_name = project.to_str().unwrap();
    run(&mut call(&["init", project_name]), 0);
    let stack = project.join("dev");
    let stack = stack.to_str().unwrap();
    let base = project.join("base/base.k");
    let changed = std::fs::read_to_string(&base).unwrap();
    assert!(changed.contains("port = 80"), "{changed}");
    run(&mut call(&["apply", stack, "-y"]), 0);

    let refused = run(&mut call(&["port-forward", stack, "Namespace/shop-dev", "80"]), 5);
    assert!(text(&refused.stderr).contains("no pod of `Namespace/shop-dev` can be reached"));
    let unknown = run(&mut call(&["port-forward", stack, "nothing", "80"]), 1);
    assert!(text(&unknown.stderr).contains("has made no `nothing`"));

    let mut command = call(&["port-forward", stack, "Service/shop", ":80", "-o", "json"]);
    let mut child = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((told["event"].as_str(), told["namespace"].as_str()), (Some("forwarding"), Some("shop-dev")));
    for _ in 0..2 {
        let mut stream = TcpStream::connect(told["local"].as_str().unwrap()).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(told["pod"].as_str().unwrap()), "{answer} comes from {told}");
    }
}
