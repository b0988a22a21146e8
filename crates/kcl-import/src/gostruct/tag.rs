//! What stands beside a field: its tag (`json:"name,omitempty"`, `kcl:"name=n,type=t"`) and marks for tools in its comment.

use kcl_model::{Rule, Type, Value};

/// What a tag says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tag {
    pub(super) name: Option<String>,
    pub(super) ty: Option<String>,
    /// Nothing is printed for an empty value.
    pub(super) optional: bool,
    /// `json:"-"`.
    pub(super) ignored: bool,
}

impl Tag {
    pub(super) fn read(text: &str) -> Tag {
        let mut tag = Tag::default();
        if let Some(own) = value(text, "kcl") {
            for part in own.split(',') {
                match part.split_once('=') {
                    Some(("name", name)) => tag.name = Some(name.trim().to_owned()),
                    Some(("type", ty)) => tag.ty = Some(ty.trim().to_owned()),
                    _ => {}
                }
            }
        }
        let Some(told) = ["json", "yaml", "toml", "mapstructure"].iter().find_map(|key| value(text, key))
        else {
            return tag;
        };
        let mut parts = told.split(',');
        let name = parts.next().unwrap_or_default();
        // `json:"-,"` is a field that is called `-`.
        tag.ignored = told == "-";
        tag.optional = parts.any(|word| word == "omitempty" || word == "omitzero");
        if tag.name.is_none() && !name.is_empty() && !tag.ignored {
            tag.name = Some(name.to_owned());
        }
        tag
    }
}

/// The value of one key of a tag.
fn value<'t>(tag: &'t str, key: &str) -> Option<&'t str> {
    let mut rest = tag.trim_start();
    while let Some((name, after)) = rest.split_once(":\"") {
        let (value, more) = after.split_once('"')?;
        if name.trim() == key {
            return Some(value);
        }
        rest = more.trim_start();
    }
    None
}

/// What a mark in a comment says, as far as kubebuilder and Kubernetes agree on marks.
pub(super) enum Mark {
    Optional,
    Required,
    Default(Value),
    Literals(Vec<Value>),
    Rule(Rule),
}

impl Mark {
    /// Reads a mark without its `+`.
    pub(super) fn read(text: &str, ty: &Type) -> Option<Mark> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let value = value.trim();
        let plain = value.trim_matches(['"', '`']);
        let short = name.trim().trim_start_matches("kubebuilder:").trim_start_matches("validation:");
        let length = || plain.parse().ok();
        let number = || match (plain.parse::<i64>(), plain.parse::<f64>()) {
            (Ok(n), _) => Some(Value::Int(n)),
            (_, Ok(f)) if f.is_finite() => Some(Value::Float(f)),
            _ => None,
        };
        let is_number = matches!(ty, Type::Int | Type::Float);
        let has_length = matches!(ty, Type::Str | Type::List(_) | Type::Dict(..));
        match short {
            "optional" | "Optional" => Some(Mark::Optional),
            "required" | "Required" => Some(Mark::Required),
            "default" => constant(value, ty).map(Mark::Default),
            "Enum" => {
                let values = plain.split(';').map(|word| constant(word.trim_matches('"'), ty));
                values.collect::<Option<Vec<_>>>().map(Mark::Literals)
            }
            "Minimum" if is_number => Some(Mark::Rule(Rule::Min(number()?, false))),
            "Maximum" if is_number => Some(Mark::Rule(Rule::Max(number()?, false))),
            "MinLength" | "MinItems" | "MinProperties" if has_length => {
                length().filter(|n| *n > 0).map(|n| Mark::Rule(Rule::MinLen(n)))
            }
            "MaxLength" | "MaxItems" | "MaxProperties" if has_length => {
                length().map(|n| Mark::Rule(Rule::MaxLen(n)))
            }
            "UniqueItems" if matches!(ty, Type::List(_)) => Some(Mark::Rule(Rule::Unique)),
            "Pattern" if *ty == Type::Str => crate::rules::pattern(plain, &mut Vec::new()).map(Mark::Rule),
            _ => None,
        }
    }
}

/// A constant of a type, as a mark writes it.
fn constant(text: &str, ty: &Type) -> Option<Value> {
    match ty {
        Type::Str => Some(Value::Str(text.trim_matches('"').to_owned())),
        Type::Int => text.parse().ok().map(Value::Int),
        Type::Float => text.parse().ok().filter(|f: &f64| f.is_finite()).map(Value::Float),
        Type::Bool => text.parse().ok().map(Value::Bool),
        _ => None,
    }
}

/// A type in KCL's words; `known` gives the schema of a name.
pub(super) fn kcl_type(text: &str, known: &mut dyn FnMut(&str) -> Option<Type>) -> Option<Type> {
    /// Brackets in brackets.
    const MAX_LENGTH: usize = 200;
    let text = text.trim();
    if text.len() > MAX_LENGTH {
        return None;
    }
    let parts = split(text, '|');
    if parts.len() > 1 {
        let members: Option<Vec<Type>> = parts.into_iter().map(|part| kcl_type(part, known)).collect();
        return members.map(Type::union);
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let inner = if inner.trim().is_empty() { Some(Type::Any) } else { kcl_type(inner, known) };
        return inner.map(|inner| Type::List(inner.into()));
    }
    if let Some(inner) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let parts = split(inner, ':');
        let [key, value] = parts.as_slice() else { return None };
        return Some(Type::Dict(kcl_type(key, known)?.into(), kcl_type(value, known)?.into()));
    }
    match text {
        "str" => Some(Type::Str),
        "int" => Some(Type::Int),
        "float" => Some(Type::Float),
        "bool" => Some(Type::Bool),
        "any" => Some(Type::Any),
        name => known(name),
    }
}

/// Splits at a mark that stands in no brackets.
fn split(text: &str, mark: char) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            c if c == mark && depth == 0 => {
                parts.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read() {
        let tag = Tag::read(r#"yaml:"y" json:"image,omitempty" kcl:"type=str | [int]""#);
        assert_eq!(
            (tag.name.as_deref(), tag.optional, tag.ty.as_deref()),
            (Some("image"), true, Some("str | [int]"))
        );
        assert!(Tag::read(r#"json:"-""#).ignored && !Tag::read(r#"json:"-,""#).ignored);
        assert_eq!(Tag::read(r#"json:",omitempty""#).name, None);
        assert_eq!(Tag::read("nonsense"), Tag::default());
        let read = |text: &str| kcl_type(text, &mut |_| None);
        assert_eq!(
            read("{str:[int | str]}").map(|ty| ty.text(&|_| String::new())).as_deref(),
            Some("{str:[int | str]}")
        );
        assert_eq!((read("nonsense"), read("{a}"), read("[str")), (None, None, None));
    }
}
