//! Questions about a whole model.

use crate::model::{Attribute, Kind, Model, Package, Schema, SchemaRef};
use crate::value::Value;

/// A chain of bases is followed this far.
const MAX_BASES: usize = 5_000;

impl Model {
    /// Returns a package.
    pub fn package(&self, path: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.path == path)
    }

    /// Returns a schema.
    pub fn schema(&self, name: &SchemaRef) -> Option<&Schema> {
        self.package(&name.package)?.schemas.iter().find(|schema| schema.name == name.name)
    }

    /// Returns the packages of the module itself.
    pub fn own_packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| !package.external)
    }

    /// Returns a schema and everything it is made of: the last base first, before each schema its mixins' contributions.
    ///
    /// A rule has no attributes of its own: its protocol's are not part of it.
    pub fn lineage<'m>(&'m self, schema: &'m Schema) -> Vec<&'m Schema> {
        let mut chain: Vec<&Schema> = vec![schema];
        let mut current = schema;
        while let Some(base) = current.bases.first().and_then(|base| self.schema(base)) {
            if schema.kind == Kind::Rule
                || chain.len() >= MAX_BASES
                || chain.iter().any(|s| std::ptr::eq(*s, base))
            {
                break;
            }
            chain.push(base);
            current = base;
        }
        let mut all = Vec::new();
        for link in chain.into_iter().rev() {
            all.push(link);
            all.extend(link.mixins.iter().filter_map(|mixin| self.schema(mixin)));
        }
        all
    }

    /// Returns every attribute of a schema with the schema that declares it, inherited ones first.
    ///
    /// A later declaration takes the place of an earlier one, and its default if it has none of its own.
    pub fn all_attributes<'m>(&'m self, schema: &'m Schema) -> Vec<(Attribute, &'m Schema)> {
        let mut found: Vec<(Attribute, &Schema)> = Vec::new();
        let mut at: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
        for owner in self.lineage(schema) {
            for attribute in &owner.attributes {
                let Some(known) = at.get(attribute.name.as_str()) else {
                    at.insert(&attribute.name, found.len());
                    found.push((attribute.clone(), owner));
                    continue;
                };
                let old = &found[*known].0;
                // A body that sets an inherited attribute gives it a default and leaves its type alone.
                let mut new = if attribute.computed { old.clone() } else { attribute.clone() };
                if attribute.computed {
                    new.default = attribute.default.clone();
                } else {
                    new.default = new.default.or_else(|| old.default.clone());
                    if new.doc.is_empty() {
                        new.doc.clone_from(&old.doc);
                    }
                }
                found[*known] = (new, owner);
            }
        }
        found
    }

    /// Returns every schema that extends one, directly or not, by package and name.
    pub fn extended_by(&self, base: &SchemaRef) -> Vec<SchemaRef> {
        let mut found = vec![base.clone()];
        let mut next = 0;
        while next < found.len() {
            let wanted = found[next].clone();
            next += 1;
            for package in &self.packages {
                for schema in package.schemas.iter().filter(|s| s.kind == Kind::Schema) {
                    let name = SchemaRef { package: package.path.clone(), name: schema.name.clone() };
                    if schema.bases.contains(&wanted) && !found.contains(&name) {
                        found.push(name);
                    }
                }
            }
        }
        found.remove(0);
        found.sort();
        found
    }
}

impl Attribute {
    /// Returns the constant default.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref().and_then(|default| default.value.as_ref())
    }
}
