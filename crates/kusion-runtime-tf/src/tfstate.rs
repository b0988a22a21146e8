//! State files of Terraform and OpenTofu: which objects are in one, under which ids of ours; and ours as one of theirs.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{Attr, ResourceId, ResourceKey, ResourceRecord, ResourceType};
use kusion_runtime::RuntimeError;
use serde_json::{Map, Value, json};
use tf_host::Resource;
use tf_schema::sensitive_paths;
use tf_schema::state::{Instance, Key, Mode, Resource as Listed, State};
use tf_value::json::Json;
use tf_value::{Path, Step, Type};

use crate::configuration::Configuration;
use crate::observe::at;
use crate::runtime::TfRuntime;
use crate::settings::{PROVIDER_ALIAS, Role, Settings, invalid};
use crate::{BUILTIN, Held, Passing};

/// What other tools take us for.
const WRITTEN_AS: &str = "1.12.6";

/// An object of a state file, not looked at yet.
#[derive(Clone, Debug)]
pub struct Found {
    /// As the other tool calls it.
    pub address: String,
    pub key: ResourceKey,
    pub extensions: Map<String, Value>,
    pub depends_on: Vec<ResourceKey>,
    pub(crate) held: Held,
    pub(crate) deposed: Vec<Held>,
    /// Places that are sensitive although the schema does not say so.
    pub(crate) sensitive: Vec<Path>,
    /// It is in the form of the provider's newest schema, whatever version that is.
    pub(crate) newest: bool,
}

impl Found {
    /// An object of which nothing is recorded but all its attributes, as the provider that is named has told them.
    ///
    /// # Errors
    /// An id or extensions that name no resource of a provider.
    pub fn of_attributes(
        key: ResourceKey,
        extensions: Map<String, Value>,
        attributes: &Value,
        depends_on: Vec<ResourceKey>,
    ) -> Result<Self, RuntimeError> {
        let Settings { source, type_name, .. } = Settings::read(&key, &extensions)?;
        let state = attributes.to_string();
        let held = Held { provider: source.address, type_name, state, ..Held::default() };
        let (address, deposed, sensitive) = (key.to_string(), Vec::new(), Vec::new());
        Ok(Found { address, key, extensions, depends_on, held, deposed, sensitive, newest: true })
    }
}

/// What a state does not say about providers.
pub struct Told<'t> {
    /// Which version of a provider is used.
    pub version_of: &'t dyn Fn(&str) -> Result<String, String>,
    /// What is in a configuration.
    pub config_of: &'t dyn Fn(&Configuration) -> Option<Value>,
}

/// Finds the managed objects of a state file. The texts are what is left out.
///
/// # Errors
/// What cannot be taken over, with its address.
pub fn found_in(state: &State, told: &Told<'_>) -> Result<(Vec<Found>, Vec<String>), String> {
    let (mut left_out, mut names) = (Vec::new(), Names::default());
    // Asked with another configuration, such as that of another region, a provider would say that an object is gone.
    let is_ours = |resource: &Listed, instance: &Instance| {
        let known = |one: Configuration| one.is_default() || (told.config_of)(&one).is_some();
        resource.mode == Mode::Managed && Configuration::of(resource, instance).is_none_or(known)
    };
    for resource in &state.resources {
        for instance in resource.instances.iter().filter(|instance| is_ours(resource, instance)) {
            names.add(resource, instance)?;
        }
    }
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for resource in &state.resources {
        if resource.mode == Mode::Data {
            left_out.push(format!("{} is a data source: it is read, not kept", block_address(resource)));
            continue;
        }
        let (known, others): (Vec<_>, Vec<_>) =
            resource.instances.iter().partition(|instance| is_ours(resource, instance));
        left_out.extend(others.into_iter().filter_map(|instance| unconfigured(resource, instance)));
        // The object that counts comes before those that wait for their deletion.
        let (current, deposed): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|instance| instance.deposed.is_none());
        for instance in current {
            let one = names.found(resource, instance, told)?;
            found.insert(one.address.clone(), one);
        }
        for instance in deposed {
            let address = address_of(resource, instance);
            let held = held_of(resource, instance, &provider_of(resource, instance)?)?;
            match found.get_mut(&address) {
                Some(one) => one.deposed.push(held),
                None => left_out.push(format!("{address} is only waiting for its deletion")),
            }
        }
    }
    left_out.extend((!state.outputs.is_empty()).then(|| {
        let names: Vec<&str> = state.outputs.iter().map(|(name, _)| name.as_str()).collect();
        format!("outputs ({}): name what others may use under `outputs:` in stack.yaml", names.join(", "))
    }));
    Ok((found.into_values().collect(), left_out))
}

/// The ids of objects, by what the other tool calls them.
#[derive(Default)]
struct Names {
    ids: BTreeMap<String, ResourceKey>,
    /// By the address of the block, without the keys of its instances: dependencies are told so.
    blocks: BTreeMap<String, Vec<ResourceKey>>,
    taken: BTreeSet<ResourceId>,
}

impl Names {
    fn add(&mut self, resource: &Listed, instance: &Instance) -> Result<(), String> {
        let address = address_of(resource, instance);
        if self.ids.contains_key(&address) {
            return Ok(());
        }
        let provider = provider_of(resource, instance)?;
        let mut parts = provider.rsplit('/');
        let (name, namespace) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let plain = readable(resource, instance);
        let id = |name_of: &str| ResourceId::from_parts([namespace, name, resource.ty.as_str(), name_of]);
        let free = (1..).map(|n| if n == 1 { id(&plain) } else { id(&format!("{plain}-{n}")) });
        let Some(id) = free.into_iter().find(|id| !self.taken.contains(id)) else { return Ok(()) };
        self.taken.insert(id.clone());
        let key = ResourceKey::new(id);
        self.blocks.entry(block_address(resource)).or_default().push(key.clone());
        self.ids.insert(address, key);
        Ok(())
    }

    fn found(&self, resource: &Listed, instance: &Instance, told: &Told<'_>) -> Result<Found, String> {
        let address = address_of(resource, instance);
        let provider = provider_of(resource, instance)?;
        let key = self.ids.get(&address).cloned().ok_or_else(|| format!("{address} has no id"))?;
        let mut extensions = Map::new();
        let source = match provider.as_str() {
            BUILTIN => provider.clone(),
            other => format!("{other}/{}", (told.version_of)(other)?),
        };
        extensions.insert("provider".to_owned(), source.into());
        extensions.insert("resourceType".to_owned(), resource.ty.as_str().into());
        if let Some(configuration) = Configuration::of(resource, instance) {
            let config = (told.config_of)(&configuration);
            extensions.extend(config.map(|config| ("providerMeta".to_owned(), config)));
            let name = configuration.name();
            extensions.extend(name.map(|name| (PROVIDER_ALIAS.to_owned(), name.into())));
        }
        if instance.create_before_destroy {
            extensions.insert("lifecycle".to_owned(), json!({"createBeforeDestroy": true}));
        }
        let on = instance.dependencies.iter().filter_map(|on| self.blocks.get(on)).flatten();
        let depends_on: BTreeSet<ResourceKey> = on.filter(|on| **on != key).cloned().collect();
        let (depends_on, sensitive) = (depends_on.into_iter().collect(), instance.sensitive.clone());
        let (held, deposed) = (held_of(resource, instance, &provider)?, Vec::new());
        Ok(Found { address, key, extensions, depends_on, held, deposed, sensitive, newest: false })
    }
}

fn held_of(resource: &Listed, instance: &Instance, provider: &str) -> Result<Held, String> {
    let Some(attributes) = &instance.attributes else {
        return Err(format!(
            "{} has its attributes in the form before Terraform 0.12; refresh the state with the old tool first",
            address_of(resource, instance)
        ));
    };
    Ok(Held {
        provider: provider.to_owned(),
        type_name: resource.ty.clone(),
        schema_version: instance.schema_version,
        state: attributes.compact(),
        private: instance.private.clone(),
        identity: instance.identity.as_ref().map(Json::compact),
        identity_version: instance.identity_schema_version.unwrap_or_default(),
        tainted: instance.tainted,
        ..Held::default()
    })
}

/// `module.net.aws_subnet.a`.
fn block_address(resource: &Listed) -> String {
    let module = if resource.module.is_empty() { String::new() } else { format!("{}.", resource.module) };
    let mode = if resource.mode == Mode::Data { "data." } else { "" };
    format!("{module}{mode}{}.{}", resource.ty, resource.name)
}

/// `module.net.aws_subnet.a["x"]`.
fn address_of(resource: &Listed, instance: &Instance) -> String {
    let key = match &instance.index_key {
        None => String::new(),
        Some(Key::Int(int)) => format!("[{int}]"),
        Some(Key::Text(text)) => format!("[{text:?}]"),
    };
    block_address(resource) + &key
}

/// The name of an object among ours: modules, name and key, with `-` between them.
fn readable(resource: &Listed, instance: &Instance) -> String {
    let modules = resource.module.split('.').filter(|part| !part.is_empty() && *part != "module");
    let key = match &instance.index_key {
        None => None,
        Some(Key::Int(int)) => Some(int.to_string()),
        Some(Key::Text(text)) => Some(text.clone()),
    };
    let parts: Vec<String> = modules.map(str::to_owned).chain([resource.name.clone()]).chain(key).collect();
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    parts.join("-").chars().map(plain).collect()
}

/// Why an object is left out whose configuration nobody tells.
fn unconfigured(resource: &Listed, instance: &Instance) -> Option<String> {
    let configuration = Configuration::of(resource, instance)?;
    Some(format!(
        "{} is made with the provider configuration {configuration}, and a state does not say what is in that: \
         --provider-config '{configuration}=FILE', a file with its arguments as a JSON object",
        address_of(resource, instance)
    ))
}

/// `provider["host/namespace/type"]`.
fn provider_of(resource: &Listed, instance: &Instance) -> Result<String, String> {
    let text = instance.provider.as_deref().unwrap_or(&resource.provider);
    let inner = text.split_once("provider[\"").and_then(|(_, rest)| rest.split_once("\"]"));
    let address = inner.map(|(address, _)| address).filter(|address| address.split('/').count() == 3);
    address.map(str::to_owned).ok_or_else(|| {
        format!(
            "{} names its provider as `{text}`; only `provider[\"host/namespace/name\"]` is known",
            block_address(resource)
        )
    })
}

/// The objects of a stack as a state of other tools.
pub struct Exported {
    pub state: State,
    /// Addresses and fields whose values are sensitive and stand in the state in clear.
    pub clear: Vec<String>,
    /// What a person has to write for the other tool.
    pub notes: Vec<String>,
}

impl TfRuntime {
    /// Makes a state file of records; the schemas of their providers say what is sensitive.
    ///
    /// # Errors
    /// A provider that cannot be started, or a record that cannot be opened.
    pub async fn export(
        &self,
        records: &BTreeMap<ResourceKey, ResourceRecord>,
        lineage: &str,
        serial: u64,
    ) -> Result<Exported, RuntimeError> {
        let state = State {
            terraform_version: WRITTEN_AS.to_owned(),
            serial,
            lineage: lineage.to_owned(),
            ..State::default()
        };
        let out = Exported { state, clear: Vec::new(), notes: Vec::new() };
        let mut export = Export { names: Given::of(records), configs: BTreeMap::new(), records, out };
        for record in records.values().filter(|record| record.kind == ResourceType::terraform()) {
            self.export_one(record, &mut export).await.map_err(|error| at(&record.key, error))?;
        }
        let Export { configs, mut out, .. } = export;
        for (address, configs) in configs.into_iter().filter(|(_, configs)| configs.len() > 1) {
            let names: Vec<&str> = configs.iter().filter_map(|one| one.alias.as_deref()).collect();
            out.notes.push(format!(
                "{} configurations of {address}: resources of all but one are in the state under the aliases {}; give them \
                 the same ones in the other tool",
                configs.len(),
                names.join(", ")
            ));
        }
        Ok(out)
    }

    async fn export_one(&self, record: &ResourceRecord, export: &mut Export<'_>) -> Result<(), RuntimeError> {
        let settings = Settings::read(&record.key, &record.extensions)?;
        let Some(kept) = record.kept.as_ref().filter(|_| settings.role == Role::Managed) else {
            return Ok(());
        };
        let held = Held::open(kept, &self.key).map_err(invalid)?;
        let config = self.config_of(&settings, None, Some(&held));
        let backend = self.pool.unconfigured(&settings.source, &config).await?;
        let of = backend.resource(&settings.type_name)?;
        let provider = export.provider(&settings, &held);
        let mut instances = vec![instance(&of, &record.attributes, &held)?];
        for (number, deposed) in record.deposed.iter().enumerate() {
            let Some(kept) = &deposed.kept else { continue };
            let held = Held::open(kept, &self.key).map_err(invalid)?;
            let name = blake3::hash(format!("{number} {}", held.state).as_bytes()).to_hex();
            instances.push(Instance {
                deposed: Some(name[..8].to_owned()),
                ..instance(&of, &record.attributes, &held)?
            });
        }
        let (ty, name) = (settings.type_name.clone(), export.names.of_key(&record.key));
        for one in &mut instances {
            one.dependencies = export.names.dependencies(&record.key, export.records);
            one.create_before_destroy = settings.lifecycle.create_first;
            let clear = one.sensitive.iter().filter(|path| is_set(one, path, &of.ty));
            export.out.clear.extend(clear.map(|path| format!("{ty}.{name}.{path}")));
        }
        export.out.state.resources.push(Listed { ty, name, provider, instances, ..Listed::default() });
        Ok(())
    }
}

/// A state that is being made.
struct Export<'e> {
    records: &'e BTreeMap<ResourceKey, ResourceRecord>,
    names: Given,
    /// The configurations of each provider, in the order in which they come.
    configs: BTreeMap<String, Vec<Config>>,
    out: Exported,
}

/// A configuration of a provider, as the other tool is to call it.
struct Config {
    /// What its resources call it.
    wanted: Option<String>,
    alias: Option<String>,
    own: (Value, Passing),
}

impl Export<'_> {
    /// The provider of an object as the other tool calls it: by the alias that the resource names; the first configuration
    /// without one needs none, and every other gets a number.
    fn provider(&mut self, settings: &Settings, held: &Held) -> String {
        let address = &settings.source.address;
        let known = self.configs.entry(address.clone()).or_default();
        let own = (held.config.clone(), held.passing.clone());
        let number = known
            .iter()
            .position(|one| one.own == own && one.wanted == settings.alias)
            .unwrap_or_else(|| {
                let is_free = |alias: &Option<String>| !known.iter().any(|one| one.alias == *alias);
                let plain = settings.alias.as_deref().unwrap_or("config");
                let numbered = (2..).map(|n| Some(format!("{plain}{n}")));
                let alias = [settings.alias.clone()].into_iter().chain(numbered).find(is_free).flatten();
                known.push(Config { wanted: settings.alias.clone(), alias, own });
                known.len() - 1
            });
        match &known[number].alias {
            None => format!("provider[\"{address}\"]"),
            Some(alias) => format!("provider[\"{address}\"].{alias}"),
        }
    }
}

fn instance(of: &Resource, wanted: &Attr, held: &Held) -> Result<Instance, RuntimeError> {
    let json = |text: &str| Json::parse(text.as_bytes()).map_err(|error| invalid(error.message));
    let mut one = Instance {
        tainted: held.tainted,
        schema_version: held.schema_version,
        attributes: Some(json(&held.state)?),
        private: held.private.clone(),
        identity: held.identity.as_deref().map(json).transpose()?,
        ..Instance::default()
    };
    one.identity_schema_version = one.identity.as_ref().map(|_| held.identity_version);
    // The schema knows places that are null; the configuration knows what came in as a secret. Where the provider has put that
    // beside, other tools do not know of it.
    if let Ok(value) = one.value(&of.ty) {
        one.sensitive = sensitive_paths(&of.schema.block, &value);
    }
    let mut secret = Vec::new();
    secrets_in(wanted, &of.ty, &mut Path::default(), &mut secret);
    let told = one.sensitive.clone();
    one.sensitive.extend(secret.into_iter().filter(|path| !told.iter().any(|outer| path.starts_with(outer))));
    Ok(one)
}

/// Where a tree has secrets, as paths of a type. Inside a set the whole set is sensitive.
fn secrets_in(tree: &Attr, ty: &Type, path: &mut Path, found: &mut Vec<Path>) {
    match (tree, ty) {
        (Attr::Secret(_), _) => found.push(path.clone()),
        (Attr::Set(_), _) if tree.has_secret() => found.push(path.clone()),
        (Attr::Map(map), Type::Object(object)) => {
            for (name, item) in map.iter() {
                // The configuration of the provider stands beside the attributes, and in no state.
                let Some(ty) = object.attributes.get(name.as_str()) else { continue };
                let step = Step::Attribute(name.as_str().into());
                path.within(step, |path| secrets_in(item, ty, path, found));
            }
        }
        (Attr::Map(map), ty) => {
            let inner = if let Type::Map(of) = ty { of } else { &Type::Dynamic };
            for (name, item) in map.iter() {
                // In a value of any type a mapping is an object.
                let step = match ty {
                    Type::Map(_) => Step::Key(name.as_str().into()),
                    _ => Step::Attribute(name.as_str().into()),
                };
                path.within(step, |path| secrets_in(item, inner, path, found));
            }
        }
        (Attr::List(items), ty) => {
            let inner = if let Type::List(of) = ty { of } else { &Type::Dynamic };
            for (at, item) in items.iter().enumerate() {
                path.within(Step::Index(at as u64), |path| secrets_in(item, inner, path, found));
            }
        }
        _ => {}
    }
}

fn is_set(instance: &Instance, path: &Path, ty: &Type) -> bool {
    match instance.value(ty) {
        Ok(value) => value.at(path).is_none_or(|value| !value.is_null()),
        Err(_) => true,
    }
}

/// The names of objects in the other tool.
struct Given(BTreeMap<ResourceKey, String>);

impl Given {
    /// Names are plain there; of two that would be the same, the later one gets a number.
    fn of(records: &BTreeMap<ResourceKey, ResourceRecord>) -> Self {
        let (mut names, mut taken) = (BTreeMap::new(), BTreeSet::new());
        for (key, record) in records.iter().filter(|(_, one)| one.kind == ResourceType::terraform()) {
            let Ok(settings) = Settings::read(key, &record.extensions) else { continue };
            let plain = identifier(key);
            let free = (1..).map(|n| if n == 1 { plain.clone() } else { format!("{plain}_{n}") });
            let mut free = free.filter(|name| taken.insert((settings.type_name.clone(), name.clone())));
            names.extend(free.next().map(|name| (key.clone(), name)));
        }
        Given(names)
    }

    fn of_key(&self, key: &ResourceKey) -> String {
        self.0.get(key).cloned().unwrap_or_else(|| identifier(key))
    }

    /// What an object depends on, directly or not, as the other tool calls it.
    fn dependencies(
        &self,
        key: &ResourceKey,
        records: &BTreeMap<ResourceKey, ResourceRecord>,
    ) -> Vec<String> {
        let (mut open, mut seen, mut names) = (vec![key], BTreeSet::new(), BTreeSet::new());
        while let Some(at) = open.pop() {
            let Some(record) = records.get(at).filter(|_| seen.insert(at)) else { continue };
            open.extend(&record.depends_on);
            let settings = Settings::read(at, &record.extensions).ok().filter(|_| at != key);
            if let Some(settings) = settings.filter(|_| record.kind == ResourceType::terraform()) {
                let data = if settings.role == Role::Data { "data." } else { "" };
                names.insert(format!("{data}{}.{}", settings.type_name, self.of_key(at)));
            }
        }
        names.into_iter().collect()
    }
}

/// The last part of an id as a name of the other tool.
fn identifier(key: &ResourceKey) -> String {
    let name = key.id.parts().pop().unwrap_or_default();
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_alphabetic() || c == '_') { name } else { format!("_{name}") }
}
