//! What is known about Terraform resources without asking a provider, once the schemas are loaded.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{
    Attr, DigestKey, FieldPath, Kept, Platform, Platforms, Rekeying, Resource, ResourceId, ResourceType,
    Spec, SpecError, seal,
};
use kusion_runtime::RuntimeError;
use serde_json::{Map, Value, json};
use tf_schema::{Attribute, AttributeKind, Block, BlockNesting};

use crate::attr::PROVIDER;
use crate::kept::Held;
use crate::settings::{FORBIDS_DELETE, Lifecycle, Role, Settings, alias, check_names, moved_from};

/// The knowledge about Terraform resources: of types whose schema is loaded, what is secret.
#[derive(Default)]
pub struct TfPlatform {
    blocks: BTreeMap<(String, Role), Block>,
    /// The schemas of the configurations of their providers, by type.
    configs: BTreeMap<String, Block>,
}

impl TfPlatform {
    pub(crate) fn new(blocks: BTreeMap<(String, Role), Block>, configs: BTreeMap<String, Block>) -> Self {
        TfPlatform { blocks, configs }
    }

    /// The schema of a type, in the first of some modes in which it is loaded.
    fn block(&self, id: &ResourceId, modes: &[Role]) -> Option<&Block> {
        let name = id.parts().get(2)?.clone();
        modes.iter().find_map(|mode| self.blocks.get(&(name.clone(), *mode)))
    }
}

impl Platform for TfPlatform {
    fn kind(&self) -> ResourceType {
        ResourceType::terraform()
    }

    fn check(&self, resource: &Resource) -> Result<(), SpecError> {
        match Settings::read(&resource.key(), &resource.extensions) {
            Ok(_) => Ok(()),
            Err(error) => Err(SpecError::Resource { number: 0, message: error.message }),
        }
    }

    fn lacks(&self, resource: &Resource, field: &FieldPath) -> Option<String> {
        let settings = Settings::read(&resource.key(), &resource.extensions).ok()?;
        let block = self.blocks.get(&(settings.type_name.clone(), settings.role))?;
        crate::fields::lacks(block, field).map(|why| format!("{} {why}", settings.type_name))
    }

    fn rekey(&self, kept: &Kept, keys: &Rekeying<'_>) -> Result<Kept, String> {
        let (mut shown, mut keys) = (kept.state.clone(), keys.clone());
        if kept.private.is_none() {
            keys.reseal(&mut shown);
            return Ok(Kept { state: shown, ..kept.clone() });
        }
        let mut held = Held::open(kept, keys.from)?;
        // What a provider has made, and what was only handed over to it, stands in no configuration: its values are in its state.
        let state: Value = serde_json::from_str(&held.state).map_err(|e| e.to_string())?;
        let mut asked = held.secrets.clone();
        shown.for_each_leaf(&mut |_, leaf| {
            if let Attr::Secret(secret) = leaf {
                asked.insert(secret.stored().to_string());
            }
        });
        keys.learn(&Attr::from(state), &asked);
        keys.reseal(&mut shown);
        held.secrets = held.secrets.into_iter().map(|old| keys.stored(old)).collect();
        held.seal(shown, keys.to)
    }

    fn only_looks(&self, extensions: &Map<String, Value>) -> bool {
        Role::read(extensions).is_ok_and(|mode| mode != Role::Managed)
    }

    fn passes(&self, extensions: &Map<String, Value>) -> bool {
        Role::read(extensions).is_ok_and(|mode| mode == Role::Ephemeral)
    }

    fn passing(&self, id: &ResourceId, extensions: &Map<String, Value>, attributes: &Attr) -> Vec<FieldPath> {
        if self.passes(extensions) {
            return vec![FieldPath::root()];
        }
        let mut found = Vec::new();
        if let Some(block) = self.block(id, &[Role::Managed]) {
            of_block(block, attributes, &FieldPath::root(), &|one| one.write_only, &mut found);
        }
        found
    }

    fn lets_pass(&self) -> Vec<FieldPath> {
        vec![FieldPath::root().key(PROVIDER)]
    }

    fn lives_in_cluster(&self) -> bool {
        false
    }

    fn check_extensions(&self, extensions: &Map<String, Value>) -> Result<(), String> {
        let wrong = |error: RuntimeError| error.message;
        check_names(extensions).map_err(wrong)?;
        Role::read(extensions).map_err(wrong)?;
        alias(extensions).map_err(wrong)?;
        Lifecycle::read(extensions.get("lifecycle")).map_err(wrong)?;
        moved_from(extensions).map(|_| ()).map_err(wrong)
    }

    fn forbids_delete(&self, extensions: &Map<String, Value>) -> Option<String> {
        let lifecycle = Lifecycle::read(extensions.get("lifecycle")).ok()?;
        let managed = Role::read(extensions).is_ok_and(|role| role == Role::Managed);
        (lifecycle.keep && managed).then(|| FORBIDS_DELETE.to_owned())
    }

    fn holds(&self, _id: &ResourceId, _attributes: &Attr) -> Option<&'static str> {
        // No schema tells which objects hold data: a bucket does, a tag does not.
        Some("what the object held, and values that its provider made")
    }

    fn sensitive(&self, id: &ResourceId, attributes: &Attr) -> Vec<FieldPath> {
        let mut found = Vec::new();
        if let Some(block) = self.block(id, &[Role::Managed, Role::Data, Role::Ephemeral]) {
            let hides = |one: &Attribute| one.sensitive || one.write_only;
            of_block(block, attributes, &FieldPath::root(), &hides, &mut found);
        }
        let config = id.parts().get(2).and_then(|name| self.configs.get(name));
        if let (Some(block), Some(config)) = (config, attributes.get(PROVIDER)) {
            of_block(block, config, &FieldPath::root().key(PROVIDER), &|one| one.sensitive, &mut found);
        }
        found
    }
}

/// The paths of the attributes that a schema marks so.
fn of_block(
    block: &Block,
    at: &Attr,
    path: &FieldPath,
    marked: &dyn Fn(&Attribute) -> bool,
    found: &mut Vec<FieldPath>,
) {
    for (name, attribute) in &block.attributes {
        let Some(value) = at.get(name) else { continue };
        let path = path.key(name);
        match &attribute.kind {
            _ if marked(attribute) => found.push(path),
            AttributeKind::Nested(nested) => {
                let inner = Block { attributes: nested.attributes.clone(), ..Block::default() };
                each(value, &path, nested.nesting == tf_schema::ObjectNesting::Map, &mut |item, path| {
                    of_block(&inner, item, path, marked, found);
                });
            }
            AttributeKind::Plain(_) => {}
        }
    }
    for (name, nested) in &block.blocks {
        let Some(value) = at.get(name) else { continue };
        each(value, &path.key(name), nested.nesting == BlockNesting::Map, &mut |item, path| {
            of_block(&nested.block, item, path, marked, found);
        });
    }
}

fn each(value: &Attr, path: &FieldPath, is_map: bool, see: &mut dyn FnMut(&Attr, &FieldPath)) {
    match value {
        Attr::List(items) | Attr::Set(items) => {
            for (index, item) in items.iter().enumerate() {
                see(item, &path.child(kusion_model::Segment::Index(index)));
            }
        }
        Attr::Map(map) if is_map => map.iter().for_each(|(key, item)| see(item, &path.key(key))),
        single => see(single, path),
    }
}

/// Brings the Terraform resources of a Spec into the form that is planned: the configuration of a provider that has
/// references or secrets stands among the attributes, where they are filled in and sealed; what something depends on that is
/// created before it is destroyed is so, too; and what the loaded schemas call sensitive is sealed.
pub fn settle(spec: &mut Spec, platforms: &Platforms, key: &DigestKey) {
    let terraform = ResourceType::terraform();
    for resource in spec.resources.iter_mut().filter(|one| one.kind == terraform) {
        move_config(resource, platforms);
        let sensitive = platforms.sensitive(&terraform, &resource.id, &resource.attributes);
        seal(&mut resource.attributes, &sensitive, key, &mut resource.broken);
    }
    inherit_create_first(spec);
}

fn move_config(resource: &mut Resource, platforms: &Platforms) {
    let Some(meta) = resource.extensions.get("providerMeta") else { return };
    let mut broken = Vec::new();
    let config = Attr::read(meta.clone(), &mut broken);
    let alone = Attr::map([(PROVIDER, config.clone())]);
    let is_secret = !platforms.sensitive(&ResourceType::terraform(), &resource.id, &alone).is_empty();
    if (is_secret || !config.is_known())
        && let Some(map) = resource.attributes.as_map_mut()
    {
        map.insert(PROVIDER.into(), config);
        resource.extensions.remove("providerMeta");
        resource.broken.extend(broken);
    }
}

fn inherit_create_first(spec: &mut Spec) {
    let flagged = |resource: &Resource| {
        resource.extensions.get("lifecycle").and_then(|one| one.get("createBeforeDestroy"))
            == Some(&Value::Bool(true))
    };
    let mut open: Vec<ResourceId> =
        spec.resources.iter().filter(|r| flagged(r)).map(|r| r.id.clone()).collect();
    let mut done: BTreeSet<ResourceId> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !done.insert(id.clone()) {
            continue;
        }
        let Some(resource) = spec.resources.iter().find(|resource| resource.id == id) else { continue };
        let uses = kusion_model::references_in(&resource.attributes);
        open.extend(
            uses.iter().flat_map(|use_| use_.template.references().map(|r| r.id.clone()).collect::<Vec<_>>()),
        );
        open.extend(resource.depends_on.iter().cloned());
    }
    for resource in &mut spec.resources {
        if resource.kind == ResourceType::terraform() && done.contains(&resource.id) && !flagged(resource) {
            let lifecycle = resource.extensions.entry("lifecycle").or_insert_with(|| json!({}));
            if let Some(map) = lifecycle.as_object_mut() {
                map.insert("createBeforeDestroy".to_owned(), Value::Bool(true));
            }
        }
    }
}
