//! A kind that is not served as a record names it: is it gone, with all its objects, or only called otherwise?
//!
//! A version that a definition does not serve any more has lost none of its objects: they are read in another one, and a few
//! kinds live on in another group. Only where no version has the kind and no definition names it are there no objects of it.
//! Discovery alone is no proof: a list of kinds may be short of one for a moment, and the objects are there all the same.

use futures::future::BoxFuture;
use kube_meaning::schema::split_api_version;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use crate::api::Api;
use crate::border;
use crate::identity::later_group;
use crate::kinds::{Kind, definitions, discover};

/// What became of a kind that is not served as it was asked for.
pub(crate) enum Unserved {
    /// Proved: nobody serves it and nothing defines it, so there are no objects.
    Nowhere,
    /// Its objects are here.
    As(Box<Kind>),
}

impl Unserved {
    /// Nothing is there, or the failure of a read that went to the wrong place.
    pub(crate) fn nowhere(self, kind: &Kind) -> Result<(), RuntimeError> {
        match self {
            Unserved::Nowhere => Ok(()),
            Unserved::As(other) => {
                let (from, to) = (&kind.api_version, &other.api_version);
                let text = format!("the cluster serves `{}` as `{to}` now, and not as `{from}`", kind.kind);
                Err(RuntimeError::new(ErrorKind::UnknownKind, text))
            }
        }
    }
}

impl Api {
    /// Finds out where the objects of a kind are that is not served as it was asked for.
    pub(crate) fn elsewhere<'a>(
        &'a self,
        api_version: &'a str,
        kind: &'a str,
    ) -> BoxFuture<'a, Result<Unserved, RuntimeError>> {
        // Boxed, because reading a definition may lead here again.
        Box::pin(self.patiently(move || self.elsewhere_now(api_version, kind)))
    }

    async fn elsewhere_now(&self, api_version: &str, kind: &str) -> Result<Unserved, RuntimeError> {
        let group = split_api_version(api_version).0;
        for group in [Some(group), later_group(group, kind)].into_iter().flatten() {
            for version in self.versions_of(group).await? {
                if let Some(found) = discover(self, &version, kind).await? {
                    return Ok(Unserved::As(Box::new(found)));
                }
            }
        }
        match self.definition_of(group, kind).await? {
            None => Ok(Unserved::Nowhere),
            Some(name) => {
                let text = format!(
                    "CustomResourceDefinition {name} exists, and the cluster serves its kind `{kind}` in no version: whether \
                     there are objects of it is not known"
                );
                Err(RuntimeError::new(ErrorKind::Unreadable, text))
            }
        }
    }

    /// The versions of a group that the server lists.
    async fn versions_of(&self, group: &str) -> Result<Vec<String>, RuntimeError> {
        let root = if group.is_empty() { "/api" } else { "/apis" };
        let mut versions = border::versions(group.is_empty(), self.get(root).await?)?;
        versions.retain(|version| split_api_version(version).0 == group);
        Ok(versions)
    }

    /// The name of the definition of a kind; `None` if a complete list of them has none.
    async fn definition_of(&self, group: &str, kind: &str) -> Result<Option<String>, RuntimeError> {
        let Some(definitions) = definitions() else { return Ok(None) };
        let answer = self.get(&definitions.collection("")).await?;
        let page = border::page(&definitions, "", answer).map_err(|error| unproved(group, kind, error))?;
        if page.next.is_some() {
            let text = "the list of CustomResourceDefinitions came in pages that were not asked for";
            return Err(RuntimeError::new(ErrorKind::Unreadable, text));
        }
        let says = |object: &Value, pointer: &str, word: &str| {
            object.pointer(pointer).and_then(Value::as_str) == Some(word)
        };
        let is_it =
            |object: &&Value| says(object, "/spec/group", group) && says(object, "/spec/names/kind", kind);
        let found = page.items.iter().find(is_it);
        Ok(found.and_then(|object| object.pointer("/metadata/name")?.as_str().map(str::to_owned)))
    }
}

/// Without the list of definitions nobody knows whether the objects are gone.
fn unproved(group: &str, kind: &str, error: RuntimeError) -> RuntimeError {
    let text = format!(
        "the cluster does not serve `{kind}` of `{group}`, and whether it is defined cannot be read: {}",
        error.message
    );
    // A server without definitions is no proof either, but asking again would not help.
    let kind = if error.kind == ErrorKind::UnknownKind { ErrorKind::Unreadable } else { error.kind };
    RuntimeError::new(kind, text)
}
