//! A request for a resource: which resource, which verb, whether it may be, and who carries it out.

use kube_meaning::status::Refusal;

use super::accept::{Form, form};
use super::access::{Attributes, User};
use super::query::Query;
use super::respond::{no_resource, not_allowed};
use super::route::ResourcePath;
use super::show::{Show, include};
use super::{Answer, Request, Response};
use crate::registry::Served;
use crate::world::World;

/// A request for a resource, understood.
pub(crate) struct Ask<'r> {
    pub(crate) request: &'r Request<'r>,
    pub(crate) query: &'r Query<'r>,
    pub(crate) served: Served,
    /// Empty for cluster-scoped resources and for lists of all namespaces.
    pub(crate) namespace: &'r str,
    /// Empty for collections.
    pub(crate) name: &'r str,
    pub(crate) subresource: &'r str,
    pub(crate) form: Form,
    pub(crate) user: &'r User,
}

impl Ask<'_> {
    pub(crate) fn show(&self, world: &World) -> Show {
        Show {
            served: self.served.clone(),
            kept: world.registry.stored(&self.served),
            form: self.form,
            include: include(self.query),
            now: world.now,
        }
    }

    /// The namespace to list: none means all.
    pub(crate) fn listed_namespace(&self) -> Option<&str> {
        Some(self.namespace).filter(|namespace| !namespace.is_empty())
    }
}

impl World {
    pub(crate) fn resource(
        &mut self,
        request: &Request<'_>,
        query: &Query<'_>,
        path: &ResourcePath<'_>,
        user: &User,
    ) -> Result<Answer, Refusal> {
        let Some(served) = self.registry.by_plural(&path.group, &path.version, &path.plural) else {
            return self.unserved(&path.group);
        };
        let namespace = path.namespace.as_deref().unwrap_or_default();
        let name = path.name.as_deref().unwrap_or_default();
        let subresource = path.subresource.as_deref().unwrap_or_default();
        let verb = self.verb(request, query, path, &served)?;
        self.authorize(
            user,
            &Attributes {
                verb,
                group: &path.group,
                resource: &path.plural,
                subresource,
                namespace,
                name,
                path: "",
            },
        )?;
        let form = form(request.header("accept"))?;
        let ask = Ask { request, query, served, namespace, name, subresource, form, user };
        let answer = if !subresource.is_empty() {
            self.subresource(&ask, verb)?
        } else {
            match verb {
                "get" => self.get(&ask)?,
                "list" => self.list(&ask)?,
                "watch" => self.watch(&ask)?,
                "create" => self.create(&ask)?,
                "update" => self.update(&ask)?,
                "patch" => self.patch(&ask)?,
                "delete" => self.delete(&ask)?,
                "deletecollection" => self.delete_collection(&ask)?,
                _ => return Err(not_allowed()),
            }
        };
        Ok(with_deprecation(answer, &ask.served))
    }

    /// A group that is known has a Status for what it does not serve; one that is not has a page.
    fn unserved(&self, group: &str) -> Result<Answer, Refusal> {
        match self.registry.all().any(|served| served.resource().group == group) {
            true => Err(no_resource()),
            false => Ok(Response::page_not_found().into()),
        }
    }

    fn verb(
        &self,
        request: &Request<'_>,
        query: &Query<'_>,
        path: &ResourcePath<'_>,
        served: &Served,
    ) -> Result<&'static str, Refusal> {
        let resource = served.resource();
        if path.namespace.is_some() && !resource.namespaced {
            return Err(no_resource());
        }
        let named = path.name.is_some();
        if named && resource.namespaced && path.namespace.is_none() {
            return Err(no_resource());
        }
        let watches = path.watch || query.flag("watch")?.unwrap_or(false);
        let verb = match (request.method, named) {
            ("GET" | "HEAD", true) if path.watch => "watch",
            ("GET" | "HEAD", true) => "get",
            ("GET" | "HEAD", false) if watches => "watch",
            ("GET" | "HEAD", false) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "delete",
            ("DELETE", false) => "deletecollection",
            _ => return Err(not_allowed()),
        };
        if let Some(subresource) = path.subresource.as_deref() {
            let found = resource.subresources.iter().find(|s| s.name == subresource);
            let found = found.ok_or_else(no_resource)?;
            return match found.verbs.iter().any(|v| v == verb) {
                true => Ok(verb),
                false => Err(not_allowed()),
            };
        }
        let fits = match verb {
            "create" => !named && (path.namespace.is_some() || !resource.namespaced),
            "update" | "patch" => named,
            "deletecollection" => path.namespace.is_some() || !resource.namespaced,
            _ => true,
        };
        match fits && resource.verbs.iter().any(|v| v == verb) {
            true => Ok(verb),
            false => Err(not_allowed()),
        }
    }
}

/// Versions that will go away say so with every answer.
fn with_deprecation(answer: Answer, served: &Served) -> Answer {
    let Some(text) = deprecation(served) else { return answer };
    match answer {
        Answer::Whole(response) => Answer::Whole(response.warnings(&[text])),
        Answer::Stream { id, mut headers } => {
            headers.push(("warning", format!("299 - \"{}\"", text.replace('"', "\\\""))));
            Answer::Stream { id, headers }
        }
        other => other,
    }
}

fn deprecation(served: &Served) -> Option<String> {
    let resource = served.resource();
    if resource.group.is_empty() {
        return match resource.kind.as_str() {
            "Endpoints" => {
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned())
            }
            "ComponentStatus" => Some("v1 ComponentStatus is deprecated in v1.19+".to_owned()),
            _ => None,
        };
    }
    let version = served.custom_version()?;
    if version["deprecated"] != true {
        return None;
    }
    if let Some(own) = version["deprecationWarning"].as_str() {
        return Some(own.to_owned());
    }
    let kind = &resource.kind;
    let newest = served.schema().resources().iter().find(|other| {
        let says = served.definition().and_then(|definition| definition.version(&other.version));
        says.is_some_and(|version| version["deprecated"] != true)
    });
    let instead = newest.map_or(String::new(), |other| format!("; use {} {kind}", other.api_version()));
    Some(format!("{} {kind} is deprecated{instead}", resource.api_version()))
}
