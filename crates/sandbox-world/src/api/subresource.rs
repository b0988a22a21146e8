//! Sub-resources: status, scale, finalize, eviction, binding, log, token.

use std::time::Duration;

use kube_meaning::reach::Reach;
use kube_meaning::scale::scale_of;
use kube_meaning::selectors::LabelSelector;
use kube_meaning::status::{Cause, Refusal};
use kube_meaning::write::Verb;
use serde_json::{Value, json};

use super::body;
use super::delete::read_options;
use super::query::{Query, WriteOptions};
use super::resource::Ask;
use super::respond::{not_allowed, success};
use super::{Answer, Response};
use crate::store::{Object, ObjectKey, ResourceKey, meta_text};
use crate::world::World;
use crate::write::{Write, about, not_found};

impl World {
    pub(crate) fn subresource(&mut self, ask: &Ask<'_>, verb: &str) -> Result<Answer, Refusal> {
        match (ask.subresource, verb) {
            ("scale", "get") => self.scale(ask),
            ("scale", "update") => self.update(ask),
            ("scale", "patch") => self.patch(ask),
            ("status" | "approval" | "ephemeralcontainers" | "resize", "get") => self.get(ask),
            ("status" | "approval" | "ephemeralcontainers" | "resize", "update") => self.update(ask),
            ("status" | "approval" | "ephemeralcontainers" | "resize", "patch") => self.patch(ask),
            ("finalize", "update") => self.answer_finalize(ask),
            ("eviction", "create") => self.evict(ask),
            ("binding", "create") => {
                let body = body::object(ask.request)?.value;
                self.answer_binding(ask, &body)
            }
            ("log", "get") => self.log(ask),
            ("token", "create") => self.token(ask),
            ("exec" | "attach" | "portforward", _) => self.talk(ask),
            ("proxy", _) => {
                let message = "the sandbox runs no containers: there is nothing to be a proxy for";
                Err(Refusal::new(503, "ServiceUnavailable", message))
            }
            _ => Err(not_allowed()),
        }
    }

    fn found(&self, ask: &Ask<'_>) -> Result<Object, Refusal> {
        let key = ObjectKey::new(ask.namespace, ask.name);
        let found = self.store.get(&ask.served.key(), &key);
        found.cloned().ok_or_else(|| not_found(&ask.served, ask.name))
    }

    fn scale(&self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let object = self.found(ask)?;
        let value = ask.show(self).value(&object).into_owned();
        if ask.served.resource().custom && value.at("/spec/replicas").is_none() {
            let message = "the spec replicas field \".spec.replicas\" does not exist";
            return Err(Refusal::new(500, "InternalError", format!("Internal error occurred: {message}")));
        }
        Ok(Response::json(200, &scale_of(&value)).into())
    }

    /// Replaces the finalizers of a namespace, the only way to do so.
    fn answer_finalize(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let agent = ask.request.header("user-agent");
        let options = WriteOptions::read(ask.query, "UpdateOptions", false, agent)?;
        let body = body::object(ask.request)?.value;
        let live = self.found(ask)?;
        let mut next = Value::clone(&live.value);
        next["spec"]["finalizers"] = body.at("/spec/finalizers").cloned().unwrap_or_else(|| json!([]));
        for key in ["resourceVersion", "uid"] {
            let given = meta_text(&body, key);
            if !given.is_empty() {
                next["metadata"][key] = json!(given);
            }
        }
        let stored = self.write(&Write {
            served: ask.served.clone(),
            namespace: "",
            name: ask.name,
            subresource: "finalize",
            verb: Verb::Update(&next),
            manager: &options.manager,
            force: false,
            dry_run: options.dry_run,
        })?;
        self.shown(ask, &stored, &[])
    }

    /// Binds a pod to a node: what a scheduler does.
    pub(crate) fn answer_binding(&mut self, ask: &Ask<'_>, body: &Value) -> Result<Answer, Refusal> {
        let dry_run = ask.query.dry_run("CreateOptions")?;
        let name = if ask.name.is_empty() { meta_text(body, "name") } else { ask.name };
        let pods = self.registry.by_kind("", "v1", "Pod").unwrap_or_else(|| ask.served.clone());
        let key = ObjectKey::new(ask.namespace, name);
        let Some(live) = self.store.get(&pods.key(), &key).cloned() else {
            return Err(not_found(&pods, name));
        };
        let node = body.at("/target/name").and_then(Value::as_str).unwrap_or_default();
        if node.is_empty() {
            let cause = Cause::required("target.name", "");
            return Err(Refusal::invalid("", "Binding", name, vec![cause]));
        }
        if let Some(bound) = live.value.at("/spec/nodeName").and_then(Value::as_str).filter(|n| !n.is_empty())
        {
            let message = format!(
                "Operation cannot be fulfilled on pods/binding \"{name}\": pod {name} is already assigned to node \"{bound}\""
            );
            let refusal = Refusal::new(409, "Conflict", message);
            return Err(Refusal { name: name.into(), kind: "pods/binding".into(), ..refusal });
        }
        if !dry_run {
            let mut next = Value::clone(&live.value);
            next["spec"]["nodeName"] = json!(node);
            let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null,
                "lastTransitionTime": self.now.text(),
                "observedGeneration": next["metadata"]["generation"]});
            set_condition(&mut next["status"], condition);
            self.store.put(&pods.key(), next);
        }
        Ok(Response::json(201, &success(Value::Null)).into())
    }

    /// Deletes a pod if its disruption budget allows it.
    fn evict(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let body = match ask.request.body.is_empty() {
            true => json!({}),
            false => body::object(ask.request)?.value,
        };
        let mut removal = read_options(&body["deleteOptions"], &Query::default())?;
        removal.dry_run |= ask.query.dry_run("CreateOptions")?;
        let pod = self.found(ask)?.value;
        let budgets = ResourceKey::new("policy", "poddisruptionbudgets");
        let protects = |budget: &Value| {
            let selector = &budget["spec"]["selector"];
            !selector.is_null()
                && LabelSelector::from_json(selector).is_ok_and(|selector| selector.matches_object(&pod))
        };
        let matching: Vec<(ObjectKey, Object)> = self
            .store
            .list(&budgets, Some(ask.namespace))
            .filter(|(_, budget)| protects(&budget.value))
            .map(|(key, budget)| (key.clone(), budget.clone()))
            .collect();
        let phase = pod.at("/status/phase").and_then(Value::as_str).unwrap_or_default();
        let counts = !matches!(phase, "Pending" | "Succeeded" | "Failed")
            && pod.at("/metadata/deletionTimestamp").is_none();
        match matching.as_slice() {
            [(key, budget)] if counts => self.spend(ask, key, &budget.value, removal.dry_run)?,
            [_, _, ..] => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Refusal::new(
                    500,
                    "InternalError",
                    format!("Internal error occurred: {message}"),
                ));
            }
            _ => {}
        }
        let key = ObjectKey::new(ask.namespace, ask.name);
        self.remove_object(&ask.served, &key, &removal)?;
        Ok(Response::json(201, &success(Value::Null)).into())
    }

    /// Takes one disruption from a budget.
    fn spend(
        &mut self,
        ask: &Ask<'_>,
        key: &ObjectKey,
        budget: &Value,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        let number = |name: &str| budget["status"][name].as_i64().unwrap_or(0);
        let allowed = number("disruptionsAllowed");
        if allowed <= 0 {
            let message = "Cannot evict pod as it would violate the pod's disruption budget.";
            let mut refusal = about(&ask.served, "", 429, "TooManyRequests", message);
            refusal.kind = "".into();
            refusal.causes.push(Cause {
                reason: "DisruptionBudget",
                message: format!(
                    "The disruption budget {} needs {} healthy pods and has {} currently",
                    key.name,
                    number("desiredHealthy"),
                    number("currentHealthy")
                ),
                field: String::new(),
            });
            return Err(refusal);
        }
        if !dry_run {
            let mut next = budget.clone();
            next["status"]["disruptionsAllowed"] = json!(allowed - 1);
            next["status"]["disruptedPods"][ask.name] = json!(self.now.text());
            self.store.put(&ResourceKey::new("policy", "poddisruptionbudgets"), next);
        }
        Ok(())
    }

    fn token(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let mut body = body::object(ask.request)?.value;
        let account = self.found(ask)?;
        let seconds = body.at("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(3600);
        let wrong = match seconds {
            ..600 => Some("may not specify a duration less than 10 minutes"),
            4_294_967_297.. => Some("may not specify a duration larger than 2^32 seconds"),
            _ => None,
        };
        if let Some(text) = wrong {
            let cause = Cause::invalid("spec.expirationSeconds", &json!(seconds), text);
            return Err(Refusal::invalid("authentication.k8s.io", "TokenRequest", "", vec![cause]));
        }
        let until = self.now + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let uid = meta_text(&account.value, "uid");
        let token = self.account_token(ask.namespace, ask.name, uid, until);
        let meta =
            json!({"name": ask.name, "namespace": ask.namespace, "creationTimestamp": self.now.text()});
        body["kind"] = json!("TokenRequest");
        body["apiVersion"] = json!("authentication.k8s.io/v1");
        body["metadata"] = meta;
        body["spec"]["expirationSeconds"] = json!(seconds);
        if !body["spec"]["audiences"].is_array() {
            body["spec"]["audiences"] = json!(["https://kubernetes.default.svc.cluster.local"]);
        }
        body["status"] = json!({"token": token, "expirationTimestamp": until.text()});
        Ok(Response::json(201, &body).into())
    }
}

/// Sets a condition in a status by its type.
fn set_condition(status: &mut Value, condition: Value) {
    if !status.is_object() {
        *status = json!({});
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(list) = status["conditions"].as_array_mut() else { return };
    match list.iter_mut().find(|old| old["type"] == condition["type"]) {
        Some(old) => *old = condition,
        None => list.push(condition),
    }
}
