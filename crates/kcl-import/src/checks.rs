//! The check block of a schema: rules of its attributes, rules between them, rules of CEL.

use base_yaml::{Data, Node};
use kcl_model::{
    Attribute, Check, Constraint, Rule, Schema, SchemaRef, Subject, Type, When, quote, quote_name,
};

use crate::cel;
use crate::inside::{contains, counted};
use crate::merge::Merged;
use crate::object::{all, entries, is_true, items, text, texts};
use crate::predicate::{About, Own, demands, exactly_one, is_set, joined, says_object, wrapped};
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
            if quote_name(&attribute.name).starts_with('"') && checks.len() > before {
                checks.truncate(before);
                let name = &attribute.name;
                self.warnings.push(format!(
                    "{schema}: `{name}` has no name in a check: what is demanded of it is not checked"
                ));
            }
        }
        for name in &merged.apart {
            self.warnings.push(format!("{schema}.{name}: several files describe it: one of them counts"));
        }
        let own = Own { attributes, open: merged.is_open() };
        for (part, document) in &merged.parts {
            self.own_checks(part, own, *document, schema, &mut checks, &mut notes);
        }
        let hidden = |check: &Check| {
            attributes.iter().any(|attribute| {
                let name = attribute.name.as_str();
                CALLED.contains(&name)
                    && [format!("{name}("), format!("{name}.")]
                        .iter()
                        .any(|call| check.condition.contains(call))
            })
        };
        let before = checks.len();
        checks.retain(|check| !hidden(check));
        if checks.len() < before {
            self.warnings
                .push(format!("{schema}: an attribute hides a function that its rules need: not checked"));
        }
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
        if let Some(not) = node.get("not") {
            match self.condition(not, &about, document, 0) {
                Some(condition) => found.push(format!("not ({condition})").into()),
                None => self.warnings.push(format!("{expression}: `not` is not checked")),
            }
        }
        match self.implied(node, &about, document, 0) {
            Some(parts) => found.extend(parts.into_iter().map(Demand::from)),
            None => self.warnings.push(format!("{expression}: `if` is not checked")),
        }
        for (word, exact) in [("anyOf", false), ("oneOf", true)] {
            let branches = items(node, word);
            // The type says what alternatives are, if they say nothing else.
            let says_more = |branch: &Node| all(branch).iter().any(|e| e.key != "type" && e.key != "format");
            if !branches.iter().any(says_more) || ty.members().iter().any(|m| matches!(m, Type::Schema(_))) {
                continue;
            }
            let parts: Option<Vec<String>> =
                branches.iter().map(|branch| self.condition(branch, &about, document, 0)).collect();
            if let Some(parts) = parts.filter(|parts| !parts.iter().any(|part| part == "True") || exact) {
                found.push(if exact { exactly_one(&parts) } else { joined(&parts, "or") }.into());
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
        for entry in entries(node, "dependentRequired").iter().chain(entries(node, "dependencies")) {
            let Data::List(_) = &entry.value.value else { continue };
            for name in texts(node.get("dependentRequired").unwrap_or(node), &entry.key) {
                let condition =
                    format!("{} not in {expression} or {} in {expression}", quote(&entry.key), quote(name));
                found.push(condition.into());
            }
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
        if let Some(contained) = node.get("contains") {
            match self.condition(contained, &About::Value("item", item), document, 0) {
                Some(condition) => {
                    let said = contains(node, expression, "item", &condition);
                    found.extend(said.into_iter().map(Demand::from));
                }
                None => self.warnings.push(format!("{expression}: `contains` is not checked")),
            }
        }
        let places = crate::schema::places(node);
        for (at, place) in places.iter().enumerate() {
            let element = format!("{expression}[{at}]");
            if let Some(condition) = self.condition(place, &About::Value(&element, item), document, 0)
                && condition != "True"
            {
                found.push(format!("len({expression}) <= {at} or {}", wrapped(&condition)).into());
            }
        }
        let closed = ["items", "additionalItems"]
            .iter()
            .any(|word| node.get(word).is_some_and(|rest| rest.value == Data::Bool(false)));
        if !places.is_empty() && closed {
            found.push(format!("len({expression}) <= {}", places.len()).into());
        }
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
        for (word, exact) in [("anyOf", false), ("oneOf", true)] {
            let branches = items(node, word);
            if branches.is_empty() {
                continue;
            }
            let parts: Option<Vec<String>> =
                branches.iter().map(|branch| self.condition(branch, &about, document, 0)).collect();
            match parts {
                None => lost.push(word),
                Some(parts) if exact => found.push(exactly_one(&parts).into()),
                Some(parts) if parts.iter().any(|part| part == "True") => {}
                Some(parts) => found.push(joined(&parts, "or").into()),
            }
        }
        if let Some(not) = node.get("not") {
            match self.condition(not, &about, document, 0) {
                Some(condition) => found.push(format!("not ({condition})").into()),
                None => lost.push("not"),
            }
        }
        match self.implied(node, &about, document, 0) {
            Some(parts) => found.extend(parts.into_iter().map(Demand::from)),
            None => lost.push("if"),
        }
        for word in ["dependentRequired", "dependentSchemas", "dependencies"] {
            for entry in entries(node, word) {
                match self.depending(&entry.key, &entry.value, own, document) {
                    Some(condition) => found.push(condition.into()),
                    None => lost.push(word),
                }
            }
        }
        match counted(node, own) {
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

    /// What holds if an attribute is there: others are there, or an object is kept.
    fn depending(&mut self, key: &str, node: &Node, own: Own<'_>, document: usize) -> Option<String> {
        let attributes = own.attributes;
        let written = |name: &str| {
            attributes.iter().find(|attribute| attribute.name == name)?;
            Some(quote_name(name)).filter(|written| !written.starts_with('"'))
        };
        let demanded = match &node.value {
            Data::List(names) => {
                let mut parts = Vec::new();
                for name in names {
                    let Data::Str(name) = &name.value else { return None };
                    parts.push(is_set(&written(name)?));
                }
                joined(&parts, "and")
            }
            _ => self.condition(node, &About::Own(own), document, 0)?,
        };
        Some(format!("{} in [None, Undefined] or {}", written(key)?, wrapped(&demanded)))
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
