//! Clients that mean no good: an error, never a panic, never growth.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::wire::Wire;

#[test]
fn bodies_that_are_too_large_deep_or_broken_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let wire = Wire::new(&sandbox);
    let maps = "/api/v1/namespaces/default/configmaps";
    let huge = json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(4 << 20)}});
    assert_eq!(wire.call("POST", maps, Some(&huge)).unwrap_err()["code"], 413);
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!([deep]);
    }
    let deep = json!({"metadata": {"name": "a"}, "data": deep});
    assert_eq!(wire.call("POST", maps, Some(&deep)).unwrap_err()["code"], 400);
    assert_eq!(wire.call("POST", maps, Some(&json!("text"))).unwrap_err()["code"], 400);
    for path in ["/api/v1/namespaces/%2e%2e/configmaps", "/api/v1//configmaps", "/apis/../etc/passwd", "/%00"]
    {
        let code = wire.call("GET", path, None).err().map_or(200, |status| status["code"].as_u64().unwrap());
        assert!(code < 500, "{path} {code}");
    }
    assert!(wire.call("GET", "/version", None).is_ok());
}

#[test]
fn garbage_and_half_handshakes_do_not_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(sandbox.address()).unwrap()).collect();
    let mut rude = TcpStream::connect(sandbox.address()).unwrap();
    rude.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    rude.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = rude.read_to_end(&mut answer);
    assert!(Wire::new(&sandbox).call("GET", "/version", None).is_ok());
    drop(silent);
}
