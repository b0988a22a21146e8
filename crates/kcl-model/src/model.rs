//! The model: packages of schemas.

use crate::constraint::Constraint;
use crate::docstring::Doc;
use crate::ty::Type;
use crate::value::Value;

/// All packages that one document or one import is about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Model {
    /// Name of the module.
    pub name: String,
    /// Its version; empty if it has none.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Its packages, by path; those of other modules are there because schemas refer to them.
    pub packages: Vec<Package>,
}

/// One package.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Package {
    /// Dotted path, as another module imports it.
    pub path: String,
    /// It belongs to another module: referred to, not documented.
    pub external: bool,
    /// What its files say at their tops.
    pub doc: String,
    /// Its files, from the root of the module.
    pub files: Vec<String>,
    /// Schemas, mixins, protocols and rules in source order.
    pub schemas: Vec<Schema>,
}

/// What kind of schema it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub enum Kind {
    #[default]
    Schema,
    Mixin,
    Protocol,
    Rule,
}

impl Kind {
    /// Returns the keyword that declares it.
    pub fn keyword(self) -> &'static str {
        match self {
            Kind::Schema => "schema",
            Kind::Mixin => "mixin",
            Kind::Protocol => "protocol",
            Kind::Rule => "rule",
        }
    }
}

/// Which schema: the path of its package and its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SchemaRef {
    /// Path of the package.
    pub package: String,
    /// Name in it.
    pub name: String,
}

impl SchemaRef {
    /// Returns `package.Name`.
    pub fn full(&self) -> String {
        if self.package.is_empty() { self.name.clone() } else { format!("{}.{}", self.package, self.name) }
    }
}

/// Lines of a file, both from 1 and both included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines {
    /// The file, from the root of the module.
    pub file: String,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end: u32,
}

/// A schema, mixin, protocol or rule.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What it says about itself.
    pub doc: Doc,
    /// `[name: type]` behind its name.
    pub parameters: Vec<Parameter>,
    /// What it extends; a rule may extend several.
    pub bases: Vec<SchemaRef>,
    /// The protocol that a mixin or rule is for.
    pub host: Option<SchemaRef>,
    /// Mixins in order.
    pub mixins: Vec<SchemaRef>,
    /// Own attributes in order.
    pub attributes: Vec<Attribute>,
    /// `[...str]: T`.
    pub index: Option<IndexSignature>,
    /// Lines of the check block.
    pub checks: Vec<Check>,
    /// `@deprecated(..)`, `@info(..)`.
    pub decorators: Vec<Decorator>,
    /// Where it is declared.
    pub place: Option<Lines>,
}

/// A parameter of a schema.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its default as written.
    pub default: Option<String>,
}

/// An attribute.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type as the checker knows it.
    pub ty: Type,
    /// Its type as written; empty if nobody wrote one.
    pub written: String,
    /// It has a `?`.
    pub optional: bool,
    /// Its default.
    pub default: Option<Default>,
    /// The body computes it: it is part of an instance, and nobody sets it.
    pub computed: bool,
    /// What the docstring or the comment above says.
    pub doc: String,
    /// Decorators.
    pub decorators: Vec<Decorator>,
    /// Where it is declared.
    pub place: Option<Lines>,
}

impl Attribute {
    /// Whether an instance is wrong without it.
    pub fn is_required(&self) -> bool {
        !self.optional && self.default.is_none() && !self.computed
    }
}

/// A default: how it is written, and what it is if that is known without running anything.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Default {
    /// Its text.
    pub source: String,
    /// Its value, if it is constant.
    pub value: Option<Value>,
}

/// `[name: ...str]: T`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IndexSignature {
    /// Name of the key.
    pub key_name: Option<String>,
    /// Type of the key.
    pub key: Type,
    /// Type of the value.
    pub value: Type,
    /// `...`: declared attributes may have other types.
    pub any_other: bool,
    /// Its default as written.
    pub default: Option<String>,
}

/// A line of a check block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Check {
    /// The condition as written.
    pub condition: String,
    /// `if …` as written.
    pub guard: Option<String>,
    /// The message as written.
    pub message: Option<String>,
    /// What it demands, where other formats can say that, too.
    pub constraints: Vec<Constraint>,
    /// Where it stands.
    pub place: Option<Lines>,
}

/// A decorator with its arguments.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Decorator {
    /// Its name.
    pub name: String,
    /// Arguments: their names (empty for positional ones), their text, their value if it is constant.
    pub arguments: Vec<(String, String, Option<Value>)>,
}

impl Decorator {
    /// Returns the text of an argument, given by name or position.
    pub fn text(&self, name: &str, position: usize) -> Option<String> {
        let named = self.arguments.iter().find(|(n, ..)| n == name);
        let (_, _, value) = named.or_else(|| self.arguments.get(position).filter(|a| a.0.is_empty()))?;
        match value {
            Some(Value::Str(text)) => Some(text.clone()),
            _ => None,
        }
    }
}

/// Returns what `@deprecated` says: a sentence, or none.
pub(crate) fn deprecation(decorators: &[Decorator]) -> Option<String> {
    let found = decorators.iter().find(|d| d.name == "deprecated")?;
    let version = found.text("version", 0).filter(|v| !v.is_empty());
    let reason = found.text("reason", 1).filter(|r| !r.is_empty());
    let since = version.map_or_else(|| "deprecated".to_owned(), |v| format!("deprecated since {v}"));
    Some(reason.map_or(since.clone(), |reason| format!("{since}: {reason}")))
}

impl Schema {
    /// Returns what `@deprecated` says, if it is there.
    pub fn deprecated(&self) -> Option<String> {
        deprecation(&self.decorators)
    }
}

impl Attribute {
    /// Returns what `@deprecated` says, if it is there.
    pub fn deprecated(&self) -> Option<String> {
        deprecation(&self.decorators)
    }
}
