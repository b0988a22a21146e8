//! Taking objects over that another tool has made, without touching them: from a state file, or one by its id. What comes back
//! is what to record, and a configuration that asks for the object as it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::stream::{StreamExt as _, iter};
use kusion_model::{Attr, Deposed, Kept, Observed, Reference, ResourceKey, Spec};
use kusion_runtime::{ObserveAsk, RuntimeError};
use serde_json::{Map, Value, json};
use tf_host::{Resource, errors};
use tf_schema::{Action, Hiding, Recovered, Wishes, configure, recover, sensitive_paths};
use tf_value::Path;

use crate::apply::put_off;
use crate::attr::{field_path, loose_resource, seal, sealed, secrets_of, to_attr};
use crate::backend::Backend;
use crate::connection::Known;
use crate::draft::{Draft, draft, told};
use crate::observe::at;
use crate::origins::{Origins, is_among};
use crate::runtime::{Object, Seen, TfRuntime, kept_config};
use crate::settings::{Settings, invalid};
use crate::tfstate::Found;
use crate::{Held, IMPORT_ID};

/// How many objects are asked about at the same time.
const AT_ONCE: usize = 16;

/// An object that is taken over.
#[derive(Clone, Debug)]
pub struct Takeover {
    pub key: ResourceKey,
    /// The configuration that asks for it as it is, as it is recorded: secrets are sealed.
    pub attributes: Attr,
    /// The same as it is written: what is sensitive is a reference to where it comes from.
    pub written: Attr,
    pub extensions: Map<String, Value>,
    pub depends_on: Vec<ResourceKey>,
    pub kept: Kept,
    pub deposed: Vec<Deposed>,
    /// Why nobody can say that a preview will show no change; none if the provider plans none.
    pub doubt: Option<String>,
    /// What a person has to know about what is written.
    pub notes: Vec<String>,
}

/// An object of a state file, as its provider reads it.
struct Loaded {
    found: Found,
    settings: Settings,
    /// That of its provider.
    config: Attr,
    seen: Seen,
    deposed: Vec<Seen>,
}

/// What is known about an object whose configuration is looked for.
struct Search<'s> {
    key: &'s ResourceKey,
    extensions: &'s Map<String, Value>,
    seen: &'s Seen,
    depends_on: &'s [ResourceKey],
    /// Sensitive places that the schema does not know of.
    sensitive: &'s [Path],
    origins: &'s Origins,
}

/// A configuration that asks for an object.
struct Answer {
    recovered: Recovered,
    doubt: Option<String>,
}

impl TfRuntime {
    /// Says what is wanted: what the configurations of providers refer to is looked up there.
    pub fn want(&self, wanted: &Spec) {
        self.memory().known = Arc::new(Known::wanted(wanted));
    }

    /// Takes over objects of a state file; the answers are in order.
    ///
    /// # Errors
    /// For each: a provider that does not start, or makes nothing of the recorded state.
    pub async fn take_over(&self, all: Vec<Found>) -> Vec<Result<Takeover, RuntimeError>> {
        let load = |found: Found| async move {
            let key = found.key.clone();
            let loaded = tf_host::about(|| key.to_string(), self.loaded(found)).await;
            loaded.map_err(|error| at(&key, error).of_provider())
        };
        let loaded: Vec<Result<Loaded, RuntimeError>> =
            iter(all.into_iter().map(load)).buffered(AT_ONCE).collect().await;
        let mut origins = Origins::default();
        for one in loaded.iter().flatten() {
            let key = &one.found.key;
            origins.add(key, &one.seen, &one.found.sensitive);
        }
        let origins = &origins;
        let take = |one: Result<Loaded, RuntimeError>| async move {
            let one = one?;
            let key = one.found.key.clone();
            let taken = tf_host::about(|| key.to_string(), self.taken(one, origins)).await;
            taken.map_err(|error| at(&key, error).of_provider())
        };
        iter(loaded.into_iter().map(take)).buffered(AT_ONCE).collect().await
    }

    async fn loaded(&self, mut found: Found) -> Result<Loaded, RuntimeError> {
        let settings = Settings::read(&found.key, &found.extensions)?;
        let config = self.connection(&found.key, &settings, None).await?;
        let backend = self.pool.unconfigured(&settings.source, &config).await?;
        let of = backend.resource(&settings.type_name)?;
        if found.newest {
            found.held.schema_version = of.schema.version;
        }
        let passing = self.passing(&found.key).await?;
        let reached = |held: Held| Held { config: kept_config(&config), passing: passing.clone(), ..held };
        let seen = self.recorded(&backend, &of, reached(std::mem::take(&mut found.held))).await?;
        let mut deposed = Vec::new();
        for held in std::mem::take(&mut found.deposed) {
            deposed.push(self.recorded(&backend, &of, reached(held)).await?);
        }
        Ok(Loaded { found, settings, config, seen, deposed })
    }

    async fn taken(&self, loaded: Loaded, origins: &Origins) -> Result<Takeover, RuntimeError> {
        let Loaded { found, settings, config, mut seen, deposed } = loaded;
        self.hide(&mut seen, &found.sensitive, origins);
        let kept = self.kept_of(&seen)?;
        let mut left = Vec::new();
        for mut old in deposed {
            self.hide(&mut old, &found.sensitive, origins);
            left.push(Deposed { kept: Some(self.kept_of(&old)?), ..Deposed::default() });
        }
        let configured = self.backend(&settings, &config).await;
        let search = Search {
            key: &found.key,
            extensions: &found.extensions,
            seen: &seen,
            depends_on: &found.depends_on,
            sensitive: &found.sensitive,
            origins,
        };
        let answer = self.recovered(configured, &search).await?;
        let (attributes, written, notes) = self.written(&search, &answer.recovered);
        Ok(Takeover {
            attributes,
            written,
            notes,
            extensions: with_kept(found.extensions.clone(), &answer.recovered.kept),
            doubt: answer.doubt,
            key: found.key,
            depends_on: found.depends_on,
            kept,
            deposed: left,
        })
    }

    /// Has it recorded which values of an object nobody may read.
    fn hide(&self, seen: &mut Seen, sensitive: &[Path], origins: &Origins) {
        let marked = sensitive.iter().filter_map(|place| seen.state.at(place)).map(to_attr);
        let all: Vec<Attr> = marked.chain(origins.secrets_in(&seen.state)).collect();
        seen.held.secrets.extend(all.iter().flat_map(|value| self.key_of(value)));
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
        self.want(wanted);
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
        let search = Search {
            key,
            extensions: &extensions,
            seen: &seen,
            depends_on: &[],
            sensitive: &[],
            origins: &Origins::default(),
        };
        let answer = self.recovered(backend, &search).await?;
        let (attributes, written, notes) = self.written(&search, &answer.recovered);
        Ok(Takeover {
            key: key.clone(),
            attributes,
            written,
            notes,
            extensions: with_kept(extensions.clone(), &answer.recovered.kept),
            depends_on: Vec::new(),
            kept,
            deposed: Vec::new(),
            doubt: answer.doubt,
        })
    }

    /// The digests of the leaves of a value.
    fn key_of(&self, tree: &Attr) -> BTreeSet<String> {
        let mut tree = tree.clone();
        seal(&mut tree, &self.key);
        secrets_of(&tree, &self.key)
    }

    fn kept_of(&self, seen: &Seen) -> Result<Kept, RuntimeError> {
        let mut shown = sealed(&seen.of.schema.block, &seen.state, &self.key);
        crate::attr::seal_known(&mut shown, &seen.held.secrets, &self.key);
        seen.held.seal(shown, &self.key).map_err(invalid)
    }

    /// The smallest configuration with which the provider plans no change. What nobody may read is left out and kept as it is;
    /// where the provider does not take that, it has to be given.
    async fn recovered(
        &self,
        backend: Result<Backend, RuntimeError>,
        search: &Search<'_>,
    ) -> Result<Answer, RuntimeError> {
        let all = search.recover(&|_| true, false);
        let backend = match backend {
            Ok(backend) => backend,
            Err(error) => {
                let doubt = Some(format!("its provider cannot be asked: {error}"));
                return Ok(Answer { recovered: all, doubt });
            }
        };
        if search.seen.held.tainted {
            let doubt = Some("it is tainted, so it will be replaced".to_owned());
            return Ok(Answer { recovered: all, doubt });
        }
        let answer = self.smallest(&backend, search, false).await;
        if answer.doubt.is_none() || answer.recovered.kept.is_empty() {
            return Ok(answer);
        }
        let given = self.smallest(&backend, search, true).await;
        Ok(if given.doubt.is_none() { given } else { answer })
    }

    /// First without what the provider may choose itself, then with what it would choose otherwise, then with everything.
    async fn smallest(&self, backend: &Backend, search: &Search<'_>, gives: bool) -> Answer {
        let all = search.recover(&|_| true, gives);
        let mut doubt = None;
        let mut tries = vec![search.recover(&|_| false, gives)];
        while let Some(one) = tries.pop() {
            let planned = self.planned(backend, search, &one).await;
            match &planned {
                Ok(draft) if draft.action == Action::NoOp => return Answer { recovered: one, doubt: None },
                Ok(_) => doubt = Some("its provider plans a change".to_owned()),
                Err(error) => doubt = Some(error.message.clone()),
            }
            if one == all {
                break;
            }
            let state = &search.seen.state;
            let moved = |path: &Path| match &planned {
                Ok(draft) => draft.planned.at(path) != state.at(path),
                Err(_) => true,
            };
            let more = search.recover(&moved, gives);
            tries.push(if more == one { all.clone() } else { more });
        }
        Answer { recovered: all, doubt }
    }

    async fn planned(
        &self,
        backend: &Backend,
        search: &Search<'_>,
        recovered: &Recovered,
    ) -> Result<Draft, RuntimeError> {
        let of: &Resource = &search.seen.of;
        let extensions = with_kept(search.extensions.clone(), &recovered.kept);
        let settings = Settings::read(search.key, &extensions)?;
        let loose = loose_resource(&to_attr(&recovered.written))?;
        let config = configure(&of.schema.block, &loose).map_err(|p| invalid(told(&p)))?;
        if let Some(what) = errors(&backend.validate(of, &config).await?) {
            return Err(invalid(what));
        }
        draft(backend, of, &settings, config, Some(search.seen)).await?.map_err(put_off)
    }

    /// A configuration as it is recorded and as it is written, with what a person has to know about it.
    fn written(&self, search: &Search<'_>, recovered: &Recovered) -> (Attr, Attr, Vec<String>) {
        let mut recorded = to_attr(&recovered.written);
        let (mut written, mut notes) = (recorded.clone(), Vec::new());
        for path in recovered.given.iter().map(field_path) {
            let text = path.get(&recorded).and_then(Attr::as_str).unwrap_or_default().to_owned();
            let instead = match search.origins.source(&text, search.depends_on) {
                Some(reference) => told_reference(&reference),
                None => {
                    let stored = stored_reference(search.key, &path.to_string());
                    notes.push(format!(
                        "{}: `{path}` is sensitive and has to be given: keep its value in a secret store as {stored}, \
                         or write there where else it comes from",
                        search.key
                    ));
                    stored
                }
            };
            if let Some(place) = path.get_mut(&mut written) {
                *place = Attr::text(instead);
            }
            if let Some(place) = path.get_mut(&mut recorded) {
                seal(place, &self.key);
            }
        }
        let by_schema = sensitive_paths(&search.seen.of.schema.block, &search.seen.state);
        let others = recovered.kept.iter().filter(|path| !is_among(path, &by_schema));
        notes.extend(others.map(|path| {
            let path = field_path(path);
            format!(
                "{}: `{path}` is sensitive in the state: it is not written, and stays as it is",
                search.key
            )
        }));
        (recorded, written, notes)
    }
}

impl Search<'_> {
    /// Reads a configuration off the object; `gives` writes sensitive texts that come from nowhere, to be replaced.
    fn recover(&self, chosen: &dyn Fn(&Path) -> bool, gives: bool) -> Recovered {
        let hiding = |path: &Path, value: &tf_value::Value, by_schema: bool| {
            let text = value.as_str();
            let is_secret = by_schema
                || is_among(path, self.sensitive)
                || text.is_some_and(|text| self.origins.is_secret(text));
            let is_given =
                text.is_some_and(|text| gives || self.origins.source(text, self.depends_on).is_some());
            match (is_secret, is_given) {
                (false, _) => Hiding::Open,
                (true, true) => Hiding::Given,
                (true, false) => Hiding::Kept,
            }
        };
        recover(&self.seen.of.schema.block, &self.seen.state, &Wishes { chosen, hiding: &hiding })
    }
}

fn told_reference(reference: &Reference) -> String {
    format!("$kusion_path.{reference}")
}

/// The secret of a store that a field is to come from.
fn stored_reference(key: &ResourceKey, field: &str) -> String {
    let plain = |text: &str| -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
        text.trim_end_matches(['"', ']']).chars().map(plain).collect()
    };
    let name: Vec<String> = key.id.parts().iter().skip(2).map(|part| plain(part)).collect();
    format!("ref://{}/{}", name.join("-"), plain(field))
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
