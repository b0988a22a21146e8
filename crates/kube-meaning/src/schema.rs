//! The schema model: what type a field has, how a list merges, how a field is written as JSON.
//!
//! In: rows of the generated tables ([`crate::builtin`]), a custom resource's structural schema ([`crate::crd`]), or nothing
//! ([`Ty::Any`]: deduced from the value). Out: constant-time lookups by borrowed references.
//! Invariant: a `Schema` never changes after it is built; a `TypeId` is only used with the schema that gave it.

use std::sync::OnceLock;

use ecow::EcoString;
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::builtin;
use crate::defaults::Rule;

/// A named struct type of one schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub(crate) u32);

/// The type of a value.
#[derive(Clone, Debug)]
pub enum Ty {
    Scalar(ScalarKind),
    /// Unknown shape: maps are granular, lists atomic.
    Any,
    /// A struct; `atomic` is the marking of the field that refers to it.
    Named {
        id: TypeId,
        atomic: bool,
    },
    List(Box<List>),
    Map(Box<MapOf>),
}

/// Scalars, by how they are read, compared and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    String,
    Bytes,
    Time,
    MicroTime,
    Int32,
    Int64,
    Number,
    Bool,
    Quantity,
    IntOrString,
}

/// A list type.
#[derive(Clone, Debug)]
pub struct List {
    pub item: Ty,
    pub kind: ListKind,
}

/// How a list merges under server-side apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    Atomic,
    Set,
    Map(Box<[EcoString]>),
}

/// A map from strings.
#[derive(Clone, Debug)]
pub struct MapOf {
    pub value: Ty,
    pub atomic: bool,
}

/// A struct type.
#[derive(Clone, Debug, Default)]
pub struct Struct {
    pub fields: Vec<Field>,
    index: FxHashMap<EcoString, u32>,
    /// The whole struct is one leaf.
    pub atomic: bool,
    /// Fields without a name in the schema are kept (type `Any`).
    pub open: bool,
    /// What the server fills in for this type.
    pub(crate) defaults: Option<&'static Rule>,
    /// Positions of fields that are structs and always written.
    pub(crate) always: Vec<u32>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: EcoString,
    pub ty: Ty,
    /// The schema's default; for built-in required scalars only their zero, which never fills a value but completes list keys.
    pub default: Option<Value>,
    pub allowed: Vec<Value>,
    pub required: bool,
    pub patch: PatchRule,
    pub shape: Shape,
    /// Custom resources only: an explicit null is a value.
    pub nullable: bool,
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchRule {
    pub merge: bool,
    pub retain_keys: bool,
    pub merge_key: Option<EcoString>,
}

/// How the server writes a field that is absent or zero (facts of its own types).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Nothing is known: written as given.
    #[default]
    AsGiven,
    /// Optional scalar: zero vanishes.
    ZeroVanishes,
    /// Optional list or map: empty vanishes.
    EmptyVanishes,
    /// Optional pointer: only null vanishes.
    Pointer,
    /// Struct that is always written.
    Always,
    /// Struct that vanishes when all of it is zero.
    ZeroStruct,
    /// Required scalar: zero is written.
    ZeroWritten,
    /// Required list, map or pointer: null is written.
    NullWritten,
    /// A time or raw value: null is written when unset.
    TimeNull,
    /// A time that vanishes when unset.
    TimeVanishes,
    /// A quantity: `"0"` is written when unset.
    QuantityZero,
    /// An int-or-string: `0` is written when unset.
    IntZero,
}

impl Struct {
    /// A struct of these fields.
    pub fn new(mut fields: Vec<Field>) -> Struct {
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        let index = fields.iter().zip(0u32..).map(|(f, i)| (f.name.clone(), i)).collect();
        let always =
            fields.iter().zip(0u32..).filter(|(f, _)| f.shape == Shape::Always).map(|(_, i)| i).collect();
        Struct { fields, index, atomic: false, open: false, defaults: None, always }
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.index.get(name).map(|&i| &self.fields[i as usize])
    }
}

impl Field {
    /// A plain optional field.
    pub fn new(name: &str, ty: Ty) -> Field {
        Field {
            name: name.into(),
            ty,
            default: None,
            allowed: Vec::new(),
            required: false,
            patch: PatchRule::default(),
            shape: Shape::AsGiven,
            nullable: false,
        }
    }
}

/// A served resource.
#[derive(Clone, Debug)]
pub struct Resource {
    pub group: EcoString,
    pub version: EcoString,
    pub kind: EcoString,
    pub plural: EcoString,
    pub singular: EcoString,
    pub namespaced: bool,
    pub short_names: Vec<EcoString>,
    pub categories: Vec<EcoString>,
    pub verbs: Vec<EcoString>,
    pub subresources: Vec<Subresource>,
    /// The type of the whole object; `Ty::Any` when the server has no schema for it.
    pub ty: Ty,
    /// A custom resource: unknown fields are pruned by its schema, defaults come from it, no strategic patch.
    pub custom: bool,
    /// The structural schema of a custom resource, for pruning, defaults and value checks.
    pub structural: Option<std::sync::Arc<Value>>,
}

/// A sub-resource of a resource.
#[derive(Clone, Debug)]
pub struct Subresource {
    pub name: EcoString,
    pub group: EcoString,
    pub version: EcoString,
    pub kind: EcoString,
    pub verbs: Vec<EcoString>,
}

impl Resource {
    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> EcoString {
        api_version(&self.group, &self.version)
    }

    /// Whether the resource has that sub-resource.
    pub fn has_subresource(&self, name: &str) -> bool {
        self.subresources.iter().any(|s| s.name == name)
    }
}

/// `group/version`, or the version alone for the core group.
pub fn api_version(group: &str, version: &str) -> EcoString {
    match group {
        "" => version.into(),
        _ => ecow::eco_format!("{group}/{version}"),
    }
}

/// Splits `group/version`; the core group is empty.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// A set of types and resources.
#[derive(Debug, Default)]
pub struct Schema {
    pub(crate) types: Vec<TypeSlot>,
    pub(crate) by_name: FxHashMap<EcoString, TypeId>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) by_kind: FxHashMap<(EcoString, EcoString), Vec<u32>>,
    pub(crate) by_plural: FxHashMap<(EcoString, EcoString), Vec<u32>>,
    pub(crate) groups: Vec<(EcoString, Vec<EcoString>)>,
}

/// A type that is parsed when it is first asked for.
#[derive(Debug)]
pub(crate) struct TypeSlot {
    pub(crate) name: EcoString,
    pub(crate) source: &'static str,
    pub(crate) parsed: OnceLock<Struct>,
}

impl Schema {
    /// The struct of a type id.
    pub fn get(&self, id: TypeId) -> &Struct {
        let slot = &self.types[id.0 as usize];
        slot.parsed.get_or_init(|| builtin::parse_type(self, &slot.name, slot.source))
    }

    /// The type of that name (`io.k8s.api.core.v1.Container`).
    pub fn type_named(&self, name: &str) -> Option<Ty> {
        self.by_name.get(name).map(|&id| Ty::Named { id, atomic: false })
    }

    /// The name of a type, for matching hand-written rules.
    pub fn type_name(&self, id: TypeId) -> &str {
        &self.types[id.0 as usize].name
    }

    /// The resource of a kind.
    pub fn resource(&self, group: &str, version: &str, kind: &str) -> Option<&Resource> {
        let found = self.by_kind.get(&(EcoString::from(group), EcoString::from(kind)))?;
        found.iter().map(|&i| &self.resources[i as usize]).find(|r| r.version == version)
    }

    /// The resource of an object's apiVersion and kind.
    pub fn resource_of(&self, object: &Value) -> Option<&Resource> {
        let (group, version) = split_api_version(object.get("apiVersion")?.as_str()?);
        self.resource(group, version, object.get("kind")?.as_str()?)
    }

    /// The resource of a plural name, as URLs have it.
    pub fn resource_by_plural(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        let found = self.by_plural.get(&(EcoString::from(group), EcoString::from(plural)))?;
        found.iter().map(|&i| &self.resources[i as usize]).find(|r| r.version == version)
    }

    /// All resources, in the server's order.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// Groups with their versions, preferred version first, in the server's order.
    pub fn groups(&self) -> &[(EcoString, Vec<EcoString>)] {
        &self.groups
    }

    /// The type reached by field names from a type; list items and map values are one step `*`.
    pub fn type_at<'s>(&'s self, ty: &'s Ty, path: &[&str]) -> Option<&'s Ty> {
        let Some((first, rest)) = path.split_first() else { return Some(ty) };
        let next = match ty {
            Ty::Named { id, .. } => &self.get(*id).field(first)?.ty,
            Ty::List(list) => &list.item,
            Ty::Map(map) => &map.value,
            Ty::Any => ty,
            Ty::Scalar(_) => return None,
        };
        self.type_at(next, rest)
    }

    pub(crate) fn add_struct(&mut self, name: &str, strukt: Struct) -> TypeId {
        let id = TypeId(self.types.len() as u32);
        let parsed = OnceLock::new();
        // A fresh cell is empty, so setting it cannot fail.
        let _ = parsed.set(strukt);
        self.types.push(TypeSlot { name: name.into(), source: "", parsed });
        self.by_name.insert(name.into(), id);
        id
    }

    pub(crate) fn add_resource(&mut self, resource: Resource) {
        let at = self.resources.len() as u32;
        self.by_kind.entry((resource.group.clone(), resource.kind.clone())).or_default().push(at);
        self.by_plural.entry((resource.group.clone(), resource.plural.clone())).or_default().push(at);
        self.resources.push(resource);
    }
}
