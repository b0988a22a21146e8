//! From an object back to a configuration that asks for it.

use std::collections::BTreeMap;

use tf_value::{Map, Path, Step, Type, Value};

use crate::compare::attribute_step;
use crate::{Attribute, AttributeKind, Block, BlockNesting, NestedBlock, ObjectNesting};

/// What stands for the value of a sensitive argument that must be written.
pub const KEPT: &str = "(kept)";

/// A configuration that was read off an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovered {
    /// Only what can be written, and is set. Sets are lists here.
    pub written: Value,
    /// Places whose values are sensitive and so are not written: changes there are to be ignored.
    pub kept: Vec<Path>,
    /// Places in `written` at which a sensitive value stands: something else has to stand there before anybody reads it.
    pub given: Vec<Path>,
}

/// What becomes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hiding {
    /// Everybody may read it.
    Open,
    /// It is not written, and stays as it is.
    Kept,
    /// It is written, and the caller puts something else there.
    Given,
}

/// What the caller knows about an object that the schema does not say.
pub struct Wishes<'w> {
    /// Whether an argument is written that the provider may choose itself (optional and computed).
    pub chosen: &'w dyn Fn(&Path) -> bool,
    /// What becomes of a value, asked with whether the schema calls it sensitive: of such arguments as a whole, of others by
    /// their leaves. A sensitive one is never open.
    pub hiding: &'w dyn Fn(&Path, &Value, bool) -> Hiding,
}

/// Reads a configuration off an object.
#[must_use]
pub fn recover(block: &Block, value: &Value, wishes: &Wishes<'_>) -> Recovered {
    let mut walk = Walk { wishes, kept: Vec::new(), given: Vec::new() };
    let written = walk.block(block, value, &mut Path::default());
    walk.kept.sort();
    walk.kept.dedup();
    Recovered { written: Value::Map(written), kept: walk.kept, given: walk.given }
}

struct Walk<'w> {
    wishes: &'w Wishes<'w>,
    kept: Vec<Path>,
    given: Vec<Path>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, value: &Value, path: &mut Path) -> Map {
        let mut out = self.attributes(&block.attributes, value, path);
        for (name, nested) in &block.blocks {
            let Some(blocks) = value.get(name) else { continue };
            let found = path.within(attribute_step(name), |path| self.blocks(nested, blocks, path));
            out.extend(found.map(|found| (name.as_str().into(), found)));
        }
        out
    }

    fn blocks(&mut self, nested: &NestedBlock, value: &Value, path: &mut Path) -> Option<Value> {
        let single = matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group);
        let found = self.each(value, single, path, &mut |walk, value, path| {
            Value::Map(walk.block(&nested.block, value, path))
        })?;
        // A group is always there; one in which nothing is set says nothing.
        let says_nothing = single && found.as_map().is_some_and(Map::is_empty);
        (!(says_nothing && nested.nesting == BlockNesting::Group)).then_some(found)
    }

    fn attributes(&mut self, all: &BTreeMap<String, Attribute>, value: &Value, path: &mut Path) -> Map {
        let mut out = Map::new();
        for (name, attribute) in all {
            let Some(value) = value.get(name).filter(|value| !value.is_null()) else { continue };
            let found = path.within(attribute_step(name), |path| self.attribute(attribute, value, path));
            out.extend(found.map(|found| (name.as_str().into(), found)));
        }
        out
    }

    fn attribute(&mut self, attribute: &Attribute, value: &Value, path: &mut Path) -> Option<Value> {
        if attribute.write_only || !(attribute.required || attribute.optional) {
            return None;
        }
        if attribute.sensitive {
            return match (self.wishes.hiding)(path, value, true) {
                Hiding::Given => {
                    self.given.push(path.clone());
                    Some(listed(value))
                }
                _ => self.keep(attribute, path),
            };
        }
        if attribute.computed && !(self.wishes.chosen)(path) {
            return None;
        }
        match &attribute.kind {
            AttributeKind::Plain(_) => self.plain(attribute, value, path),
            AttributeKind::Nested(nested) => {
                let single = nested.nesting == ObjectNesting::Single;
                self.each(value, single, path, &mut |walk, value, path| {
                    Value::Map(walk.attributes(&nested.attributes, value, path))
                })
            }
        }
    }

    /// Leaves an argument out; one that must be there gets something of its type.
    fn keep(&mut self, attribute: &Attribute, path: &Path) -> Option<Value> {
        self.kept.push(path.clone());
        if attribute.required { stand_in(attribute) } else { None }
    }

    /// An argument that the schema says nothing about may hold something that nobody may read all the same.
    fn plain(&mut self, attribute: &Attribute, value: &Value, path: &mut Path) -> Option<Value> {
        let mut hidden = Vec::new();
        self.hidden_in(value, path, &mut hidden);
        let keeps = |hidden: &[(Path, Hiding)]| hidden.iter().any(|(_, hiding)| *hiding == Hiding::Kept);
        if !keeps(&hidden) {
            self.given.extend(hidden.into_iter().map(|(path, _)| path));
            return Some(listed(value));
        }
        let (Type::Map(_), Value::Map(entries)) = (attribute.ty(), value.plain()) else {
            return self.keep(attribute, path);
        };
        // An entry of a map has a place of its own.
        let mut out = Map::new();
        for (key, item) in entries {
            let place = path.clone().key(key.clone());
            let inside = hidden.iter().filter(|(at, _)| at.starts_with(&place)).cloned().collect::<Vec<_>>();
            if keeps(&inside) {
                self.kept.push(place);
            } else {
                self.given.extend(inside.into_iter().map(|(path, _)| path));
                out.insert(key.clone(), listed(item));
            }
        }
        (!out.is_empty() || attribute.required).then_some(Value::Map(out))
    }

    fn hidden_in(&self, value: &Value, path: &mut Path, found: &mut Vec<(Path, Hiding)>) {
        match value.plain() {
            Value::Map(entries) => {
                for (key, item) in entries {
                    path.within(Step::Key(key.clone()), |path| self.hidden_in(item, path, found));
                }
            }
            Value::Null => {}
            plain => match plain.elements() {
                Some(items) => {
                    for (at, item) in items.iter().enumerate() {
                        path.within(Step::Index(at as u64), |path| self.hidden_in(item, path, found));
                    }
                }
                None => match (self.wishes.hiding)(path, plain, false) {
                    Hiding::Open => {}
                    hiding => found.push((path.clone(), hiding)),
                },
            },
        }
    }

    /// Goes into each object of a collection; nothing for one that is empty.
    fn each(
        &mut self,
        value: &Value,
        single: bool,
        path: &mut Path,
        inner: &mut dyn FnMut(&mut Self, &Value, &mut Path) -> Value,
    ) -> Option<Value> {
        match value.plain() {
            Value::Null => None,
            one if single => Some(inner(self, one, path)),
            Value::List(items) if !items.is_empty() => {
                let mut out = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    out.push(path.within(Step::Index(at as u64), |path| inner(self, item, path)));
                }
                Some(Value::List(out))
            }
            Value::Set(items) if !items.is_empty() => {
                let (kept, given) = (self.kept.len(), self.given.len());
                let mut out = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    out.push(path.within(Step::Index(at as u64), |path| inner(self, item, path)));
                }
                if self.kept.len() == kept {
                    return Some(Value::List(out));
                }
                // An element of a set has no place of its own: all of it is kept.
                self.kept.truncate(kept);
                self.given.truncate(given);
                self.kept.push(path.clone());
                None
            }
            Value::Map(entries) if !entries.is_empty() => {
                let mut out = Map::new();
                for (key, item) in entries {
                    let found = path.within(Step::Key(key.clone()), |path| inner(self, item, path));
                    out.insert(key.clone(), found);
                }
                Some(Value::Map(out))
            }
            _ => None,
        }
    }
}

/// Something of the right type for an argument that must be there.
fn stand_in(attribute: &Attribute) -> Option<Value> {
    match attribute.ty() {
        Type::String | Type::Dynamic => Some(KEPT.into()),
        Type::Number => Some(0.into()),
        Type::Bool => Some(Value::Bool(false)),
        Type::List(_) | Type::Set(_) | Type::Tuple(_) => Some(Value::List(Vec::new())),
        Type::Map(_) => Some(Value::Map(Map::new())),
        Type::Object(_) => None,
    }
}

/// The same value with lists for sets: a configuration has no sets.
fn listed(value: &Value) -> Value {
    match value.plain() {
        Value::List(items) => Value::List(items.iter().map(listed).collect()),
        Value::Set(items) => Value::List(items.iter().map(listed).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, item)| (key.clone(), listed(item))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NestedObject;

    fn attribute(ty: Type, flags: &str) -> Attribute {
        Attribute {
            required: flags.contains('r'),
            optional: flags.contains('o'),
            computed: flags.contains('c'),
            sensitive: flags.contains('s'),
            write_only: flags.contains('w'),
            ..Attribute::plain(ty)
        }
    }

    fn block(attributes: &[(&str, Attribute)]) -> Block {
        let attributes = attributes.iter().map(|(name, one)| ((*name).to_owned(), one.clone())).collect();
        Block { attributes, ..Block::default() }
    }

    /// With what the schema says alone.
    fn by_schema(block: &Block, value: &Value, chosen: bool) -> Recovered {
        let hiding = |_: &Path, _: &Value, sensitive| if sensitive { Hiding::Kept } else { Hiding::Open };
        recover(block, value, &Wishes { chosen: &|_| chosen, hiding: &hiding })
    }

    #[test]
    fn only_what_can_be_written_is() {
        let block = block(&[
            ("name", attribute(Type::String, "r")),
            ("size", attribute(Type::Number, "o")),
            ("zone", attribute(Type::String, "oc")),
            ("id", attribute(Type::String, "c")),
            ("note", attribute(Type::String, "o")),
            ("token", attribute(Type::String, "ow")),
        ]);
        let value = Value::map([
            ("name", Value::from("db")),
            ("size", 3.into()),
            ("zone", "a".into()),
            ("id", "i-1".into()),
            ("note", Value::Null),
            ("token", Value::Null),
        ]);
        let few = by_schema(&block, &value, false);
        assert_eq!(few.written, Value::map([("name", Value::from("db")), ("size", 3.into())]));
        let all = by_schema(&block, &value, true);
        assert_eq!(all.written.get("zone"), Some(&Value::from("a")));
        assert_eq!(all.written.get("id"), None);
    }

    #[test]
    fn sensitive_values_are_kept_and_never_written() {
        let secrets = block(&[
            ("password", attribute(Type::String, "rs")),
            ("key", attribute(Type::String, "os")),
            ("made", attribute(Type::String, "cs")),
        ]);
        let value = Value::map([
            ("password", Value::from("canary")),
            ("key", "canary".into()),
            ("made", "canary".into()),
        ]);
        let recovered = by_schema(&secrets, &value, true);
        assert_eq!(recovered.written, Value::map([("password", Value::from(KEPT))]));
        let places: Vec<String> = recovered.kept.iter().map(ToString::to_string).collect();
        assert_eq!(places, ["key", "password"]);
        let nested = NestedObject { nesting: ObjectNesting::Set, attributes: secrets.attributes.clone() };
        let users = Value::set([value], &nested.element_type()).unwrap();
        let attribute = Attribute { optional: true, ..Attribute::new(AttributeKind::Nested(nested)) };
        let of = block(&[("users", attribute)]);
        let recovered = by_schema(&of, &Value::map([("users", users)]), true);
        assert_eq!(recovered.written, Value::Map(Map::new()));
        assert_eq!(recovered.kept[0].to_string(), "users");
    }

    #[test]
    fn what_others_call_sensitive_is_hidden_by_its_leaves() {
        let of = block(&[
            ("keepers", attribute(Type::map(Type::String), "o")),
            ("tags", attribute(Type::list(Type::String), "o")),
            ("any", attribute(Type::Dynamic, "o")),
            ("name", attribute(Type::String, "r")),
            ("from", attribute(Type::String, "rs")),
        ]);
        let value = Value::map([
            ("keepers", Value::map([("k", Value::from("canary")), ("open", "o".into())])),
            ("tags", Value::List(vec!["a".into(), "canary".into()])),
            ("any", Value::map([("s", Value::from("canary"))])),
            ("name", "canary".into()),
            ("from", "elsewhere".into()),
        ]);
        let hiding = |_: &Path, value: &Value, _| match value.as_str() {
            Some("canary") => Hiding::Kept,
            Some("elsewhere") => Hiding::Given,
            _ => Hiding::Open,
        };
        let recovered = recover(&of, &value, &Wishes { chosen: &|_| true, hiding: &hiding });
        let keepers = Value::map([("open", Value::from("o"))]);
        let written = [("keepers", keepers), ("name", KEPT.into()), ("from", "elsewhere".into())];
        assert_eq!(recovered.written, Value::map(written));
        let shown = |paths: &[Path]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown(&recovered.kept), ["any", "keepers[\"k\"]", "name", "tags"]);
        assert_eq!(shown(&recovered.given), ["from"]);
    }
}
