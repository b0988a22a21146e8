//! Selectors of lists, watches and collection deletes.

use kube_meaning::selectors::{FieldSelector, LabelSelector, supports_field};
use kube_meaning::status::Refusal;
use serde_json::Value;

use super::query::Query;
use crate::registry::Served;

/// Which objects are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selector {
    pub(crate) fn read(query: &Query<'_>, served: &Served) -> Result<Selector, Refusal> {
        let labels = query.get("labelSelector").unwrap_or_default();
        let labels = LabelSelector::parse(labels)
            .map_err(|text| Refusal::bad_request(format!("unable to parse requirement: {text}")))?;
        let fields = query.get("fieldSelector").unwrap_or_default();
        let fields = FieldSelector::parse(fields).map_err(Refusal::bad_request)?;
        for field in fields.fields() {
            if !selectable(served, field) {
                return Err(Refusal::bad_request(refusal(served, field)));
            }
        }
        Ok(Selector { labels, fields })
    }

    /// The one object of that name.
    pub(crate) fn named(name: &str) -> Selector {
        let fields = FieldSelector(vec![("metadata.name".to_owned(), true, name.to_owned())]);
        Selector { labels: LabelSelector::default(), fields }
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.labels.matches_object(object) && self.fields.matches(object)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.0.is_empty()
    }
}

fn selectable(served: &Served, field: &str) -> bool {
    let resource = served.resource();
    if !resource.custom {
        return supports_field(&resource.kind, field);
    }
    let listed = served.custom_version().and_then(|version| version["selectableFields"].as_array());
    field == "metadata.name"
        || field == "metadata.namespace"
        || listed
            .into_iter()
            .flatten()
            .any(|item| item["jsonPath"].as_str().is_some_and(|path| path.trim_start_matches('.') == field))
}

fn refusal(served: &Served, field: &str) -> String {
    match served.resource().custom {
        true => format!("field label not supported: {field}"),
        false => {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
    }
}
