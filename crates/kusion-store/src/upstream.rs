//! What upstream's Kusion has written: its states (`kusion_state.json` or `.yaml`, before 0.12) and its releases
//! (`<revision>.yaml`, since then). Read only.
//!
//! In: values of a document (reading YAML happens elsewhere). Out: whose state it is, how new, and the resources as they were
//! applied. Nothing is believed about the rest: upstream has neither a checksum nor a version of its format.

use serde_json::{Map, Value};

/// More resources than this are no stack of anybody.
const MOST_RESOURCES: usize = 200_000;

/// A state of upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamState {
    pub project: String,
    pub stack: String,
    /// Since 0.11.
    pub workspace: String,
    /// How new it is: the serial of a state, the revision of a release.
    pub number: u64,
    /// Of a release: whether it came to its end. A state has none.
    pub phase: Option<String>,
    /// The resources: `id`, `type`, `attributes`, `dependsOn`, `extensions`.
    pub resources: Vec<Value>,
}

/// A document that is neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotUpstream(String);

fn wrong(text: impl Into<String>) -> NotUpstream {
    NotUpstream(text.into())
}

impl UpstreamState {
    /// Reads a document.
    ///
    /// # Errors
    /// What is missing or is not what it should be.
    pub fn read(document: Value) -> Result<UpstreamState, NotUpstream> {
        let Value::Object(mut map) = document else {
            return Err(wrong("it is not a mapping of keys to values"));
        };
        let release = map.contains_key("revision");
        let number = number(&map, if release { "revision" } else { "serial" })?;
        let resources = match (release, map.remove("resources"), map.remove("state")) {
            (true, _, Some(Value::Object(mut state))) => state.remove("resources"),
            (true, _, Some(Value::Null) | None) => None,
            (false, resources @ Some(_), _) => resources,
            (false, None, _) => return Err(wrong("it has neither `revision` nor `resources`")),
            _ => return Err(wrong("`state` is not a mapping")),
        };
        let resources = match resources {
            Some(Value::Array(items)) => items,
            Some(Value::Null) | None => Vec::new(),
            Some(_) => return Err(wrong("`resources` is not a list")),
        };
        if resources.len() > MOST_RESOURCES {
            return Err(wrong(format!("it has more than {MOST_RESOURCES} resources")));
        }
        for (at, resource) in resources.iter().enumerate() {
            let id = resource.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
            if id.is_none() || !resource.get("attributes").is_none_or(Value::is_object) {
                return Err(wrong(format!("resource {} has no `id`, or no mapping of attributes", at + 1)));
            }
        }
        Ok(UpstreamState {
            project: text(&map, "project")?,
            stack: text(&map, "stack")?,
            workspace: text(&map, "workspace")?,
            number,
            phase: Some(text(&map, "phase")?).filter(|phase| !phase.is_empty()),
            resources,
        })
    }

    /// Whether a release came to its end; an unfinished one may have made what it does not know.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase.as_deref().is_none_or(|phase| matches!(phase, "succeeded" | "failed"))
    }
}

/// A text; absent ones are empty.
fn text(map: &Map<String, Value>, key: &str) -> Result<String, NotUpstream> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(wrong(format!("`{key}` is not a text"))),
    }
}

fn number(map: &Map<String, Value>, key: &str) -> Result<u64, NotUpstream> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(0),
        Some(value) => value.as_u64().ok_or_else(|| wrong(format!("`{key}` is not a number"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn states_and_releases_are_read() {
        let resource =
            json!({"id": "v1:Namespace:ns", "type": "Kubernetes", "attributes": {"kind": "Namespace"}});
        let state = json!({
            "id": 0, "project": "shop", "stack": "dev", "version": 1, "serial": 7, "kusionVersion": "0.8",
            "resources": [resource], "createTime": "2023-01-01T00:00:00Z",
        });
        let read = UpstreamState::read(state).unwrap();
        assert_eq!((read.project.as_str(), read.stack.as_str(), read.number), ("shop", "dev", 7));
        assert!(read.is_finished() && read.resources.len() == 1);
        let release = json!({
            "project": "shop", "workspace": "prod", "revision": 3, "stack": "dev", "phase": "applying",
            "spec": {"resources": []}, "state": {"resources": [resource]},
        });
        let read = UpstreamState::read(release).unwrap();
        assert_eq!((read.workspace.as_str(), read.number, read.is_finished()), ("prod", 3, false));
        assert_eq!(read.resources.len(), 1, "what the Spec wanted is not what is there");
    }

    #[test]
    fn what_is_neither_is_told() {
        for (document, why) in [
            (json!([]), "not a mapping"),
            (json!({}), "neither"),
            (json!({"serial": -1, "resources": []}), "`serial` is not a number"),
            (json!({"resources": 3}), "not a list"),
            (json!({"resources": [{"type": "x"}]}), "resource 1 has no `id`"),
            (json!({"resources": [{"id": "a", "attributes": 1}]}), "resource 1"),
            (json!({"revision": 1, "state": 3}), "`state` is not a mapping"),
            (json!({"resources": [], "project": 3}), "`project` is not a text"),
        ] {
            assert!(UpstreamState::read(document).unwrap_err().to_string().contains(why), "{why}");
        }
    }
}
