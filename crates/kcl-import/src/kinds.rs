//! Kinds of values that a schema object speaks about: rules of one kind demand nothing of the others.

use base_yaml::Node;
use kcl_model::{Type, Value};

/// What values are to JSON Schema, as far as it has rules for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Number,
    Text,
    List,
    Object,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Number, Kind::Text, Kind::List, Kind::Object];

    /// The words that demand something of a kind.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Kind::Number => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
            Kind::Text => &["minLength", "maxLength", "pattern"],
            Kind::List => &[
                "minItems",
                "maxItems",
                "uniqueItems",
                "items",
                "prefixItems",
                "additionalItems",
                "contains",
                "minContains",
                "maxContains",
            ],
            Kind::Object => &[
                "minProperties",
                "maxProperties",
                "required",
                "properties",
                "patternProperties",
                "additionalProperties",
                "propertyNames",
                "dependentRequired",
                "dependentSchemas",
                "dependencies",
            ],
        }
    }

    pub(crate) fn is_spoken_of(self, node: &Node) -> bool {
        self.words().iter().any(|word| node.get(word).is_some())
    }

    /// The kind of a type that is one.
    pub(crate) fn of(ty: &Type) -> Option<Kind> {
        match ty {
            Type::Int | Type::Float | Type::Literal(Value::Int(_) | Value::Float(_)) => Some(Kind::Number),
            Type::Str | Type::Literal(Value::Str(_)) => Some(Kind::Text),
            Type::List(_) => Some(Kind::List),
            Type::Dict(..) | Type::Schema(_) => Some(Kind::Object),
            _ => None,
        }
    }

    /// What is known of a value that may be anything, if it is of this kind.
    fn alone(self) -> Type {
        match self {
            Kind::Number => Type::Float,
            Kind::Text => Type::Str,
            Kind::List => Type::List(Type::Any.into()),
            Kind::Object => Type::Dict(Type::Str.into(), Type::Any.into()),
        }
    }

    /// True for a value of another kind. Objects may be instances, which `typeof` calls by their own names.
    fn is_other(self, expression: &str) -> String {
        match self {
            Kind::Number => format!("typeof({expression}) not in [\"int\", \"float\"]"),
            Kind::Text => format!("typeof({expression}) != \"str\""),
            Kind::List => format!("typeof({expression}) != \"list\""),
            Kind::Object => {
                format!("typeof({expression}) in [\"str\", \"int\", \"float\", \"bool\", \"list\"]")
            }
        }
    }
}

/// A value as far as it is of a kind.
pub(crate) struct Seen {
    pub(crate) ty: Type,
    /// What is written for it where rules are stated.
    pub(crate) expression: String,
    /// What holds if it is of another kind.
    pub(crate) unless: Option<String>,
}

/// How the values of a type are seen as one kind; `declared` is the type that an expression has for the checker.
///
/// # Errors
/// The checker does not let rules of this kind be stated.
pub(crate) fn seen(kind: Kind, base: &Type, declared: &Type, expression: &str) -> Result<Option<Seen>, ()> {
    let unless = Some(kind.is_other(expression));
    let plain = |ty: Type, unless: Option<String>| Seen { ty, expression: expression.to_owned(), unless };
    if *base == Type::Any {
        return Ok(Some(plain(kind.alone(), unless)));
    }
    let members: Vec<&Type> = base.members().iter().filter(|ty| Kind::of(ty) == Some(kind)).collect();
    let Some(first) = members.first() else { return Ok(None) };
    let whole = members.len() == base.members().len();
    // What is declared as something wider is made what it is: an operator does not take alternatives.
    let as_one = *declared == Type::Any || whole && members.len() == 1 && declared == base;
    let unless = unless.filter(|_| !whole);
    let is_float = members.iter().any(|ty| **ty == Type::Float);
    let cast = |word: &str| format!("{word}({expression})");
    Ok(Some(match kind {
        _ if as_one && members.len() == 1 => plain((*first).clone(), unless),
        Kind::Number if is_float => Seen { ty: Type::Float, expression: cast("float"), unless },
        Kind::Number => Seen { ty: Type::Int, expression: cast("int"), unless },
        Kind::Text => Seen { ty: Type::Str, expression: cast("str"), unless },
        Kind::List | Kind::Object if as_one => plain(kind.alone(), unless),
        Kind::List | Kind::Object => return Err(()),
    }))
}
