//! Other formats to KCL.
//!
//! Each format has a reader that makes a [`kcl_model::Model`]; one writer (`write.rs`) makes files of it, formatted and documented. Data (JSON,
//! YAML, TOML without a schema) has no schemas and becomes a configuration (`data.rs`).
//!
//! Pure: texts in, files out. References to other files go through [`Input::load`], which may refuse.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cel;
mod checks;
mod crd;
mod data;
mod defaults;
mod detect;
mod formats;
mod gostruct;
mod inside;
mod kinds;
mod merge;
mod names;
mod object;
mod openapi;
mod others;
mod parts;
mod plain;
mod predicate;
mod proto;
mod refs;
mod rules;
mod schema;
mod schema_file;
mod terraform;
mod tokens;
mod write;

pub use data::data_statements;
pub use detect::detect;

/// How the message of an error begins that is our own.
pub const BUG: &str = "a bug: ";

/// What is imported.
pub struct Input<'a> {
    /// Name of the file, for messages, names and the note in what is made.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Gives the text of another file, by its path from the input's folder; an error is a sentence.
    pub load: &'a dyn Fn(&str) -> Result<String, String>,
}

/// What the input is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// JSON data.
    Json,
    /// YAML data; each document of a stream.
    Yaml,
    /// TOML data.
    Toml,
    /// JSON Schema, 2020-12 or draft-07.
    JsonSchema,
    /// OpenAPI 2 or 3.
    OpenApi,
    /// Kubernetes CustomResourceDefinitions.
    Crd,
    /// The schemas of Terraform providers, as `terraform providers schema -json` prints them.
    Terraform,
    /// Protobuf, `proto2`, `proto3` and editions.
    Proto,
    /// The structs of a Go file.
    GoStruct,
}

impl Mode {
    /// Every mode with its name on the command line.
    pub const ALL: &'static [(&'static str, Mode)] = &[
        ("json", Mode::Json),
        ("yaml", Mode::Yaml),
        ("toml", Mode::Toml),
        ("jsonschema", Mode::JsonSchema),
        ("openapi", Mode::OpenApi),
        ("crd", Mode::Crd),
        ("terraformschema", Mode::Terraform),
        ("proto", Mode::Proto),
        ("gostruct", Mode::GoStruct),
    ];

    /// Whether several files are made.
    pub fn is_folder(self) -> bool {
        matches!(self, Mode::OpenApi | Mode::Crd)
    }
}

/// What is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Imported {
    /// Files by path; a mode that makes one file gives it the path `main.k`.
    pub files: Vec<(String, String)>,
    /// What could not be said in KCL, and what was done instead.
    pub warnings: Vec<String>,
}

/// Imports one input; `package` is put before the packages that are made.
///
/// # Errors
/// A sentence with the place: not the format, or a reference that leads nowhere or is refused.
pub fn import(input: &Input<'_>, mode: Mode, package: &str) -> Result<Imported, String> {
    let mut imported = match mode {
        Mode::Json | Mode::Yaml | Mode::Toml => data::import(input, mode),
        Mode::JsonSchema => schema_file::import(input),
        Mode::OpenApi => openapi::import(input, package),
        Mode::Crd => crd::import(input, package),
        Mode::Terraform => terraform::import(input),
        Mode::Proto => proto::import(input),
        Mode::GoStruct => gostruct::import(input),
    }?;
    // What is met many times is told once.
    let mut told = std::collections::BTreeSet::new();
    imported.warnings.retain(|warning| told.insert(warning.clone()));
    Ok(imported)
}
