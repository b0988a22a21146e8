//! Every question of the record over every carrier of JSON: the answers are those of the wheels, as those of the library are. (gRPC is asked
//! with the reference's own messages by `cargo xtask oracle rpc`.)
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Server, exchange, rpc};

fn agree(carrier: &str, mut ask: impl FnMut(&str, &Value) -> Result<Value, String>) {
    let wrong = testkit::rpc::judge(&testkit::rpc::cases(), |case, args| ask(&case.method, args));
    assert!(wrong.is_empty(), "{carrier}: {} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The answer in an object of JSON-RPC.
fn of_rpc(text: &str) -> Result<Value, String> {
    let answer: Value = serde_json::from_str(text).unwrap();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&"2.0".into(), &9.into()), "{answer}");
    match answer.get("error") {
        None => Ok(answer["result"].clone()),
        Some(error) => Err(error["message"].as_str().unwrap().to_owned()),
    }
}

/// The answer of REST.
fn of_rest((status, text): (u16, String)) -> Result<Value, String> {
    assert!(status == 200 || status == 404, "{status} {text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    match answer["error"].as_str().unwrap() {
        "" => Ok(answer["result"].clone()),
        error => Err(error.to_owned()),
    }
}

#[test]
fn json_rpc_over_http() {
    let server = Server::start(&["--http", ":0"]);
    agree("JSON-RPC over HTTP", |method, args| {
        of_rpc(&server.ask("/", &server.auth(), &rpc(9, method, args).to_string()).1)
    });
}

#[test]
fn rest_over_http() {
    let server = Server::start(&["--http", ":0"]);
    agree("REST", |method, args| {
        of_rest(server.ask(&format!("/api:protorpc/{method}"), &server.auth(), &args.to_string()))
    });
}

#[test]
fn rest_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kcl.sock");
    let _server = Server::start(&["--unix", path.to_str().unwrap()]);
    agree("a Unix socket", |method, args| {
        let stream = UnixStream::connect(&path).unwrap();
        of_rest(exchange(stream, &format!("/api:protorpc/{method}"), "Host: kcl\r\n", &args.to_string()))
    });
}

#[test]
fn json_rpc_on_standard_streams() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kcl-server"))
        .arg("--stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    agree("standard streams", |method, args| {
        writeln!(input, "{}", rpc(9, method, args)).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        of_rpc(&line)
    });
    drop(input);
    assert!(child.wait().unwrap().success());
}
