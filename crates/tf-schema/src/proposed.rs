//! What a host believes an object will be, before the provider plans: configuration, completed from the prior object.

use std::collections::BTreeMap;

use tf_value::{Map, Type, Value};

use crate::compare::{equal, member, unwrap_blocks, wrap_blocks};
use crate::empty::empty_value;
use crate::{Attribute, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting};

/// The proposed new object from the prior one (or null) and the configuration.
#[must_use]
pub fn proposed_new(block: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() && prior.is_null() {
        return Value::Null;
    }
    if prior.is_null() {
        return proposed(block, &empty_value(block), config);
    }
    proposed(block, prior, config)
}

/// The proposed object of a data source that is read later: what the provider computes is unknown.
#[must_use]
pub fn proposed_read(block: &Block, config: &Value) -> Value {
    proposed(block, &Value::unknown(), config)
}

fn proposed(block: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() || config.is_unknown() {
        return prior.clone();
    }
    let mut object = attributes(&block.attributes, prior, config);
    for (name, nested) in &block.blocks {
        let value = blocks(nested, member(prior, name), member(config, name));
        object.insert(name.as_str().into(), value);
    }
    Value::Map(object)
}

fn attributes(all: &BTreeMap<String, Attribute>, prior: &Value, config: &Value) -> Map {
    let mut object = Map::new();
    for (name, attribute) in all {
        let value = one_attribute(attribute, member(prior, name), member(config, name));
        object.insert(name.as_str().into(), value);
    }
    object
}

fn one_attribute(attribute: &Attribute, prior: &Value, config: &Value) -> Value {
    if attribute.computed && config.is_null() {
        // An argument that was removed can only have been configured before if the prior value has parts that the provider
        // does not compute.
        let was_configured =
            attribute.optional && attribute.nested().is_some_and(|nested| has_given(nested, prior));
        return if was_configured { config.clone() } else { prior.clone() };
    }
    match attribute.nested() {
        Some(nested) => nested_attribute(nested, prior, config),
        None => config.clone(),
    }
}

/// Whether a part of the value is set that is not computed.
fn has_given(nested: &NestedObject, value: &Value) -> bool {
    objects(nested.nesting, value).into_iter().any(|object| {
        nested.attributes.iter().any(|(name, attribute)| {
            let value = member(object, name);
            let given = !value.is_null() && !attribute.computed;
            given || attribute.nested().is_some_and(|inner| !value.is_null() && has_given(inner, value))
        })
    })
}

/// The objects of a nested attribute, whatever its nesting.
fn objects(nesting: ObjectNesting, value: &Value) -> Vec<&Value> {
    match (nesting, value.plain()) {
        (_, Value::Null | Value::Unknown(_)) => Vec::new(),
        (ObjectNesting::Single, one) => vec![one],
        (ObjectNesting::Map, Value::Map(entries)) => entries.values().collect(),
        (_, other) => other.elements().map(|items| items.iter().collect()).unwrap_or_default(),
    }
}

fn nested_attribute(nested: &NestedObject, prior: &Value, config: &Value) -> Value {
    if config.is_null() || config.is_unknown() {
        return config.clone();
    }
    let item = |prior: &Value, config: &Value| {
        if config.is_null() || config.is_unknown() {
            return config.clone();
        }
        Value::Map(attributes(&nested.attributes, prior, config))
    };
    let shape = match nested.nesting {
        ObjectNesting::Single => return item(prior, config),
        ObjectNesting::List => Shape::List,
        ObjectNesting::Map => Shape::Map,
        ObjectNesting::Set => Shape::Set,
    };
    let could_come = |prior: &Value, config: &Value| object_could_come(&nested.attributes, prior, config);
    collection(shape, || nested.element_type(), prior, config, item, could_come)
}

fn blocks(nested: &NestedBlock, prior: &Value, config: &Value) -> Value {
    if config.is_unknown() {
        return config.clone();
    }
    let shape = match nested.nesting {
        BlockNesting::Single if config.is_null() => return config.clone(),
        BlockNesting::Single | BlockNesting::Group => return proposed_new(&nested.block, prior, config),
        BlockNesting::List => Shape::List,
        BlockNesting::Map => Shape::Map,
        BlockNesting::Set => Shape::Set,
    };
    let (prior, config) = (unwrap_blocks(nested, prior), unwrap_blocks(nested, config));
    let item = |prior: &Value, config: &Value| proposed_new(&nested.block, prior, config);
    let could_come = |prior: &Value, config: &Value| could_come(&nested.block, prior, config);
    let value = collection(shape, || nested.block.implied_type(), &prior, &config, item, could_come);
    wrap_blocks(nested, value)
}

enum Shape {
    List,
    Map,
    Set,
}

/// Pairs the elements of a collection with prior ones: lists by place, maps by key, sets by what could have become what.
fn collection(
    shape: Shape,
    of: impl Fn() -> Type,
    prior: &Value,
    config: &Value,
    item: impl Fn(&Value, &Value) -> Value,
    could_come: impl Fn(&Value, &Value) -> bool,
) -> Value {
    match (shape, config) {
        (Shape::List, Value::List(items)) => {
            let pair = |(at, config): (usize, &Value)| match prior {
                Value::Unknown(_) => item(prior, config),
                _ => match prior.elements().and_then(|items| items.get(at)) {
                    Some(prior) => item(prior, config),
                    None => config.clone(),
                },
            };
            Value::List(items.iter().enumerate().map(pair).collect())
        }
        (Shape::Map, Value::Map(entries)) => {
            let pair = |(key, config): (&std::sync::Arc<str>, &Value)| {
                let value = match prior {
                    Value::Unknown(_) => item(prior, config),
                    _ => match prior.get(key) {
                        Some(prior) => item(prior, config),
                        None => config.clone(),
                    },
                };
                (key.clone(), value)
            };
            Value::Map(entries.iter().map(pair).collect())
        }
        (Shape::Set, Value::Set(items)) => {
            let mut unused: Vec<Option<&Value>> =
                prior.elements().unwrap_or_default().iter().map(Some).collect();
            let mut made = Vec::with_capacity(items.len());
            for config in items {
                let slot = unused.iter_mut().find(|slot| slot.is_some_and(|prior| could_come(prior, config)));
                let unknown = prior.is_unknown().then_some(prior);
                let prior = slot.and_then(Option::take).or(unknown).unwrap_or(&Value::Null);
                made.push(item(prior, config));
            }
            Value::set(made, &of()).unwrap_or_else(|_| config.clone())
        }
        (_, other) => other.clone(),
    }
}

/// Whether a prior block of a set can be what the provider made of this configuration: they differ only in what it computes.
fn could_come(block: &Block, prior: &Value, config: &Value) -> bool {
    if equal(prior, config) {
        return true;
    }
    if prior.is_null() || prior.is_unknown() || config.is_null() || config.is_unknown() {
        return false;
    }
    object_could_come(&block.attributes, prior, config)
        && block
            .blocks
            .iter()
            .all(|(name, nested)| blocks_could_come(nested, member(prior, name), member(config, name)))
}

fn object_could_come(all: &BTreeMap<String, Attribute>, prior: &Value, config: &Value) -> bool {
    if equal(prior, config) {
        return true;
    }
    if config.is_null() || config.is_unknown() {
        return false;
    }
    all.iter().all(|(name, attribute)| {
        let (prior, config) = (member(prior, name), member(config, name));
        equal(prior, config) || attribute_could_come(attribute, prior, config)
    })
}

fn attribute_could_come(attribute: &Attribute, prior: &Value, config: &Value) -> bool {
    if matches!(attribute.ty(), Type::Set(_)) {
        return false;
    }
    match attribute.nested() {
        None => attribute.computed && config.is_null(),
        Some(nested) => {
            let inner = |prior: &Value, config: &Value| object_could_come(&nested.attributes, prior, config);
            match nested.nesting {
                ObjectNesting::Single => inner(prior, config),
                _ => elements_could_come(prior, config, inner),
            }
        }
    }
}

fn blocks_could_come(nested: &NestedBlock, prior: &Value, config: &Value) -> bool {
    if equal(prior, config) {
        return true;
    }
    let inner = |prior: &Value, config: &Value| could_come(&nested.block, prior, config);
    match nested.nesting {
        BlockNesting::Set => false,
        BlockNesting::Single | BlockNesting::Group => inner(prior, config),
        BlockNesting::List | BlockNesting::Map => {
            elements_could_come(&unwrap_blocks(nested, prior), &unwrap_blocks(nested, config), inner)
        }
    }
}

/// Every prior element has its partner; further elements of the configuration do not matter.
fn elements_could_come(prior: &Value, config: &Value, inner: impl Fn(&Value, &Value) -> bool) -> bool {
    match (prior, config) {
        (Value::List(prior), Value::List(config)) => {
            prior.len() <= config.len()
                && prior.iter().zip(config).all(|(prior, config)| inner(prior, config))
        }
        (Value::Map(prior), Value::Map(config)) => {
            prior.iter().all(|(key, prior)| config.get(key).is_some_and(|config| inner(prior, config)))
        }
        _ => false,
    }
}
