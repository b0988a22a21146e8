//! What the tests of the server share: the real program, and a client of HTTP/1.1 that hides nothing.
// Not every test needs all of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A server that ends with its test.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn start(words: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kcl-server"))
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
        Server { child, address: text("address"), token: text("token") }
    }

    pub(crate) fn ask(&self, path: &str, headers: &str, body: &str) -> (u16, String) {
        let stream = TcpStream::connect(&self.address).unwrap();
        exchange(stream, path, headers, body)
    }

    pub(crate) fn auth(&self) -> String {
        format!("Host: {}\r\nAuthorization: Bearer {}\r\n", self.address, self.token)
    }

    pub(crate) fn rest(&self, method: &str, args: &Value) -> Value {
        let (status, body) = self.ask(&format!("/api:protorpc/{method}"), &self.auth(), &args.to_string());
        assert!(status == 200 || status == 504, "{status} {body}");
        serde_json::from_str(&body).unwrap()
    }
}

/// One request of HTTP/1.1 and its answer.
pub(crate) fn exchange(
    mut stream: impl Read + Write,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, String) {
    let head = format!(
        "POST {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses a large body may stop reading it.
    let _ = stream.write_all(body.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    (status, body.to_owned())
}

pub(crate) fn program(text: &str) -> Value {
    json!({ "k_filename_list": ["a.k"], "k_code_list": [text] })
}

pub(crate) fn rpc(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}
