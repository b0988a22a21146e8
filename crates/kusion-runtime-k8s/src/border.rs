//! The border: what an answer of the server proves, and nothing more.
//!
//! In: an [`Answer`], whose body nobody else can look into. Out: the object that was asked for, the proof that there is none, a
//! complete page of a list, or a failure. Absence is proved by a `Status` of reason NotFound about that very group, kind and
//! name; everything that is neither proof nor object (half a document, a login page, an object of another name, a gateway's
//! own 404) is [`ErrorKind::Unreadable`]: nothing is known, the question is asked again.
//!
//! An answer that is not understood is described, never quoted: it may be half of a Secret.

use std::time::Duration;

use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use crate::failure::from_answer;
use crate::kinds::{Asked, Kind};
use crate::strict::Strict;

/// What came back, whatever the code.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `GET /api/v1/…`, for errors.
    pub(crate) asked: String,
    pub(crate) code: u16,
    body: Body,
    pub(crate) warnings: Vec<String>,
    pub(crate) retry_after: Option<Duration>,
}

#[derive(Debug)]
enum Body {
    Json(Value),
    /// No JSON; what it looks like, and its beginning.
    Other {
        looks: &'static str,
        text: String,
    },
}

impl Answer {
    pub(crate) fn new(asked: String, code: u16, bytes: &[u8]) -> Answer {
        Answer { asked, code, body: read(bytes), warnings: Vec::new(), retry_after: None }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Returns the body if it is a `Status` that fits its code.
    pub(crate) fn status(&self) -> Option<&Value> {
        let Body::Json(body) = &self.body else { return None };
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let word = if self.is_success() { "Success" } else { "Failure" };
        let same_code = match body.get("code").and_then(Value::as_u64) {
            Some(code) => code == u64::from(self.code),
            None => self.is_success(),
        };
        let is_status = text("kind") == Some("Status") && text("apiVersion") == Some("v1");
        (is_status && same_code && text("status") == Some(word)).then_some(body)
    }

    /// Returns the beginning of a text that is neither JSON nor a page for people. Bytes that are no text, or steer a terminal, are
    /// not shown to anybody.
    pub(crate) fn text(&self) -> Option<&str> {
        let odd = |c: char| c == char::REPLACEMENT_CHARACTER || (c.is_control() && !c.is_whitespace());
        match &self.body {
            Body::Other { looks: TEXT, text } => Some(text.trim()).filter(|text| !text.contains(odd)),
            _ => None,
        }
    }

    /// Says what the body is, without quoting it.
    pub(crate) fn looks(&self) -> String {
        match &self.body {
            Body::Other { looks, .. } => (*looks).to_owned(),
            Body::Json(body) => match (body.is_object(), body.get("kind").and_then(Value::as_str)) {
                (true, Some("Status")) => "a Status that contradicts itself".to_owned(),
                (true, Some(kind)) => format!("{} `{kind}`", article(kind)),
                (true, None) => "JSON without a kind".to_owned(),
                (false, _) => "JSON that is no object".to_owned(),
            },
        }
    }

    /// The failure that this answer is, beside `wanted`.
    fn failure(&self, wanted: &str) -> RuntimeError {
        if self.is_success() {
            return self.unreadable(wanted, &self.looks());
        }
        from_answer(self)
    }

    /// The failure of a read: what is not the proof that was asked for says nothing.
    fn unproved(&self, error: RuntimeError) -> RuntimeError {
        match error.kind {
            ErrorKind::NotFound | ErrorKind::ParentMissing => {
                self.unreadable("the object, or that there is none", "a Status about something else")
            }
            _ => error,
        }
    }

    fn unreadable(&self, wanted: &str, got: &str) -> RuntimeError {
        let text = format!("{} was answered with {got}, not with {wanted} (HTTP {})", self.asked, self.code);
        RuntimeError::new(ErrorKind::Unreadable, text)
    }

    /// Takes the body of a success that says it is of this kind.
    fn take(&mut self, api_version: &str, kind: &str) -> Result<Value, RuntimeError> {
        self.take_if(kind, |said| said == Some(api_version))
    }

    /// Takes a document of discovery; the oldest of them do not say their version.
    fn take_discovery(&mut self, kind: &str) -> Result<Value, RuntimeError> {
        self.take_if(kind, |said| said.is_none_or(|said| said == "v1"))
    }

    fn take_if(&mut self, kind: &str, version: impl Fn(Option<&str>) -> bool) -> Result<Value, RuntimeError> {
        let good = self.is_success();
        match &mut self.body {
            Body::Json(body)
                if good && text(body, "/kind") == Some(kind) && version(text(body, "/apiVersion")) =>
            {
                Ok(body.take())
            }
            _ => Err(self.failure(&format!("{} {kind}", article(kind)))),
        }
    }
}

const EMPTY: &str = "an empty body";
const PAGE: &str = "a page of HTML";
const CUT: &str = "JSON that breaks off";
const TWICE: &str = "JSON in which a key stands twice";
const TEXT: &str = "text that is no JSON";

fn read(bytes: &[u8]) -> Body {
    match serde_json::from_slice(bytes) {
        Ok(Strict(value)) => Body::Json(value),
        Err(error) => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(500)]).into_owned();
            let looks = match text.trim_start().chars().next() {
                None => EMPTY,
                Some('<') => PAGE,
                Some('{' | '[') if error.is_eof() => CUT,
                Some('{' | '[') if error.is_data() => TWICE,
                Some(_) => TEXT,
            };
            Body::Other { looks, text }
        }
    }
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" }
}

/// What a write has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The stored object.
    Stored,
    /// The object as it would be stored: a new one has no version yet.
    DryRun,
}

/// The answer to reading one object: the object, or the proof that there is none.
pub(crate) fn object(asked: &Asked<'_>, mut answer: Answer) -> Result<Option<Value>, RuntimeError> {
    if is_not_found(asked, &answer) {
        return Ok(None);
    }
    let taken = answer.take(&asked.kind.api_version, &asked.kind.kind);
    let object = taken.map_err(|error| answer.unproved(error))?;
    check(asked, &answer, &object, Written::Stored)?;
    Ok(Some(object))
}

/// The answer to writing one object: the object as it is now.
pub(crate) fn written(asked: &Asked<'_>, answer: &mut Answer, how: Written) -> Result<Value, RuntimeError> {
    let taken = answer.take(&asked.kind.api_version, &asked.kind.kind);
    let object = taken.map_err(|error| match error.kind {
        // A write makes what is not there; only its namespace can be missing.
        ErrorKind::NotFound => answer.unproved(error),
        _ => error,
    })?;
    check(asked, answer, &object, how)?;
    Ok(object)
}

/// What the answer to a delete says.
#[derive(Debug)]
pub(crate) enum Ended {
    /// Proved: it is not there any more.
    Gone,
    /// The delete was accepted; whether it has happened, a read has to tell.
    Accepted,
    /// It is still there, on its way out.
    Leaving(Box<Value>),
}

/// The answer to deleting one object.
pub(crate) fn ended(asked: &Asked<'_>, uid: Option<&str>, mut answer: Answer) -> Result<Ended, RuntimeError> {
    if is_not_found(asked, &answer) {
        return Ok(Ended::Gone);
    }
    if let Some(status) = answer.status().filter(|_| answer.is_success()) {
        let named = uid.is_none_or(|uid| status.pointer("/details/uid").is_none_or(|found| found == uid));
        return Ok(if named && is_about(asked, status) { Ended::Gone } else { Ended::Accepted });
    }
    let taken = written(asked, &mut answer, Written::Stored);
    let object = taken.map_err(|error| answer.unproved(error))?;
    Ok(Ended::Leaving(Box::new(object)))
}

/// The answer to deleting one object in a dry run: whether it is there.
pub(crate) fn is_there(asked: &Asked<'_>, answer: &Answer) -> Result<bool, RuntimeError> {
    if is_not_found(asked, answer) {
        return Ok(false);
    }
    let Body::Json(body) = &answer.body else { return Err(answer.failure("the object")) };
    let is_object =
        text(body, "/kind") == Some(&asked.kind.kind) && differs(asked, body, Written::DryRun).is_none();
    let is_status = answer.status().is_some_and(|status| is_about(asked, status));
    match answer.is_success() && (is_object || is_status) {
        true => Ok(true),
        false => Err(answer.unproved(answer.failure("the object, or that there is none"))),
    }
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    /// Each with its apiVersion and kind.
    pub(crate) items: Vec<Value>,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
    pub(crate) version: String,
}

/// The answer to listing a collection; that of all namespaces has none.
pub(crate) fn page(kind: &Kind, namespace: &str, mut answer: Answer) -> Result<Page, RuntimeError> {
    let name = kind.list_kind.as_deref().map_or_else(|| said_list_kind(kind, &answer), str::to_owned);
    let taken = answer.take(&kind.api_version, &name);
    let mut list = taken.map_err(|error| answer.unproved(error))?;
    let refused = |got: &str| Err(answer.unreadable(&format!("a complete {name}"), got));
    let Some(version) = text(&list, "/metadata/resourceVersion").map(str::to_owned) else {
        return refused("a list without a resourceVersion");
    };
    let next = match list.pointer("/metadata/continue") {
        None | Some(Value::Null) => None,
        Some(Value::String(next)) => Some(next.clone()).filter(|next| !next.is_empty()),
        Some(_) => return refused("a list whose next page is no text"),
    };
    let left = list.pointer("/metadata/remainingItemCount").filter(|left| !left.is_null());
    if next.is_none() && left.is_some_and(|left| left.as_u64() != Some(0)) {
        return refused("a list that leaves items out and does not say where they are");
    }
    let Some(Value::Array(mut items)) = list.get_mut("items").map(Value::take) else {
        return refused("a list without items");
    };
    for item in &mut items {
        let Some(map) = item.as_object_mut() else { return refused("a list of something else") };
        // Items of built-in lists do not say what they are; those of others do.
        for (key, own) in [("apiVersion", &kind.api_version), ("kind", &kind.kind)] {
            let said = map.entry(key).or_insert_with(|| Value::String(own.clone()));
            if said != own {
                return refused("a list of another kind");
            }
        }
        let item_name = text(item, "/metadata/name").unwrap_or_default().to_owned();
        let everywhere = kind.namespaced && namespace.is_empty();
        let own = text(item, "/metadata/namespace").filter(|_| everywhere).unwrap_or(namespace).to_owned();
        if everywhere && own.is_empty() {
            return refused("a list with an object of no namespace");
        }
        let asked = Asked { kind, namespace: &own, name: &item_name };
        check(&asked, &answer, item, Written::Stored)?;
    }
    Ok(Page { items, next, version })
}

/// An object that a watch of a collection brought.
pub(crate) fn watched(kind: &Kind, namespace: &str, object: &Value) -> Result<String, RuntimeError> {
    let name = text(object, "/metadata/name").unwrap_or_default();
    let same =
        text(object, "/kind") == Some(&kind.kind) && text(object, "/apiVersion") == Some(&kind.api_version);
    let asked = Asked { kind, namespace, name };
    match differs(&asked, object, Written::Stored) {
        None if same => Ok(text(object, "/metadata/resourceVersion").unwrap_or_default().to_owned()),
        wrong => {
            let wrong = wrong.unwrap_or_else(|| "another kind".to_owned());
            let text = format!("the watch of {} brought {wrong}", kind.collection(namespace));
            Err(RuntimeError::new(ErrorKind::Unreadable, text))
        }
    }
}

/// One kind as the server's discovery tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

/// The answer to asking for the kinds of a group and version; `None` if the path is not there.
pub(crate) fn served(api_version: &str, mut answer: Answer) -> Result<Option<Vec<Served>>, RuntimeError> {
    if answer.code == 404 {
        return Ok(None);
    }
    let list = answer.take_discovery("APIResourceList")?;
    let refused = |got: &str| answer.unreadable(&format!("the kinds of {api_version}"), got);
    if text(&list, "/groupVersion") != Some(api_version) {
        return Err(refused("the kinds of another group"));
    }
    let Some(rows) = list.get("resources").and_then(Value::as_array) else {
        return Err(refused("a list without resources"));
    };
    let row = |row: &Value| {
        Some(Served {
            kind: text(row, "/kind")?.to_owned(),
            plural: text(row, "/name")?.to_owned(),
            namespaced: row.get("namespaced")?.as_bool()?,
        })
    };
    let read = rows.iter().map(row).collect::<Option<Vec<Served>>>();
    read.map(Some).ok_or_else(|| refused("a list with a row that names no kind"))
}

/// The answer to asking which groups and versions there are.
pub(crate) fn versions(is_core: bool, mut answer: Answer) -> Result<Vec<String>, RuntimeError> {
    if answer.code == 404 {
        return Err(answer.unreadable("the groups of the server", &answer.looks()));
    }
    let list = answer.take_discovery(if is_core { "APIVersions" } else { "APIGroupList" })?;
    let refused = || answer.unreadable("the groups of the server", "a list that cannot be read");
    let texts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    };
    if is_core {
        return list.get("versions").and_then(texts).filter(|all| !all.is_empty()).ok_or_else(refused);
    }
    let of_group = |group: &Value| -> Option<Vec<String>> {
        let versions = group.get("versions")?.as_array()?;
        versions.iter().map(|version| text(version, "/groupVersion").map(str::to_owned)).collect()
    };
    let groups = list.get("groups").and_then(Value::as_array).filter(|groups| !groups.is_empty());
    let all = groups.and_then(|groups| groups.iter().map(of_group).collect::<Option<Vec<_>>>());
    Ok(all.ok_or_else(refused)?.into_iter().flatten().collect())
}

/// Whether it is the proof that this very object does not exist.
fn is_not_found(asked: &Asked<'_>, answer: &Answer) -> bool {
    answer.code == 404
        && answer
            .status()
            .is_some_and(|status| text(status, "/reason") == Some("NotFound") && is_about(asked, status))
}

/// Whether the details of a Status name this object. The server calls the kind by its plural, and in a few places by itself.
fn is_about(asked: &Asked<'_>, status: &Value) -> bool {
    let detail = |key: &str| status.pointer(&format!("/details/{key}")).and_then(Value::as_str);
    let kind = detail("kind");
    detail("name") == Some(asked.name)
        && detail("group").unwrap_or_default() == asked.kind.group()
        && (kind == Some(&asked.kind.plural) || kind == Some(&asked.kind.kind))
}

fn check(asked: &Asked<'_>, answer: &Answer, object: &Value, how: Written) -> Result<(), RuntimeError> {
    match differs(asked, object, how) {
        None => Ok(()),
        Some(wrong) => Err(answer.unreadable(&format!("{} {}", asked.kind.kind, asked.name), &wrong)),
    }
}

/// What keeps an object from being the one that was asked for.
fn differs(asked: &Asked<'_>, object: &Value, how: Written) -> Option<String> {
    let name = text(object, "/metadata/name");
    if name != Some(asked.name) {
        return Some(
            name.map_or("an object without a name".to_owned(), |name| format!("the object `{name}`")),
        );
    }
    let namespace = text(object, "/metadata/namespace").unwrap_or_default();
    let wanted = if asked.kind.namespaced { asked.namespace } else { "" };
    if namespace != wanted {
        return Some(format!("an object of namespace `{namespace}`"));
    }
    let identified =
        text(object, "/metadata/uid").is_some() && text(object, "/metadata/resourceVersion").is_some();
    (how == Written::Stored && !identified).then(|| "an object without uid and resourceVersion".to_owned())
}

/// A text that is there and not empty.
fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A definition may call its lists as it likes; where we may not read it, a name that ends so has to do.
fn said_list_kind(kind: &Kind, answer: &Answer) -> String {
    let said = match &answer.body {
        Body::Json(body) => text(body, "/kind").filter(|said| said.ends_with("List")),
        Body::Other { .. } => None,
    };
    said.map_or_else(|| format!("{}List", kind.kind), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::builtin_kind;
    use serde_json::json;

    fn answer(code: u16, body: &Value) -> Answer {
        Answer::new("GET /x".to_owned(), code, &serde_json::to_vec(body).unwrap())
    }

    fn not_found(details: Value) -> Value {
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "message": "m",
            "details": details, "code": 404})
    }

    #[test]
    fn only_a_status_about_that_very_object_proves_absence() {
        let kind = builtin_kind("apps/v1", "Deployment").unwrap();
        let asked = kind.one("ns", "web");
        let read = |code, body: &Value| object(&asked, answer(code, body)).map_err(|error| error.kind);
        let proof = json!({"name": "web", "group": "apps", "kind": "deployments"});
        assert_eq!(read(404, &not_found(proof.clone())), Ok(None));
        for (key, other) in [("name", "other"), ("group", "batch"), ("kind", "pods")] {
            let mut details = proof.clone();
            details[key] = json!(other);
            assert_eq!(read(404, &not_found(details)), Err(ErrorKind::Unreadable), "{key}");
        }
        assert_eq!(read(200, &not_found(proof)), Err(ErrorKind::Unreadable), "a code that does not fit");
    }

    #[test]
    fn list_is_complete_or_nothing() {
        let kind = builtin_kind("v1", "ConfigMap").unwrap();
        let item = json!({"metadata": {"name": "a", "namespace": "ns", "uid": "1", "resourceVersion": "2"}});
        let good = json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [item]});
        let read = |body: &Value| page(&kind, "ns", answer(200, body));
        let whole = read(&good).unwrap();
        assert_eq!(
            (whole.items[0]["kind"].as_str(), whole.next, &*whole.version),
            (Some("ConfigMap"), None, "7")
        );
        for (pointer, wrong) in [
            ("/kind", json!("SecretList")),
            ("/apiVersion", json!("v2")),
            ("/metadata/resourceVersion", json!("")),
            ("/metadata", json!({"resourceVersion": "7", "continue": 3})),
            ("/metadata", json!({"resourceVersion": "7", "remainingItemCount": 5})),
            ("/metadata", json!({"resourceVersion": "7", "continue": "", "remainingItemCount": 1})),
            ("/items", Value::Null),
            ("/items/0", json!("a")),
            ("/items/0/metadata/namespace", json!("elsewhere")),
            ("/items/0/metadata/uid", Value::Null),
        ] {
            let mut body = good.clone();
            *body.pointer_mut(pointer).unwrap() = wrong;
            assert_eq!(read(&body).unwrap_err().kind, ErrorKind::Unreadable, "{pointer}");
        }
    }

    #[test]
    fn unreadable_answer_is_described_and_not_quoted() {
        let kind = builtin_kind("v1", "Secret").unwrap();
        let half = Answer::new("GET /x".to_owned(), 200, br#"{"kind":"Secret","data":{"pw":"aHVudGVyMg"#);
        let error = object(&kind.one("ns", "a"), half).unwrap_err();
        assert_eq!(
            error.message,
            "GET /x was answered with JSON that breaks off, not with a Secret (HTTP 200)"
        );
    }

    #[test]
    fn a_dry_run_of_a_delete_tells_what_is_there() {
        let kind = builtin_kind("v1", "ConfigMap").unwrap();
        let ask =
            |code, body: &Value| is_there(&kind.one("ns", "a"), &answer(code, body)).map_err(|e| e.kind);
        let object =
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "ns"}});
        assert_eq!(ask(200, &object), Ok(true));
        assert_eq!(ask(404, &not_found(json!({"name": "a", "kind": "configmaps"}))), Ok(false));
        assert_eq!(
            ask(404, &not_found(json!({"name": "b", "kind": "configmaps"}))),
            Err(ErrorKind::Unreadable)
        );
        assert_eq!(ask(200, &json!({"kind": "Status"})), Err(ErrorKind::Unreadable));
        let bytes = Answer::new("DELETE /x".to_owned(), 500, b"\x1f\x8b\x1b[2J");
        assert_eq!(bytes.text(), None, "what steers a terminal is not shown");
    }
}
