//! What of a model is written.

use kcl_model::{Model, Package, Schema};

use crate::Options;

/// Returns the model without private schemas, and without what is deprecated if nobody wants that.
pub(crate) fn kept(model: &Model, options: &Options) -> Model {
    let mut model = model.clone();
    for package in &mut model.packages {
        package.schemas.retain(|schema| !schema.name.starts_with('_'));
        if options.ignore_deprecated {
            package.schemas.retain(|schema| schema.deprecated().is_none());
            for schema in &mut package.schemas {
                schema.attributes.retain(|attribute| attribute.deprecated().is_none());
            }
        }
    }
    model.packages.sort_by(|a, b| a.path.cmp(&b.path));
    model
}

/// Returns the packages that have something to show.
pub(crate) fn shown(model: &Model) -> impl Iterator<Item = &Package> {
    model.own_packages().filter(|package| !package.schemas.is_empty())
}

/// The first sentence of a description, on one line.
pub(crate) fn summary(schema: &Schema) -> String {
    first_sentence(&schema.doc.description)
}

/// The first sentence of a text, on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.find(". ") {
        Some(end) => line[..=end].to_owned(),
        None => line,
    }
}

/// Longer defaults are for whoever reads the source.
const LONGEST_DEFAULT: usize = 80;

/// A default as it is shown: whole if it is short, else how it begins.
pub(crate) fn short(source: &str) -> String {
    let line = source.lines().next().unwrap_or_default();
    if line.len() == source.len() && source.chars().count() <= LONGEST_DEFAULT {
        return source.to_owned();
    }
    let cut: String = line.chars().take(LONGEST_DEFAULT / 2).collect();
    format!("{} …", cut.trim_end())
}
