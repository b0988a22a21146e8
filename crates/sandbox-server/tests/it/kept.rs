//! What was answered is still there after a restart, also after a kill in the middle of a line.

use std::io::Write as _;

use serde_json::json;

use crate::wire::Wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn objects_identity_and_port_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let (made, kubeconfig) = {
        let sandbox = crate::start(folder.path());
        let made = Wire::new(&sandbox).call("POST", MAPS, Some(&body)).unwrap();
        (made, std::fs::read(sandbox.kubeconfig()).unwrap())
    };
    // A kill in the middle of a write leaves half a line.
    let mut file = std::fs::OpenOptions::new().append(true).open(folder.path().join("data/changes")).unwrap();
    file.write_all(b"0badc0de {\"group\":\"\",\"plural\":\"conf").unwrap();
    let sandbox = crate::start(folder.path());
    let wire = Wire::new(&sandbox);
    let found = wire.call("GET", &format!("{MAPS}/a"), None).unwrap();
    assert_eq!(found, made);
    assert_eq!(std::fs::read(sandbox.kubeconfig()).unwrap(), kubeconfig);
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
