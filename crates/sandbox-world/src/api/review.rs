//! Kinds that are asked and never stored: access reviews, token reviews.

use kube_meaning::status::Refusal;
use serde_json::{Map, Value, json};

use super::access::{Attributes, User};
use super::resource::Ask;
use super::{Answer, Response};
use crate::world::World;

impl World {
    /// Answers a review; `None` for kinds that are stored.
    pub(crate) fn review(&mut self, ask: &Ask<'_>, body: &Value) -> Result<Option<Answer>, Refusal> {
        let resource = ask.served.resource();
        if resource.custom || resource.verbs.len() != 1 {
            return Ok(None);
        }
        let spec = &body["spec"];
        let status = match resource.kind.as_str() {
            "SelfSubjectAccessReview" => self.access(ask.user, spec),
            "SubjectAccessReview" | "LocalSubjectAccessReview" => self.access(&user_in(spec), spec),
            "SelfSubjectRulesReview" => self.rules(ask.user, spec["namespace"].as_str().unwrap_or_default()),
            "SelfSubjectReview" => json!({"userInfo": shown(ask.user)}),
            "TokenReview" => match self.user_of(spec["token"].as_str().unwrap_or_default()) {
                Some(user) => json!({"authenticated": true, "user": shown(&user)}),
                None => json!({"user": {}, "error": "invalid bearer token"}),
            },
            "Binding" => return self.answer_binding(ask, body).map(Some),
            _ => return Ok(None),
        };
        let mut answer = body.clone();
        if !answer["metadata"].is_object() {
            answer["metadata"] = json!({});
        }
        answer["status"] = status;
        Ok(Some(Response::json(201, &answer).into()))
    }

    fn access(&self, user: &User, spec: &Value) -> Value {
        let text = |part: &str, key: &str| spec[part][key].as_str().unwrap_or_default().to_owned();
        let about = "resourceAttributes";
        let outside = spec.get("nonResourceAttributes").is_some_and(Value::is_object);
        let (verb, path) = match outside {
            true => (text("nonResourceAttributes", "verb"), text("nonResourceAttributes", "path")),
            false => (text(about, "verb"), String::new()),
        };
        let (group, resource) = (text(about, "group"), text(about, "resource"));
        let (namespace, name) = (text(about, "namespace"), text(about, "name"));
        let subresource = text(about, "subresource");
        let wanted = Attributes {
            verb: &verb,
            group: &group,
            resource: &resource,
            subresource: &subresource,
            namespace: &namespace,
            name: &name,
            path: &path,
        };
        json!({"allowed": self.may(user, &wanted)})
    }

    fn rules(&self, user: &User, namespace: &str) -> Value {
        let mut rules = self.rules_of(user, namespace);
        if user.is_in("system:masters") {
            rules.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
            rules.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
        }
        let (outside, inside): (Vec<Value>, Vec<Value>) =
            rules.into_iter().partition(|rule| rule.get("nonResourceURLs").is_some());
        json!({"resourceRules": inside, "nonResourceRules": outside, "incomplete": false})
    }
}

/// The user that a review is about.
fn user_in(spec: &Value) -> User {
    let groups = spec["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
    User {
        name: spec["user"].as_str().unwrap_or_default().to_owned(),
        groups: groups.map(str::to_owned).collect(),
        ..User::default()
    }
}

fn shown(user: &User) -> Value {
    let mut out = Map::new();
    out.insert("username".to_owned(), json!(user.name));
    if !user.uid.is_empty() {
        out.insert("uid".to_owned(), json!(user.uid));
    }
    out.insert("groups".to_owned(), json!(user.groups));
    if !user.extra.is_empty() {
        out.insert("extra".to_owned(), json!(user.extra));
    }
    Value::Object(out)
}
