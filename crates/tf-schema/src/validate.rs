//! The rules that every schema keeps; a provider that breaks them is refused.

use std::collections::BTreeMap;

use tf_value::{Path, Type};

use crate::compare::attribute_step;
use crate::{Attribute, AttributeKind, Block, BlockNesting, NestedBlock, ObjectNesting, Problem};

pub(crate) fn problems(block: &Block) -> Vec<Problem> {
    let mut found = Vec::new();
    check_block(block, &mut Path::default(), &mut found);
    found
}

fn check_block(block: &Block, path: &mut Path, found: &mut Vec<Problem>) {
    check_attributes(&block.attributes, path, found);
    for (name, nested) in &block.blocks {
        path.within(attribute_step(name), |path| {
            check_name(name, path, found);
            if block.attributes.contains_key(name) {
                found.push(Problem::at(path, "the name is that of an attribute and of a block"));
            }
            check_nested(nested, path, found);
        });
    }
}

fn check_nested(nested: &NestedBlock, path: &mut Path, found: &mut Vec<Problem>) {
    let NestedBlock { nesting, min_items: min, max_items: max, block } = nested;
    let counts_allowed = match nesting {
        BlockNesting::Single => min == max && *min <= 1,
        BlockNesting::Group | BlockNesting::Map => *min == 0 && *max == 0,
        BlockNesting::List | BlockNesting::Set => *max == 0 || min <= max,
    };
    if !counts_allowed {
        found.push(Problem::at(path, format!("{min} to {max} blocks are not possible with this nesting")));
    }
    if *nesting == BlockNesting::Set && block.implied_type().has_dynamic() {
        found.push(Problem::at(path, "a set of blocks has a dynamic type inside"));
    }
    check_block(block, path, found);
}

fn check_attributes(attributes: &BTreeMap<String, Attribute>, path: &mut Path, found: &mut Vec<Problem>) {
    for (name, attribute) in attributes {
        path.within(attribute_step(name), |path| {
            check_name(name, path, found);
            check_attribute(attribute, path, found);
        });
    }
}

fn check_name(name: &str, path: &Path, found: &mut Vec<Problem>) {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(allowed) {
        found.push(Problem::at(path, "a name has only lower case letters, digits and underscores"));
    }
}

fn check_attribute(attribute: &Attribute, path: &mut Path, found: &mut Vec<Problem>) {
    let Attribute { required, optional, computed, write_only, .. } = *attribute;
    match (required, optional, computed) {
        (true, false, false) | (false, true, _) | (false, false, true) => {}
        (false, false, false) => found.push(Problem::at(path, "neither required nor optional nor computed")),
        _ => found.push(Problem::at(path, "required together with optional or computed")),
    }
    if write_only && computed && !optional {
        found.push(Problem::at(path, "write-only and set by the provider alone"));
    }
    match &attribute.kind {
        AttributeKind::Plain(ty) => {
            if has_dynamic_set(&ty.0) {
                found.push(Problem::at(path, "a set has a dynamic type inside"));
            }
        }
        AttributeKind::Nested(nested) => {
            let inner = nested.element_type();
            if nested.nesting == ObjectNesting::Set && inner.has_dynamic() {
                found.push(Problem::at(path, "a set has a dynamic type inside"));
            }
            check_attributes(&nested.attributes, path, found);
        }
    }
}

fn has_dynamic_set(ty: &Type) -> bool {
    match ty {
        Type::Set(of) => of.has_dynamic(),
        Type::List(of) | Type::Map(of) => has_dynamic_set(of),
        Type::Tuple(of) => of.iter().any(has_dynamic_set),
        Type::Object(object) => object.attributes.values().any(has_dynamic_set),
        Type::String | Type::Number | Type::Bool | Type::Dynamic => false,
    }
}
