//! Between the engine's tree and a provider's values. Secrets are exposed here and nowhere before; on the way back what the
//! schema calls sensitive is sealed.

use std::collections::BTreeSet;

use kusion_model::{Attr, DigestKey, FieldPath, Number, Secret, Segment};
use kusion_runtime::{ErrorKind, RuntimeError};
use tf_schema::{Block, Loose, sensitive_paths};
use tf_value::{Path, Step, Value};

/// Where the configuration of its provider stands among the attributes of a resource, if there are references in it.
pub const PROVIDER: &str = "$provider";

/// The attributes of a resource, without what is for its provider.
pub(crate) fn loose_resource(attributes: &Attr) -> Result<Loose, RuntimeError> {
    let Some(map) = attributes.as_map() else { return to_loose(attributes) };
    let entries = map.iter().filter(|(name, _)| name.as_str() != PROVIDER);
    let entries = entries.map(|(name, value)| Ok((name.as_str().into(), to_loose(value)?)));
    Ok(Loose::Map(entries.collect::<Result<_, RuntimeError>>()?))
}

/// A tree of the engine as data without a type; what waits for others is unknown.
pub(crate) fn to_loose(attr: &Attr) -> Result<Loose, RuntimeError> {
    Ok(match attr {
        Attr::Null => Loose::Null,
        Attr::Bool(bool) => Loose::Bool(*bool),
        // The shortest digits of a float are what was written.
        Attr::Number(number) => match number.to_string().parse() {
            Ok(number) => Loose::Number(number),
            Err(error) => return Err(RuntimeError::new(ErrorKind::Invalid, format!("a number: {error}"))),
        },
        Attr::Text(text) => Loose::String(text.as_str().into()),
        Attr::List(items) | Attr::Set(items) => {
            Loose::List(items.iter().map(to_loose).collect::<Result<_, _>>()?)
        }
        Attr::Map(map) => {
            let entries = map.iter().map(|(name, value)| Ok((name.as_str().into(), to_loose(value)?)));
            Loose::Map(entries.collect::<Result<_, RuntimeError>>()?)
        }
        Attr::Reference(_) | Attr::Unknown => Loose::unknown(),
        Attr::Secret(secret) => match secret.expose() {
            Some(value) => to_loose(&Attr::from(value))?,
            // What was handed over once is in no object to compare with.
            None if secret.is_passing() => Loose::Null,
            None => {
                let text = "the value of a secret is known by its digest only; take it from where it comes from again";
                return Err(RuntimeError::new(ErrorKind::UnknownSecret, text));
            }
        },
    })
}

/// A value as a tree of the engine, with nothing sealed.
pub(crate) fn to_attr(value: &Value) -> Attr {
    match value {
        Value::Null => Attr::Null,
        Value::Unknown(_) => Attr::Unknown,
        Value::Bool(bool) => Attr::Bool(*bool),
        Value::Number(number) => match number.as_i64() {
            Some(int) => int.into(),
            None => fraction(&number.to_string()),
        },
        Value::String(text) => Attr::text(&**text),
        Value::List(items) => Attr::list(items.iter().map(to_attr).collect()),
        Value::Set(items) => Attr::set(items.iter().map(to_attr).collect()),
        Value::Map(entries) => Attr::map(entries.iter().map(|(name, value)| (&**name, to_attr(value)))),
        Value::Dynamic(dynamic) => to_attr(&dynamic.value),
    }
}

/// Digits that are the shortest ones of a float are that float, as in a file where they were written; others stay exact.
fn fraction(digits: &str) -> Attr {
    let number = match digits {
        "+Inf" => Number::parse("Infinity"),
        "-Inf" => Number::parse("-Infinity"),
        digits => match digits.parse::<f64>() {
            Ok(float) if digits.contains('.') && float.to_string() == digits => {
                return Attr::from(&serde_json::json!(float));
            }
            _ => Number::parse(digits),
        },
    };
    number.map_or(Attr::Null, Attr::Number)
}

/// A value as a tree, with what the schema calls sensitive sealed.
pub(crate) fn sealed(block: &Block, value: &Value, key: &DigestKey) -> Attr {
    let mut tree = to_attr(value);
    for path in sensitive_paths(block, value) {
        if let Some(place) = field_path(&path).get_mut(&mut tree) {
            seal(place, key);
        }
    }
    tree
}

/// The digests of the secrets in a tree.
pub(crate) fn secrets_of(attr: &Attr, key: &DigestKey) -> BTreeSet<String> {
    match attr {
        // One that is handed over has no digest of its own, and the provider may show it all the same.
        Attr::Secret(secret) => match secret.expose().filter(|_| secret.is_passing()) {
            Some(value) => BTreeSet::from([Secret::new(&Attr::from(value), key).stored().to_string()]),
            None => BTreeSet::from([secret.stored().to_string()]),
        },
        Attr::Map(map) => map.values().flat_map(|item| secrets_of(item, key)).collect(),
        Attr::List(items) | Attr::Set(items) => items.iter().flat_map(|item| secrets_of(item, key)).collect(),
        _ => BTreeSet::new(),
    }
}

/// Seals what came in as a secret, wherever the provider has put it.
pub(crate) fn seal_known(tree: &mut Attr, secrets: &BTreeSet<String>, key: &DigestKey) {
    if secrets.is_empty() {
        return;
    }
    match tree {
        Attr::Null | Attr::Unknown | Attr::Reference(_) | Attr::Secret(_) => {}
        Attr::Map(map) => {
            std::sync::Arc::make_mut(map).values_mut().for_each(|item| seal_known(item, secrets, key));
        }
        Attr::List(items) | Attr::Set(items) => {
            std::sync::Arc::make_mut(items).iter_mut().for_each(|item| seal_known(item, secrets, key));
        }
        leaf => {
            // Only what is a secret becomes one: the redactor learns whatever is sealed.
            if secrets.contains(&Secret::stored_form(leaf, key)) {
                *leaf = Attr::Secret(Secret::new(leaf, key));
            }
        }
    }
}

/// What is not known yet and what is not there have nothing to hide.
pub(crate) fn seal(place: &mut Attr, key: &DigestKey) {
    match place {
        Attr::Null | Attr::Unknown | Attr::Reference(_) | Attr::Secret(_) => {}
        Attr::Map(map) => std::sync::Arc::make_mut(map).values_mut().for_each(|item| seal(item, key)),
        Attr::List(items) | Attr::Set(items) => {
            std::sync::Arc::make_mut(items).iter_mut().for_each(|item| seal(item, key));
        }
        leaf => *leaf = Attr::Secret(Secret::new(leaf, key)),
    }
}

/// A provider's path as one of the engine.
pub(crate) fn field_path(path: &Path) -> FieldPath {
    let step = |step: &Step| match step {
        Step::Attribute(name) | Step::Key(name) => Segment::Key(name.to_string()),
        Step::Index(index) => Segment::Index(usize::try_from(*index).unwrap_or(usize::MAX)),
    };
    FieldPath(path.steps().iter().map(step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tf_schema::{Attribute, configure};
    use tf_value::Type;

    const KEY: DigestKey = DigestKey::new([1; 32]);

    fn block() -> Block {
        let optional = |ty| Attribute { optional: true, ..Attribute::plain(ty) };
        let secret = Attribute { sensitive: true, ..optional(Type::String) };
        let attributes = [
            ("n", optional(Type::Number)),
            ("tags", optional(Type::set(Type::String))),
            ("any", optional(Type::Dynamic)),
            ("pw", secret),
        ];
        Block { attributes: attributes.map(|(name, one)| (name.to_owned(), one)).into(), ..Block::default() }
    }

    #[test]
    fn trees_become_values_and_come_back() {
        let attr = Attr::read(
            json!({"n": 1.5, "tags": ["b", "a"], "any": {"k": [1, true]}, "pw": "canary"}),
            &mut Vec::new(),
        );
        let value = configure(&block(), &loose_resource(&attr).unwrap()).unwrap();
        let back = sealed(&block(), &value, &KEY);
        assert_eq!(back["n"], json!(1.5));
        assert_eq!(back["tags"], Attr::set(vec!["a".into(), "b".into()]));
        assert_eq!(back["any"], json!({"k": [1, true]}));
        assert!(back["pw"].is_secret() && !back.to_string().contains("canary"));
        let again = configure(&block(), &loose_resource(&back).unwrap()).unwrap();
        assert_eq!(again, value, "secrets are exposed on the way in");
    }

    #[test]
    fn what_is_not_known_stays_so_and_a_digest_is_no_value() {
        let attr = Attr::map([("n", Attr::Unknown), (PROVIDER, Attr::text("x"))]);
        let value = configure(&block(), &loose_resource(&attr).unwrap()).unwrap();
        assert!(value.get("n").unwrap().is_unknown());
        assert_eq!(sealed(&block(), &value, &KEY)["n"], Attr::Unknown);
        let digest = Attr::Secret(Secret::known_by("0123456789abcdef0123456789abcdef").unwrap());
        let error = loose_resource(&Attr::map([("pw", digest)])).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnknownSecret);
    }
}
