//! Plain data as the configuration object of a schema: every attribute and block is there, absent ones null or empty.

use std::collections::BTreeMap;
use std::sync::Arc;

use tf_value::{Map, Path, Step, Type, Value, convert};

use crate::compare::{attribute_step, wrap_blocks};
use crate::empty::absent;
use crate::{
    Attribute, AttributeKind, Block, BlockNesting, Loose, NestedBlock, NestedObject, ObjectNesting, Problem,
};

/// Makes the configuration object of a block; all problems are told, not only the first.
pub fn configure(block: &Block, loose: &Loose) -> Result<Value, Vec<Problem>> {
    let mut making = Making { path: Path::default(), problems: Vec::new() };
    let value = making.block(block, loose);
    if making.problems.is_empty() { Ok(value) } else { Err(making.problems) }
}

/// Which deprecated arguments a configuration sets, with what the provider says about them.
#[must_use]
pub fn deprecated(block: &Block, config: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    for (name, attribute) in &block.attributes {
        if attribute.deprecated && config.get(name).is_some_and(|value| !value.is_null()) {
            let said = Some(attribute.deprecation_message.as_str()).filter(|said| !said.is_empty());
            found.push(Problem::at(&Path::default().attribute(name.as_str()), said.unwrap_or("deprecated")));
        }
    }
    found
}

struct Making {
    path: Path,
    problems: Vec<Problem>,
}

/// The entries of a map by name.
type Entries<'l> = BTreeMap<&'l str, &'l Loose>;

impl Making {
    fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::at(&self.path, message));
    }

    fn within<T>(&mut self, step: Step, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = inside(self);
        self.path.pop();
        result
    }

    fn block(&mut self, block: &Block, loose: &Loose) -> Value {
        let opened = loose.opened();
        let Some(entries) = self.entries(&opened) else { return Value::Null };
        self.check_names(&entries, |name| {
            block.attributes.contains_key(name) || block.blocks.contains_key(name)
        });
        let mut object = self.attributes(&block.attributes, &entries);
        for (name, nested) in &block.blocks {
            let given = entries.get(name.as_str()).copied().unwrap_or(&Loose::Null);
            let value = self.within(attribute_step(name), |making| making.blocks(nested, given));
            object.insert(name.as_str().into(), value);
        }
        Value::Map(object)
    }

    fn entries<'l>(&mut self, loose: &'l Loose) -> Option<Entries<'l>> {
        match loose {
            Loose::Map(entries) => Some(entries.iter().map(|(name, entry)| (&**name, entry)).collect()),
            _ => {
                self.problem("an object is required");
                None
            }
        }
    }

    fn check_names(&mut self, entries: &Entries<'_>, known: impl Fn(&str) -> bool) {
        for name in entries.keys().filter(|name| !known(name)) {
            let path = self.path.clone().attribute(*name);
            self.problems.push(Problem::at(&path, "there is no argument with this name"));
        }
    }

    fn attributes(&mut self, attributes: &BTreeMap<String, Attribute>, entries: &Entries<'_>) -> Map {
        let mut object = Map::new();
        for (name, attribute) in attributes {
            let given = entries.get(name.as_str()).copied().unwrap_or(&Loose::Null);
            let value = self.within(attribute_step(name), |making| making.attribute(attribute, given));
            object.insert(Arc::from(name.as_str()), value);
        }
        object
    }

    fn attribute(&mut self, attribute: &Attribute, given: &Loose) -> Value {
        if given.is_null() {
            if attribute.required {
                self.problem("the argument is required");
            }
            return Value::Null;
        }
        match &attribute.kind {
            AttributeKind::Plain(ty) => self.plain(attribute, &ty.0, given),
            AttributeKind::Nested(nested) => self.nested(nested, given),
        }
    }

    fn plain(&mut self, attribute: &Attribute, ty: &Type, given: &Loose) -> Value {
        let as_blocks = match ty {
            Type::List(of) | Type::Set(of) if attribute.optional && attribute.computed => match &**of {
                Type::Object(object) => Some(object),
                _ => None,
            },
            _ => None,
        };
        let filled = as_blocks.map(|object| fill_members(given, object));
        let (from, value) = filled.as_ref().unwrap_or(given).natural();
        convert(&value, &from, ty).unwrap_or_else(|error| {
            let path: Path = self.path.steps().iter().chain(error.path.steps()).cloned().collect();
            self.problems.push(Problem::at(&path, error.message));
            Value::Null
        })
    }

    fn nested(&mut self, nested: &NestedObject, given: &Loose) -> Value {
        if let Some(unknown) = given.as_unknown() {
            return unknown.clone();
        }
        let opened = given.opened();
        match nested.nesting {
            ObjectNesting::Single => self.nested_object(nested, &opened),
            ObjectNesting::List | ObjectNesting::Set => {
                let Loose::List(items) = &*opened else {
                    self.problem("a list is required");
                    return Value::Null;
                };
                let items: Vec<Value> = (0..)
                    .zip(items)
                    .map(|(at, item)| {
                        self.within(Step::Index(at), |making| making.nested_object(nested, item))
                    })
                    .collect();
                if nested.nesting == ObjectNesting::List {
                    return Value::List(items);
                }
                self.set(items, &nested.element_type())
            }
            ObjectNesting::Map => {
                let Some(entries) = self.entries(&opened) else { return Value::Null };
                let inner = |(key, item): (&&str, &&Loose)| {
                    let value =
                        self.within(Step::Key((*key).into()), |making| making.nested_object(nested, item));
                    (tf_value::normal(key), value)
                };
                Value::Map(entries.iter().map(inner).collect())
            }
        }
    }

    fn nested_object(&mut self, nested: &NestedObject, given: &Loose) -> Value {
        if given.is_null() {
            return Value::Null;
        }
        if let Some(unknown) = given.as_unknown() {
            return unknown.clone();
        }
        let opened = given.opened();
        let Some(entries) = self.entries(&opened) else { return Value::Null };
        self.check_names(&entries, |name| nested.attributes.contains_key(name));
        Value::Map(self.attributes(&nested.attributes, &entries))
    }

    fn set(&mut self, items: Vec<Value>, of: &Type) -> Value {
        Value::set(items, of).unwrap_or_else(|error| {
            self.problem(error.message);
            Value::Null
        })
    }

    /// The blocks of one kind. Whole lists that are not known yet are unknown.
    fn blocks(&mut self, nested: &NestedBlock, given: &Loose) -> Value {
        if let Some(unknown) = given.as_unknown() {
            return unknown.clone();
        }
        if given.is_null() {
            self.count(nested, 0);
            return if nested.nesting == BlockNesting::Group {
                self.block(&nested.block, &Loose::Map(Vec::new()))
            } else {
                absent(nested)
            };
        }
        let opened = given.opened();
        match nested.nesting {
            BlockNesting::Single | BlockNesting::Group => self.single(nested, &opened),
            BlockNesting::List | BlockNesting::Set => {
                let items = match &*opened {
                    Loose::List(items) => items.iter().collect(),
                    one => vec![one],
                };
                self.count(nested, items.len());
                let items: Vec<Value> = (0..)
                    .zip(items)
                    .map(|(at, item)| {
                        self.within(Step::Index(at), |making| making.block(&nested.block, item))
                    })
                    .collect();
                if nested.nesting == BlockNesting::Set {
                    return self.set(items, &nested.block.implied_type());
                }
                wrap_blocks(nested, Value::List(items))
            }
            BlockNesting::Map => {
                let Some(entries) = self.entries(&opened) else { return Value::Null };
                let inner = |(key, item): (&&str, &&Loose)| {
                    let value =
                        self.within(Step::Key((*key).into()), |making| making.block(&nested.block, item));
                    (tf_value::normal(key), value)
                };
                let members = entries.iter().map(inner).collect();
                wrap_blocks(nested, Value::Map(members))
            }
        }
    }

    /// One block; a list of one is accepted, as a list of blocks with one label would be.
    fn single(&mut self, nested: &NestedBlock, given: &Loose) -> Value {
        match given {
            Loose::List(items) => match items.as_slice() {
                [] => self.blocks(nested, &Loose::Null),
                [one] => self.block(&nested.block, one),
                more => {
                    self.problem(format!("one block is allowed, {} are given", more.len()));
                    Value::Null
                }
            },
            one => self.block(&nested.block, one),
        }
    }

    fn count(&mut self, nested: &NestedBlock, n: usize) {
        let (n, NestedBlock { min_items: min, max_items: max, .. }) = (n as u64, nested);
        if n < *min {
            self.problem(format!("{min} or more blocks are required, {n} are given"));
        }
        if *max > 0 && n > *max {
            self.problem(format!("{max} blocks at most are allowed, {n} are given"));
        }
    }
}

/// Attributes that older providers write like blocks: members that are left out are null, one object is a list of one.
fn fill_members(given: &Loose, object: &tf_value::ObjectType) -> Loose {
    let fill = |item: &Loose| match &*item.opened() {
        Loose::Map(entries) => {
            let mut entries = entries.clone();
            for name in object.attributes.keys() {
                if !entries.iter().any(|(other, _)| other == name) {
                    entries.push((name.clone(), Loose::Null));
                }
            }
            Loose::Map(entries)
        }
        other => other.clone(),
    };
    match &*given.opened() {
        Loose::List(items) => Loose::List(items.iter().map(fill).collect()),
        one @ Loose::Map(_) => Loose::List(vec![fill(one)]),
        other => other.clone(),
    }
}
