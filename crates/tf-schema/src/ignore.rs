//! Changes that the user wants ignored: the configuration takes the prior values there.

use tf_value::{Map, Path, Step, Type, Value};

use crate::compare::{NULL, lookup};
use crate::decide::attribute_at;
use crate::{Block, Problem, Schema};

/// Which changes are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignore {
    /// All of them.
    All,
    /// Those at these places and inside.
    Paths(Vec<Path>),
}

/// The configuration to plan with. Validation still sees the original one.
pub fn ignore_changes(
    schema: &Schema,
    prior: &Value,
    config: &Value,
    ignore: &Ignore,
) -> Result<Value, Problem> {
    if prior.is_null() || config.is_null() {
        return Ok(config.clone());
    }
    match ignore {
        Ignore::All => Ok(without_computed(&schema.block, prior, &mut Path::default())),
        Ignore::Paths(paths) => {
            let mut config = config.clone();
            for path in paths {
                if config != *prior {
                    config = ignore_one(schema.ty(), prior, config, path)?;
                }
            }
            Ok(config)
        }
    }
}

/// The prior object as a configuration: what only the provider sets is not in it.
fn without_computed(block: &Block, value: &Value, path: &mut Path) -> Value {
    if !path.is_empty() && attribute_at(block, path).is_some_and(crate::Attribute::computed_only) {
        return Value::Null;
    }
    match value {
        Value::Map(entries) => {
            let inner = |(name, value): (&std::sync::Arc<str>, &Value)| {
                // Keys of maps have no attribute of their own, so both kinds of steps end at the same one.
                let step = Step::Attribute(name.clone());
                (name.clone(), path.within(step, |path| without_computed(block, value, path)))
            };
            Value::Map(entries.iter().map(inner).collect())
        }
        Value::List(items) => {
            Value::List(items.iter().map(|item| without_computed(block, item, path)).collect())
        }
        other => other.clone(),
    }
}

fn ignore_one(ty: &Type, prior: &Value, config: Value, path: &Path) -> Result<Value, Problem> {
    let Some((last, outer)) = path.steps().split_last() else { return Ok(prior.clone()) };
    let outer: Path = outer.iter().cloned().collect();
    let outer_type = type_at(ty, &outer);
    if let (Some(Type::Map(_)), Step::Key(key) | Step::Attribute(key)) = (outer_type, last) {
        let prior = lookup(prior, &outer).unwrap_or(&NULL);
        return Ok(replace(config, outer.steps(), &|here| ignore_key(here, prior, key)));
    }
    if type_at(ty, path).is_none() && outer_type.is_some_and(|ty| !matches!(ty, Type::Dynamic)) {
        return Err(Problem::at(path, "is to be ignored, but there is no such attribute"));
    }
    let Some(prior) = lookup(prior, path) else { return Ok(config) };
    Ok(replace(config, path.steps(), &|_| prior.clone()))
}

/// Takes one key of a map from the prior map: also its absence.
fn ignore_key(config: &Value, prior: &Value, key: &str) -> Value {
    if config.is_unknown() {
        return config.clone();
    }
    let was_null = config.is_null();
    let mut entries: Map = config.as_map().cloned().unwrap_or_default();
    match prior.get(key) {
        Some(value) => drop(entries.insert(key.into(), value.clone())),
        None => drop(entries.remove(key)),
    }
    if was_null && entries.is_empty() { Value::Null } else { Value::Map(entries) }
}

/// Replaces the part at a place that exists.
fn replace(value: Value, steps: &[Step], with: &dyn Fn(&Value) -> Value) -> Value {
    let Some((step, rest)) = steps.split_first() else { return with(&value) };
    match (value, step) {
        (Value::Map(mut entries), Step::Attribute(name) | Step::Key(name)) => {
            if let Some(inner) = entries.get_mut(name) {
                *inner = replace(std::mem::take(inner), rest, with);
            }
            Value::Map(entries)
        }
        (Value::List(mut items), Step::Index(at)) => {
            if let Some(inner) = usize::try_from(*at).ok().and_then(|at| items.get_mut(at)) {
                *inner = replace(std::mem::take(inner), rest, with);
            }
            Value::List(items)
        }
        (Value::Dynamic(dynamic), _) => {
            let tf_value::Dynamic { ty, value } = *dynamic;
            replace(value, steps, with).dynamic(ty)
        }
        (other, _) => other,
    }
}

fn type_at<'t>(ty: &'t Type, path: &Path) -> Option<&'t Type> {
    path.steps().iter().try_fold(ty, |ty, step| match (ty, step) {
        (Type::Object(object), Step::Attribute(name) | Step::Key(name)) => object.attributes.get(name),
        (Type::Map(of), Step::Attribute(_) | Step::Key(_)) | (Type::List(of), Step::Index(_)) => Some(&**of),
        (Type::Tuple(of), Step::Index(at)) => of.get(usize::try_from(*at).ok()?),
        (Type::Dynamic, _) => Some(ty),
        _ => None,
    })
}
