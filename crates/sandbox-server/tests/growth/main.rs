//! What hostile clients cost: each does its worst again and again, and the process is no larger than after the first time.
//! A test program of its own, because memory is counted for the whole process.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use sandbox_server::{Sandbox, Setup};
use serde_json::json;

#[path = "../it/client.rs"]
#[allow(dead_code)]
mod client;

use client::Wire;

fn start(folder: &std::path::Path) -> Sandbox {
    Sandbox::start(Setup { folder: folder.to_owned(), ..Setup::default() }).unwrap()
}

/// Megabytes of memory in use by this process.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Does something a few times to warm up, then several times more; the rest must cost nothing that stays.
fn without_growth(what: &str, times: usize, mut act: impl FnMut()) {
    for _ in 0..3 {
        act();
    }
    let before = resident();
    for _ in 0..times {
        act();
    }
    let after = resident();
    eprintln!("{what}: {before} MB, after {times} times {after} MB");
    assert!(after <= before + 16, "{what}: {before} MB became {after} MB");
}

fn head(token: &str, line: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n")
}

/// Watches that are opened and never read, one connection each.
fn watches(sandbox: &Sandbox, count: usize) -> Vec<impl Sized + use<>> {
    let token = client::token(sandbox);
    let open = |_| {
        let mut stream = client::tls(sandbox);
        let line = head(&token, &format!("GET {MAPS}?watch=1&resourceVersion=0"));
        stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    };
    (0..count).map(open).collect()
}

fn wait_for_streams(sandbox: &Sandbox, count: usize) {
    let started = Instant::now();
    while sandbox.host().with(|world| world.open_streams()) != count {
        assert!(started.elapsed() < Duration::from_secs(30), "streams stay open");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn hostile_clients_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = start(folder.path());
    let client = Wire::new(&sandbox);

    let huge = vec![b'x'; 8 << 20];
    without_growth("huge bodies", 8, || {
        assert_eq!(client.raw("POST", MAPS, "application/json", &huge).0, 413);
    });
    let deep = "[".repeat(2 << 20);
    without_growth("deep bodies", 10, || {
        assert_eq!(client.raw("POST", MAPS, "application/json", deep.as_bytes()).0, 400);
    });
    let token = "0123456789abcdef".repeat(64);
    without_growth("wrong tokens", 20, || {
        let mut stream = client::tls(&sandbox);
        for at in 0..50 {
            let line = head(&format!("{token}{at}"), "GET /api/v1/pods");
            stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"HTTP/1.1 401");
            read_rest(&mut stream);
        }
    });
    without_growth("bodies that never come", 5, || {
        let hold = |_| {
            let mut stream = client::tls(&sandbox);
            let line = head(&client::token(&sandbox), &format!("POST {MAPS}"));
            stream.write_all(format!("{line}Content-Length: 3000000\r\n\r\n{{").as_bytes()).unwrap();
            stream
        };
        drop((0..20).map(hold).collect::<Vec<_>>());
    });
    slow_readers(&sandbox, &client);
    thousand_watches(&sandbox, &client);
    assert!(client.call("GET", "/version", None).is_ok());
}

/// Reads one answer's head and body, so that the connection can be used again.
fn read_rest(stream: &mut impl std::io::Read) {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
}

/// Twenty watches that nobody reads, while an object of 100 kB changes again and again: nothing is queued for them.
fn slow_readers(sandbox: &Sandbox, client: &Wire) {
    let change = |at: usize| {
        let data = format!("{at}").repeat(20_000);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"a": data}});
        let path = format!("{MAPS}/large?fieldManager=t&force=true");
        client.call("PATCH", &path, Some(&object)).unwrap();
    };
    let held = watches(sandbox, 20);
    // What the journal keeps for watches is bounded by itself (20,000 events) and not what is measured here.
    (10..100).for_each(change);
    let before = resident();
    (100..200).for_each(change);
    let after = resident();
    eprintln!("20 slow readers: {before} MB, after 100 more changes {after} MB");
    // The journal keeps each change once (60 kB, and its text); twenty queues would be twenty times that.
    assert!(after < before + 60, "{before} MB became {after} MB");
    drop(held);
    wait_for_streams(sandbox, 0);
}

fn thousand_watches(sandbox: &Sandbox, client: &Wire) {
    let before = resident();
    let held = watches(sandbox, 1000);
    wait_for_streams(sandbox, 1000);
    let started = Instant::now();
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}, "data": {"a": "1"}});
    client.call("POST", MAPS, Some(&object)).unwrap();
    assert!(client.call("GET", &format!("{MAPS}/seen"), None).is_ok());
    let took = started.elapsed();
    let during = resident();
    drop(held);
    wait_for_streams(sandbox, 0);
    let again = || {
        drop(watches(sandbox, 1000));
        wait_for_streams(sandbox, 0);
        resident()
    };
    let (rest, after) = (again(), again());
    eprintln!(
        "1,000 watches: {before} MB, open {during} MB (a write and a read in {took:?}), closed {rest} MB, again {after} MB"
    );
    // Both ends of a thousand TLS connections are in this process.
    assert!(during < before + 300 && after <= rest + 20, "{before}, {during}, {rest}, {after} MB");
    assert!(took < Duration::from_secs(60));
}
