//! The real control plane, through its plain-text proxy. A connection per call: statements are few.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use testenv::ControlPlane;

use crate::wire::{Lines, Reply, Wire};

pub struct Real {
    address: String,
    mark: String,
}

impl Real {
    pub fn new(plane: &ControlPlane) -> Real {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Real { address: plane.proxy().to_owned(), mark: format!("-{:x}", since.as_millis() & 0xff_ffff) }
    }

    fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> BufReader<TcpStream> {
        let mut head =
            format!("{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // The server may answer before it has read a body that is too long.
        let _ = stream.write_all(body);
        BufReader::new(stream)
    }
}

fn line(input: &mut impl BufRead) -> String {
    let mut text = String::new();
    let _ = input.read_line(&mut text);
    text.trim_end().to_owned()
}

/// Reads the head of an answer; the flag says that the body comes in chunks.
fn head(input: &mut impl BufRead) -> (Reply, bool, Option<usize>) {
    let code = line(input).split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let mut reply = Reply { code, ..Reply::default() };
    let (mut chunked, mut length) = (false, None);
    loop {
        let text = line(input);
        let Some((name, value)) = text.split_once(':') else { break };
        let value = value.trim().to_owned();
        chunked |= name.eq_ignore_ascii_case("transfer-encoding");
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok();
        }
        reply.headers.push((name.to_lowercase(), value));
    }
    (reply, chunked, length)
}

impl Wire for Real {
    fn call(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut input = self.send(method, target, headers, body);
        let (mut reply, chunked, length) = head(&mut input);
        if chunked {
            loop {
                let size = usize::from_str_radix(&line(&mut input), 16).unwrap_or(0);
                if size == 0 {
                    break;
                }
                let mut chunk = vec![0; size];
                input.read_exact(&mut chunk).unwrap();
                reply.body.extend_from_slice(&chunk);
                line(&mut input);
            }
        } else if let Some(length) = length {
            let _ = input.take(length as u64).read_to_end(&mut reply.body);
        } else {
            let _ = input.read_to_end(&mut reply.body);
        }
        reply
    }

    fn open(&self, target: &str, headers: &[(&str, &str)]) -> Box<dyn Lines + '_> {
        let mut input = self.send("GET", target, headers, b"");
        let (reply, chunked, _) = head(&mut input);
        let ended = reply.code != 200 || !chunked;
        Box::new(RealLines { input, bytes: Vec::new(), ended })
    }

    fn pass(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn is_real(&self) -> bool {
        true
    }

    fn mark(&self) -> &str {
        &self.mark
    }

    fn faults(&self, _script: &str) {}

    fn forget(&self) {}
}

struct RealLines {
    input: BufReader<TcpStream>,
    bytes: Vec<u8>,
    ended: bool,
}

impl RealLines {
    /// Reads one chunk if one comes before the deadline.
    fn pull(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        if self.ended || left.is_zero() {
            return false;
        }
        self.input.get_ref().set_read_timeout(Some(left)).unwrap();
        // Waits without taking anything, so that a time-out loses nothing.
        match self.input.fill_buf() {
            Ok([]) => {
                self.ended = true;
                return false;
            }
            Ok(_) => {}
            Err(_) => return false,
        }
        self.input.get_ref().set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let size = usize::from_str_radix(&line(&mut self.input), 16).unwrap_or(0);
        if size == 0 {
            self.ended = true;
            return false;
        }
        let mut chunk = vec![0; size];
        if self.input.read_exact(&mut chunk).is_err() {
            self.ended = true;
            return false;
        }
        self.bytes.extend_from_slice(&chunk);
        line(&mut self.input);
        true
    }
}

impl Lines for RealLines {
    fn next(&mut self, wait: Duration) -> Option<Value> {
        let until = Instant::now() + wait;
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return serde_json::from_slice(&line).ok();
            }
            if !self.pull(until) {
                return None;
            }
        }
    }

    fn ends(&mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        while self.pull(until) {}
        self.ended
    }
}
