//! Who asks, and what they may: tokens, impersonation, and roles as far as they are stored.
//!
//! A world without tokens trusts everyone (tests, in-process clients). With tokens: a bearer of one is its user, a bearer of
//! a service account's token is that account, any other bearer is refused (401), and nobody at all is `system:anonymous`.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use kube_meaning::status::Refusal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Request;
use crate::store::{ObjectKey, ResourceKey, meta_text};
use crate::time::Time;
use crate::world::World;

const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A user as the server sees one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
    /// Who really asks, when somebody else is played.
    pub played_by: Option<Box<User>>,
}

impl User {
    /// The administrator.
    pub fn admin() -> User {
        let groups = [MASTERS, AUTHENTICATED].map(str::to_owned).to_vec();
        User { name: "kusion-admin".to_owned(), groups, ..User::default() }
    }

    /// A plain user of groups.
    pub fn of(name: &str, groups: &[&str]) -> User {
        let mut groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        groups.push(AUTHENTICATED.to_owned());
        User { name: name.to_owned(), groups, ..User::default() }
    }

    fn anonymous() -> User {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        User { name: "system:anonymous".to_owned(), groups, ..User::default() }
    }

    pub(crate) fn account(namespace: &str, name: &str, uid: &str) -> User {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            AUTHENTICATED.to_owned(),
        ];
        let name = format!("system:serviceaccount:{namespace}:{name}");
        User { name, uid: uid.to_owned(), groups: groups.to_vec(), ..User::default() }
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}

/// Tokens and their users.
#[derive(Clone, Default)]
pub struct Access {
    tokens: BTreeMap<String, User>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Access({} tokens)", self.tokens.len())
    }
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// For what is no resource.
    pub(crate) path: &'a str,
}

impl World {
    /// Lets the bearer of a token in as a user. From the first token on, others are strangers.
    pub fn allow_token(&mut self, token: &str, user: User) {
        self.api.access.tokens.insert(token.to_owned(), user);
    }

    /// From now on the admin must show this token.
    pub fn set_admin_token(&mut self, token: &str) {
        self.allow_token(token, User::admin());
    }

    pub(crate) fn authenticate(&self, request: &Request<'_>) -> Result<User, Refusal> {
        let user = self.bearer(request)?;
        let played = request.header("impersonate-user").unwrap_or_default();
        if played.is_empty() {
            let others = ["impersonate-group", "impersonate-uid"];
            let partly = request
                .headers
                .iter()
                .any(|(name, _)| others.contains(&name.as_str()) || name.starts_with("impersonate-extra-"));
            if partly {
                let message = "requested impersonation without impersonating a user name";
                return Err(Refusal::bad_request(message));
            }
            return Ok(user);
        }
        let all = |wanted: &str| -> Vec<String> {
            let values = request.headers.iter().filter(|(name, _)| name == wanted);
            values.map(|(_, value)| value.clone()).collect()
        };
        let mut groups = all("impersonate-group");
        if groups.is_empty()
            && let Some(rest) = played.strip_prefix("system:serviceaccount:")
        {
            let namespace = rest.split(':').next().unwrap_or_default();
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        let stranger = played == "system:anonymous";
        let more = if stranger { UNAUTHENTICATED } else { AUTHENTICATED };
        if !groups.iter().any(|group| group == more) {
            groups.push(more.to_owned());
        }
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in request.headers {
            if let Some(key) = name.strip_prefix("impersonate-extra-") {
                extra.entry(super::query::decode(key).into_owned()).or_default().push(value.clone());
            }
        }
        let uid = request.header("impersonate-uid").unwrap_or_default().to_owned();
        Ok(User { name: played.to_owned(), uid, groups, extra, played_by: Some(Box::new(user)) })
    }

    fn bearer(&self, request: &Request<'_>) -> Result<User, Refusal> {
        if self.api.access.tokens.is_empty() {
            return Ok(User::admin());
        }
        let Some(header) = request.header("authorization") else { return Ok(User::anonymous()) };
        let token = header.strip_prefix("Bearer ").unwrap_or_default().trim();
        self.user_of(token).ok_or_else(|| Refusal::new(401, "Unauthorized", "Unauthorized"))
    }

    /// The user of a token.
    pub(crate) fn user_of(&self, token: &str) -> Option<User> {
        self.api.access.tokens.get(token).cloned().or_else(|| self.account_of(token))
    }

    /// Refuses what the user may not.
    pub(crate) fn authorize(&self, user: &User, wanted: &Attributes<'_>) -> Result<(), Refusal> {
        if let Some(real) = &user.played_by {
            let playing = format!("impersonate-on:user-info:{}", wanted.verb);
            let plays = Attributes {
                verb: "impersonate",
                resource: "users",
                name: &user.name,
                ..Attributes::default()
            };
            if !self.may(real, &plays) {
                return Err(denied(real, &Attributes { verb: &playing, ..*wanted }));
            }
        }
        match self.may(user, wanted) {
            true => Ok(()),
            false => Err(denied(user, wanted)),
        }
    }

    /// Whether a user may do something.
    pub(crate) fn may(&self, user: &User, wanted: &Attributes<'_>) -> bool {
        user.is_in(MASTERS)
            || self.rules_of(user, wanted.namespace).iter().any(|rule| rule_allows(rule, wanted))
    }

    /// All rules that hold for a user in a namespace.
    pub(crate) fn rules_of(&self, user: &User, namespace: &str) -> Vec<Value> {
        let mut rules = own_rules(user);
        let rbac = |plural: &str| ResourceKey::new("rbac.authorization.k8s.io", plural);
        for (_, binding) in self.store.list(&rbac("clusterrolebindings"), None) {
            if is_subject(&binding.value, user) {
                rules.extend(self.rules_of_role(&binding.value["roleRef"], ""));
            }
        }
        if !namespace.is_empty() {
            for (_, binding) in self.store.list(&rbac("rolebindings"), Some(namespace)) {
                if is_subject(&binding.value, user) {
                    rules.extend(self.rules_of_role(&binding.value["roleRef"], namespace));
                }
            }
        }
        rules
    }

    fn rules_of_role(&self, reference: &Value, namespace: &str) -> Vec<Value> {
        let name = reference["name"].as_str().unwrap_or_default();
        let (plural, namespace) = match reference["kind"].as_str() {
            Some("Role") => ("roles", namespace),
            _ => ("clusterroles", ""),
        };
        let key = ResourceKey::new("rbac.authorization.k8s.io", plural);
        match self.store.get(&key, &ObjectKey::new(namespace, name)) {
            Some(role) => role.value["rules"].as_array().cloned().unwrap_or_default(),
            None if plural == "clusterroles" => known_role(name),
            None => Vec::new(),
        }
    }

    /// A token of a service account.
    pub(crate) fn account_token(&self, namespace: &str, name: &str, uid: &str, until: Time) -> String {
        let head = BASE64URL_NOPAD.encode(br#"{"alg":"HS256","kid":"sandbox"}"#);
        let claims = json!({
            "iss": "https://kubernetes.default.svc.cluster.local",
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
            "exp": until.millis() / 1000,
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
        });
        let text = format!("{head}.{}", BASE64URL_NOPAD.encode(claims.to_string().as_bytes()));
        let seal = self.seal(&text);
        format!("{text}.{seal}")
    }

    /// The account of a token, if we made it, it is not over, and the account is still the same.
    fn account_of(&self, token: &str) -> Option<User> {
        let (text, seal) = token.rsplit_once('.')?;
        let (_, claims) = text.split_once('.')?;
        if self.seal(text) != seal {
            return None;
        }
        let claims: Value = serde_json::from_slice(&BASE64URL_NOPAD.decode(claims.as_bytes()).ok()?).ok()?;
        if claims["exp"].as_i64()? * 1000 < self.now.millis() {
            return None;
        }
        let about = &claims["kubernetes.io"];
        let (namespace, account) = (about["namespace"].as_str()?, &about["serviceaccount"]);
        let name = account["name"].as_str()?;
        let found =
            self.store.get(&ResourceKey::new("", "serviceaccounts"), &ObjectKey::new(namespace, name))?;
        let uid = meta_text(&found.value, "uid");
        (account["uid"] == uid).then(|| User::account(namespace, name, uid))
    }

    /// What only this world can put under a text: made with the tokens it knows.
    fn seal(&self, text: &str) -> String {
        let mut hash = Sha256::new();
        for token in self.api.access.tokens.keys() {
            hash.update(token.as_bytes());
            hash.update(b"\n");
        }
        hash.update(text.as_bytes());
        HEXLOWER.encode(&hash.finalize())
    }
}

fn denied(user: &User, wanted: &Attributes<'_>) -> Refusal {
    let who = &user.name;
    let verb = wanted.verb;
    if !wanted.path.is_empty() {
        let message = format!("forbidden: User {who:?} cannot {verb} path {:?}", wanted.path);
        return Refusal::new(403, "Forbidden", message);
    }
    let mut full = wanted.resource.to_owned();
    if !wanted.group.is_empty() {
        full = format!("{full}.{}", wanted.group);
    }
    let named = if wanted.name.is_empty() { String::new() } else { format!(" \"{}\"", wanted.name) };
    let resource = match wanted.subresource {
        "" => wanted.resource.to_owned(),
        subresource => format!("{}/{subresource}", wanted.resource),
    };
    let place = match wanted.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let message = format!(
        "{full}{named} is forbidden: User {who:?} cannot {verb} resource {resource:?} in API group {:?} {place}",
        wanted.group
    );
    Refusal {
        name: wanted.name.into(),
        group: wanted.group.into(),
        kind: wanted.resource.into(),
        ..Refusal::new(403, "Forbidden", message)
    }
}

/// What holds without any binding.
fn own_rules(user: &User) -> Vec<Value> {
    let mut rules = vec![json!({"verbs": ["get"], "nonResourceURLs":
        ["/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*", "/version", "/version/"]})];
    if user.is_in(AUTHENTICATED) {
        rules.push(json!({"verbs": ["get"], "nonResourceURLs":
            ["/", "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/.well-known/*", "/openid/*"]}));
        rules.push(json!({"verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]}));
        rules.push(json!({"verbs": ["create"], "apiGroups": ["authentication.k8s.io"],
            "resources": ["selfsubjectreviews"]}));
    }
    rules
}

/// Cluster roles that every cluster has; here they need not be stored.
fn known_role(name: &str) -> Vec<Value> {
    let reads = json!(["get", "list", "watch"]);
    match name {
        "cluster-admin" => vec![
            json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}),
            json!({"verbs": ["*"], "nonResourceURLs": ["*"]}),
        ],
        "admin" | "edit" => {
            vec![json!({"verbs": ["*"], "apiGroups": ["", "apps", "batch", "autoscaling", "policy",
            "networking.k8s.io", "discovery.k8s.io", "events.k8s.io", "coordination.k8s.io"], "resources": ["*"]})]
        }
        "view" => vec![
            json!({"verbs": reads, "apiGroups": ["apps", "batch", "autoscaling", "policy", "networking.k8s.io",
                "discovery.k8s.io", "events.k8s.io"], "resources": ["*"]}),
            json!({"verbs": reads, "apiGroups": [""], "resources": ["configmaps", "endpoints", "events", "limitranges",
                "namespaces", "persistentvolumeclaims", "pods", "pods/log", "pods/status", "replicationcontrollers",
                "resourcequotas", "serviceaccounts", "services"]}),
        ],
        _ => Vec::new(),
    }
}

fn is_subject(binding: &Value, user: &User) -> bool {
    binding["subjects"].as_array().into_iter().flatten().any(|subject| {
        let name = subject["name"].as_str().unwrap_or_default();
        match subject["kind"].as_str() {
            Some("User") => user.name == name,
            Some("Group") => user.is_in(name),
            Some("ServiceAccount") => {
                let own = meta_text(binding, "namespace");
                let namespace = subject["namespace"].as_str().unwrap_or(own);
                user.name == format!("system:serviceaccount:{namespace}:{name}")
            }
            _ => false,
        }
    })
}

fn rule_allows(rule: &Value, wanted: &Attributes<'_>) -> bool {
    let list = |key: &str| -> BTreeSet<&str> {
        rule[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let has = |set: &BTreeSet<&str>, text: &str| set.contains("*") || set.contains(text);
    if !has(&list("verbs"), wanted.verb) {
        return false;
    }
    if !wanted.path.is_empty() {
        let fits = |pattern: &&str| match pattern.strip_suffix('*') {
            Some(start) => wanted.path.starts_with(start),
            None => wanted.path.trim_end_matches('/') == pattern.trim_end_matches('/'),
        };
        return list("nonResourceURLs").iter().any(fits);
    }
    let resources = list("resources");
    let resource = match wanted.subresource {
        "" => wanted.resource.to_owned(),
        subresource => format!("{}/{subresource}", wanted.resource),
    };
    let any_of = format!("*/{}", wanted.subresource);
    let names = list("resourceNames");
    has(&list("apiGroups"), wanted.group)
        && (has(&resources, &resource)
            || (!wanted.subresource.is_empty() && resources.contains(any_of.as_str())))
        && (names.is_empty() || names.contains(wanted.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_makes_the_admin_and_a_wrong_one_nobody() {
        let mut world = World::new(1, Time::default());
        let with = |value: &str| vec![("authorization".to_owned(), value.to_owned())];
        assert!(world.authenticate(&Request::default()).unwrap().is_in(MASTERS));
        world.set_admin_token("t");
        assert_eq!(world.authenticate(&Request::default()).unwrap().name, "system:anonymous");
        let right = with("Bearer t");
        let ask = Request { headers: &right, ..Request::default() };
        assert!(world.authenticate(&ask).unwrap().is_in(MASTERS));
        let wrong = with("Bearer u");
        let ask = Request { headers: &wrong, ..Request::default() };
        assert_eq!(world.authenticate(&ask).unwrap_err().code, 401);
    }
}
