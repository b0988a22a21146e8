//! The stored form: JSON that plans and state are written in, without loss.
//!
//! What JSON has is written as it is, a secret as `(secret)#<digest>`, a reference as its text (the step that holds it
//! lists its path). Everything else is a mapping with one key that begins with `$kusion:`; a text or a mapping that would
//! read back as something else is wrapped in the same way.

use std::fmt;
use std::sync::Arc;

use ecow::EcoString;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Attr, AttrMap, Number};
use crate::{Secret, is_seal};

const PREFIX: &str = "$kusion:";
const SET: &str = "$kusion:set";
const NUMBER: &str = "$kusion:number";
const UNKNOWN: &str = "$kusion:unknown";
const TEXT: &str = "$kusion:text";
const MAP: &str = "$kusion:map";

impl Serialize for Attr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Attr::Null => serializer.serialize_unit(),
            Attr::Bool(value) => serializer.serialize_bool(*value),
            Attr::Number(number) => match number.to_json() {
                Some(number) => number.serialize(serializer),
                None => wrapped(serializer, NUMBER, &number.to_digits()),
            },
            Attr::Text(text) if is_seal(text) => wrapped(serializer, TEXT, text.as_str()),
            Attr::Text(text) => serializer.serialize_str(text),
            Attr::List(items) => serializer.collect_seq(items.iter()),
            Attr::Map(map) if is_marked(map) => wrapped(serializer, MAP, &Plain(map)),
            Attr::Map(map) => Plain(map).serialize(serializer),
            Attr::Set(items) => wrapped(serializer, SET, &**items),
            Attr::Reference(template) => template.serialize(serializer),
            Attr::Unknown => wrapped(serializer, UNKNOWN, &true),
            Attr::Secret(secret) => serializer.collect_str(&secret.stored()),
        }
    }
}

/// A map as a map, whatever its keys look like.
struct Plain<'a>(&'a AttrMap);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, item)| (key.as_str(), item)))
    }
}

fn wrapped<S: Serializer, T: Serialize + ?Sized>(
    serializer: S,
    mark: &str,
    value: &T,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(mark, value)?;
    map.end()
}

/// A map that would read back as something else.
fn is_marked(map: &AttrMap) -> bool {
    is_mark(map.keys().next())
}

/// Whether a map with this first key is one of the forms that JSON lacks.
pub(super) fn is_mark(first: Option<&(impl AsRef<str> + ?Sized)>) -> bool {
    first.is_some_and(|key| key.as_ref().starts_with(PREFIX))
}

impl<'de> Deserialize<'de> for Attr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Attr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Attr, E> {
        Ok(Attr::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Attr, E> {
        Ok(Attr::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Attr, E> {
        Ok(Attr::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Attr, E> {
        Ok(Attr::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Attr, E> {
        Number::from_f64(value).map(Attr::Number).ok_or_else(|| E::custom("a number was expected"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Attr, E> {
        Ok(Secret::from_stored(text).map_or_else(|| Attr::Text(text.into()), Attr::Secret))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Attr, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Attr::list(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Attr, A::Error> {
        match access.next_key()? {
            None => Ok(Attr::map::<&str>([])),
            Some(Key(mark)) if mark.starts_with(PREFIX) => {
                let value = unwrap(&mark, &mut access)?;
                match access.next_key()? {
                    None => Ok(value),
                    Some(Key(next)) => Err(de::Error::custom(format!("`{mark}` has a neighbour `{next}`"))),
                }
            }
            first => rest(first, access).map(|map| Attr::Map(Arc::new(map))),
        }
    }
}

fn unwrap<'de, A: MapAccess<'de>>(mark: &str, access: &mut A) -> Result<Attr, A::Error> {
    match mark {
        SET => access.next_value().map(|items| Attr::Set(Arc::new(items))),
        NUMBER => {
            let Key(digits) = access.next_value()?;
            Number::parse(&digits).map(Attr::Number).map_err(de::Error::custom)
        }
        UNKNOWN => access.next_value().map(|_: bool| Attr::Unknown),
        TEXT => access.next_value().map(|Key(text)| Attr::Text(text)),
        MAP => access.next_value().map(|Unmarked(map)| Attr::Map(Arc::new(map))),
        _ => {
            Err(de::Error::custom(format!("`{mark}` is not understood; a newer engine may have written it")))
        }
    }
}

fn rest<'de, A: MapAccess<'de>>(mut next: Option<Key>, mut access: A) -> Result<AttrMap, A::Error> {
    let mut map = AttrMap::new();
    while let Some(Key(key)) = next {
        let value = access.next_value()?;
        map.insert(key, value);
        next = access.next_key()?;
    }
    Ok(map)
}

/// A map as a map, whatever its keys look like.
struct Unmarked(AttrMap);

impl<'de> Deserialize<'de> for Unmarked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapReader;
        impl<'de> Visitor<'de> for MapReader {
            type Value = Unmarked;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Unmarked, A::Error> {
                let first = access.next_key()?;
                rest(first, access).map(Unmarked)
            }
        }
        deserializer.deserialize_map(MapReader)
    }
}

/// A key, read without a detour.
struct Key(EcoString);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyReader;
        impl Visitor<'_> for KeyReader {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, text: &str) -> Result<Key, E> {
                Ok(Key(text.into()))
            }
        }
        deserializer.deserialize_str(KeyReader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DigestKey;
    use serde_json::json;

    fn written(tree: &Attr) -> String {
        serde_json::to_string(tree).unwrap()
    }

    #[test]
    fn every_tree_reads_back_as_itself() {
        let secret = Secret::new(&Attr::text("canary"), &DigestKey::new([3; 32]));
        let seal = secret.stored().to_string();
        let trees = [
            Attr::Null,
            Attr::Number(Number::parse("123456789012345678901234567890.5").unwrap()),
            Attr::Number(Number::from_f64(f64::INFINITY).unwrap()),
            Attr::set(vec![Attr::set(vec![]), 1.into(), Attr::Unknown]),
            Attr::map([("a", Attr::Unknown), ("b", Attr::text(seal.as_str())), ("c", Attr::Secret(secret))]),
            Attr::map([("$kusion:set", Attr::list(vec![]))]),
            Attr::map([("$kusion:map", Attr::map([("$kusion:text", Attr::text(seal))]))]),
            Attr::map([("$kusion:new", 1.into()), ("b", 2.into())]),
            Attr::from(json!({"z": [1, -1, 1.5, true, null, {}], "a": "$kusion_path.v1:A:b.c"})),
        ];
        for tree in trees {
            let text = written(&tree);
            assert!(!text.contains("canary"));
            assert_eq!(serde_json::from_str::<Attr>(&text).unwrap(), tree, "{text}");
        }
    }

    #[test]
    fn what_the_first_release_wrote_reads_as_it_was_meant() {
        let text = r#"{"data":{"pw":"(secret)#0123456789abcdef0123456789abcdef","n":"(secret)#short"},"replicas":3}"#;
        let tree: Attr = serde_json::from_str(text).unwrap();
        assert!(tree["data"]["pw"].is_secret() && tree["data"]["n"] == "(secret)#short");
        assert_eq!(written(&tree), text);
    }

    #[test]
    fn unknown_marks_are_refused() {
        for text in [r#"{"$kusion:later":1}"#, r#"{"$kusion:set":[],"b":1}"#, r#"{"$kusion:number":"x"}"#] {
            assert!(serde_json::from_str::<Attr>(text).is_err(), "{text}");
        }
    }
}
