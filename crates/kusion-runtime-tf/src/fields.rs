//! Which fields an object of a type has: a reference to another one leads nowhere, whatever the provider makes.

use std::collections::BTreeMap;

use base_diag::nearest;
use kusion_model::{FieldPath, Segment};
use tf_schema::{Attribute, Block, BlockNesting, ObjectNesting};
use tf_value::Type;

/// What stands at a place, as far as the schema says it.
enum Part<'b> {
    Block(&'b Block),
    Attributes(&'b BTreeMap<String, Attribute>),
    Of(Type),
    /// A collection of such parts.
    Many(Box<Part<'b>>),
}

/// Says what is missing on the way to a field; `None` if the schema does not contradict it.
pub(crate) fn lacks(block: &Block, field: &FieldPath) -> Option<String> {
    let mut part = Part::Block(block);
    for (at, segment) in field.0.iter().enumerate() {
        let before = FieldPath(field.0[..at].to_vec());
        part = match step(part, segment) {
            Ok(Some(next)) => next,
            Ok(None) => return None,
            Err(near) => {
                let wrong = FieldPath(vec![segment.clone()]);
                let inside = if at == 0 { String::new() } else { format!(" in `{before}`") };
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                return Some(format!("has no `{wrong}`{inside}{near}"));
            }
        };
    }
    None
}

/// One step inside: what is there, nothing where the schema does not say, or the name that is nearest.
fn step<'b>(part: Part<'b>, segment: &Segment) -> Result<Option<Part<'b>>, Option<String>> {
    match (part, segment) {
        (Part::Block(block), Segment::Key(name)) => {
            if let Some(attribute) = block.attributes.get(name) {
                return Ok(Some(inside(attribute)));
            }
            match block.blocks.get(name) {
                Some(nested) => {
                    let part = Part::Block(&nested.block);
                    let single = matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group);
                    Ok(Some(if single { part } else { Part::Many(Box::new(part)) }))
                }
                None => Err(near(block.attributes.keys().chain(block.blocks.keys()), name)),
            }
        }
        (Part::Attributes(all), Segment::Key(name)) => match all.get(name) {
            Some(attribute) => Ok(Some(inside(attribute))),
            None => Err(near(all.keys(), name)),
        },
        (Part::Of(Type::Object(object)), Segment::Key(name)) => match object.attributes.get(name.as_str()) {
            Some(ty) => Ok(Some(Part::Of(ty.clone()))),
            None => Err(near(
                object.attributes.keys().map(|name| name.to_string()).collect::<Vec<_>>().iter(),
                name,
            )),
        },
        (Part::Of(Type::String | Type::Number | Type::Bool), _) => Err(None),
        (Part::Of(Type::List(of) | Type::Set(of)), Segment::Index(_)) => Ok(Some(Part::Of(Type::clone(&of)))),
        (Part::Of(Type::Map(of)), Segment::Key(_)) => Ok(Some(Part::Of(Type::clone(&of)))),
        (Part::Many(of), Segment::Index(_) | Segment::Key(_)) => Ok(Some(*of)),
        _ => Ok(None),
    }
}

fn inside(attribute: &Attribute) -> Part<'_> {
    let Some(nested) = attribute.nested() else { return Part::Of(attribute.ty()) };
    let part = Part::Attributes(&nested.attributes);
    if nested.nesting == ObjectNesting::Single { part } else { Part::Many(Box::new(part)) }
}

fn near<'n>(names: impl Iterator<Item = &'n String>, wrong: &str) -> Option<String> {
    nearest(names.map(String::as_str), wrong).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tf_schema::NestedBlock;

    #[test]
    fn a_field_that_no_object_has_is_told_with_the_nearest_one() {
        let plain = |ty| Attribute { computed: true, ..Attribute::plain(ty) };
        let inner =
            Block { attributes: [("name".to_owned(), plain(Type::String))].into(), ..Block::default() };
        let rule = NestedBlock { nesting: BlockNesting::List, block: inner, min_items: 0, max_items: 0 };
        let block = Block {
            attributes: [
                ("result".to_owned(), plain(Type::String)),
                ("tags".to_owned(), plain(Type::map(Type::String))),
                ("any".to_owned(), plain(Type::Dynamic)),
            ]
            .into(),
            blocks: [("rule".to_owned(), rule)].into(),
            ..Block::default()
        };
        let told = |path: &str| lacks(&block, &FieldPath::parse(path).unwrap());
        for there in ["result", "tags.x", "any.a.b", "rule[0].name"] {
            assert_eq!(told(there), None, "{there}");
        }
        assert_eq!(told("resullt").unwrap(), "has no `resullt`; did you mean `result`?");
        assert_eq!(told("rule[0].nam").unwrap(), "has no `nam` in `rule[0]`; did you mean `name`?");
        assert_eq!(told("result.x").unwrap(), "has no `x` in `result`");
    }
}
