//! Attributes that have no name in an object: `patternProperties`, `additionalProperties`.

use base_yaml::{Data, Node};
use kcl_model::{Check, IndexSignature, Type};

use crate::merge::Merged;
use crate::object::{entries, is_true};
use crate::rules;
use crate::schema::{Reader, Site};

/// A node that describes several attributes, its document, and its type.
pub(crate) type Shared = (Node, usize, Type);

impl Reader<'_, '_> {
    /// Reads a type once, however many attributes of an object have it: else objects inside objects would double each time.
    pub(crate) fn shared(
        &mut self,
        node: &Node,
        site: &Site,
        known: &mut Vec<Shared>,
    ) -> Result<Type, String> {
        if let Some((_, _, ty)) =
            known.iter().find(|(n, document, _)| *document == site.document && n == node)
        {
            return Ok(ty.clone());
        }
        let ty = self.ty(node, site)?;
        known.push((node.clone(), site.document, ty.clone()));
        Ok(ty)
    }

    /// The attributes that have no name, with checks of their keys.
    pub(crate) fn index(
        &mut self,
        node: &Node,
        merged: &Merged,
        site: &Site,
        shared: &mut Vec<Shared>,
        checks: &mut Vec<Check>,
    ) -> Result<Option<IndexSignature>, String> {
        let signature = |value: Type| IndexSignature {
            key: Type::Str,
            value,
            any_other: true,
            ..IndexSignature::default()
        };
        if is_true(node, "x-kubernetes-preserve-unknown-fields") {
            return Ok(Some(signature(Type::Any)));
        }
        let patterns = entries(node, "patternProperties");
        let mut members = Vec::new();
        for (at, pattern) in patterns.iter().enumerate() {
            let part =
                if at == 0 { "PatternProperties".to_owned() } else { format!("PatternProperties{at}") };
            members.push(self.shared(&pattern.value, &site.inner(&part), shared)?);
        }
        let others = match &merged.additional {
            Some((schema, _)) if schema.value == Data::Bool(true) => Some(Type::Any),
            Some((schema, document)) if matches!(schema.value, Data::Map(_)) => {
                let inside = Site { document: *document, ..site.inner("AdditionalProperties") };
                Some(self.shared(schema, &inside, shared)?)
            }
            _ => None,
        };
        let mut names = Vec::new();
        if others.is_none() && !patterns.is_empty() {
            let rules: Option<Vec<_>> =
                patterns.iter().map(|pattern| rules::pattern(&pattern.key, &mut self.warnings)).collect();
            let rules = rules.unwrap_or_default();
            let conditions: Vec<String> = rules.iter().map(|rule| rule.condition("key")).collect();
            names.extend((!conditions.is_empty()).then(|| conditions.join(" or ")));
        }
        if members.is_empty() && others.is_none() {
            return Ok(None);
        }
        if let Some(demanded) = node.get("propertyNames") {
            let rules = rules::rules(demanded, &Type::Str, &mut self.warnings);
            names.extend(rules.iter().map(|rule| rule.condition("key")));
        }
        members.extend(others);
        let free = !merged.properties.iter().any(|property| property.key == "key");
        let key_name = (!names.is_empty() && free).then(|| "key".to_owned());
        if key_name.is_some() {
            checks.extend(names.into_iter().map(|condition| Check { condition, ..Check::default() }));
        }
        Ok(Some(IndexSignature { key_name, ..signature(Type::union(members)) }))
    }
}
