//! The API: one request in, one answer out, as bytes. The rim (HTTP, or an in-process client) only carries them.
//!
//! The road of a request: fault script ([`crate::faults`]), who asks (`access`), which thing (`route`), then discovery,
//! OpenAPI, or a verb on a resource (`resource`): `read`, `mutate`, `delete`, `watch`, and the sub-resources.
//! Nothing here changes an object: that is [`crate::write`].

mod accept;
mod access;
mod body;
mod delete;
mod discovery;
mod log;
mod mutate;
mod openapi;
mod page;
mod protobuf;
mod query;
mod read;
mod resource;
mod respond;
mod review;
mod route;
mod select;
mod show;
mod subresource;
mod table;
pub mod talk;
mod watch;

use kube_meaning::status::Refusal;

use crate::faults::{self, Action, Faults};
use crate::world::World;
pub use access::{Access, User};
use query::Query;
use route::Route;
use watch::StreamFault;

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
    /// Lower-case names. `x-sandbox-delay-ms` is for the rim: a fault asks it to wait so long before it answers.
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
    /// Status 101 to a WebSocket of this sub-protocol; then the rim talks.
    Upgrade {
        protocol: &'static str,
        talk: talk::Talk,
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

/// What the API keeps between requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiState {
    pub(crate) requests: u64,
    pub(crate) access: Access,
    pub(crate) streams: watch::Streams,
    pub(crate) documents: discovery::Documents,
    pub(crate) faults: Faults,
}

/// The server's limit for a request body.
pub const BODY_LIMIT: usize = 3 * 1024 * 1024;

impl World {
    /// Answers one request. Never panics, never blocks.
    pub fn handle(&mut self, request: &Request<'_>) -> Answer {
        self.api.requests += 1;
        let number = self.api.requests;
        let mut answer = self.answer_or_fault(request);
        match &mut answer {
            Answer::Whole(response) => {
                if response.body.len() > 1 && wants_pretty(request) {
                    indent(response);
                }
                common_headers(&mut response.headers, request, number);
            }
            Answer::Stream { headers, .. } => common_headers(headers, request, number),
            Answer::Upgrade { .. } | Answer::Broken => {}
        }
        answer
    }

    /// What goes wrong from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.api.faults = faults;
    }

    pub fn faults(&self) -> &Faults {
        &self.api.faults
    }

    fn answer_or_fault(&mut self, request: &Request<'_>) -> Answer {
        let fault = self.api.faults.strike(request);
        if fault == Some(Action::Restart) {
            self.api.streams.break_all();
            self.api.documents = discovery::Documents::default();
        }
        if let Some(answer) = fault.and_then(faults::refused) {
            return answer;
        }
        let mut answer = self.answer(request).unwrap_or_else(Answer::from);
        match (fault, &mut answer) {
            (
                Some(Action::Delay { millis }),
                Answer::Whole(Response { headers, .. }) | Answer::Stream { headers, .. },
            ) => {
                headers.push(("x-sandbox-delay-ms", millis.to_string()));
            }
            (Some(Action::Lost), Answer::Stream { id, .. }) => {
                self.close(*id);
                return Answer::Broken;
            }
            (Some(Action::Lost), _) => return Answer::Broken,
            (Some(Action::WatchDrop { after }), Answer::Stream { id, .. }) => {
                self.api.streams.set_fault(*id, StreamFault::Break { after });
            }
            (Some(Action::WatchStale { after }), Answer::Stream { id, .. }) => {
                self.api.streams.set_fault(*id, StreamFault::Expire { after });
            }
            (Some(Action::WatchSilent), Answer::Stream { id, .. }) => {
                self.api.streams.set_fault(*id, StreamFault::Silent);
            }
            _ => {}
        }
        answer
    }

    fn answer(&mut self, request: &Request<'_>) -> Result<Answer, Refusal> {
        if request.body.len() > BODY_LIMIT {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            return Err(Refusal::new(413, "RequestEntityTooLarge", message));
        }
        let user = self.authenticate(request)?;
        let query = Query::parse(request.query);
        match route::route(request.path) {
            Route::Resource(path) => self.resource(request, &query, &path, &user),
            other => self.outside(request, &query, &other, &user),
        }
    }
}

/// The verb of a request, as far as its form tells.
pub(crate) fn verb_of(request: &Request<'_>) -> &'static str {
    let named = match route::route(request.path) {
        Route::Resource(path) => path.name.is_some(),
        _ => true,
    };
    let watches = || Query::parse(request.query).flag("watch").ok().flatten() == Some(true);
    match (request.method, named) {
        ("GET" | "HEAD", true) => "get",
        ("GET" | "HEAD", false) if watches() => "watch",
        ("GET" | "HEAD", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) if body::content_type(request) == "application/apply-patch+yaml" => "apply",
        ("PATCH", _) => "patch",
        ("DELETE", false) => "deletecollection",
        _ => "delete",
    }
}

fn common_headers(headers: &mut Vec<(&'static str, String)>, request: &Request<'_>, number: u64) {
    let audit = request.header("audit-id").filter(|id| id.len() <= 64);
    let audit = audit.map_or_else(|| format!("00000000-0000-4000-8000-{number:012x}"), str::to_owned);
    headers.push(("audit-id", audit));
    if !headers.iter().any(|(name, _)| *name == "cache-control") {
        headers.push(("cache-control", "no-cache, private".to_owned()));
    }
    headers.push(("x-kubernetes-pf-flowschema-uid", "00000000-0000-4000-8000-0000000000f5".to_owned()));
    headers.push(("x-kubernetes-pf-prioritylevel-uid", "00000000-0000-4000-8000-0000000000f1".to_owned()));
}

/// People read what browsers and curl get; programs do not.
fn wants_pretty(request: &Request<'_>) -> bool {
    if request.query.contains("pretty=") {
        return Query::parse(request.query).flag("pretty").ok().flatten() == Some(true);
    }
    let agent = request.header("user-agent").unwrap_or_default();
    ["curl/", "Wget/", "Mozilla/"].iter().any(|start| agent.starts_with(start))
}

fn indent(response: &mut Response) {
    let is_json = response
        .headers
        .iter()
        .any(|(name, value)| *name == "content-type" && value.starts_with(respond::JSON));
    if !is_json {
        return;
    }
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(&response.body)
        && let Ok(text) = serde_json::to_vec_pretty(&value)
    {
        response.body = text;
        response.body.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn call(world: &mut World, method: &str, target: &str, body: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        world.handle(&Request { method, path, query, headers: &[], body: body.as_bytes() })
    }

    const NAMESPACES: &str = "/api/v1/namespaces";

    #[test]
    fn a_lost_answer_was_still_done_and_a_dropped_request_was_not() {
        let mut world = World::new(1, Time::from_millis(0));
        world.set_faults(Faults::parse("verb=create call=1 drop; verb=create call=2 lost").unwrap());
        let body = r#"{"metadata":{"name":"n"}}"#;
        assert_eq!(call(&mut world, "POST", NAMESPACES, body), Answer::Broken);
        assert_eq!(world.view().store.len(), 0);
        assert_eq!(call(&mut world, "POST", NAMESPACES, body), Answer::Broken);
        assert_eq!(world.view().store.len(), 1);
    }

    #[test]
    fn a_delay_is_told_to_the_rim_and_a_restart_breaks_watches() {
        let mut world = World::new(1, Time::from_millis(0));
        let Answer::Stream { id, .. } = call(&mut world, "GET", "/api/v1/namespaces?watch=1", "") else {
            panic!("no stream")
        };
        world.set_faults(Faults::parse("call=1 delay=250; call=2 restart").unwrap());
        let Answer::Whole(response) = call(&mut world, "GET", NAMESPACES, "") else { panic!("no answer") };
        assert!(response.headers.contains(&("x-sandbox-delay-ms", "250".to_owned())));
        assert_eq!(call(&mut world, "GET", NAMESPACES, ""), Answer::Broken);
        assert!(world.poll(id).broken);
        assert_eq!(world.open_streams(), 0);
    }
}
