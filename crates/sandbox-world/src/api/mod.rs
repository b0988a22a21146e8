//! The API: one request in, one answer out, as bytes. The rim (HTTP, or an in-process client) only carries them.

use crate::world::World;

/// A request as it came, path and query still encoded, headers with lower-case names.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    /// `GET`, `POST`, `PUT`, `PATCH`, `DELETE`, …
    pub method: &'r str,
    pub path: &'r str,
    /// Without the question mark.
    pub query: &'r str,
    pub headers: &'r [(String, String)],
    pub body: &'r [u8],
}

impl Request<'_> {
    /// The first header of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A whole answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// A watch (or a followed log) that is open: ask [`World::poll`] for its bytes until it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Whole(Response),
    /// Status 200 and these headers; the body comes piece by piece.
    Stream {
        id: StreamId,
        headers: Vec<(&'static str, String)>,
    },
    /// A fault: the connection breaks off without an answer.
    Broken,
}

/// What an open stream has to say now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    pub bytes: Vec<u8>,
    /// Nothing follows: the body ends.
    pub ended: bool,
    /// The body ends without being complete (a fault).
    pub broken: bool,
}

impl World {
    /// Answers one request. Never panics, never blocks.
    pub fn handle(&mut self, request: &Request<'_>) -> Answer {
        let message = format!("{} {} is not served yet", request.method, request.path);
        Answer::Whole(Response { status: 404, headers: Vec::new(), body: message.into_bytes() })
    }

    /// The bytes that a stream has to say since the last time.
    pub fn poll(&mut self, _stream: StreamId) -> Polled {
        Polled { ended: true, ..Polled::default() }
    }

    /// The client is gone.
    pub fn close(&mut self, _stream: StreamId) {}
}
