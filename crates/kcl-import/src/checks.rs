//! The check block of a schema: rules of its attributes, rules between them, rules of CEL.

use base_yaml::{Data, Node};
use kcl_model::{
    Attribute, Check, Constraint, Rule, Schema, SchemaRef, Subject, Type, When, quote, quote_name,
};

use crate::cel;
use crate::inside::{DEPENDENT, Place, counted};
use crate::merge::Merged;
use crate::object::{all, entries, is_true, items, text, texts};
use crate::predicate::{About, LOGIC, Own, demands, is_set, says_object};
use crate::rules;
use crate::schema::Reader;

/// Names that checks call: an attribute of such a name hides the function.
const CALLED: &[&str] = &["len", "regex", "isunique", "multiplyof", "str", "int", "float", "typeof"];
/// Lists in lists that are looked into.
const MAX_NESTING: u32 = 4;

/// A condition with the words for whoever breaks it.
struct Demand {
    condition: String,
    message: Option<String>,
}

impl From<String> for Demand {
    fn from(condition: String) -> Self {
        Demand { condition, message: None }
    }
}

impl Reader<'_, '_> {
    /// The checks of a schema, and the rules that could not be said in KCL.
    pub(crate) fn checks(
        &mut self,
        merged: &Merged,
        schema: &str,
        attributes: &[Attribute],
    ) -> (Vec<Check>, Vec<String>) {
        let mut notes = Vec::new();
        let mut checks = Vec::new();
        for attribute in attributes {
            let Some(entry) = merged.properties.iter().find(|entry| entry.key == attribute.name) else {
                continue;
            };
            // The rules of a type that has no name stand where it is used.
            let mut rest = Vec::new();
            let (node, document) = self.resolved(&entry.node, entry.document, &mut rest);
            let before = checks.len();
            self.attribute_checks(attribute, &node, document, schema, &mut checks, &mut notes);
            for (part, document) in rest {
                self.exactly(attribute, &part, document, schema, &mut checks);
            }
            // Without a name, all that is demanded of it is lost, not only its own rules.
            if quote_name(&attribute.name).starts_with('"') && checks.len() > before {
                checks.truncate(before);
                self.warnings.push(no_name(schema, &attribute.name));
            }
        }
        for name in &merged.apart {
            self.warnings.push(format!("{schema}.{name}: several files describe it: one of them counts"));
        }
        let own = Own { attributes, open: merged.is_open() };
        for (part, document) in &merged.parts {
            self.own_checks(part, own, *document, schema, &mut checks, &mut notes);
        }
        keep_sayable(schema, attributes, &mut checks, &mut self.warnings);
        let mut seen = std::collections::BTreeSet::new();
        checks.retain(|check| seen.insert((check.condition.clone(), check.guard.clone())));
        (checks, notes)
    }

    fn attribute_checks(
        &mut self,
        attribute: &Attribute,
        node: &Node,
        document: usize,
        schema: &str,
        checks: &mut Vec<Check>,
        notes: &mut Vec<String>,
    ) {
        let (name, ty) = (&attribute.name, &attribute.ty);
        let written = quote_name(name);
        for rule in rules::rules(node, ty, &mut self.warnings) {
            checks.push(check(Subject::Attribute(name.clone()), &written, rule, attribute.optional));
        }
        // What type and rules do not say is said as a condition.
        if !self.is_plain(node, ty, document, 0)
            && self.exactly(attribute, node, document, schema, checks)
            && !self.structural
        {
            return;
        }
        let (inside, subject): (_, fn(String) -> Subject) = match ty {
            Type::List(item) => (of_all(node).map(|node| (node, item)), Subject::Each),
            Type::Dict(_, value) => {
                (node.get("additionalProperties").map(|node| (node, value)), Subject::EachValue)
            }
            _ => (None, Subject::Each),
        };
        if let Some((inner, ty)) = inside {
            let (inner, _) = self.resolved(inner, document, &mut Vec::new());
            for rule in rules::rules(&inner, ty, &mut self.warnings) {
                checks.push(check(subject(name.clone()), &written, rule, attribute.optional));
            }
        }
        let guard = attribute.optional.then(|| is_set(&written));
        for demand in self.demands(node, &written, ty, document, 0, notes) {
            let Demand { condition, message } = demand;
            checks.push(Check { condition, message, guard: guard.clone(), ..Check::default() });
        }
    }

    /// States all that an object demands of an attribute; false, with a warning, if that cannot be said.
    fn exactly(
        &mut self,
        attribute: &Attribute,
        node: &Node,
        document: usize,
        schema: &str,
        checks: &mut Vec<Check>,
    ) -> bool {
        let written = quote_name(&attribute.name);
        let about = About::Value(&written, &attribute.ty);
        let Some(conditions) = self.conditions(node, &about, document, 0) else {
            let words: Vec<&str> =
                all(node).iter().map(|e| e.key.as_str()).filter(|key| demands(key)).collect();
            let words = words.join("`, `");
            let name = &attribute.name;
            self.warnings.push(format!("{schema}.{name}: not all that `{words}` demands is checked"));
            return false;
        };
        let guard = attribute.optional.then(|| is_set(&written));
        // What a rule says already is not said again.
        let said =
            |condition: &String, checks: &[Check]| checks.iter().any(|check| check.condition == *condition);
        for condition in conditions {
            if !said(&condition, checks) {
                checks.push(Check { condition, guard: guard.clone(), ..Check::default() });
            }
        }
        true
    }

    /// What an object demands of a value beyond the plain rules: these are counted at the first two levels already.
    fn demands(
        &mut self,
        node: &Node,
        expression: &str,
        ty: &Type,
        document: usize,
        depth: u32,
        notes: &mut Vec<String>,
    ) -> Vec<Demand> {
        if matches!(ty, Type::Schema(_)) || depth > MAX_NESTING {
            return Vec::new();
        }
        let mut found: Vec<Demand> = Vec::new();
        if depth > 1 {
            let rules = rules::rules(node, ty, &mut self.warnings);
            found.extend(rules.into_iter().map(|rule| rule.condition(expression).into()));
        }
        if matches!(ty, Type::Union(_)) {
            let said = rules::of_members(node, ty, expression, &mut self.warnings);
            found.extend(said.into_iter().map(Demand::from));
        }
        self.logic(node, expression, ty, document, &mut found);
        self.of_keys(node, expression, ty, &mut found);
        self.of_lists(node, expression, ty, document, &mut found);
        self.validations(node, &cel::Own::Value(expression, ty), expression, notes, &mut found);
        let inside = match ty {
            Type::List(item) => of_all(node).map(|node| (node, item, "item")),
            Type::Dict(_, value) => node.get("additionalProperties").map(|node| (node, value, "_, item")),
            _ => None,
        };
        if let Some((inner, ty, variables)) = inside {
            let (inner, document) = self.resolved(inner, document, &mut Vec::new());
            let item = if depth == 0 { "item".to_owned() } else { format!("item{depth}") };
            let variables = variables.replace("item", &item);
            for demand in self.demands(&inner, &item, ty, document, depth + 1, notes) {
                let condition = format!("all {variables} in {expression} {{ {} }}", demand.condition);
                found.push(Demand { condition, ..demand });
            }
        }
        found
    }

    /// `not`, `if`, `anyOf`, `oneOf` of a value.
    fn logic(&mut self, node: &Node, expression: &str, ty: &Type, document: usize, found: &mut Vec<Demand>) {
        let about = About::Value(expression, ty);
        for word in LOGIC {
            // The type says what alternatives are, if they say nothing else.
            let says_more = |branch: &Node| all(branch).iter().any(|e| e.key != "type" && e.key != "format");
            let alternatives = matches!(word, "anyOf" | "oneOf");
            let of_type = !items(node, word).iter().any(says_more)
                || ty.members().iter().any(|member| matches!(member, Type::Schema(_)));
            if alternatives && of_type {
                continue;
            }
            match self.stated(word, node, &about, document, 0) {
                Some(parts) => found.extend(parts.into_iter().map(Demand::from)),
                None if alternatives => {}
                None => self.warnings.push(format!("{expression}: `{word}` is not checked")),
            }
        }
    }

    /// Names of entries, and entries that a map must have.
    fn of_keys(&mut self, node: &Node, expression: &str, ty: &Type, found: &mut Vec<Demand>) {
        if !matches!(ty, Type::Dict(..)) {
            return;
        }
        if let Some(names) = node.get("propertyNames") {
            for rule in rules::rules(names, &Type::Str, &mut self.warnings) {
                found.push(format!("all key in {expression} {{ {} }}", rule.condition("key")).into());
            }
        }
        for name in texts(node, "required") {
            found.push(format!("{} in {expression}", quote(name)).into());
        }
    }

    /// Elements by their places, elements that a list must contain, and keys of elements that may not stand twice.
    fn of_lists(
        &mut self,
        node: &Node,
        expression: &str,
        ty: &Type,
        document: usize,
        found: &mut Vec<Demand>,
    ) {
        let Type::List(item) = ty else { return };
        match self.contained(node, expression, ("item", item), document, 0) {
            Some(parts) => found.extend(parts.into_iter().map(Demand::from)),
            None => self.warnings.push(format!("{expression}: `contains` is not checked")),
        }
        let placed = self.placed(node, expression, item, document, 0);
        found.extend(placed.into_iter().flatten().map(Demand::from));
        if self.structural {
            found.extend(self.list_keys(node, expression, item).map(Demand::from));
        }
    }

    /// Lists of Kubernetes that are sets, or maps by some keys of their elements.
    fn list_keys(&mut self, node: &Node, expression: &str, item: &Type) -> Option<String> {
        match text(node, "x-kubernetes-list-type")? {
            "set" if !is_true(node, "uniqueItems") => Some(format!("isunique({expression})")),
            "map" => {
                let keys = texts(node, "x-kubernetes-list-map-keys");
                let Type::Schema(name) = item else { return None };
                let schema = self.known_schema(name)?;
                let known = |key: &&str| {
                    schema.attributes.iter().any(|a| a.name == **key) && !quote_name(key).starts_with('"')
                };
                if keys.is_empty() || !keys.iter().all(known) {
                    self.warnings.push(format!("{expression}: that keys stand once is not checked"));
                    return None;
                }
                let parts: Vec<String> = keys.iter().map(|key| format!("item.{}", quote_name(key))).collect();
                let made = if let [one] = parts.as_slice() {
                    one.clone()
                } else {
                    format!("[{}]", parts.join(", "))
                };
                Some(format!("isunique([{made} for item in {expression}])"))
            }
            _ => None,
        }
    }

    /// Rules between the attributes of an object.
    fn own_checks(
        &mut self,
        node: &Node,
        own: Own<'_>,
        document: usize,
        schema: &str,
        checks: &mut Vec<Check>,
        notes: &mut Vec<String>,
    ) {
        let about = About::Own(own);
        let attributes = own.attributes;
        let mut found: Vec<Demand> = Vec::new();
        let mut lost = Vec::new();
        for word in LOGIC {
            match self.stated(word, node, &about, document, 0) {
                Some(parts) => found.extend(parts.into_iter().map(Demand::from)),
                None => lost.push(word),
            }
        }
        for word in DEPENDENT {
            for entry in entries(node, word) {
                match self.depending(entry, &about, &Place::Own(own), document, 0) {
                    Some(condition) => found.extend(condition.map(Demand::from)),
                    None => lost.push(word),
                }
            }
        }
        match counted(node, own, "") {
            Some(parts) => found.extend(parts.into_iter().map(Demand::from)),
            None => lost.push("minProperties` or `maxProperties"),
        }
        if !says_object(node) {
            lost.push("type");
        }
        lost.extend(
            ["enum", "const", "unevaluatedProperties"]
                .into_iter()
                .filter(|word| node.get(word).is_some_and(|said| !matches!(said.value, Data::Bool(_)))),
        );
        for word in lost {
            self.warnings.push(format!("{schema}: `{word}` is not checked"));
        }
        self.validations(node, &cel::Own::Attributes(attributes), "", notes, &mut found);
        let as_check = |Demand { condition, message }| Check { condition, message, ..Check::default() };
        checks.extend(found.into_iter().filter(|demand| demand.condition != "True").map(as_check));
    }

    /// `x-kubernetes-validations`: what translates is demanded, what does not is noted.
    fn validations(
        &mut self,
        node: &Node,
        own: &cel::Own<'_>,
        place: &str,
        notes: &mut Vec<String>,
        found: &mut Vec<Demand>,
    ) {
        for validation in items(node, "x-kubernetes-validations") {
            let Some(rule) = text(validation, "rule") else { continue };
            let packages = &self.packages;
            let known = |name: &SchemaRef| find(packages, name);
            match cel::condition(rule, own, &known) {
                Ok(condition) => {
                    self.cel.0 += 1;
                    found.push(Demand { condition, message: text(validation, "message").map(quote) });
                }
                Err(why) => {
                    self.cel.1 += 1;
                    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
                    let rule: String = rule.split_whitespace().collect::<Vec<_>>().join(" ");
                    notes.push(format!("Not checked here: {place}`{rule}`: {why}."));
                }
            }
        }
    }

    /// A schema that is complete.
    pub(crate) fn known_schema(&self, name: &SchemaRef) -> Option<Schema> {
        find(&self.packages, name)
    }
}

/// Takes out checks that KCL would read as something else, and tells them: about attributes whose names are written in quotes, which
/// are texts in a check, and with functions that an attribute hides.
pub(crate) fn keep_sayable(
    schema: &str,
    attributes: &[Attribute],
    checks: &mut Vec<Check>,
    warnings: &mut Vec<String>,
) {
    let unnamed: Vec<(&str, String)> = attributes
        .iter()
        .map(|attribute| (attribute.name.as_str(), quote_name(&attribute.name)))
        .filter(|(_, written)| written.starts_with('"'))
        .collect();
    // Of texts, only the name of an attribute is asked whether it is set or compared.
    let speaks_of = |check: &Check, name: &str, written: &str| {
        let subject = |constraint: &Constraint| {
            matches!(&constraint.subject,
            Subject::Attribute(of) | Subject::Each(of) | Subject::EachValue(of) if of == name)
        };
        check.constraints.iter().any(subject) || check.condition.contains(&is_set(written))
    };
    for (name, written) in &unnamed {
        let before = checks.len();
        checks.retain(|check| !speaks_of(check, name, written));
        if checks.len() < before {
            warnings.push(no_name(schema, name));
        }
    }
    let called = |check: &Check, name: &str| {
        [format!("{name}("), format!("{name}.")].iter().any(|call| check.condition.contains(call))
    };
    let hiding: Vec<&str> =
        attributes.iter().map(|a| a.name.as_str()).filter(|n| CALLED.contains(n)).collect();
    let before = checks.len();
    checks.retain(|check| !hiding.iter().any(|name| called(check, name)));
    if checks.len() < before {
        warnings.push(format!("{schema}: an attribute hides a function that its rules need: not checked"));
    }
}

fn no_name(schema: &str, attribute: &str) -> String {
    format!("{schema}: `{attribute}` has no name in a check: what is demanded of it is not checked")
}

pub(crate) fn find(
    packages: &std::collections::BTreeMap<String, Vec<Schema>>,
    name: &SchemaRef,
) -> Option<Schema> {
    packages.get(&name.package)?.iter().rev().find(|schema| schema.name == name.name).cloned()
}

/// What is said about every element of a list.
fn of_all(node: &Node) -> Option<&Node> {
    node.get("items").filter(|_| crate::schema::places(node).is_empty())
}

/// A rule as a line of a check block.
pub(crate) fn check(subject: Subject, written: &str, rule: Rule, optional: bool) -> Check {
    let condition = match &subject {
        Subject::Attribute(_) => rule.condition(written),
        Subject::Each(_) => format!("all item in {written} {{ {} }}", rule.condition("item")),
        Subject::EachValue(_) => format!("all _, item in {written} {{ {} }}", rule.condition("item")),
    };
    // Where an empty value satisfies the rule, too, the short guard says the same.
    let short = !matches!(subject, Subject::Attribute(_))
        || matches!(rule, Rule::MaxLen(_) | Rule::Unique | Rule::MultipleOf(_));
    let (guard, when) = match (optional, short) {
        (false, _) => (None, When::Always),
        (true, true) => (Some(written.to_owned()), When::Truthy),
        (true, false) => (Some(is_set(written)), When::Set),
    };
    Check {
        condition,
        guard,
        message: None,
        constraints: vec![Constraint { subject, when, rule }],
        place: None,
    }
}
