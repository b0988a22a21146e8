//! What is there when nothing is: the empty value of a block, and blocks that a provider left null.

use tf_value::{Map, Type, Value};

use crate::compare::{unwrap_blocks, wrap_blocks};
use crate::{Block, BlockNesting, NestedBlock};

/// The object of a block in which nothing is set: attributes null, blocks empty.
#[must_use]
pub fn empty_value(block: &Block) -> Value {
    let attributes = block.attributes.keys().map(|name| (name.as_str().into(), Value::Null));
    let blocks = block.blocks.iter().map(|(name, nested)| (name.as_str().into(), absent(nested)));
    Value::Map(attributes.chain(blocks).collect())
}

/// The value of blocks of which there are none.
pub(crate) fn absent(nested: &NestedBlock) -> Value {
    match nested.nesting {
        BlockNesting::Single => Value::Null,
        BlockNesting::Group => empty_value(&nested.block),
        BlockNesting::List => wrap_blocks(nested, Value::List(Vec::new())),
        // No elements: nothing is sorted, so nothing can fail.
        BlockNesting::Set => Value::set([], &Type::Dynamic).unwrap_or_default(),
        BlockNesting::Map => wrap_blocks(nested, Value::Map(Map::new())),
    }
}

/// Makes blocks that are null empty: some providers answer that, and no check allows it.
#[must_use]
pub fn fill_blocks(block: &Block, value: &Value) -> Value {
    let Value::Map(entries) = value else { return value.clone() };
    if block.blocks.is_empty() {
        return value.clone();
    }
    let mut entries = entries.clone();
    for (name, nested) in &block.blocks {
        if let Some(blocks) = entries.get_mut(name.as_str()) {
            *blocks = fill(nested, blocks);
        }
    }
    Value::Map(entries)
}

fn fill(nested: &NestedBlock, blocks: &Value) -> Value {
    if blocks.is_null() {
        return absent(nested);
    }
    if blocks.is_unknown() || nested.block.blocks.is_empty() {
        return blocks.clone();
    }
    let inner = |value: &Value| fill_blocks(&nested.block, value);
    let filled = match &*unwrap_blocks(nested, blocks) {
        Value::List(items) => Value::List(items.iter().map(inner).collect()),
        Value::Set(items) => {
            let of = nested.block.implied_type();
            Value::set(items.iter().map(inner), &of).unwrap_or_else(|_| blocks.clone())
        }
        Value::Map(entries) if nested.nesting == BlockNesting::Map => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), inner(value))).collect())
        }
        one => inner(one),
    };
    wrap_blocks(nested, filled)
}
