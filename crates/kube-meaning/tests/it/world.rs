//! One object in a world without a store: writes at given seconds, answers as the server gives them.

use kube_meaning::builtin;
use kube_meaning::ssa::Target;
use kube_meaning::status::Refusal;
use kube_meaning::write::{Verb, Writer, Written, write};
use serde_json::Value;

pub(crate) struct OneObject {
    target: Target<'static>,
    pub(crate) live: Option<Value>,
    second: u32,
}

impl OneObject {
    pub(crate) fn new(group: &str, version: &str, kind: &str) -> OneObject {
        let resource = builtin().resource(group, version, kind).expect("a built-in kind");
        OneObject { target: Target::main(builtin(), resource), live: None, second: 0 }
    }

    pub(crate) fn through(&mut self, subresource: &'static str) -> &mut OneObject {
        self.target.subresource = subresource;
        self
    }

    pub(crate) fn in_version(&mut self, version: &str) -> &mut OneObject {
        let old = self.target.resource;
        self.target.resource = builtin().resource(&old.group, version, &old.kind).expect("a served version");
        self
    }

    /// Writes one second later than the last write.
    pub(crate) fn put(&mut self, manager: &str, verb: Verb<'_>, force: bool) -> Result<Written, Refusal> {
        self.second += 1;
        let now = format!("2026-01-01T00:00:{:02}Z", self.second % 60);
        let by = Writer { manager, force, now: &now, uid: "uid-1", admit: &mut |_, _| Ok(()) };
        let written = write(self.target, self.live.as_ref(), verb, by)?;
        self.live = Some(written.object.clone());
        Ok(written)
    }

    pub(crate) fn apply(&mut self, manager: &str, body: &Value) -> Result<Written, Refusal> {
        self.put(manager, Verb::Apply(body), false)
    }

    pub(crate) fn force(&mut self, manager: &str, body: &Value) -> Written {
        self.put(manager, Verb::Apply(body), true).expect("force has no conflicts")
    }

    pub(crate) fn object(&self) -> &Value {
        self.live.as_ref().expect("something was written")
    }

    pub(crate) fn entry(&self, manager: &str) -> Option<&Value> {
        self.object()["metadata"]["managedFields"].as_array()?.iter().find(|e| e["manager"] == manager)
    }

    pub(crate) fn fields(&self, manager: &str) -> String {
        self.entry(manager).map_or("none".to_owned(), |e| e["fieldsV1"].to_string())
    }

    pub(crate) fn time(&self, manager: &str) -> Option<&str> {
        self.entry(manager)?["time"].as_str()
    }
}
