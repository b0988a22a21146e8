//! A host behind TLS: paths and what they answer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Json(String),
    Bytes(Vec<u8>),
    Status(u16),
    Redirect(String),
    /// Announces more than it sends.
    Cut(Vec<u8>),
    /// Sends the head and a little, then nothing more.
    Stall,
    /// Takes the question and says nothing.
    Silence,
    /// Only with this token.
    Guarded(&'static str, Box<Reply>),
    /// The first question is answered with a failure, the others so.
    SecondTime(Box<Reply>),
}

/// Paths that were asked for, with the credentials that came along.
type Log = Mutex<Vec<(String, Option<String>)>>;

pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) pem: String,
    log: Arc<Log>,
    port: u16,
    open: Arc<Mutex<bool>>,
}

impl Server {
    pub(crate) fn start(replies: BTreeMap<String, Reply>) -> Server {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (replies, seen, open) = (Arc::new(replies), Arc::clone(&log), Arc::new(Mutex::new(true)));
        let is_open = Arc::clone(&open);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if !*is_open.lock().unwrap() {
                    return;
                }
                let (config, replies, seen) = (Arc::clone(&config), Arc::clone(&replies), Arc::clone(&seen));
                std::thread::spawn(move || serve(stream, config, &replies, &seen));
            }
        });
        Server { host: format!("localhost:{port}"), pem: certified.cert.pem(), log, port, open }
    }

    /// Paths that were asked for, with the credentials that came along.
    pub(crate) fn asked(&self) -> Vec<(String, Option<String>)> {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        *self.open.lock().unwrap() = false;
        // Wakes the listener, so that its thread sees the end.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, replies: &BTreeMap<String, Reply>, seen: &Log) {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let Ok(connection) = ServerConnection::new(config) else { return };
    let mut reader = BufReader::new(StreamOwned::new(connection, stream));
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let path = lines[0].split(' ').nth(1).unwrap_or_default().to_owned();
    let bearer = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then(|| value.to_owned())
    });
    let before = seen.lock().unwrap().iter().filter(|(at, _)| *at == path).count();
    seen.lock().unwrap().push((path.clone(), bearer.clone()));
    let mut out = reader.into_inner();
    let reply = replies.get(&path).cloned().unwrap_or(Reply::Status(404));
    let _ = answer(&mut out, reply, bearer.as_deref(), before);
    out.conn.send_close_notify();
    let _ = out.flush();
    let _ = out.sock.shutdown(Shutdown::Write);
}

fn answer(
    out: &mut StreamOwned<ServerConnection, TcpStream>,
    reply: Reply,
    bearer: Option<&str>,
    before: usize,
) -> std::io::Result<()> {
    let mut head = |status: &str, more: &str, length: usize| {
        write!(out, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n")
    };
    match reply {
        Reply::Json(text) => {
            head("200 OK", "content-type: application/json\r\n", text.len())?;
            out.write_all(text.as_bytes())
        }
        Reply::Bytes(bytes) => {
            head("200 OK", "content-type: application/octet-stream\r\n", bytes.len())?;
            out.write_all(&bytes)
        }
        Reply::Status(code) => head(&format!("{code} Status"), "", 0),
        Reply::Redirect(to) => head("302 Found", &format!("location: {to}\r\n"), 0),
        Reply::Cut(bytes) => {
            head("200 OK", "", bytes.len() + 1000)?;
            out.write_all(&bytes)
        }
        Reply::Stall => {
            head("200 OK", "", 1000)?;
            out.write_all(b"a")?;
            out.flush()?;
            let _ = out.sock.read(&mut [0]);
            Ok(())
        }
        Reply::Silence => {
            let _ = out.sock.read(&mut [0]);
            Ok(())
        }
        Reply::Guarded(token, reply) if bearer == Some(&format!("Bearer {token}")) => {
            answer(out, *reply, None, before)
        }
        Reply::Guarded(..) => head("401 Unauthorized", "", 0),
        Reply::SecondTime(_) if before == 0 => head("503 Service Unavailable", "", 0),
        Reply::SecondTime(reply) => answer(out, *reply, bearer, before),
    }
}
