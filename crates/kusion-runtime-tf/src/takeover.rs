//! Taking objects over that another tool has made, without touching them: from a state file, or one by its id. What comes back
//! is what to record, and a configuration that asks for the object as it is.

use std::sync::Arc;

use kusion_model::{Attr, Deposed, Kept, Observed, ResourceKey, Spec};
use kusion_runtime::{ObserveAsk, RuntimeError};
use serde_json::{Map, Value, json};
use tf_host::{Resource, errors};
use tf_schema::{Action, Recovered, configure, recover};
use tf_value::Path;

use crate::IMPORT_ID;
use crate::apply::put_off;
use crate::attr::{field_path, loose_resource, sealed, secrets_of, to_attr};
use crate::backend::Backend;
use crate::connection::Known;
use crate::draft::{Draft, draft, told};
use crate::observe::at;
use crate::runtime::{Object, Seen, TfRuntime};
use crate::settings::{Settings, invalid};
use crate::tfstate::Found;

/// An object that is taken over.
#[derive(Clone, Debug)]
pub struct Takeover {
    pub key: ResourceKey,
    /// The configuration that asks for it as it is.
    pub attributes: Attr,
    pub extensions: Map<String, Value>,
    pub depends_on: Vec<ResourceKey>,
    pub kept: Kept,
    pub deposed: Vec<Deposed>,
    /// Why nobody can say that a preview will show no change; none if the provider plans none.
    pub doubt: Option<String>,
}

impl TfRuntime {
    /// Takes over an object of a state file.
    ///
    /// # Errors
    /// A provider that does not start, or makes nothing of the recorded state.
    pub async fn take_over(&self, found: Found) -> Result<Takeover, RuntimeError> {
        let key = found.key.clone();
        self.taken(found).await.map_err(|error| at(&key, error).of_provider())
    }

    async fn taken(&self, found: Found) -> Result<Takeover, RuntimeError> {
        let settings = Settings::read(&found.key, &found.extensions)?;
        let config = self.config_of(&settings, None, None);
        let backend = self.pool.unconfigured(&settings.source, &config).await?;
        let of = backend.resource(&settings.type_name)?;
        let mut seen = self.recorded(&backend, &of, found.held).await?;
        for place in &found.sensitive {
            let value = seen.state.at(place).map(|value| self.key_of(&to_attr(value)));
            seen.held.secrets.extend(value.unwrap_or_default());
        }
        let seen = Arc::new(seen);
        let kept = self.kept_of(&seen)?;
        let mut deposed = Vec::new();
        for held in found.deposed {
            let seen = Arc::new(self.recorded(&backend, &of, held).await?);
            deposed.push(Deposed { kept: Some(self.kept_of(&seen)?), ..Deposed::default() });
        }
        let configured = self.backend(&settings, &config).await;
        let (recovered, doubt) = self.recovered(configured, &found.key, &found.extensions, &seen).await?;
        Ok(Takeover {
            key: found.key,
            attributes: to_attr(&recovered.written),
            extensions: with_kept(found.extensions, &recovered.kept),
            depends_on: found.depends_on,
            kept,
            deposed,
            doubt,
        })
    }

    /// Takes over the object that its provider finds by an id; `wanted` is what the configuration of the provider may refer
    /// to.
    ///
    /// # Errors
    /// There is no such object, or the provider cannot be asked.
    pub async fn import(
        &self,
        key: &ResourceKey,
        extensions: Map<String, Value>,
        id: &str,
        wanted: &Spec,
    ) -> Result<Takeover, RuntimeError> {
        self.memory().known = Arc::new(Known::wanted(wanted));
        self.imported_by(key, extensions, id).await.map_err(RuntimeError::of_provider)
    }

    async fn imported_by(
        &self,
        key: &ResourceKey,
        mut extensions: Map<String, Value>,
        id: &str,
    ) -> Result<Takeover, RuntimeError> {
        extensions.insert(IMPORT_ID.to_owned(), id.into());
        let kind = kusion_model::ResourceType::terraform();
        let ask =
            ObserveAsk { key: key.clone(), kind, prior: None, extensions: extensions.clone(), wanted: None };
        let (_, Observed { attributes, kept, .. }) =
            self.observe_one(&ask).await?.ok_or_else(|| invalid(format!("there is no `{id}`")))?;
        extensions.remove(IMPORT_ID);
        let seen = attributes.native::<Object>().map(|object| Arc::clone(&object.seen));
        let (Some(seen), Some(kept)) = (seen, kept) else { return Err(invalid("nothing was found")) };
        let settings = Settings::read(key, &extensions)?;
        let backend = self.backend(&settings, &self.connection(key, &settings, None).await?).await;
        let (recovered, doubt) = self.recovered(backend, key, &extensions, &seen).await?;
        Ok(Takeover {
            key: key.clone(),
            attributes: to_attr(&recovered.written),
            extensions: with_kept(extensions, &recovered.kept),
            depends_on: Vec::new(),
            kept,
            deposed: Vec::new(),
            doubt,
        })
    }

    /// The digests of the leaves of a value.
    fn key_of(&self, tree: &Attr) -> std::collections::BTreeSet<String> {
        let mut tree = tree.clone();
        crate::attr::seal(&mut tree, &self.key);
        secrets_of(&tree, &self.key)
    }

    fn kept_of(&self, seen: &Seen) -> Result<Kept, RuntimeError> {
        let mut shown = sealed(&seen.of.schema.block, &seen.state, &self.key);
        crate::attr::seal_known(&mut shown, &seen.held.secrets, &self.key);
        seen.held.seal(shown, &self.key).map_err(invalid)
    }

    /// The smallest configuration with which the provider plans no change: first without what the provider may choose itself,
    /// then with what it would choose otherwise, then with everything.
    async fn recovered(
        &self,
        backend: Result<Backend, RuntimeError>,
        key: &ResourceKey,
        extensions: &Map<String, Value>,
        seen: &Seen,
    ) -> Result<(Recovered, Option<String>), RuntimeError> {
        let block = &seen.of.schema.block;
        let all = recover(block, &seen.state, &|_| true);
        let backend = match backend {
            Ok(backend) => backend,
            Err(error) => return Ok((all, Some(format!("its provider cannot be asked: {error}")))),
        };
        if seen.held.tainted {
            return Ok((all, Some("it is tainted, so it will be replaced".to_owned())));
        }
        let few = recover(block, &seen.state, &|_| false);
        let mut doubt = None;
        let mut tries = vec![few];
        while let Some(one) = tries.pop() {
            let planned = self.planned(&backend, key, extensions, seen, &one).await;
            match &planned {
                Ok(draft) if draft.action == Action::NoOp => return Ok((one, None)),
                Ok(_) => doubt = Some("its provider plans a change".to_owned()),
                Err(error) => doubt = Some(error.message.clone()),
            }
            if one == all {
                break;
            }
            let moved = |path: &Path| match &planned {
                Ok(draft) => draft.planned.at(path) != seen.state.at(path),
                Err(_) => true,
            };
            let more = recover(block, &seen.state, &moved);
            tries.push(if more == one { all.clone() } else { more });
        }
        Ok((all, doubt))
    }

    async fn planned(
        &self,
        backend: &Backend,
        key: &ResourceKey,
        extensions: &Map<String, Value>,
        seen: &Seen,
        recovered: &Recovered,
    ) -> Result<Draft, RuntimeError> {
        let of: &Resource = &seen.of;
        let settings = Settings::read(key, &with_kept(extensions.clone(), &recovered.kept))?;
        let loose = loose_resource(&to_attr(&recovered.written))?;
        let config = configure(&of.schema.block, &loose).map_err(|p| invalid(told(&p)))?;
        if let Some(what) = errors(&backend.validate(of, &config).await?) {
            return Err(invalid(what));
        }
        draft(backend, of, &settings, config, Some(seen)).await?.map_err(put_off)
    }
}

/// The extensions with changes ignored at the places whose values are kept.
fn with_kept(mut extensions: Map<String, Value>, kept: &[Path]) -> Map<String, Value> {
    if kept.is_empty() {
        return extensions;
    }
    let paths: Vec<String> = kept.iter().map(|path| field_path(path).to_string()).collect();
    let lifecycle = extensions.entry("lifecycle").or_insert_with(|| json!({}));
    if let Some(map) = lifecycle.as_object_mut() {
        map.insert("ignoreChanges".to_owned(), json!(paths));
    }
    extensions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_ignored_beside_what_was_there() {
        let extensions = json!({"lifecycle": {"createBeforeDestroy": true}});
        let path = Path::default().attribute("users").index(0).attribute("password");
        let with = with_kept(extensions.as_object().unwrap().clone(), &[path]);
        assert_eq!(
            Value::Object(with),
            json!({"lifecycle": {"createBeforeDestroy": true, "ignoreChanges": ["users[0].password"]}})
        );
    }
}
