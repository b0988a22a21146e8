//! Clients that mean no good: an error, never a panic, never growth.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::client::Wire;

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

/// An error over the wire: a Status with its own code, or a page in plain text.
fn assert_refusal(what: &str, (status, kind, body): &(u16, String, Vec<u8>)) {
    let text = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
    let is_status = text["kind"] == "Status" && text["code"] == *status && text["message"].is_string();
    assert!(
        *status >= 400 && *status < 500 && (is_status || kind.starts_with("text/plain")),
        "{what}: {status}"
    );
}

#[test]
fn malformed_bodies_of_every_kind_get_a_status_and_store_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let wire = Wire::new(&sandbox);
    let deep = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    let anchors = "a: &a [x,x,x,x,x,x,x,x]\n".to_owned()
        + &(1..12).map(|n| format!("b{n}: &b{n} [*a,*a,*a,*a,*a,*a]\n")).collect::<String>();
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[[[[",
        deep.as_bytes(),
        anchors.as_bytes(),
        b"k8s\0\x0a\xff\xff\xff\xff\x7f",
        b"{\"metadata\":{\"name\":\"a\",\"name\":7}}",
        b"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"../x\"}}",
    ];
    let maps = "/api/v1/namespaces/default/configmaps";
    let before = sandbox.host().with(|world| world.view().store.len());
    for body in bodies {
        for kind in
            ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/html", ""]
        {
            assert_refusal(kind, &wire.raw("POST", maps, kind, body));
            assert_refusal(kind, &wire.raw("PUT", &format!("{maps}/a"), kind, body));
        }
        let patches =
            ["apply-patch+yaml", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "x"];
        for kind in patches {
            let kind = format!("application/{kind}");
            assert_refusal(&kind, &wire.raw("PATCH", &format!("{maps}/a?fieldManager=m"), &kind, body));
        }
    }
    assert_eq!(sandbox.host().with(|world| world.view().store.len()), before);
}

#[test]
fn paths_that_try_to_leave_the_api_find_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = crate::start(folder.path());
    let long = format!("GET /{} HTTP/1.1", "a/".repeat(30_000));
    let lines = [
        "GET /api/v1/../../../etc/passwd HTTP/1.1",
        "GET /api/v1/namespaces/%2e%2e%2f%2e%2e/configmaps/x HTTP/1.1",
        "GET /api/v1/namespaces/default/configmaps/a%00b HTTP/1.1",
        "GET /api/v1/namespaces/default/configmaps/%ff%fe HTTP/1.1",
        "GET /api/v1/namespaces/default/configmaps/% HTTP/1.1",
        "GET //api//v1//namespaces/./default HTTP/1.1",
        "GET http://elsewhere.example/etc/passwd HTTP/1.1",
        "GET /api/v1/namespaces/default/pods/x/proxy/http://elsewhere/ HTTP/1.1",
        "CONNECT elsewhere.example:443 HTTP/1.1",
        "TRACE / HTTP/1.1",
        "BREW /api/v1/pods HTTP/1.1",
        &long,
    ];
    for line in lines {
        let mut stream = crate::client::tls(&sandbox);
        let token = crate::client::token(&sandbox);
        let text = format!("{line}\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let shown = &answer[..answer.len().min(300)];
        assert!(answer.starts_with("HTTP/1.1 4"), "{}: {shown}", &line[..line.len().min(80)]);
        assert!(!answer.contains("root:"), "{line}");
    }
    assert!(Wire::new(&sandbox).call("GET", "/version", None).is_ok());
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
