//! Attributes that have no name in an object: `patternProperties`, `additionalProperties`.

use base_yaml::{Data, Node};
use kcl_model::{Check, IndexSignature, Rule, Type};

use crate::defaults::holds;
use crate::inside::is_silent;
use crate::kinds::Kind;
use crate::merge::Merged;
use crate::object::{all, entries, is_true};
use crate::predicate::About;
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
        let patterns: Vec<(Node, usize)> = merged
            .parts
            .iter()
            .flat_map(|(part, at)| entries(part, "patternProperties").iter().map(|e| (e.value.clone(), *at)))
            .collect();
        let mut members = Vec::new();
        for (at, (pattern, document)) in patterns.iter().enumerate() {
            let part =
                if at == 0 { "PatternProperties".to_owned() } else { format!("PatternProperties{at}") };
            let inside = Site { document: *document, ..site.inner(&part) };
            members.push(self.shared(pattern, &inside, shared)?);
        }
        let others = match &merged.additional {
            Some((schema, _)) if schema.value == Data::Bool(true) => Some(Type::Any),
            Some((schema, document)) if matches!(schema.value, Data::Map(_)) => {
                let inside = Site { document: *document, ..site.inner("AdditionalProperties") };
                Some(self.shared(schema, &inside, shared)?)
            }
            _ => None,
        };
        members.extend(others.clone());
        self.tell_others(merged, &members, &patterns, &site.name);
        let names = self.demanded_names(merged, members.is_empty(), others.is_none(), &site.name);
        if members.is_empty() {
            return Ok(None);
        }
        // A check block that knows the name of other attributes runs for each of them, and not where there is none: rules of the
        // attributes that have names count more.
        let free = checks.is_empty() && !merged.properties.iter().any(|property| property.key == "key");
        let key_name = (!names.is_empty() && free).then(|| "key".to_owned());
        if key_name.is_some() {
            checks.extend(names.into_iter().map(|condition| Check { condition, ..Check::default() }));
        } else if !names.is_empty() {
            self.warnings.push(format!("{}: names of other attributes are not checked", site.name));
        }
        Ok(Some(IndexSignature { key_name, ..signature(Type::union(members)) }))
    }

    /// The conditions that the names of further attributes have to meet. Attributes that the schema names itself are looked at
    /// here: one whose name breaks a condition is a warning.
    fn demanded_names(&mut self, merged: &Merged, closed: bool, listed: bool, schema: &str) -> Vec<String> {
        let mut names = Vec::new();
        let patterns: Vec<&str> = merged
            .parts
            .iter()
            .flat_map(|(part, _)| entries(part, "patternProperties").iter().map(|e| e.key.as_str()))
            .collect();
        if listed && !patterns.is_empty() {
            let rules: Option<Vec<_>> =
                patterns.iter().map(|pattern| rules::pattern(pattern, &mut self.warnings)).collect();
            let conditions: Vec<String> =
                rules.unwrap_or_default().iter().map(|rule| rule.condition("key")).collect();
            names.extend((!conditions.is_empty()).then(|| conditions.join(" or ")));
        }
        for (part, document) in &merged.parts {
            let Some(demanded) = part.get("propertyNames") else { continue };
            let mut lost = demanded.value == Data::Bool(false);
            let rules = rules::rules(demanded, &Type::Str, &mut self.warnings);
            let breaks = |rule: &Rule| {
                let keeps = |name: &String| holds(rule, &kcl_model::Value::Str(name.clone()));
                !merged.properties.iter().all(|property| keeps(&property.key))
            };
            lost |= rules.iter().any(breaks);
            match self.conditions(demanded, &About::Value("key", &Type::Str), *document, 0) {
                Some(conditions) if !closed => names.extend(conditions),
                Some(conditions) => lost |= conditions.len() > rules.len(),
                None => lost = true,
            }
            if lost {
                self.warnings.push(format!("{schema}: `propertyNames` is not checked for all names"));
            }
        }
        names
    }

    /// Says what the one type of attributes without names does not say.
    fn tell_others(&mut self, merged: &Merged, members: &[Type], patterns: &[(Node, usize)], schema: &str) {
        let several = members.iter().any(|member| *member != members[0]);
        let mut described: Vec<(Node, usize)> = patterns.to_vec();
        described.extend(merged.additional.iter().map(|(node, at)| ((**node).clone(), *at)));
        let rules = described.iter().zip(members).any(|((node, document), ty)| {
            let (node, document) = self.target(node, *document);
            let listed = node.get("enum").or(node.get("const")).is_some();
            let said = ty.members().iter().all(|member| matches!(member, Type::Literal(_)));
            says_rules(&node) || listed && !said || !self.is_plain(&node, ty, document, 0)
        });
        let named = crate::merge::patterns(&merged.parts).iter().any(|(regex, ..)| {
            let own = merged.properties.iter().filter(|property| !property.shared);
            own.map(|property| &property.key).any(|key| regex.is_match(key).unwrap_or(true))
        });
        if several {
            self.warnings.push(format!(
                "{schema}: attributes that match different patterns may have the types of all of them"
            ));
        }
        if rules {
            self.warnings.push(format!("{schema}: of attributes without a name only the type is checked"));
        }
        if named {
            self.warnings.push(format!("{schema}: patterns are not checked for attributes that have names"));
        }
        let impossible = merged.required.iter().find(|name| {
            let own = |(part, _): &(Node, usize)| entries(part, "properties").iter().any(|e| e.key == **name);
            let closed = merged.additional.as_ref().is_some_and(|(more, _)| more.value == Data::Bool(false));
            let matching = crate::merge::patterns(&merged.parts);
            closed
                && !merged.parts.iter().any(own)
                && !matching.iter().any(|(regex, ..)| regex.is_match(name).unwrap_or(true))
        });
        if let Some(name) = impossible {
            self.warnings.push(format!("{schema}: `{name}` must be there and may not be: it is accepted"));
        }
        let one_sided = |(part, _): &(Node, usize)| {
            let closed = part.get("additionalProperties").is_some_and(|more| !is_silent(more));
            let own = |key: &str| entries(part, "properties").iter().any(|entry| entry.key == key);
            closed && !merged.properties.iter().all(|property| property.shared || own(&property.key))
        };
        if merged.parts.len() > 1 && merged.parts.iter().any(one_sided) {
            self.warnings.push(format!("{schema}: `additionalProperties` of a part is not checked"));
        }
    }
}

/// Whether an object has rules, or its elements have.
fn says_rules(node: &Node) -> bool {
    const INSIDE: [&str; 2] = ["items", "additionalProperties"];
    let rule =
        |word: &str| !INSIDE.contains(&word) && Kind::ALL.iter().any(|kind| kind.words().contains(&word));
    let own = node.get("properties").is_none() && all(node).iter().any(|entry| rule(&entry.key));
    own || INSIDE.iter().filter_map(|word| node.get(word)).any(says_rules)
}
