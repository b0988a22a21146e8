//! Which thing a path names. Segments are decoded one by one, so that an encoded slash never makes a new one.

use std::borrow::Cow;

use super::query::decode;

/// A path, understood as far as that needs no registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'p> {
    Root,
    Version,
    /// `healthz`, `livez`, `readyz`, and one check of it.
    Health(Cow<'p, str>, Option<Cow<'p, str>>),
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(Cow<'p, str>),
    /// `/api/{version}`, `/apis/{group}/{version}`
    Resources(Cow<'p, str>, Cow<'p, str>),
    /// `/openapi/v3`
    OpenApi,
    /// `/openapi/v3/{document}`
    OpenApiDocument(String),
    OpenApiV2,
    /// `/.well-known/openid-configuration`, `/openid/v1/jwks`
    Issuer(&'static str),
    Resource(ResourcePath<'p>),
    Unknown,
}

/// A path to objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath<'p> {
    pub(crate) group: Cow<'p, str>,
    pub(crate) version: Cow<'p, str>,
    pub(crate) namespace: Option<Cow<'p, str>>,
    pub(crate) plural: Cow<'p, str>,
    pub(crate) name: Option<Cow<'p, str>>,
    pub(crate) subresource: Option<Cow<'p, str>>,
    /// The old `/api/v1/watch/…` form.
    pub(crate) watch: bool,
}

/// Longest path that means anything: two names of 253 bytes, a group and little else.
const LONGEST: usize = 2048;
/// `/apis/g/v/namespaces/n/plural/name/sub` has eight; proxies have more, and are not served.
const MOST_PARTS: usize = 12;

/// Understands a path.
pub(crate) fn route(path: &str) -> Route<'_> {
    if path.len() > LONGEST {
        return Route::Unknown;
    }
    if path.is_empty() || path == "/" {
        return Route::Root;
    }
    let Some(rest) = path.strip_prefix('/') else { return Route::Unknown };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let mut parts: Vec<Cow<'_, str>> = Vec::with_capacity(8);
    for part in rest.split('/') {
        let part = decode(part);
        let tricky = part.is_empty() || part == "." || part == ".." || part.contains(['/', '\\', '\0']);
        if tricky || parts.len() == MOST_PARTS {
            return Route::Unknown;
        }
        parts.push(part);
    }
    let texts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match texts.as_slice() {
        ["version"] => Route::Version,
        ["healthz" | "livez" | "readyz"] => Route::Health(parts.swap_remove(0), None),
        ["healthz" | "livez" | "readyz", _] => {
            let check = parts.pop();
            Route::Health(parts.swap_remove(0), check)
        }
        ["api"] => Route::Core,
        ["apis"] => Route::Groups,
        ["apis", _] => Route::Group(parts.swap_remove(1)),
        ["api", _] => Route::Resources(Cow::Borrowed(""), parts.swap_remove(1)),
        ["apis", _, _] => {
            let version = parts.pop().unwrap_or_default();
            Route::Resources(parts.pop().unwrap_or_default(), version)
        }
        ["openapi", "v3"] => Route::OpenApi,
        ["openapi", "v3", document @ ..] => Route::OpenApiDocument(document.join("/")),
        ["openapi", "v2"] => Route::OpenApiV2,
        [".well-known", "openid-configuration"] => Route::Issuer("openid-configuration"),
        ["openid", "v1", "jwks"] => Route::Issuer("jwks"),
        ["api" | "apis", ..] => resource(parts).map_or(Route::Unknown, Route::Resource),
        _ => Route::Unknown,
    }
}

fn resource(parts: Vec<Cow<'_, str>>) -> Option<ResourcePath<'_>> {
    let mut parts = parts.into_iter().peekable();
    let mut out = ResourcePath::default();
    if parts.next()? == "apis" {
        out.group = parts.next()?;
    }
    out.version = parts.next()?;
    if parts.peek()? == "watch" {
        parts.next();
        out.watch = true;
    }
    let first = parts.next()?;
    let rest: Vec<Cow<'_, str>> = parts.collect();
    let own = |plural: &str| out.group.is_empty() && matches!(plural, "status" | "finalize");
    let (plural, tail) = match (first.as_ref(), rest.as_slice()) {
        // `/api/v1/namespaces/x/status` is about the namespace itself.
        ("namespaces", [_, plural, tail @ ..]) if !(tail.is_empty() && own(plural)) => {
            out.namespace = rest.first().cloned();
            (plural.clone(), tail)
        }
        _ => (first, rest.as_slice()),
    };
    out.plural = plural;
    match tail {
        [] => {}
        [name] => out.name = Some(name.clone()),
        [name, subresource] => {
            out.name = Some(name.clone());
            out.subresource = Some(subresource.clone());
        }
        _ => return None,
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_apart() {
        let Route::Resource(pod) = route("/api/v1/namespaces/n/pods/p/log/") else { panic!("no resource") };
        assert_eq!((pod.namespace.as_deref(), pod.subresource.as_deref()), (Some("n"), Some("log")));
        let Route::Resource(ns) = route("/api/v1/namespaces/n/finalize") else { panic!("no resource") };
        assert_eq!((ns.plural.as_ref(), ns.name.as_deref()), ("namespaces", Some("n")));
        let Route::Resource(role) = route("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Ax")
        else {
            panic!("no resource")
        };
        assert_eq!(role.name.as_deref(), Some("system:x"));
        let Route::Resource(old) = route("/api/v1/watch/namespaces/n/pods") else { panic!("no resource") };
        assert!(old.watch && old.plural == "pods");
        assert_eq!(route("/apis/apps/v1"), Route::Resources("apps".into(), "v1".into()));
        assert_eq!(route("/openapi/v3/apis/apps/v1"), Route::OpenApiDocument("apis/apps/v1".into()));
    }

    #[test]
    fn tricks_lead_nowhere() {
        for path in [
            "api/v1",
            "//api/v1",
            "/api/v1/../v1",
            "/api/v1/namespaces/a%2Fb/pods",
            "/api/v1/%2e%2e/x",
            "/api/v1/namespaces//pods",
            "/api/v1/namespaces/n/pods/p/log/x/y",
            "/x/%00",
        ] {
            assert_eq!(route(path), Route::Unknown, "{path}");
        }
        assert_eq!(route(&format!("/{}", "a/".repeat(3000))), Route::Unknown);
    }
}
