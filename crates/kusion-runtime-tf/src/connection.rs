//! How a provider is reached: with the configuration that is wanted today, or else with the one of the last release.
//!
//! Objects are looked at before anything is planned, and deleted after their configuration has gone. So what the configuration
//! of a provider refers to is looked up here: ephemeral resources are opened, other resources are as they are recorded. The
//! record of an object has no value that is only handed over; it has what is needed to open its source again.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use kusion_model::{
    Attr, DigestKey, FieldPath, Kept, Reference, Resource, ResourceId, ResourceKey, Secret, Spec, Template,
    Unknowns,
};
use kusion_runtime::{ObserveAsk, RuntimeError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Held;
use crate::attr::PROVIDER;
use crate::runtime::{TfRuntime, kept_config};
use crate::settings::{Role, Settings, invalid};

/// Values that were only handed over: where they stood, as references, and the ephemeral resources that they came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// By the place in the configuration of the provider.
    at: BTreeMap<String, String>,
    from: BTreeMap<String, Opener>,
}

/// What is needed to open an ephemeral resource again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Opener {
    extensions: Map<String, Value>,
    attributes: Value,
    /// Places that take values of other ephemeral resources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    at: BTreeMap<String, String>,
}

impl Passing {
    pub(crate) fn is_none(&self) -> bool {
        self.at.is_empty()
    }
}

/// What references may lead to.
#[derive(Clone, Default)]
pub(crate) struct Known {
    wanted: BTreeMap<ResourceId, (Map<String, Value>, Attr)>,
    recorded: BTreeMap<ResourceId, Kept>,
}

impl Known {
    pub(crate) fn of(asks: &[ObserveAsk<'_>]) -> Self {
        let mut known = Known::default();
        for ask in asks {
            if let Some(attributes) = ask.wanted {
                known.wanted.insert(ask.key.id.clone(), (ask.extensions.clone(), attributes.clone()));
            }
            if let Some(kept) = ask.prior.and_then(|record| record.kept.as_ref()) {
                known.recorded.insert(ask.key.id.clone(), kept.clone());
            }
        }
        known
    }

    /// What a Spec wants, with nothing recorded.
    pub(crate) fn wanted(spec: &Spec) -> Self {
        let one = |resource: &Resource| {
            (resource.id.clone(), (resource.extensions.clone(), resource.attributes.clone()))
        };
        Known { wanted: spec.resources.iter().map(one).collect(), recorded: BTreeMap::new() }
    }

    /// The ephemeral resources of a record.
    fn recorded_in(passing: &Passing) -> Self {
        let mut known = Known::default();
        for (id, Opener { extensions, attributes, at }) in &passing.from {
            if let Ok(id) = ResourceId::parse(id) {
                known.wanted.insert(id, (extensions.clone(), with_references(attributes, at)));
            }
        }
        known
    }

    /// The configuration of its provider that is wanted for a resource, if there are references in it.
    fn config(&self, key: &ResourceKey) -> Option<&Attr> {
        self.wanted.get(&key.id).and_then(|(_, attributes)| attributes.get(PROVIDER))
    }

    fn passes(&self, template: &Template) -> bool {
        let passes = |reference: &Reference| {
            let extensions = self.wanted.get(&reference.id).map(|(extensions, _)| extensions);
            reference.stack.is_none()
                && extensions.is_some_and(|all| Role::read(all).is_ok_and(|role| role == Role::Ephemeral))
        };
        template.references().any(passes)
    }

    /// The value of a recorded object, a secret if it is recorded as one.
    fn recorded_value(&self, reference: &Reference, key: &DigestKey) -> Option<Attr> {
        let kept = self.recorded.get(&reference.id)?;
        let state: Value = serde_json::from_str(&Held::open(kept, key).ok()?.state).ok()?;
        let value = reference.path.get(&Attr::from(&state))?.clone();
        Some(match reference.path.get(&kept.state) {
            Some(Attr::Secret(_)) => Attr::Secret(Secret::new(&value, key)),
            _ => value,
        })
    }
}

impl TfRuntime {
    /// The configuration with which an object's provider is asked about it.
    pub(crate) async fn connection(
        &self,
        key: &ResourceKey,
        settings: &Settings,
        held: Option<&Held>,
    ) -> Result<Attr, RuntimeError> {
        let known = self.known_now();
        if let Some(wanted) = known.config(key)
            && let Some(config) = self.filled(wanted, &known, &[]).await?
        {
            return Ok(config);
        }
        let recorded = match held.filter(|held| settings.meta.is_none() && !held.passing.is_none()) {
            Some(held) => {
                let config = with_references(&held.config, &held.passing.at);
                self.filled(&config, &Known::recorded_in(&held.passing), &[]).await?
            }
            None => None,
        };
        Ok(recorded.unwrap_or_else(|| self.config_of(settings, None, held)))
    }

    /// The record with the configuration that is wanted today.
    pub(crate) async fn reached(
        &self,
        key: &ResourceKey,
        config: &Attr,
        held: Held,
    ) -> Result<Held, RuntimeError> {
        if self.known_now().config(key).is_none_or(has_lost) {
            return Ok(held);
        }
        Ok(Held { config: kept_config(config), passing: self.passing(key).await?, ..held })
    }

    /// Fills in all references; `None` if one leads to something that is not known. `within` are the ephemeral resources that
    /// wait for this, the first one first.
    fn filled<'a>(
        &'a self,
        attr: &'a Attr,
        known: &'a Known,
        within: &'a [ResourceId],
    ) -> BoxFuture<'a, Result<Option<Attr>, RuntimeError>> {
        Box::pin(async move {
            let mut out = attr.clone();
            for (path, template) in references(attr) {
                let mut values = BTreeMap::new();
                for reference in template.references() {
                    if let Some(value) = self.value_of(reference, known, within).await? {
                        values.insert(reference.clone(), value);
                    }
                }
                let filled = template.fill(&self.key, |reference| values.get(reference).cloned());
                let Some(filled) = filled.map_err(|e| invalid(e.to_string()))? else { return Ok(None) };
                if let Some(place) = path.get_mut(&mut out) {
                    *place = filled;
                }
            }
            Ok(Some(out).filter(|out| out.is_known() && !has_lost(out)))
        })
    }

    async fn value_of(
        &self,
        reference: &Reference,
        known: &Known,
        within: &[ResourceId],
    ) -> Result<Option<Attr>, RuntimeError> {
        if reference.stack.is_some() {
            return Ok(None);
        }
        let Some((extensions, attributes)) = known.wanted.get(&reference.id) else {
            return Ok(known.recorded_value(reference, &self.key));
        };
        let key = ResourceKey::new(reference.id.clone());
        let settings = Settings::read(&key, extensions)?;
        if settings.role != Role::Ephemeral {
            return Ok(known.recorded_value(reference, &self.key));
        }
        // Whoever comes here through a plan has no circle; an import asks for one resource without looking at the rest.
        if let Some(at) = within.iter().position(|id| *id == reference.id) {
            return Err(circle(&within[at..]));
        }
        let within: Vec<ResourceId> = within.iter().chain([&reference.id]).cloned().collect();
        let Some(attributes) = self.filled(attributes, known, &within).await? else { return Ok(None) };
        let config = self.config_of(&settings, Some(&attributes), None);
        let backend = self.backend(&settings, &config).await?;
        let opened = self.open_ephemeral(&key, &settings, &backend, &attributes).await?;
        Ok(reference.path.get(&opened).cloned())
    }

    /// What to record of values that are only handed over to the provider of a resource.
    pub(crate) async fn passing(&self, key: &ResourceKey) -> Result<Passing, RuntimeError> {
        let known = self.known_now();
        let mut passing = Passing::default();
        let Some(config) = known.config(key) else { return Ok(passing) };
        let mut open: Vec<ResourceId> = Vec::new();
        for (path, template) in references(config).into_iter().filter(|(_, one)| known.passes(one)) {
            passing.at.insert(path.to_string(), template.source().to_owned());
            open.extend(template.references().map(|reference| reference.id.clone()));
        }
        while let Some(id) = open.pop() {
            let Some((extensions, attributes)) = known.wanted.get(&id) else { continue };
            if passing.from.contains_key(&id.to_string()) {
                continue;
            }
            let (mut rest, mut at) = (attributes.clone(), BTreeMap::new());
            for (path, template) in references(attributes).into_iter().filter(|(_, one)| known.passes(one)) {
                at.insert(path.to_string(), template.source().to_owned());
                open.extend(template.references().map(|reference| reference.id.clone()));
                if let Some(place) = path.get_mut(&mut rest) {
                    *place = Attr::Null;
                }
            }
            let rest = self.filled(&rest, &known, &[]).await?.unwrap_or_default();
            let attributes = rest.expose(Unknowns::LeaveOut).unwrap_or_default();
            passing.from.insert(id.to_string(), Opener { extensions: extensions.clone(), attributes, at });
        }
        Ok(passing)
    }

    fn known_now(&self) -> Arc<Known> {
        Arc::clone(&self.memory().known)
    }
}

/// Ephemeral resources of which each needs the next one, and the last one the first.
fn circle(ids: &[ResourceId]) -> RuntimeError {
    let names: Vec<String> = ids.iter().chain(ids.first()).map(ToString::to_string).collect();
    let names = names.join(" -> ");
    invalid(format!("ephemeral resources refer to each other in a circle: {names}; take one reference out"))
}

/// Whether there is a secret of which only the digest is here: of a Spec that was recorded.
pub(crate) fn has_lost(attr: &Attr) -> bool {
    attr.any(&|leaf| matches!(leaf, Attr::Secret(secret) if !secret.is_known()))
}

/// The references in a tree, with their places.
fn references(attr: &Attr) -> Vec<(FieldPath, Arc<Template>)> {
    let mut found = Vec::new();
    attr.for_each_leaf(&mut |path, leaf| {
        if let Attr::Reference(template) = leaf {
            found.push((path.clone(), Arc::clone(template)));
        }
    });
    found
}

/// Data with references put back in their places.
fn with_references(value: &Value, at: &BTreeMap<String, String>) -> Attr {
    let mut attr = Attr::from(value);
    for (path, source) in at {
        let (path, template) = (FieldPath::parse(path), Template::parse(source));
        if let (Ok(path), Some(Ok(template))) = (path, template)
            && let Some(place) = path.get_mut(&mut attr)
        {
            *place = Attr::Reference(Arc::new(template));
        }
    }
    attr
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::{Locate, Source};

    struct Nowhere;

    impl Locate for Nowhere {
        fn locate(&self, _source: &Source) -> Result<PathBuf, String> {
            Err("there are no providers".to_owned())
        }
    }

    /// Attributes that take the token of another resource.
    fn with_token_of(id: &str) -> Attr {
        let at = BTreeMap::from([("name".to_owned(), format!("$kusion_path.{id}.token"))]);
        with_references(&json!({ "name": null }), &at)
    }

    #[tokio::test]
    async fn ephemeral_resources_that_need_each_other_are_named() {
        let (a, b, own) = ("acme:lab:lab_token:a", "acme:lab:lab_token:b", "acme:lab:lab_token:own");
        let mut known = Known::default();
        for (id, needs) in [(a, b), (b, a), (own, own)] {
            let ephemeral = Map::from_iter([("mode".to_owned(), json!("ephemeral"))]);
            known.wanted.insert(ResourceId::parse(id).unwrap(), (ephemeral, with_token_of(needs)));
        }
        let runtime = TfRuntime::new(Arc::new(Nowhere), None, DigestKey::new([3; 32]));
        for (first, names) in [(a, format!("{a} -> {b} -> {a};")), (own, format!("{own} -> {own};"))] {
            let error = runtime.filled(&with_token_of(first), &known, &[]).await.unwrap_err();
            assert!(error.message.contains(&names), "{}", error.message);
        }
    }
}
