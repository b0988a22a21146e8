//! What a check demands of one attribute, where other formats can say that, too.

use crate::quote::quote;
use crate::value::Value;

/// A rule about one attribute.
#[derive(Clone, PartialEq, Debug)]
pub struct Constraint {
    /// The attribute, or what is in it.
    pub subject: Subject,
    /// When it holds.
    pub when: When,
    /// What it demands.
    pub rule: Rule,
}

/// What a rule is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// An attribute.
    Attribute(String),
    /// What one variable of `all x in attribute` means: the elements of a list, the keys of a dict.
    Each(String),
    /// What the second of two variables means: the elements of a list, the values of a dict.
    EachValue(String),
}

impl Subject {
    /// Returns the attribute.
    pub fn attribute(&self) -> &str {
        match self {
            Subject::Attribute(name) | Subject::Each(name) | Subject::EachValue(name) => name,
        }
    }
}

/// When a rule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Always: without a value the check fails.
    Always,
    /// If it has a value.
    Set,
    /// If its value is true: not empty, not zero.
    Truthy,
}

/// What is demanded.
#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    /// `x >= n`, or `x > n` if exclusive.
    Min(Value, bool),
    /// `x <= n`, or `x < n` if exclusive.
    Max(Value, bool),
    /// `len(x) >= n`.
    MinLen(u64),
    /// `len(x) <= n`.
    MaxLen(u64),
    /// `regex.match(x, p)`.
    Pattern(String),
    /// `x in [..]`.
    OneOf(Vec<Value>),
    /// `x not in [..]`.
    NoneOf(Vec<Value>),
    /// `multiplyof(x, n)`.
    MultipleOf(i64),
    /// `isunique(x)`.
    Unique,
}

impl Rule {
    /// Returns the condition as KCL writes it, about the expression `x`.
    pub fn condition(&self, x: &str) -> String {
        match self {
            Rule::Min(n, exclusive) => {
                format!("{x} {} {}", if *exclusive { ">" } else { ">=" }, n.to_kcl())
            }
            Rule::Max(n, exclusive) => {
                format!("{x} {} {}", if *exclusive { "<" } else { "<=" }, n.to_kcl())
            }
            Rule::MinLen(n) => format!("len({x}) >= {n}"),
            Rule::MaxLen(n) => format!("len({x}) <= {n}"),
            Rule::Pattern(pattern) => format!("regex.match({x}, {})", raw_quote(pattern)),
            Rule::OneOf(values) => format!("{x} in {}", Value::List(values.clone()).to_kcl()),
            Rule::NoneOf(values) => format!("{x} not in {}", Value::List(values.clone()).to_kcl()),
            Rule::MultipleOf(n) => format!("multiplyof({x}, {n})"),
            Rule::Unique => format!("isunique({x})"),
        }
    }
}

/// A pattern is easier to read raw; where a raw string cannot say it, as a normal one.
fn raw_quote(pattern: &str) -> String {
    let plain = |c: char| c != '"' && c != '\'' && !c.is_control();
    if pattern.chars().all(plain) && !pattern.contains("${") && !pattern.ends_with('\\') {
        format!("r\"{pattern}\"")
    } else {
        quote(pattern)
    }
}
