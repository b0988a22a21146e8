//! A liar between engine and world: answers that are cut, swapped, emptied or made up by a gateway.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use sandbox_server::{Dropped, OutBody};
use serde_json::{Value, json};
use tower::Service;

use crate::wire::Wire;

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    Half,
    Empty,
    LoginPage,
    ErrorJson,
    NullBody,
    JsonArray,
    /// A gateway's own: the request never arrives.
    Plain404,
    Html404,
    Json404,
    Redirect,
    /// A proper Status, but about nothing, about another object, or with another code than the answer.
    StatusOfNothing,
    StatusOfAnother,
    StatusWithWrongCode,
    SuccessWithoutDetails,
    OtherKind,
    OtherVersion,
    OtherName,
    OtherNamespace,
    NoVersion,
    NoUid,
    NoItems,
    NullItems,
    EndlessPages,
    EmptyListOfAnother,
    /// The truth, and then nothing under the same key.
    Twice,
    /// A proper list of kinds with nothing in it.
    NoKinds,
    /// Says that more is left, and not where.
    MoreIsLeft,
    /// An object of the right name, without what it is about.
    NoSpec,
    /// Every object has the same uid.
    OneUid,
    /// A list from before everything was made, as a cache keeps it: proper in every way.
    OldList,
    /// A list in which the objects have each other's uids.
    SwappedUids,
    /// No lie but a refusal.
    Forbidden,
}

pub(crate) const LIES: [Lie; 27] = [
    Lie::Half,
    Lie::Empty,
    Lie::LoginPage,
    Lie::ErrorJson,
    Lie::NullBody,
    Lie::JsonArray,
    Lie::Plain404,
    Lie::Html404,
    Lie::Json404,
    Lie::Redirect,
    Lie::StatusOfNothing,
    Lie::StatusOfAnother,
    Lie::StatusWithWrongCode,
    Lie::SuccessWithoutDetails,
    Lie::OtherKind,
    Lie::OtherVersion,
    Lie::OtherName,
    Lie::OtherNamespace,
    Lie::NoVersion,
    Lie::NoUid,
    Lie::NoItems,
    Lie::NullItems,
    Lie::EndlessPages,
    Lie::EmptyListOfAnother,
    Lie::Twice,
    Lie::NoKinds,
    Lie::MoreIsLeft,
];

impl Lie {
    /// The lies that a gateway tells without asking the server.
    fn made_up(self) -> Option<(u16, String)> {
        let not_found = |details: Value| {
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound",
                "message": "not found", "details": details, "code": 404})
            .to_string()
        };
        let another = json!({"name": "somebody-else", "kind": "pods"});
        Some(match self {
            Lie::Empty => (200, String::new()),
            Lie::LoginPage => (200, "<!doctype html><html><body>Sign in</body></html>".to_owned()),
            Lie::ErrorJson => (200, json!({"error": "no session"}).to_string()),
            Lie::NullBody => (200, "null".to_owned()),
            Lie::JsonArray => (200, "[]".to_owned()),
            Lie::Plain404 => (404, "404 page not found\n".to_owned()),
            Lie::Html404 => (404, "<html>nothing here</html>".to_owned()),
            Lie::Json404 => (404, json!({"error": "no route"}).to_string()),
            Lie::Redirect => (302, String::new()),
            Lie::StatusOfNothing => (404, not_found(json!({}))),
            Lie::StatusOfAnother => (404, not_found(another)),
            Lie::StatusWithWrongCode => (200, not_found(json!({"name": "c0", "kind": "configmaps"}))),
            Lie::SuccessWithoutDetails => {
                (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}).to_string())
            }
            Lie::Forbidden => {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
                    "message": "forbidden", "code": 403});
                (403, status.to_string())
            }
            Lie::EmptyListOfAnother => {
                let metadata = json!({"resourceVersion": "7"});
                (
                    200,
                    json!({"kind": "WidgetList", "apiVersion": "v1", "metadata": metadata, "items": []})
                        .to_string(),
                )
            }
            _ => return None,
        })
    }

    fn twist(self, object: &mut Value) {
        match (self, object.as_object_mut()) {
            (Lie::NoSpec, Some(map)) => drop(map.shift_remove("spec")),
            (Lie::OneUid, Some(map)) if map.contains_key("metadata") => {
                map["metadata"]["uid"] = json!("00000000-0000-4000-8000-00000000000a");
            }
            _ => {}
        }
    }

    /// The lies that need the truth.
    fn twisted(self, code: u16, body: &[u8]) -> (u16, Vec<u8>) {
        if self == Lie::Half {
            return (code, body[..body.len() / 2].to_vec());
        }
        if self == Lie::Twice && body.ends_with(b"}") {
            let again: &[u8] = br#","items":[],"metadata":{}}"#;
            return (code, [&body[..body.len() - 1], again].concat());
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return (code, body.to_vec()) };
        let is_list = value.get("items").is_some();
        let mut drop_meta = |field: &str| {
            if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                meta.shift_remove(field);
            }
        };
        match self {
            Lie::NoVersion => drop_meta("resourceVersion"),
            Lie::NoUid => drop_meta("uid"),
            Lie::OtherKind => value["kind"] = json!("Somewhat"),
            Lie::OtherVersion => value["apiVersion"] = json!("example.com/v9"),
            Lie::OtherName if !is_list && value.get("metadata").is_some() => {
                value["metadata"]["name"] = json!("somebody-else");
            }
            Lie::OtherNamespace if is_list => {
                let items = value["items"].as_array_mut().unwrap();
                items.iter_mut().for_each(|item| item["metadata"]["namespace"] = json!("elsewhere"));
            }
            Lie::OtherNamespace if value.get("metadata").is_some() => {
                value["metadata"]["namespace"] = json!("elsewhere");
            }
            Lie::NoItems if is_list => drop(value.as_object_mut().unwrap().shift_remove("items")),
            Lie::NullItems if is_list => value["items"] = Value::Null,
            Lie::EndlessPages if is_list => {
                value["metadata"]["continue"] = json!("again");
                value["items"] = json!([]);
            }
            Lie::NoKinds if value.get("resources").is_some() => value["resources"] = json!([]),
            Lie::MoreIsLeft if is_list => {
                value["metadata"]["remainingItemCount"] = json!(5);
                value["items"] = json!([]);
            }
            Lie::SwappedUids if is_list => {
                let items = value["items"].as_array_mut().unwrap();
                let uids: Vec<Value> = items.iter().map(|item| item["metadata"]["uid"].clone()).collect();
                for (item, uid) in items.iter_mut().zip(uids.iter().cycle().skip(1)) {
                    item["metadata"]["uid"] = uid.clone();
                }
            }
            Lie::OldList if is_list => {
                value["metadata"]["resourceVersion"] = json!("2");
                value["items"] = json!([]);
            }
            Lie::NoSpec | Lie::OneUid => match value.get_mut("items").and_then(Value::as_array_mut) {
                Some(items) => items.iter_mut().for_each(|object| self.twist(object)),
                None => self.twist(&mut value),
            },
            _ => {}
        }
        (code, serde_json::to_vec(&value).unwrap())
    }
}

/// Which requests are lied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Reads,
    DryRuns,
    Writes,
    Deletes,
}

pub(crate) const ABOUT: [About; 4] = [About::Reads, About::DryRuns, About::Writes, About::Deletes];

/// When and how it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mood {
    pub(crate) lie: Lie,
    pub(crate) about: About,
    /// How many of these requests are answered truly before.
    pub(crate) after: usize,
    /// How many lies are told.
    pub(crate) times: usize,
}

#[derive(Clone)]
pub(crate) struct Liar {
    below: Wire,
    mood: Arc<Mutex<Option<Mood>>>,
    pub(crate) told: Arc<Mutex<usize>>,
}

impl Liar {
    pub(crate) fn new(below: Wire) -> Liar {
        Liar { below, mood: Arc::default(), told: Arc::default() }
    }

    pub(crate) fn set(&self, mood: Option<Mood>) {
        *self.mood.lock().unwrap() = mood;
        *self.told.lock().unwrap() = 0;
    }

    /// The lie that this request gets.
    fn lie_for(&self, request: &Request<Body>) -> Option<Lie> {
        let dry = request.uri().query().is_some_and(|query| query.contains("dryRun"));
        let about = match *request.method() {
            Method::GET => About::Reads,
            Method::DELETE => About::Deletes,
            _ if dry => About::DryRuns,
            _ => About::Writes,
        };
        let mut mood = self.mood.lock().unwrap();
        let mood = mood.as_mut().filter(|mood| mood.about == about)?;
        if mood.after > 0 {
            mood.after -= 1;
            return None;
        }
        mood.times = mood.times.checked_sub(1)?;
        *self.told.lock().unwrap() += 1;
        Some(mood.lie)
    }
}

fn whole(bytes: Vec<u8>) -> OutBody {
    Full::from(bytes).map_err(|never| match never {}).boxed_unsync()
}

impl Service<Request<Body>> for Liar {
    type Response = Response<OutBody>;
    type Error = Dropped;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Dropped>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Dropped>> {
        self.below.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let lie = self.lie_for(&request);
        let watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        if let Some((code, body)) = lie.and_then(Lie::made_up) {
            let answer = Response::builder().status(code).body(whole(body.into_bytes())).unwrap();
            return Box::pin(std::future::ready(Ok(answer)));
        }
        let answer = self.below.call(request);
        Box::pin(async move {
            let (mut parts, body) = answer.await?.into_parts();
            let Some(lie) = lie.filter(|_| !watch) else { return Ok(Response::from_parts(parts, body)) };
            let bytes = body.collect().await.map_err(|_| Dropped)?.to_bytes();
            let (code, bytes) = lie.twisted(parts.status.as_u16(), &bytes);
            parts.status = http::StatusCode::from_u16(code).unwrap();
            parts.headers.remove("content-length");
            Ok(Response::from_parts(parts, whole(bytes)))
        })
    }
}
