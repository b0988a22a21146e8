//! References in a configuration: `${type.name.attribute}`, with steps into the attribute, alone or inside a text.

use tf_schema::Loose;
use tf_value::json::Json;
use tf_value::{Dynamic, Path, Step, Type, Value};

use super::ours::Changes;

/// A piece of a text.
enum Part<'t> {
    Text(&'t str),
    Ref(&'t str),
}

/// The pieces of a text; braces inside quotes do not occur in cases.
fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((before, (inner, after))) =
        rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        if !before.is_empty() {
            found.push(Part::Text(before));
        }
        found.push(Part::Ref(inner));
        rest = after;
    }
    if !rest.is_empty() {
        found.push(Part::Text(rest));
    }
    found
}

/// The address of a reference, and what follows it.
fn split(reference: &str) -> Option<(&str, &str)> {
    let n_parts = if reference.starts_with("data.") { 3 } else { 2 };
    let (end, _) = reference.match_indices('.').nth(n_parts - 1)?;
    Some((&reference[..end], &reference[end + 1..]))
}

/// Visits the address of everything that a body needs.
pub(super) fn each_reference(json: &Json, visit: &mut impl FnMut(&str)) {
    match json {
        Json::String(text) => {
            for part in parts(text) {
                if let Part::Ref(reference) = part
                    && let Some((address, _)) = split(reference)
                {
                    visit(address);
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| each_reference(item, visit)),
        Json::Object(members) => members.iter().for_each(|(name, json)| match name.as_str() {
            "depends_on" => {
                json.as_array().unwrap_or_default().iter().filter_map(Json::as_str).for_each(&mut *visit)
            }
            _ => each_reference(json, visit),
        }),
        _ => {}
    }
}

/// What a reference stands for: type, value, and whether it is sensitive.
fn looked_up(reference: &str, changes: &Changes) -> Result<(Type, Value, bool), String> {
    let (address, rest) = split(reference).ok_or("the reference names no attribute")?;
    let change = changes.get(address).ok_or("the reference leads nowhere")?;
    let (mut ty, mut value) = (change.of.ty().clone(), change.after.clone());
    let (mut at, mut sensitive) = (Path::default(), false);
    for word in rest.split(['.', '[']) {
        let word = word.trim_end_matches(']').trim_matches('"');
        if let Value::Dynamic(inner) = value {
            Dynamic { ty, value } = *inner;
        }
        let (step, next) = match (&ty, word.parse::<u64>()) {
            (Type::Object(object), _) => (
                if at.is_empty() { Step::Attribute(word.into()) } else { Step::Key(word.into()) },
                object.attributes.get(word).ok_or("there is no such attribute")?.clone(),
            ),
            (Type::Map(of), _) => (Step::Key(word.into()), Type::clone(of)),
            (Type::List(of), Ok(index)) => (Step::Index(index), Type::clone(of)),
            _ => return Err(format!("`{word}` is no step into {reference}")),
        };
        value = match (&value, &step) {
            (Value::Unknown(_), _) => Value::unknown(),
            (value, Step::Index(index)) => {
                let items = value.elements().unwrap_or_default();
                items.get(usize::try_from(*index).unwrap_or(usize::MAX)).cloned().ok_or("no such item")?
            }
            (value, _) => value.get(word).cloned().unwrap_or_default(),
        };
        at.push(step);
        sensitive |= change.sensitive.contains(&at);
        ty = next;
    }
    Ok((ty, value, sensitive))
}

/// A text with others inside; one that is not known makes the whole unknown.
fn joined(parts: &[Part<'_>], changes: &Changes) -> Result<(Loose, bool), String> {
    let (mut text, mut known, mut sensitive) = (String::new(), true, false);
    for part in parts {
        match part {
            Part::Text(plain) => text.push_str(plain),
            Part::Ref(reference) => {
                let (_, value, hidden) = looked_up(reference, changes)?;
                sensitive |= hidden;
                match value {
                    Value::String(inner) => text.push_str(&inner),
                    Value::Number(number) => text.push_str(&number.to_string()),
                    Value::Bool(bool) => text.push_str(&bool.to_string()),
                    Value::Unknown(_) => known = false,
                    _ => return Err(format!("`{reference}` is no text")),
                }
            }
        }
    }
    let whole = if known { Loose::String(text.into()) } else { Loose::typed(Type::String, Value::unknown()) };
    Ok((whole, sensitive))
}

/// The configuration with the planned values of other objects in it, and where sensitive ones went.
pub(super) fn loosen(
    json: &Json,
    changes: &Changes,
    path: &mut Path,
    marked: &mut Vec<Path>,
) -> Result<Loose, String> {
    Ok(match json {
        Json::String(text) => {
            let (value, sensitive) = match &parts(text)[..] {
                [Part::Ref(reference)] => {
                    let (ty, value, sensitive) = looked_up(reference, changes)?;
                    (Loose::typed(ty, value), sensitive)
                }
                parts if parts.iter().any(|part| matches!(part, Part::Ref(_))) => joined(parts, changes)?,
                _ => (Loose::String(text.as_str().into()), false),
            };
            if sensitive {
                marked.push(path.clone());
            }
            value
        }
        Json::Array(items) => {
            let mut out = Vec::new();
            for (at, item) in (0..).zip(items) {
                out.push(path.within(Step::Index(at), |path| loosen(item, changes, path, marked))?);
            }
            Loose::List(out)
        }
        Json::Object(members) => {
            let mut out = Vec::new();
            for (name, json) in members {
                let step = if path.is_empty() {
                    Step::Attribute(name.as_str().into())
                } else {
                    Step::Key(name.as_str().into())
                };
                out.push((
                    name.as_str().into(),
                    path.within(step, |path| loosen(json, changes, path, marked))?,
                ));
            }
            Loose::Map(out)
        }
        other => Loose::try_from(other).map_err(|error| error.to_string())?,
    })
}
