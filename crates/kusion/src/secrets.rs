//! Secrets of stores that a Spec refers to: found, fetched, and put into a copy that is planned and never written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kusion_generate::StackFolder;
use kusion_model::{
    DigestKey, FieldPath, Platforms, Provider, ResourceKey, SecretRef, SourceRef, Spec, StoreConfig,
    references_in,
};
use kusion_secrets::{Refusal, SecretError, Stores};

use crate::Sites;

/// Where a Spec uses a secret of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretUse {
    pub reference: SecretRef,
    pub key: ResourceKey,
    pub field: FieldPath,
    /// The line that says so.
    pub place: Option<SourceRef>,
}

/// A secret that is not to be had, and where it is wanted.
#[derive(Clone, Debug)]
pub struct SecretProblem {
    pub reference: SecretRef,
    pub error: SecretError,
    pub uses: Vec<SecretUse>,
}

impl fmt::Display for SecretProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reference, self.error)?;
        match self.uses.first() {
            Some(SecretUse { key, field, place: Some(place), .. }) => {
                write!(f, " ({key} {field}, {}:{})", place.file, place.line)
            }
            Some(SecretUse { key, field, .. }) => write!(f, " ({key} {field})"),
            None => Ok(()),
        }
    }
}

/// Finds every use of a secret of a store, in the order of the Spec.
#[must_use]
pub fn secret_uses(spec: &Spec) -> Vec<SecretUse> {
    let mut found = Vec::new();
    for resource in &spec.resources {
        for use_ in references_in(&resource.attributes) {
            let Some(reference) = use_.template.stored() else { continue };
            let place = resource.place_of(&use_.at).cloned();
            found.push(SecretUse {
                reference: reference.clone(),
                key: resource.key(),
                field: use_.at,
                place,
            });
        }
    }
    found
}

/// The stores that a stack's files name: those of the stack before those of the project. The empty name is the default.
#[must_use]
pub fn configured_stores(folder: &StackFolder) -> BTreeMap<String, StoreConfig> {
    let (project, stack) = (&folder.project, &folder.stack);
    let mut all = project.secret_stores.clone();
    all.extend(stack.secret_stores.clone());
    let default = stack.secret_store.as_ref().or(project.secret_store.as_ref());
    all.extend(default.map(|store| (String::new(), store.clone())));
    all
}

/// Keeps the variables of stores in the environment from programs that are started before a secret is asked for: all that begin
/// with the prefix of a store, and those that a Spec refers to.
pub fn hide_variables(stores: &BTreeMap<String, StoreConfig>, spec: Option<&Spec>) {
    let prefix_of = |name: &str| match stores.get(name).map(|store| &store.provider) {
        Some(Provider::Env { prefix }) => Some(prefix.clone()),
        _ => None,
    };
    for prefix in stores.keys().filter_map(|name| prefix_of(name)).filter(|prefix| !prefix.is_empty()) {
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        names
            .filter(|name| name.starts_with(&prefix))
            .for_each(|name| base_secret::keep_from_children(&name));
    }
    for SecretUse { reference, .. } in spec.map(secret_uses).unwrap_or_default() {
        if let Some(prefix) = prefix_of(reference.store.as_deref().unwrap_or_default()) {
            base_secret::keep_from_children(&kusion_secrets::variable_of(&prefix, &reference));
        }
    }
}

/// Opens stores; those on a platform are read through its site.
///
/// # Errors
/// A store that cannot be used, with its name.
pub fn open_stores(
    configured: &BTreeMap<String, StoreConfig>,
    folder: &std::path::Path,
    sites: &Sites,
) -> Result<Stores, SecretError> {
    let mut stores = Stores::default();
    for (name, config) in configured {
        let named = |mut error: SecretError| {
            error.message = format!("secret store `{name}`: {}", error.message);
            error
        };
        if let Some(store) = kusion_secrets::open(config, folder).map_err(named)? {
            stores.insert(name, store);
            continue;
        }
        let nobody = || named(SecretError::new(Refusal::Unavailable, "no cluster to read it from"));
        stores.insert(name, sites.secrets(&config.provider).ok_or_else(nobody)?);
    }
    Ok(stores)
}

/// Fetches every secret that a Spec refers to, each once, and returns the Spec with them; `None` if it refers to none.
///
/// # Errors
/// Every secret that is not to be had, with where it is wanted.
pub async fn resolve_secrets(
    spec: &Spec,
    stores: &Stores,
    platforms: &Platforms,
    key: &DigestKey,
) -> Result<Option<Spec>, Vec<SecretProblem>> {
    let uses = secret_uses(spec);
    if uses.is_empty() {
        return Ok(None);
    }
    let wanted: BTreeSet<SecretRef> = uses.iter().map(|use_| use_.reference.clone()).collect();
    let problem = |(reference, error): (SecretRef, SecretError)| {
        let uses = uses.iter().filter(|use_| use_.reference == reference).cloned().collect();
        SecretProblem { reference, error, uses }
    };
    let found = stores.resolve(&wanted).await;
    let values = found.map_err(|refused| refused.into_iter().map(problem).collect::<Vec<_>>())?;
    let binary = values.iter().filter(|(_, value)| value.expose_text().is_none());
    let refused: Vec<SecretProblem> =
        binary.map(|(reference, _)| problem((reference.clone(), no_text()))).collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    let resources = spec.resources.iter().map(|resource| resource.with_secrets(&values, platforms, key));
    Ok(Some(Spec { resources: resources.collect() }))
}

/// The Spec with the secrets of stores in it; they are fetched for each plan, so a plan never knows an older value.
pub(crate) async fn resolve(
    target: &crate::Target,
    spec: &Spec,
    sites: &Sites,
    platforms: &Platforms,
) -> Result<Option<Spec>, crate::PlanFailure> {
    let uses = secret_uses(spec);
    let Some(first) = uses.first() else { return Ok(None) };
    let stores = open_stores(&target.secret_stores, &target.project_dir, sites);
    let stores = stores.map_err(|error| {
        let reference = first.reference.clone();
        crate::PlanFailure::Secrets(vec![SecretProblem { reference, error, uses: uses.clone() }])
    })?;
    resolve_secrets(spec, &stores, platforms, &target.key).await.map_err(crate::PlanFailure::Secrets)
}

impl Sites {
    /// A Spec as a plan has it: what platforms know about it is settled, the secrets of stores are in it.
    ///
    /// # Errors
    /// A platform that cannot be asked, or secrets that are not to be had.
    pub async fn settled(&self, target: &crate::Target, mut spec: Spec) -> Result<Spec, crate::PlanFailure> {
        let platforms = self.learn(&mut spec).await.map_err(crate::PlanFailure::Remote)?;
        let resolved = resolve(target, &spec, self, &platforms).await?;
        Ok(resolved.unwrap_or(spec))
    }
}

fn no_text() -> SecretError {
    SecretError::new(Refusal::Unusable, "its value is no text")
        .next("keep it as base64 in the store, and write it under `data`")
}
