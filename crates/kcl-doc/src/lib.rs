//! Documents of schemas: a [`Model`] in, files out.
//!
//! - [`markdown`]: a page per package, for a repository's own documentation;
//! - [`json_schema`] and [`openapi`]: what other tools check data with; one writer, two dialects (`dialect.rs`);
//! - [`site`]: a searchable site in one folder that needs no network;
//! - [`web`]: what such sites are made of, for others as well.
//!
//! Every text of a model ends up escaped for the format it is written to. The same model gives the same bytes.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod anchor;
mod constraints;
mod dialect;
mod keep;
mod manual;
mod markdown;
mod proto;
mod schemas;
mod site;
pub mod web;

use kcl_model::{Model, SchemaRef};

pub use manual::roff;
pub use markdown::{markdown, markdown_page};
pub use proto::proto;
pub use schemas::{json_schema, openapi};
pub use site::{Source, site};

/// What is written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Leaves out what is marked as deprecated.
    pub ignore_deprecated: bool,
    /// Escapes HTML in Markdown.
    pub escape_html: bool,
    /// The schema that a JSON Schema is about; without one it only defines schemas.
    pub root: Option<SchemaRef>,
}

/// A file of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Path in the target folder.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Finds a schema by its name, or by the end of its path (`Server`, `frontend.Server`).
///
/// # Errors
/// A sentence with the names that would fit.
pub fn find_schema(model: &Model, wanted: &str) -> Result<SchemaRef, String> {
    let all = model.own_packages().flat_map(|package| {
        package.schemas.iter().map(|s| SchemaRef { package: package.path.clone(), name: s.name.clone() })
    });
    let fits =
        |full: &str| full == wanted || full.strip_suffix(wanted).is_some_and(|head| head.ends_with('.'));
    let (mut found, mut known) = (Vec::new(), Vec::new());
    for schema in all {
        match fits(&schema.full()) {
            true => found.push(schema),
            false => known.push(schema.full()),
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            known.truncate(8);
            Err(format!("there is no schema `{wanted}`; there are: {}", known.join(", ")))
        }
        _ => {
            let names: Vec<String> = found.iter().map(SchemaRef::full).collect();
            Err(format!("`{wanted}` could be {}: write more of the path", names.join(" or ")))
        }
    }
}
