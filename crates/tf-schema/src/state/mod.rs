//! State files of Terraform and OpenTofu, version 4, as data.
//!
//! Attributes stay JSON until the schema of their resource is at hand; digits of numbers stay as they are. Reading accepts
//! what the tools accept; writing gives the same bytes for the same state, in the order of the tools.

mod read;
mod write;

use tf_value::Path;
use tf_value::json::Json;

/// A state file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub terraform_version: String,
    pub serial: u64,
    pub lineage: String,
    pub outputs: Vec<(String, Output)>,
    pub resources: Vec<Resource>,
    /// As it was read.
    pub check_results: Option<Json>,
}

/// A result of the root module.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub value: Json,
    pub ty: Json,
    pub sensitive: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Data,
    #[default]
    Managed,
}

/// All instances of one resource block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// `module.a.module.b`; empty for the root module.
    pub module: String,
    pub mode: Mode,
    pub ty: String,
    pub name: String,
    /// `provider["host/namespace/type"]`, perhaps with `.alias`.
    pub provider: String,
    pub instances: Vec<Instance>,
}

/// The key of an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Int(i64),
    Text(String),
}

/// One object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    pub index_key: Option<Key>,
    pub tainted: bool,
    /// Eight hexadecimal digits: an object that waits for its deletion.
    pub deposed: Option<String>,
    /// tofu: a provider of its own for this instance.
    pub provider: Option<String>,
    pub schema_version: u64,
    pub attributes: Option<Json>,
    /// The form before version 0.12.
    pub attributes_flat: Option<Json>,
    pub sensitive: Vec<Path>,
    pub private: Vec<u8>,
    pub identity: Option<Json>,
    pub identity_schema_version: Option<u64>,
    pub dependencies: Vec<String>,
    pub create_before_destroy: bool,
    pub skip_destroy: bool,
}

/// Why a text is no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error("the state is not JSON: {0}")]
    NotJson(String),
    #[error("the state has version {0}; only version 4 is read")]
    Version(String),
    #[error("{place}: {message}")]
    Field { place: String, message: String },
}

impl State {
    /// Reads a state file.
    pub fn parse(bytes: &[u8]) -> Result<Self, StateError> {
        read::state(bytes)
    }

    /// Writes a state file: sorted, two spaces a level, a newline at the end.
    #[must_use]
    pub fn to_text(&self) -> String {
        write::state(self)
    }
}

impl Instance {
    /// The object as a value of its schema's type. Attributes that the schema does not have are dropped, as tofu does when
    /// the schema version is the same.
    pub fn value(&self, ty: &tf_value::Type) -> Result<tf_value::Value, tf_value::ValueError> {
        match (&self.attributes, ty) {
            (Some(Json::Object(members)), tf_value::Type::Object(object)) => {
                let known = members.iter().filter(|(name, _)| object.attributes.contains_key(name.as_str()));
                tf_value::json::from_tree(&Json::Object(known.cloned().collect()), ty)
            }
            (Some(json), ty) => tf_value::json::from_tree(json, ty),
            (None, _) => Ok(tf_value::Value::Null),
        }
    }
}
