//! Conditions about what is inside of a value: elements, entries, attributes.

use base_yaml::{Data, MapEntry, Node};
use kcl_model::{Type, is_identifier, quote, quote_name};

use crate::kinds::Seen;
use crate::object::{all, entries, number, texts};
use crate::predicate::{About, Own, is_set, joined, name_of, only_named, wrapped};
use crate::rules;
use crate::schema::{Reader, places};

/// Words that say what holds if a member is there.
pub(crate) const DEPENDENT: [&str; 3] = ["dependentRequired", "dependentSchemas", "dependencies"];

/// Where the members of an object stand.
pub(crate) enum Place<'p> {
    /// They are names in its check block.
    Own(Own<'p>),
    /// They are attributes of an instance: what stands before their names.
    Instance(&'p str, Own<'p>),
    /// They are entries of a map, all of one type.
    Map(&'p str, &'p Type),
}

/// A member of an object.
pub(crate) struct Member {
    value: String,
    ty: Type,
    /// The key and the map, if it is written as `map[key]`: then it cannot be asked for when it is absent.
    entry: Option<(String, String)>,
}

impl Place<'_> {
    /// A member as it is written; none if it cannot be.
    fn member(&self, key: &str) -> Option<Member> {
        let (before, own) = match self {
            Place::Own(own) => ("", own),
            Place::Instance(before, own) => (*before, own),
            Place::Map(map, ty) if is_identifier(key) => {
                return Some(Member { value: format!("{map}?.{key}"), ty: (*ty).clone(), entry: None });
            }
            Place::Map(map, ty) => {
                let (value, entry) = (format!("{map}[{}]", quote(key)), (quote(key), (*map).to_owned()));
                return Some(Member { value, ty: (*ty).clone(), entry: Some(entry) });
            }
        };
        let attribute = own.attributes.iter().find(|attribute| attribute.name == key)?;
        let name = name_of(own.attributes, key).filter(|_| before.is_empty() || is_identifier(key))?;
        Some(Member { value: format!("{before}{name}"), ty: attribute.ty.clone(), entry: None })
    }

    /// Whether no object here can have a member of this name.
    fn is_never(&self, key: &str) -> bool {
        match self {
            Place::Own(own) | Place::Instance(_, own) => {
                !own.open && own.attributes.iter().all(|attribute| attribute.name != key)
            }
            Place::Map(..) => false,
        }
    }
}

impl Member {
    fn present(&self) -> String {
        match &self.entry {
            Some((key, map)) => format!("{key} in {map}"),
            None => is_set(&self.value),
        }
    }

    fn absent(&self) -> String {
        match &self.entry {
            Some((key, map)) => format!("{key} not in {map}"),
            None => format!("{} in [None, Undefined]", self.value),
        }
    }

    /// A condition that counts if it is there.
    fn unless_absent(&self, condition: &str) -> Option<String> {
        match condition {
            "True" => None,
            "False" => Some(self.absent()),
            condition => Some(format!("{} or {}", self.absent(), wrapped(condition))),
        }
    }
}

impl Reader<'_, '_> {
    /// Elements, attributes and keys of a value.
    pub(crate) fn inner_parts(
        &mut self,
        node: &Node,
        seen: &Seen,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        match &seen.ty {
            Type::List(item) => self.element_parts(node, &seen.expression, item, document, depth, parts),
            Type::Schema(name) => {
                let schema = self.known_schema(name)?;
                let own = Own { attributes: &schema.attributes, open: schema.index.is_some() };
                self.instance_parts(node, seen, own, document, depth, parts)
            }
            Type::Dict(_, value) => {
                let about = About::Value(&seen.expression, &seen.ty);
                let place = Place::Map(&seen.expression, value);
                self.named_parts(node, &about, &place, document, depth, parts)?;
                self.key_parts(node, &seen.expression, value, document, depth, parts)
            }
            _ => Some(()),
        }
    }

    fn element_parts(
        &mut self,
        node: &Node,
        expression: &str,
        item: &Type,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        parts.extend(self.placed(node, expression, item, document, depth)?);
        let variable = format!("item{depth}");
        if let Some(rest) = node.get("items").filter(|_| places(node).is_empty()) {
            let inner = self.condition(rest, &About::Value(&variable, item), document, depth + 1)?;
            match inner.as_str() {
                "True" => {}
                "False" => parts.push(format!("len({expression}) <= 0")),
                inner => parts.push(format!("all {variable} in {expression} {{ {inner} }}")),
            }
        }
        parts.extend(self.contained(node, expression, (&variable, item), document, depth + 1)?);
        Some(())
    }

    /// Elements by their places, and those behind them.
    pub(crate) fn placed(
        &mut self,
        node: &Node,
        expression: &str,
        item: &Type,
        document: usize,
        depth: u32,
    ) -> Option<Vec<String>> {
        let (placed, mut parts) = (places(node), Vec::new());
        for (at, place) in placed.iter().enumerate() {
            let element = format!("{expression}[{at}]");
            let inner = self.condition(place, &About::Value(&element, item), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("len({expression}) <= {at} or {}", wrapped(&inner)));
            }
        }
        let items = node.get("items").filter(|items| !matches!(items.value, Data::List(_)));
        let Some(rest) = items.or_else(|| node.get("additionalItems")).filter(|_| !placed.is_empty()) else {
            return Some(parts);
        };
        let (variable, count) = (format!("item{depth}"), placed.len());
        let inner = self.condition(rest, &About::Value(&variable, item), document, depth + 1)?;
        match inner.as_str() {
            "True" => {}
            "False" => parts.push(format!("len({expression}) <= {count}")),
            inner => parts.push(format!(
                "all place{depth}, {variable} in {expression} {{ place{depth} < {count} or {} }}",
                wrapped(inner)
            )),
        }
        Some(parts)
    }

    /// Elements that a list must contain.
    pub(crate) fn contained(
        &mut self,
        node: &Node,
        expression: &str,
        (variable, item): (&str, &Type),
        document: usize,
        depth: u32,
    ) -> Option<Vec<String>> {
        let Some(wanted) = node.get("contains") else { return Some(Vec::new()) };
        let inner = self.condition(wanted, &About::Value(variable, item), document, depth)?;
        Some(contains(node, expression, variable, &inner))
    }

    /// The attributes of an instance.
    fn instance_parts(
        &mut self,
        node: &Node,
        seen: &Seen,
        own: Own<'_>,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        const NOT_SAID: &[&str] = &["patternProperties", "propertyNames"];
        if NOT_SAID.iter().any(|word| node.get(word).is_some()) {
            return None;
        }
        let before = format!("{}?.", seen.expression);
        let about = About::Value(&seen.expression, &seen.ty);
        self.named_parts(node, &about, &Place::Instance(&before, own), document, depth, parts)?;
        parts.extend(counted(node, own, &before)?);
        only_named(node, own, &before, parts)
    }

    /// Members of an object that have names: those that must be there, what they are, and what others they need.
    pub(crate) fn named_parts(
        &mut self,
        node: &Node,
        about: &About<'_>,
        place: &Place<'_>,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        for name in texts(node, "required") {
            parts.push(place.member(name)?.present());
        }
        for entry in entries(node, "properties") {
            if place.is_never(&entry.key) && entry.value.value == Data::Bool(false) {
                continue;
            }
            let member = place.member(&entry.key)?;
            let said = About::Value(&member.value, &member.ty);
            let inner = self.condition(&entry.value, &said, document, depth + 1)?;
            parts.extend(member.unless_absent(&inner));
        }
        for word in DEPENDENT {
            for entry in entries(node, word) {
                parts.extend(self.depending(entry, about, place, document, depth + 1)?);
            }
        }
        Some(())
    }

    /// What holds if a member is there: others are there, or an object is kept.
    pub(crate) fn depending(
        &mut self,
        entry: &MapEntry,
        about: &About<'_>,
        place: &Place<'_>,
        document: usize,
        depth: u32,
    ) -> Option<Option<String>> {
        let demanded = match &entry.value.value {
            Data::List(names) => {
                let present = |name: &Node| match &name.value {
                    Data::Str(name) => Some(place.member(name)?.present()),
                    _ => None,
                };
                joined(&names.iter().map(present).collect::<Option<Vec<_>>>()?, "and")
            }
            _ => self.condition(&entry.value, about, document, depth)?,
        };
        Some(place.member(&entry.key)?.unless_absent(&demanded))
    }

    /// The entries of a map that have no names, and the names of all of them.
    fn key_parts(
        &mut self,
        node: &Node,
        expression: &str,
        value: &Type,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        let (key, item) = (format!("key{depth}"), format!("item{depth}"));
        let mut ignored = Vec::new();
        let mut told: Vec<String> = Vec::new();
        let named = entries(node, "properties").iter().map(|entry| quote(&entry.key)).collect::<Vec<_>>();
        if !named.is_empty() {
            told.push(format!("{key} in [{}]", named.join(", ")));
        }
        for pattern in entries(node, "patternProperties") {
            let matches = rules::pattern(&pattern.key, &mut ignored)?.condition(&key);
            let inner = self.condition(&pattern.value, &About::Value(&item, value), document, depth + 1)?;
            if inner != "True" {
                let inner = wrapped(&inner);
                parts.push(format!("all {key}, {item} in {expression} {{ not {matches} or {inner} }}"));
            }
            told.push(matches);
        }
        if let Some(others) = node.get("additionalProperties") {
            let inner = self.condition(others, &About::Value(&item, value), document, depth + 1)?;
            if inner != "True" {
                told.push(wrapped(&inner));
                let condition = joined(&told, "or");
                parts.push(format!("all {key}, {item} in {expression} {{ {condition} }}"));
            }
        }
        if let Some(names) = node.get("propertyNames") {
            let inner = self.condition(names, &About::Value(&key, &Type::Str), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("all {key} in {expression} {{ {inner} }}"));
            }
        }
        Some(())
    }
}

/// How many elements of a list a condition must hold for.
fn contains(node: &Node, expression: &str, variable: &str, condition: &str) -> Vec<String> {
    let bound = |key: &str| match node.get(key).and_then(number) {
        Some(kcl_model::Value::Int(n)) => Some(n),
        _ => None,
    };
    let count = match condition {
        "True" => format!("len({expression})"),
        _ => format!("len([{variable} for {variable} in {expression} if {}])", wrapped(condition)),
    };
    let mut found = Vec::new();
    match bound("minContains").unwrap_or(1) {
        ..=0 => {}
        1 if condition != "True" => found.push(format!("any {variable} in {expression} {{ {condition} }}")),
        least => found.push(format!("{count} >= {least}")),
    }
    found.extend(bound("maxContains").map(|most| format!("{count} <= {most}")));
    found
}

/// So many attributes are counted one by one.
const MAX_COUNTED: usize = 60;

/// `minProperties` and `maxProperties` of an object whose attributes can all be counted; none if they cannot. `before` is what stands
/// before a name.
pub(crate) fn counted(node: &Node, own: Own<'_>, before: &str) -> Option<Vec<String>> {
    let number = |word: &str| match node.get(word).and_then(number) {
        Some(kcl_model::Value::Int(n)) => Some(n),
        _ => None,
    };
    let (least, most) = (number("minProperties").filter(|n| *n > 0), number("maxProperties"));
    if least.is_none() && most.is_none() {
        return Some(Vec::new());
    }
    let names: Vec<String> = own.attributes.iter().map(|attribute| quote_name(&attribute.name)).collect();
    if own.open || names.len() > MAX_COUNTED || names.iter().any(|name| name.starts_with('"')) {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| format!("{before}{name}")).collect();
    let count = format!("len([one for one in [{}] if {}])", names.join(", "), is_set("one"));
    let least = least.map(|n| format!("{count} >= {n}"));
    Some(least.into_iter().chain(most.map(|n| format!("{count} <= {n}"))).collect())
}

/// Whether an object says nothing.
pub(crate) fn is_silent(node: &Node) -> bool {
    match &node.value {
        Data::Bool(accepts) => *accepts,
        _ => all(node).iter().all(|entry| !crate::predicate::demands(&entry.key)),
    }
}
