//! A server that answers every request with the same status and body, or not at all (status 0).

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// Starts it; returns its address. It ends with the process.
pub(crate) fn serve(status: u16, body: Option<String>) -> String {
    if status == 0 {
        // Nobody listens there: a port that was free a moment ago could be somebody's now.
        return "127.0.0.1:1".to_owned();
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = body.clone();
            std::thread::spawn(move || answer(stream, status, body));
        }
    });
    address
}

fn answer(mut stream: std::net::TcpStream, status: u16, body: Option<String>) {
    let own = || {
        format!(
            "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"answer {status} of a test\",\"code\":{status}}}"
        )
    };
    let body = body.unwrap_or_else(own);
    let mut buffer = [0; 65536];
    // One answer per request is enough of HTTP for a client that gives up.
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        let text = format!(
            "HTTP/1.1 {status} Test\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}
