//! The list `metadata.managedFields`: who owns which fields, since when, written through which version.
//!
//! In and out: the JSON list. Invariant: one entry per identity (manager, operation, sub-resource, and for updates the version),
//! no entry with an empty set, and the order in which the server writes them.

use ecow::EcoString;
use serde_json::{Map, Value, json};

use crate::fieldset::FieldSet;
use crate::managed_text;

/// How a manager wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

impl Operation {
    /// `Apply` or `Update`.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Who wrote: the identity of an entry, and the version it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    pub name: EcoString,
    pub operation: Operation,
    pub api_version: EcoString,
    /// Empty for the main resource.
    pub subresource: EcoString,
}

/// One entry of managedFields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub manager: Manager,
    /// RFC 3339 with whole seconds; absent when only ownership ever changed.
    pub time: Option<EcoString>,
    pub fields: FieldSet,
}

/// All entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    pub entries: Vec<Entry>,
}

/// More updaters than this are folded into [`ANCIENT`].
const MAX_UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

impl Manager {
    /// Whether two managers share one entry.
    pub fn same(&self, other: &Manager) -> bool {
        self.name == other.name
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// The server's sort key of an identity.
    pub(crate) fn sort_key(&self) -> String {
        let mut key = json!({"manager": self.name.as_str(), "operation": self.operation.as_str()});
        if self.operation == Operation::Update {
            key["apiVersion"] = Value::from(self.api_version.as_str());
        }
        if !self.subresource.is_empty() {
            key["subresource"] = Value::from(self.subresource.as_str());
        }
        key.to_string()
    }

    /// The manager in conflict texts: `"m"[ with subresource "s"][ using v1]`.
    pub fn describe(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

impl Entry {
    /// Reads one entry. `None` when it is malformed.
    pub fn parse(value: &Value) -> Option<Entry> {
        let text = |key: &str| EcoString::from(value.get(key).and_then(Value::as_str).unwrap_or_default());
        let operation = match value.get("operation")?.as_str()? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        if value.get("fieldsType").and_then(Value::as_str).is_some_and(|t| t != "FieldsV1") {
            return None;
        }
        let fields = match value.get("fieldsV1") {
            None | Some(Value::Null) => FieldSet::new(),
            Some(fields) => FieldSet::parse(fields)?,
        };
        if text("apiVersion").is_empty() {
            return None;
        }
        let manager = Manager {
            name: text("manager"),
            operation,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
        };
        let time = value.get("time").and_then(Value::as_str).map(EcoString::from);
        Some(Entry { manager, time, fields })
    }

    /// Writes one entry.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("manager", Value::from(self.manager.name.as_str()));
        put("operation", Value::from(self.manager.operation.as_str()));
        put("apiVersion", Value::from(self.manager.api_version.as_str()));
        if let Some(time) = &self.time {
            put("time", Value::from(time.as_str()));
        }
        put("fieldsType", Value::from("FieldsV1"));
        put("fieldsV1", self.fields.to_json());
        if !self.manager.subresource.is_empty() {
            put("subresource", Value::from(self.manager.subresource.as_str()));
        }
        Value::Object(map)
    }
}

impl Managed {
    /// Reads the entries of an object, kept as a list or as its text. Malformed lists count as none, as on the server.
    pub fn of(object: &Value) -> Managed {
        let list = object.get("metadata").and_then(|m| m.get("managedFields"));
        let read = list.and_then(|list| match list {
            Value::String(text) => managed_text::read(text),
            list => Managed::parse(list),
        });
        read.unwrap_or_default()
    }

    /// Reads a list of entries. `None` when any is malformed.
    pub fn parse(list: &Value) -> Option<Managed> {
        let mut managed = Managed::default();
        for value in list.as_array()? {
            let entry = Entry::parse(value)?;
            match managed.get_mut(&entry.manager) {
                // Of two entries with one identity the later counts, as on the server.
                Some(old) => *old = entry,
                None => managed.entries.push(entry),
            }
        }
        Some(managed)
    }

    /// The entries that own something, in the server's order.
    pub(crate) fn in_order(&self) -> Vec<&Entry> {
        fn key(entry: &Entry) -> (Operation, &str, &str, &str, &str) {
            let Manager { name, operation, api_version, subresource } = &entry.manager;
            (*operation, entry.time.as_deref().unwrap_or_default(), name, api_version, subresource)
        }
        let mut order: Vec<&Entry> = self.entries.iter().filter(|e| !e.fields.is_empty()).collect();
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        order
    }

    /// Writes the list in the server's order.
    pub fn to_json(&self) -> Value {
        self.in_order().into_iter().map(Entry::to_json).collect()
    }

    /// Writes the list into an object; an empty one is left out.
    pub fn write_to(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        match self.to_json() {
            Value::Array(list) if list.is_empty() => {
                metadata.shift_remove("managedFields");
            }
            list => {
                metadata.insert("managedFields".to_owned(), list);
            }
        }
    }

    /// The entry of a manager.
    pub fn get(&self, manager: &Manager) -> Option<&Entry> {
        self.entries.iter().find(|e| e.manager.same(manager))
    }

    pub(crate) fn get_mut(&mut self, manager: &Manager) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.manager.same(manager))
    }

    /// Whether both have the same entries, times left aside.
    pub fn same_ownership(&self, other: &Managed) -> bool {
        let owned = |m: &Managed| m.entries.iter().filter(|e| !e.fields.is_empty()).count();
        owned(self) == owned(other)
            && self.entries.iter().filter(|e| !e.fields.is_empty()).all(|entry| {
                other.get(&entry.manager).is_some_and(|twin| {
                    twin.fields == entry.fields && twin.manager.api_version == entry.manager.api_version
                })
            })
    }

    pub(crate) fn drop_empty(&mut self) {
        self.entries.retain(|e| !e.fields.is_empty());
    }

    /// Folds the oldest updaters together when there are too many.
    pub(crate) fn cap_updaters(&mut self) {
        let mut updaters: Vec<Manager> = self
            .entries
            .iter()
            .filter(|e| e.manager.operation == Operation::Update)
            .map(|e| e.manager.clone())
            .collect();
        if updaters.len() <= MAX_UPDATERS {
            return;
        }
        let time_of =
            |managed: &Managed, m: &Manager| managed.get(m).and_then(|e| e.time.clone()).unwrap_or_default();
        updaters.sort_by_cached_key(|m| (time_of(self, m), m.sort_key()));
        let mut count = updaters.len();
        let mut first_of: Vec<Manager> = Vec::new();
        for manager in updaters {
            if count <= MAX_UPDATERS {
                break;
            }
            let Some(first) = first_of.iter().find(|f| f.api_version == manager.api_version).cloned() else {
                first_of.push(manager);
                continue;
            };
            self.fold(&first, &manager);
            count -= 1;
        }
    }

    fn fold(&mut self, first: &Manager, manager: &Manager) {
        let bucket = Manager {
            name: ANCIENT.into(),
            operation: Operation::Update,
            api_version: manager.api_version.clone(),
            subresource: EcoString::new(),
        };
        if self.get(&bucket).is_none()
            && let Some(entry) = self.get_mut(first)
        {
            entry.manager = bucket.clone();
        }
        let Some(at) = self.entries.iter().position(|e| e.manager.same(manager)) else { return };
        if manager.same(&bucket) {
            return;
        }
        let merged = self.entries.remove(at);
        if let Some(entry) = self.get_mut(&bucket) {
            entry.fields = entry.fields.union(&merged.fields);
            entry.time = merged.time;
        }
    }
}
