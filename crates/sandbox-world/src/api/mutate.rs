//! POST, PUT and PATCH: body, options, strictness; then the one road of writes.

use kube_meaning::patch::{json_patch, merge_patch, strategic_patch};
use kube_meaning::scale::scale_of;
use kube_meaning::status::{Cause, Refusal};
use kube_meaning::strict::{strict_refusal, unknown_fields};
use kube_meaning::write::Verb;
use serde_json::Value;

use super::body::{self, Body};
use super::query::{Validation, WriteOptions};
use super::resource::Ask;
use super::respond::unsupported_type;
use super::{Answer, Response};
use crate::store::ObjectKey;
use crate::world::World;
use crate::write::{Stored, Write, in_version};

const PATCH_TYPES: &str = "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml";
const CUSTOM_PATCH_TYPES: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
/// Operations that one JSON patch may have.
const MOST_OPERATIONS: usize = 10_000;

impl World {
    pub(crate) fn create(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let agent = ask.request.header("user-agent");
        let options = WriteOptions::read(ask.query, "CreateOptions", false, agent)?;
        let mut body = body::object(ask.request)?;
        fill_type(ask, &mut body.value)?;
        let warnings = complaints(ask, &body, &options)?;
        if let Some(answer) = self.review(ask, &body.value)? {
            return Ok(answer);
        }
        let stored = self.carry_write(ask, &options, Verb::Create(&body.value))?;
        self.shown(ask, &stored, &warnings)
    }

    pub(crate) fn update(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let agent = ask.request.header("user-agent");
        let options = WriteOptions::read(ask.query, "UpdateOptions", false, agent)?;
        let mut body = body::object(ask.request)?;
        fill_type(ask, &mut body.value)?;
        let warnings = complaints(ask, &body, &options)?;
        let stored = self.carry_write(ask, &options, Verb::Update(&body.value))?;
        self.shown(ask, &stored, &warnings)
    }

    pub(crate) fn patch(&mut self, ask: &Ask<'_>) -> Result<Answer, Refusal> {
        let custom = ask.served.resource().custom;
        let kind = body::content_type(ask.request);
        let apply = kind == "application/apply-patch+yaml";
        let agent = ask.request.header("user-agent");
        let body = match kind {
            "application/apply-patch+yaml" => body::configuration(ask.request.body),
            "application/json-patch+json" | "application/merge-patch+json" => body::json(ask.request.body),
            "application/strategic-merge-patch+json" if !custom => body::json(ask.request.body),
            _ => return Err(unsupported_type(if custom { CUSTOM_PATCH_TYPES } else { PATCH_TYPES })),
        };
        let options = WriteOptions::read(ask.query, "PatchOptions", apply, agent)?;
        let body = body?;
        let verb = match kind {
            "application/apply-patch+yaml" => Verb::Apply(&body.value),
            "application/json-patch+json" => Verb::JsonPatch(&body.value),
            "application/merge-patch+json" => Verb::MergePatch(&body.value),
            _ => Verb::StrategicPatch(&body.value),
        };
        check_size(&body.value, kind)?;
        let warnings = self.patch_complaints(ask, &body, verb, options.validation)?;
        let stored = self.carry_write(ask, &options, verb)?;
        self.shown(ask, &stored, &warnings)
    }

    fn carry_write(
        &mut self,
        ask: &Ask<'_>,
        options: &WriteOptions,
        verb: Verb<'_>,
    ) -> Result<Stored, Refusal> {
        self.write(&Write {
            served: ask.served.clone(),
            namespace: ask.namespace,
            name: ask.name,
            subresource: ask.subresource,
            verb,
            manager: &options.manager,
            force: options.force,
            dry_run: options.dry_run,
        })
    }

    /// The answer to a write.
    pub(crate) fn shown(
        &self,
        ask: &Ask<'_>,
        stored: &Stored,
        warnings: &[String],
    ) -> Result<Answer, Refusal> {
        let status = if stored.created { 201 } else { 200 };
        let response = match ask.subresource {
            "scale" => Response::json(status, &scale_of(&stored.value)),
            _ => Response::bytes(status, &ask.show(self).one(&stored.object)),
        };
        Ok(response.warnings(warnings).into())
    }

    /// Unknown and repeated fields of a patch, looked for in what it makes of the object.
    fn patch_complaints(
        &self,
        ask: &Ask<'_>,
        body: &Body<'_>,
        verb: Verb<'_>,
        validation: Validation,
    ) -> Result<Vec<String>, Refusal> {
        if validation == Validation::Ignore || ask.subresource == "scale" {
            return Ok(Vec::new());
        }
        // The schema of an apply is always checked; only strictness asks for more.
        let apply = matches!(verb, Verb::Apply(_));
        if apply && validation != Validation::Strict {
            return Ok(Vec::new());
        }
        let mut found = body.duplicates();
        if !apply {
            found.extend(self.unknown_in_patch(ask, verb));
        }
        match (validation, found.is_empty(), verb) {
            (_, true, _) => Ok(Vec::new()),
            (Validation::Strict, _, Verb::Apply(_)) => Err(Refusal::bad_request(format!(
                "error decoding YAML: strict decoding error: {}",
                found.join(", ")
            ))),
            (Validation::Strict, ..) => {
                let text = format!("strict decoding error: {}", found.join(", "));
                let cause = Cause::invalid("patch", &Value::from(body.value.to_string()), &text);
                let resource = ask.served.resource();
                Err(Refusal::invalid(&resource.group, &resource.kind, ask.name, vec![cause]))
            }
            _ => Ok(found),
        }
    }

    fn unknown_in_patch(&self, ask: &Ask<'_>, verb: Verb<'_>) -> Vec<String> {
        let key = ObjectKey::new(ask.namespace, ask.name);
        let Some(live) = self.store.get(&ask.served.key(), &key) else { return Vec::new() };
        let kept = self.registry.stored(&ask.served);
        let live = in_version(live, &kept, &ask.served);
        let (schema, resource) = (ask.served.schema(), ask.served.resource());
        let patched = match verb {
            Verb::MergePatch(patch) => merge_patch(&live, patch),
            Verb::JsonPatch(patch) => json_patch(&live, patch),
            Verb::StrategicPatch(patch) => strategic_patch(schema, resource, &live, patch),
            _ => return Vec::new(),
        };
        // A patch that fails is refused when it is carried out.
        patched.map(|object| unknown_fields(schema, resource, &object)).unwrap_or_default()
    }
}

fn check_size(patch: &Value, kind: &str) -> Result<(), Refusal> {
    if kind != "application/json-patch+json" {
        return Ok(());
    }
    match patch.as_array().map(Vec::len) {
        Some(count) if count > MOST_OPERATIONS => {
            let message =
                format!("The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {count}");
            Err(Refusal::new(413, "RequestEntityTooLarge", message))
        }
        _ => Ok(()),
    }
}

/// Kind and version of a body: those of the URL, or a bad request.
fn fill_type(ask: &Ask<'_>, body: &mut Value) -> Result<(), Refusal> {
    let resource = ask.served.resource();
    let scale = ask.subresource == "scale";
    let (version, kind) = match scale {
        true => ("autoscaling/v1".into(), "Scale".into()),
        false => (resource.api_version(), resource.kind.clone()),
    };
    let Some(map) = body.as_object_mut() else {
        let message = format!(
            "{kind} in version {:?} cannot be handled as a {kind}: json: cannot unmarshal into Go value of type {kind}",
            resource.version
        );
        return Err(Refusal::bad_request(message));
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (given_version, given_kind) = (text(map.get("apiVersion")), text(map.get("kind")));
    if !given_version.is_empty() && given_version != version.as_str() {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({given_version}) does not match the expected API version ({version})"
        )));
    }
    if !given_kind.is_empty() && given_kind != kind.as_str() {
        return Err(Refusal::bad_request(format!(
            "{given_kind} in version {:?} cannot be handled as a {kind}: converting ({given_version}.{given_kind}) to ({version}.{kind}): unknown conversion",
            resource.version
        )));
    }
    map.insert("apiVersion".to_owned(), Value::from(version.as_str()));
    map.insert("kind".to_owned(), Value::from(kind.as_str()));
    let entries = map.get("metadata").and_then(|meta| meta.get("managedFields"));
    if map.get("metadata").is_some_and(|meta| !meta.is_object() && !meta.is_null())
        || entries.is_some_and(Value::is_string)
    {
        let message = format!(
            "{kind} in version {:?} cannot be handled as a {kind}: json: cannot unmarshal into Go struct field {kind}.metadata of type v1.ObjectMeta",
            resource.version
        );
        return Err(Refusal::bad_request(message));
    }
    Ok(())
}

/// Unknown and repeated fields of a body: a refusal, or warnings.
fn complaints(ask: &Ask<'_>, body: &Body<'_>, options: &WriteOptions) -> Result<Vec<String>, Refusal> {
    if options.validation == Validation::Ignore || ask.subresource == "scale" {
        return Ok(Vec::new());
    }
    let (schema, resource) = (ask.served.schema(), ask.served.resource());
    let mut found = body.duplicates();
    found.extend(unknown_fields(schema, resource, &body.value));
    match options.validation {
        Validation::Strict if !found.is_empty() => Err(strict_refusal(resource, &found)),
        _ => Ok(found),
    }
}
