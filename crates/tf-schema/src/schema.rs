//! Schemas as providers tell them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tf_value::{Type, ValueError};

use crate::Problem;

/// The schema of a resource, data source, provider configuration, ….
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Schema {
    pub version: u64,
    pub block: Block,
    #[serde(skip)]
    ty: OnceLock<Type>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        (self.version, &self.block) == (other.version, &other.block)
    }
}

/// Attributes and blocks on one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Block {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Attribute>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub blocks: BTreeMap<String, NestedBlock>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "is_false")]
    pub deprecated: bool,
}

/// One argument or result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attribute {
    pub kind: AttributeKind,
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub computed: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sensitive: bool,
    /// Sent to the provider and never kept.
    #[serde(default, skip_serializing_if = "is_false")]
    pub write_only: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deprecated: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deprecation_message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// What an attribute holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttributeKind {
    Plain(TypeText),
    Nested(NestedObject),
}

/// A type that is stored in its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TypeText(pub Type);

impl From<TypeText> for String {
    fn from(text: TypeText) -> Self {
        text.0.to_json()
    }
}

impl TryFrom<String> for TypeText {
    type Error = ValueError;

    fn try_from(text: String) -> Result<Self, ValueError> {
        text.parse().map(Self)
    }
}

/// An attribute with attributes of its own (protocol 6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedObject {
    pub nesting: ObjectNesting,
    pub attributes: BTreeMap<String, Attribute>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectNesting {
    Single,
    List,
    Set,
    Map,
}

/// Blocks inside a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedBlock {
    pub nesting: BlockNesting,
    pub block: Block,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_items: u64,
    /// 0: no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max_items: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockNesting {
    Single,
    /// Like single, but never null.
    Group,
    List,
    Set,
    Map,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Schema {
    /// Takes a schema as a provider tells it; one that breaks the rules of schemas is refused.
    pub fn new(version: u64, block: Block) -> Result<Self, Vec<Problem>> {
        let problems = crate::validate::problems(&block);
        if problems.is_empty() { Ok(Self::trusted(version, block)) } else { Err(problems) }
    }

    /// Takes a schema that is known to keep the rules.
    #[must_use]
    pub fn trusted(version: u64, block: Block) -> Self {
        Self { version, block, ty: OnceLock::new() }
    }

    /// The type of the objects of this schema; made once.
    pub fn ty(&self) -> &Type {
        self.ty.get_or_init(|| self.block.implied_type())
    }
}

impl Block {
    /// The type of the objects of this block.
    #[must_use]
    pub fn implied_type(&self) -> Type {
        let attributes = self.attributes.iter().map(|(name, attribute)| (name.as_str(), attribute.ty()));
        let blocks = self.blocks.iter().map(|(name, nested)| (name.as_str(), nested.implied_type()));
        Type::object(attributes.chain(blocks))
    }
}

impl Attribute {
    /// An attribute with no flags.
    #[must_use]
    pub fn new(kind: AttributeKind) -> Self {
        Self {
            kind,
            required: false,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: false,
            deprecation_message: String::new(),
            description: String::new(),
        }
    }

    /// An attribute of a plain type with no flags.
    #[must_use]
    pub fn plain(ty: Type) -> Self {
        Self::new(AttributeKind::Plain(TypeText(ty)))
    }

    /// The type of its values.
    #[must_use]
    pub fn ty(&self) -> Type {
        match &self.kind {
            AttributeKind::Plain(ty) => ty.0.clone(),
            AttributeKind::Nested(nested) => nested.implied_type(),
        }
    }

    #[must_use]
    pub fn nested(&self) -> Option<&NestedObject> {
        match &self.kind {
            AttributeKind::Plain(_) => None,
            AttributeKind::Nested(nested) => Some(nested),
        }
    }

    /// Set by the provider alone.
    #[must_use]
    pub fn computed_only(&self) -> bool {
        self.computed && !self.optional
    }
}

impl NestedObject {
    /// The type of one object.
    #[must_use]
    pub fn element_type(&self) -> Type {
        Type::object(self.attributes.iter().map(|(name, attribute)| (name.as_str(), attribute.ty())))
    }

    #[must_use]
    pub fn implied_type(&self) -> Type {
        let of = self.element_type();
        match self.nesting {
            ObjectNesting::Single => of,
            ObjectNesting::List => Type::list(of),
            ObjectNesting::Set => Type::set(of),
            ObjectNesting::Map => Type::map(of),
        }
    }
}

impl NestedBlock {
    /// The type of all blocks together. Blocks with a dynamic type inside may differ in type: they are a tuple or an
    /// object whose members are only known with the value, so their type is dynamic here.
    #[must_use]
    pub fn implied_type(&self) -> Type {
        let of = self.block.implied_type();
        match self.nesting {
            BlockNesting::Single | BlockNesting::Group => of,
            BlockNesting::List | BlockNesting::Map if of.has_dynamic() => Type::Dynamic,
            BlockNesting::List => Type::list(of),
            BlockNesting::Set => Type::set(of),
            BlockNesting::Map => Type::map(of),
        }
    }
}
