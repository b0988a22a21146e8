//! Short ways to write schemas and values.

use tf_schema::{
    Attribute, AttributeKind, Block, BlockNesting, Loose, NestedBlock, NestedObject, ObjectNesting, Problem,
    configure,
};
use tf_value::json::Json;
use tf_value::{Type, Value};

/// `required`, `optional`, `computed`, `sensitive`, `write_only`, in one text.
pub(crate) fn flags(mut attribute: Attribute, flags: &str) -> Attribute {
    for flag in flags.split_whitespace() {
        match flag {
            "required" => attribute.required = true,
            "optional" => attribute.optional = true,
            "computed" => attribute.computed = true,
            "sensitive" => attribute.sensitive = true,
            "write_only" => attribute.write_only = true,
            "deprecated" => attribute.deprecated = true,
            other => panic!("{other}"),
        }
    }
    attribute
}

pub(crate) fn plain(ty: &str, with: &str) -> Attribute {
    let ty: Type = if ty.starts_with('[') { ty.parse() } else { format!("\"{ty}\"").parse() }.unwrap();
    flags(Attribute::plain(ty), with)
}

pub(crate) fn nested(nesting: ObjectNesting, with: &str, inner: Vec<(&str, Attribute)>) -> Attribute {
    let attributes = inner.into_iter().map(|(name, attribute)| (name.to_owned(), attribute)).collect();
    flags(Attribute::new(AttributeKind::Nested(NestedObject { nesting, attributes })), with)
}

pub(crate) fn block(attributes: Vec<(&str, Attribute)>, blocks: Vec<(&str, NestedBlock)>) -> Block {
    Block {
        attributes: attributes.into_iter().map(|(name, it)| (name.to_owned(), it)).collect(),
        blocks: blocks.into_iter().map(|(name, it)| (name.to_owned(), it)).collect(),
        ..Block::default()
    }
}

pub(crate) fn blocks(nesting: BlockNesting, block: Block) -> NestedBlock {
    NestedBlock { nesting, block, min_items: 0, max_items: 0 }
}

/// JSON as plain data; `"?"` is an unknown text, `"??"` a value about which nothing is known.
pub(crate) fn loose(text: &str) -> Loose {
    fn make(json: &Json) -> Loose {
        match json {
            Json::String(text) if text == "?" => Loose::typed(Type::String, Value::unknown()),
            Json::String(text) if text == "??" => Loose::unknown(),
            Json::Array(items) => Loose::List(items.iter().map(make).collect()),
            Json::Object(members) => {
                Loose::Map(members.iter().map(|(name, json)| (name.as_str().into(), make(json))).collect())
            }
            other => Loose::try_from(other).unwrap(),
        }
    }
    make(&Json::parse(text.as_bytes()).unwrap())
}

/// The object of a block, from JSON as above.
pub(crate) fn object(block: &Block, text: &str) -> Value {
    if text == "null" {
        return Value::Null;
    }
    configure(block, &loose(text)).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

pub(crate) fn places(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|problem| problem.path.to_string()).collect()
}
