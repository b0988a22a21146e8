//! What was answered is still there after a restart, also after a kill in the middle of a line.

use std::io::Write as _;

use sandbox_server::Sandbox;
use serde_json::json;

use crate::client::Wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn objects_and_identity_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    // The port is the same if nobody has taken it meanwhile, and here somebody may.
    let without_port = |sandbox: &Sandbox| {
        let text = std::fs::read_to_string(sandbox.kubeconfig()).unwrap();
        text.replace(&format!(":{}", sandbox.address().port()), ":PORT")
    };
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let (made, kubeconfig) = {
        let sandbox = crate::start(folder.path());
        let made = Wire::new(&sandbox).call("POST", MAPS, Some(&body)).unwrap();
        (made, without_port(&sandbox))
    };
    // A kill in the middle of a write leaves half a line.
    let mut file = std::fs::OpenOptions::new().append(true).open(folder.path().join("data/changes")).unwrap();
    file.write_all(b"0badc0de {\"group\":\"\",\"plural\":\"conf").unwrap();
    let sandbox = crate::start(folder.path());
    let wire = Wire::new(&sandbox);
    let found = wire.call("GET", &format!("{MAPS}/a"), None).unwrap();
    assert_eq!(found, made);
    assert_eq!(without_port(&sandbox), kubeconfig);
    let next =
        wire.call("POST", "/api/v1/namespaces", Some(&json!({"metadata": {"name": "later"}}))).unwrap();
    let revision = |object: &serde_json::Value| {
        object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert!(revision(&next) > revision(&made));
}

#[test]
fn files_are_private_and_the_address_is_loopback() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    assert!(sandbox.address().ip().is_loopback());
    for name in ["kubeconfig", "identity.json", "data/world.json", "data/changes"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[test]
fn it_listens_beyond_loopback_only_when_told_so_twice() {
    use sandbox_server::{SandboxError, ServeError, Setup};
    let start = |beyond_loopback| {
        let folder = tempfile::tempdir().unwrap();
        let address = Some("0.0.0.0".parse().unwrap());
        let setup = Setup { folder: folder.path().to_owned(), address, beyond_loopback, ..Setup::default() };
        (Sandbox::start(setup), folder)
    };
    let (refused, folder) = start(false);
    assert!(matches!(refused, Err(SandboxError::Serve(ServeError::NotLoopback(_)))));
    assert!(!folder.path().join("kubeconfig").exists(), "a refused sandbox leaves no way to reach it");
    let (taken, _folder) = start(true);
    let sandbox = taken.unwrap();
    assert!(sandbox.address().ip().is_unspecified());
    // Its kubeconfig reaches it, by loopback.
    assert!(Wire::new(&sandbox).call("GET", "/version", None).is_ok());
    // Without being told anything it is loopback, whatever its folder says.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("port"), "0.0.0.0:80").unwrap();
    assert!(crate::start(folder.path()).address().ip().is_loopback());
}
