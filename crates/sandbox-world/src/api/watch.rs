//! Watches: cursors into the journal. The world keeps a place and a question per watch, never a queue of bytes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use kube_meaning::status::{Cause, Refusal};
use serde_json::{Value, json};

use super::accept::Form;
use super::log::Follow;
use super::read::list_options;
use super::resource::Ask;
use super::respond::JSON;
use super::select::Selector;
use super::show::Show;
use super::{Answer, Polled, StreamId};
use crate::store::{Event, EventKind, Object, Store};
use crate::time::Time;
use crate::world::World;

/// Open streams by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    open: BTreeMap<u64, Open>,
    last: u64,
}

/// One open stream.
#[derive(Clone, Debug)]
pub(crate) enum Open {
    Watch(Box<Stream>),
    Log(Follow),
}

/// One open watch.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    show: Show,
    namespace: Option<String>,
    selector: Selector,
    /// Everything up to here was said.
    cursor: u64,
    /// Objects that were there at the beginning and are still to be named.
    initial: VecDeque<Object>,
    /// The revision of the beginning, while the mark that ends it is still to be sent.
    end_mark: Option<u64>,
    bookmarks: bool,
    next_bookmark: Time,
    /// The one before the end was sent.
    last_bookmark: bool,
    deadline: Time,
    /// A table has named its columns.
    started: bool,
    /// Set by a fault: how it goes on from the next poll.
    fault: Option<StreamFault>,
    said: u64,
}

/// What a fault does to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamFault {
    /// Breaks off after so many more events, in the middle of a line.
    Break { after: u64 },
    /// Says that its place is too old, after so many more events.
    Expire { after: u64 },
    /// Says nothing, until its time is over.
    Silent,
}

/// One poll says about as much, so that a slow reader costs a place and not memory.
const PIECE: usize = 256 * 1024;
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

impl World {
    pub(crate) fn watch(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let mut selector = Selector::read(ask.query, &ask.served)?;
        if !ask.name.is_empty() {
            selector = Selector::named(ask.name);
        }
        let bookmarks = ask.query.flag("allowWatchBookmarks")?.unwrap_or(false);
        let begin = self.begin(ask)?;
        let timeout = ask.query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let show = ask.show(self);
        let mut stream = Stream {
            show,
            namespace: ask.listed_namespace().map(str::to_owned),
            selector,
            cursor: self.store.revision(),
            initial: VecDeque::new(),
            end_mark: None,
            bookmarks,
            next_bookmark: self.now + BOOKMARK_EVERY,
            last_bookmark: false,
            // Between half an hour and an hour, different for each.
            deadline: self.now + Duration::from_secs(timeout.unwrap_or(1800 + self.api.requests * 7 % 1800)),
            started: false,
            fault: None,
            said: 0,
        };
        match begin {
            Begin::Now => {}
            Begin::After(revision) => stream.cursor = revision,
            Begin::State { mark } => {
                let objects = self.store.list(&ask.served.key(), ask.listed_namespace());
                let shown = objects.filter(|(_, object)| stream.selector.matches(&stream.show.value(object)));
                stream.initial = shown.map(|(_, object)| object.clone()).collect();
                stream.end_mark = (mark && bookmarks).then(|| self.store.revision());
            }
        }
        let id = self.api.streams.open(Open::Watch(Box::new(stream)));
        Ok(Answer::Stream { id, headers: vec![("content-type", JSON.to_owned())] })
    }

    /// Where a watch begins.
    fn begin(&self, ask: &Ask<'_>) -> Result<Begin, Refusal> {
        let version = ask.query.get("resourceVersion");
        let rule = ask.query.get("resourceVersionMatch");
        let initial = ask.query.flag("sendInitialEvents")?;
        let forbidden = |text: &str| Err(list_options(vec![Cause::forbidden("resourceVersionMatch", text)]));
        match (initial, rule) {
            (None, Some(_)) => {
                return forbidden(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                );
            }
            (Some(_), None) => {
                return forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
            }
            (Some(_), Some(rule)) if rule != "NotOlderThan" => {
                let cause =
                    Cause::not_supported("resourceVersionMatch", &Value::from(rule), &["NotOlderThan"]);
                return Err(list_options(vec![cause]));
            }
            _ => {}
        }
        // The server answers so, though lists get a bad request.
        let wrong = |text: &str| {
            let message = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
            Refusal::new(500, "InternalError", format!("Internal error occurred: {message}"))
        };
        let revision = match version {
            None => 0,
            Some(text) => text.parse::<u64>().map_err(|_| wrong(text))?,
        };
        Ok(match (initial, revision) {
            (Some(true), _) => Begin::State { mark: true },
            (Some(false), 0) => Begin::Now,
            (None, 0) => Begin::State { mark: false },
            (_, revision) => Begin::After(revision),
        })
    }

    /// The bytes that a stream has to say since the last time; ask again until there are none.
    pub fn poll(&mut self, stream: StreamId) -> Polled {
        // Taken out while it looks at the world, and put back unless it is over.
        let Some(mut open) = self.api.streams.open.remove(&stream.0) else {
            return Polled { ended: true, ..Polled::default() };
        };
        let polled = match &mut open {
            Open::Watch(watch) => watch.poll(&self.store, self.now),
            Open::Log(follow) => self.poll_log(follow),
        };
        if !polled.ended && !polled.broken {
            self.api.streams.open.insert(stream.0, open);
        }
        polled
    }

    /// The client is gone.
    pub fn close(&mut self, stream: StreamId) {
        self.api.streams.open.remove(&stream.0);
    }

    /// Forgets all events so far, as a compaction does: watches and pages from before are told that they are too old.
    pub fn forget_history(&mut self) {
        self.store.compact(self.store.revision());
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.api.streams.open.len()
    }
}

impl Streams {
    /// Lets something happen to a stream.
    pub(crate) fn set_fault(&mut self, id: StreamId, fault: StreamFault) {
        if let Some(Open::Watch(stream)) = self.open.get_mut(&id.0) {
            stream.fault = Some(fault);
        }
    }

    /// Opens one more.
    pub(crate) fn open(&mut self, stream: Open) -> StreamId {
        self.last += 1;
        self.open.insert(self.last, stream);
        StreamId(self.last)
    }

    /// Breaks all streams off, as a restart does.
    pub(crate) fn break_all(&mut self) {
        for stream in self.open.values_mut() {
            match stream {
                Open::Watch(stream) => stream.fault = Some(StreamFault::Break { after: 0 }),
                // It says nothing more and ends: its pod is nobody's.
                Open::Log(follow) => follow.forget(),
            }
        }
    }
}

enum Begin {
    Now,
    After(u64),
    State { mark: bool },
}

impl Stream {
    fn poll(&mut self, store: &Store, now: Time) -> Polled {
        let mut out = Vec::new();
        self.show.now = now;
        if self.fault == Some(StreamFault::Silent) {
            return Polled { ended: now >= self.deadline, ..Polled::default() };
        }
        if let Some(polled) = self.faulted(&mut out, store) {
            return polled;
        }
        while let Some(object) = self.initial.pop_front() {
            self.say("ADDED", &object, &mut out);
            if out.len() >= PIECE {
                return Polled { bytes: out, ..Polled::default() };
            }
        }
        if let Some(revision) = self.end_mark.take() {
            self.bookmark(revision, true, &mut out);
        }
        let cursor = self.cursor;
        let Some(events) = store.events_after(cursor) else {
            push_line(&mut out, "ERROR", expired(cursor, store.forgotten()).to_string().as_bytes());
            return Polled { bytes: out, ended: true, broken: false };
        };
        for event in events {
            self.event(event, &mut out);
            self.cursor = event.object.revision;
            if let Some(polled) = self.faulted(&mut out, store) {
                return polled;
            }
            if out.len() >= PIECE {
                return Polled { bytes: out, ..Polled::default() };
            }
        }
        let ended = now >= self.deadline;
        let near_end = now + BOOKMARK_BEFORE_END >= self.deadline;
        // After the one before the end there is none.
        if self.bookmarks && (now >= self.next_bookmark || (near_end && !self.last_bookmark)) {
            self.bookmark(self.cursor.max(store.revision()), false, &mut out);
            self.next_bookmark = now + BOOKMARK_EVERY;
            self.last_bookmark = near_end;
        }
        Polled { bytes: out, ended, broken: false }
    }

    /// What a fault makes of the stream, when its turn has come.
    fn faulted(&mut self, out: &mut Vec<u8>, store: &Store) -> Option<Polled> {
        match self.fault? {
            StreamFault::Break { after } if self.said >= after => {
                // Half a line more, as a connection that is cut off leaves it.
                out.extend_from_slice(b"{\"type\":\"MODI");
                Some(Polled { bytes: std::mem::take(out), ended: true, broken: true })
            }
            StreamFault::Expire { after } if self.said >= after => {
                push_line(out, "ERROR", expired(self.cursor, store.revision()).to_string().as_bytes());
                Some(Polled { bytes: std::mem::take(out), ended: true, broken: false })
            }
            _ => None,
        }
    }

    fn event(&mut self, event: &Event, out: &mut Vec<u8>) {
        let wanted = event.resource.plural == self.show.kept.resource().plural
            && event.resource.group == self.show.kept.key().group
            && self.namespace.as_deref().is_none_or(|namespace| event.key.namespace == namespace);
        if !wanted {
            return;
        }
        if self.selector.is_empty() {
            let kind = match event.kind {
                EventKind::Added => "ADDED",
                EventKind::Modified => "MODIFIED",
                EventKind::Deleted => "DELETED",
            };
            return self.say(kind, &event.object, out);
        }
        let fits = |object: &Object| self.selector.matches(&self.show.value(object));
        let was = event.before.as_ref().is_some_and(fits);
        let is = event.kind != EventKind::Deleted && fits(&event.object);
        match (was, is) {
            (false, false) => {}
            (false, true) => self.say("ADDED", &event.object, out),
            (true, true) => self.say("MODIFIED", &event.object, out),
            (true, false) if event.kind == EventKind::Deleted => self.say("DELETED", &event.object, out),
            (true, false) => {
                // The old state, which still matched, under the new revision.
                let old = event.before.as_ref().unwrap_or(&event.object);
                let mut value = Value::clone(&old.value);
                value["metadata"]["resourceVersion"] = json!(event.object.revision.to_string());
                self.say("DELETED", &Object::new(value, event.object.revision), out);
            }
        }
    }

    fn say(&mut self, kind: &str, object: &Object, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        self.show.push_event(object, !self.started, out);
        out.extend_from_slice(b"}\n");
        self.started = true;
        self.said += 1;
    }

    fn bookmark(&mut self, revision: u64, end: bool, out: &mut Vec<u8>) {
        let resource = self.show.served.resource();
        let mut meta = json!({"resourceVersion": revision.to_string()});
        if end {
            meta["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, version) = match self.show.form {
            Form::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1".into()),
            _ => (resource.kind.as_str(), resource.api_version()),
        };
        let object = json!({"kind": kind, "apiVersion": version.as_str(), "metadata": meta});
        let object = match self.show.form {
            Form::Table => {
                let object = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta});
                let rows = vec![json!({"cells": [], "object": object})];
                let head = json!({"resourceVersion": revision.to_string()});
                super::table::table(&self.show.served, head, rows, !self.started)
            }
            _ => object,
        };
        push_line(out, "BOOKMARK", object.to_string().as_bytes());
        self.started = true;
    }
}

fn push_line(out: &mut Vec<u8>, kind: &str, object: &[u8]) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

fn expired(asked: u64, oldest: u64) -> Value {
    Refusal::new(410, "Expired", format!("too old resource version: {asked} ({oldest})")).to_json()
}
