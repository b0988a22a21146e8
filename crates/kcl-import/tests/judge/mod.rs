//! The meaning of JSON Schema, word by word: nothing here knows how KCL is made of it.

use base_yaml::{Data, Node};

pub(crate) struct Judge<'r> {
    pub(crate) root: &'r Node,
}

impl Judge<'_> {
    pub(crate) fn accepts(&self, schema: &Node, value: &Node) -> bool {
        match &schema.value {
            Data::Bool(accepts) => *accepts,
            Data::Map(words) => words.iter().all(|word| self.word(schema, &word.key, &word.value, value)),
            _ => true,
        }
    }

    fn word(&self, schema: &Node, word: &str, said: &Node, value: &Node) -> bool {
        let all = |node: &Node| list(node).iter().all(|part| self.accepts(part, value));
        let fitting = |node: &Node| list(node).iter().filter(|part| self.accepts(part, value)).count();
        match word {
            "$ref" => self.accepts(self.target(said), value),
            "type" => match &said.value {
                Data::List(words) => words.iter().any(|word| is_a(text(word), value)),
                _ => is_a(text(said), value),
            },
            "const" => same(said, value),
            "enum" => list(said).iter().any(|one| same(one, value)),
            "allOf" => all(said),
            "anyOf" => fitting(said) > 0,
            "oneOf" => fitting(said) == 1,
            "not" => !self.accepts(said, value),
            "if" => {
                let branch = if self.accepts(said, value) { "then" } else { "else" };
                schema.get(branch).is_none_or(|branch| self.accepts(branch, value))
            }
            _ => match &value.value {
                Data::Int(_) | Data::Float(_) => of_number(word, said, number(value)),
                Data::Str(text) => of_text(word, said, text),
                Data::List(items) => self.of_list(schema, word, said, items),
                Data::Map(_) => self.of_object(schema, word, said, value),
                _ => true,
            },
        }
    }

    fn target(&self, reference: &Node) -> &Node {
        let parts = text(reference).split('/').skip(1);
        parts.fold(self.root, |node, part| node.get(part).unwrap())
    }

    fn of_list(&self, schema: &Node, word: &str, said: &Node, items: &[Node]) -> bool {
        let places = schema.get("prefixItems").map_or(0, |places| list(places).len());
        match word {
            "minItems" => items.len() as f64 >= number(said),
            "maxItems" => items.len() as f64 <= number(said),
            "items" => items.iter().skip(places).all(|item| self.accepts(said, item)),
            "prefixItems" => list(said).iter().zip(items).all(|(place, item)| self.accepts(place, item)),
            "uniqueItems" => {
                items.iter().enumerate().all(|(at, one)| !items[..at].iter().any(|other| same(one, other)))
            }
            "contains" => {
                let count = items.iter().filter(|item| self.accepts(said, item)).count() as f64;
                count >= schema.get("minContains").map_or(1.0, number)
                    && schema.get("maxContains").is_none_or(|most| count <= number(most))
            }
            _ => true,
        }
    }

    fn of_object(&self, schema: &Node, word: &str, said: &Node, value: &Node) -> bool {
        let Data::Map(entries) = &value.value else { return true };
        let matches =
            |pattern: &str, key: &str| fancy_regex::Regex::new(pattern).unwrap().is_match(key).unwrap();
        let keys = |word: &str| match schema.get(word).map(|node| &node.value) {
            Some(Data::Map(entries)) => entries.iter().map(|entry| entry.key.as_str()).collect(),
            _ => Vec::new(),
        };
        match word {
            "minProperties" => entries.len() as f64 >= number(said),
            "maxProperties" => entries.len() as f64 <= number(said),
            "required" => list(said).iter().all(|name| value.get(text(name)).is_some()),
            "dependentRequired" => entries.iter().all(|entry| {
                let needed = said.get(&entry.key).map_or(&[][..], list);
                needed.iter().all(|name| value.get(text(name)).is_some())
            }),
            "properties" => entries
                .iter()
                .all(|entry| said.get(&entry.key).is_none_or(|own| self.accepts(own, &entry.value))),
            "patternProperties" => entries.iter().all(|entry| {
                let Data::Map(patterns) = &said.value else { return true };
                let mut own = patterns.iter().filter(|pattern| matches(&pattern.key, &entry.key));
                own.all(|pattern| self.accepts(&pattern.value, &entry.value))
            }),
            "additionalProperties" => entries.iter().all(|entry| {
                let named = keys("properties").contains(&entry.key.as_str())
                    || keys("patternProperties").iter().any(|pattern| matches(pattern, &entry.key));
                named || self.accepts(said, &entry.value)
            }),
            "propertyNames" => entries.iter().all(|entry| {
                let name = Node { value: Data::Str(entry.key.clone()), span: value.span };
                self.accepts(said, &name)
            }),
            _ => true,
        }
    }
}

fn of_number(word: &str, said: &Node, value: f64) -> bool {
    match word {
        "minimum" => value >= number(said),
        "maximum" => value <= number(said),
        "exclusiveMinimum" => value > number(said),
        "exclusiveMaximum" => value < number(said),
        "multipleOf" => value % number(said) == 0.0,
        _ => true,
    }
}

fn of_text(word: &str, said: &Node, value: &str) -> bool {
    match word {
        "minLength" => value.chars().count() as f64 >= number(said),
        "maxLength" => value.chars().count() as f64 <= number(said),
        "pattern" => fancy_regex::Regex::new(text(said)).unwrap().is_match(value).unwrap(),
        _ => true,
    }
}

fn is_a(word: &str, value: &Node) -> bool {
    matches!(
        (word, &value.value),
        ("string", Data::Str(_))
            | ("integer" | "number", Data::Int(_))
            | ("number", Data::Float(_))
            | ("boolean", Data::Bool(_))
            | ("array", Data::List(_))
            | ("object", Data::Map(_))
    )
}

fn same(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Data::Int(_) | Data::Float(_), Data::Int(_) | Data::Float(_)) => number(one) == number(other),
        (Data::List(one), Data::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Data::Map(entries), Data::Map(others)) => {
            entries.len() == others.len()
                && entries
                    .iter()
                    .all(|entry| other.get(&entry.key).is_some_and(|own| same(&entry.value, own)))
        }
        (one, other) => one == other,
    }
}

fn list(node: &Node) -> &[Node] {
    match &node.value {
        Data::List(items) => items,
        _ => &[],
    }
}

fn text(node: &Node) -> &str {
    match &node.value {
        Data::Str(text) => text,
        _ => "",
    }
}

fn number(node: &Node) -> f64 {
    match node.value {
        Data::Int(n) => n as f64,
        Data::Float(f) => f,
        _ => 0.0,
    }
}
