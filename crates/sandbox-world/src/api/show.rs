//! Objects as answers: whole, as metadata only, as a table; alone and in lists. Bytes of stored objects are never made twice.

use std::borrow::Cow;

use kube_meaning::reach::Reach;
use kube_meaning::write::read_custom;
use serde_json::{Value, json};

use super::accept::Form;
use super::query::Query;
use super::table::{self, Include};
use crate::registry::Served;
use crate::store::{Object, Text, with_entries};
use crate::time::Time;
use crate::write::in_version;

/// How objects of a resource are shown to a client.
#[derive(Clone, Debug)]
pub(crate) struct Show {
    pub(crate) served: Served,
    /// The resource in the version in which objects are kept.
    pub(crate) kept: Served,
    pub(crate) form: Form,
    pub(crate) include: Include,
    pub(crate) now: Time,
}

/// The head of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListHead {
    pub(crate) revision: u64,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl Show {
    /// Whether stored bytes can be shown as they are.
    fn as_kept(&self, object: &Object) -> bool {
        let (from, to) = (self.kept.resource(), self.served.resource());
        from.version == to.version && from.group == to.group && !self.is_older(object)
    }

    /// Whether a custom object was written before its definition last changed.
    fn is_older(&self, object: &Object) -> bool {
        self.served.definition().is_some_and(|definition| object.revision < definition.since())
    }

    /// The object in the version that is asked for.
    pub(crate) fn value<'o>(&self, object: &'o Object) -> Cow<'o, Value> {
        let mut value = in_version(object, &self.kept, &self.served);
        if self.is_older(object) {
            read_custom(self.served.target(""), value.to_mut());
        }
        value
    }

    /// One object as a whole answer's body, without the line end.
    pub(crate) fn one(&self, object: &Object) -> Vec<u8> {
        match self.form {
            Form::Whole if self.as_kept(object) => object.text().bytes().to_vec(),
            Form::Whole => Text::of(&self.value(object)).bytes().to_vec(),
            Form::Metadata => partial(&self.value(object)).to_string().into_bytes(),
            Form::Table => {
                let rows = vec![table::row(&self.served, &self.value(object), self.include, self.now)];
                let head = json!({"resourceVersion": object.value["metadata"]["resourceVersion"]});
                table::table(&self.served, head, rows, true).to_string().into_bytes()
            }
        }
    }

    /// A list as a whole answer's body, without the line end.
    pub(crate) fn list<'o>(&self, head: &ListHead, objects: impl Iterator<Item = &'o Object>) -> Vec<u8> {
        let mut meta = json!({"resourceVersion": head.revision.to_string()});
        if let Some(next) = &head.next {
            meta["continue"] = json!(next);
        }
        if let Some(remaining) = head.remaining {
            meta["remainingItemCount"] = json!(remaining);
        }
        if self.form == Form::Table {
            let row = |object: &Object| table::row(&self.served, &self.value(object), self.include, self.now);
            let rows = objects.map(row).collect();
            return table::table(&self.served, meta, rows, true).to_string().into_bytes();
        }
        let resource = self.served.resource();
        let (kind, version) = match self.form {
            Form::Metadata => ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned()),
            _ => (list_kind(&self.served), resource.api_version().to_string()),
        };
        let mut out = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{meta},\"items\":[",
            json!(kind),
            json!(version)
        )
        .into_bytes();
        for (at, object) in objects.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            self.push_item(object, &mut out);
        }
        out.extend_from_slice(b"]}");
        out
    }

    fn push_item(&self, object: &Object, out: &mut Vec<u8>) {
        match (self.form, self.served.resource().custom) {
            (Form::Metadata, _) => out.extend_from_slice(partial(&self.value(object)).to_string().as_bytes()),
            (_, true) if self.as_kept(object) => out.extend_from_slice(object.text().bytes()),
            (_, true) => out.extend_from_slice(Text::of(&self.value(object)).bytes()),
            (_, false) if self.as_kept(object) => object.text().push_bare(out),
            (_, false) => Text::of(&self.value(object)).push_bare(out),
        }
    }

    /// The object of a watch event; `first` says whether a table still has to name its columns.
    pub(crate) fn push_event(&self, object: &Object, first: bool, out: &mut Vec<u8>) {
        match self.form {
            Form::Whole if self.as_kept(object) => out.extend_from_slice(object.text().bytes()),
            Form::Table => {
                let rows = vec![table::row(&self.served, &self.value(object), self.include, self.now)];
                let head = json!({"resourceVersion": object.value["metadata"]["resourceVersion"]});
                let shown = table::table(&self.served, head, rows, first);
                out.extend_from_slice(shown.to_string().as_bytes());
            }
            _ => out.extend_from_slice(&self.one(object)),
        }
    }
}

/// What is asked to be in the rows of a table.
pub(crate) fn include(query: &Query<'_>) -> Include {
    match query.get("includeObject") {
        Some("None") => Include::None,
        Some("Object") => Include::Object,
        _ => Include::Metadata,
    }
}

/// Type and metadata of an object.
pub(crate) fn partial(object: &Value) -> Value {
    let whole = with_entries(&json!({"metadata": object["metadata"]}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": whole["metadata"]})
}

/// `ConfigMapList`, or what a definition calls it.
pub(crate) fn list_kind(served: &Served) -> String {
    let named = served.definition().and_then(|definition| definition.spec.at("/names/listKind"));
    match named.and_then(Value::as_str) {
        Some(kind) if !kind.is_empty() => kind.to_owned(),
        _ => format!("{}List", served.resource().kind),
    }
}
