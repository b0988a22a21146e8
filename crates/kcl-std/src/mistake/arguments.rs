//! Facts about arguments: how the reference puts it that one is missing, or is of another type.

use kcl_value::Str;

use crate::words::type_name;

/// How the reference says that an argument is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// By the number of arguments, with the function.
    ExactlyOne,
    /// By the number of arguments, of two.
    ExactlyTwo,
    /// By the least number of arguments.
    AtLeastOne,
    /// By its name.
    Named,
    /// By its name, as modules do.
    TheNamed,
    /// By the names of both.
    Both(&'static str, &'static str),
    /// By the number of arguments alone.
    Counted(usize),
}

impl Missing {
    pub(super) fn sentence(self, function: &str, name: &str) -> String {
        match self {
            Missing::ExactlyOne => format!("{function}() takes exactly one argument (0 given)"),
            Missing::ExactlyTwo => format!("{function}() takes exactly two argument (1 given)"),
            Missing::AtLeastOne => format!("{function}() takes at least 1 argument (0 given)"),
            Missing::Named => format!("{function}() missing 1 required positional argument: '{name}'"),
            Missing::TheNamed => format!("{function}() missing the required positional argument: '{name}'"),
            Missing::Both(a, b) => {
                format!("{function}() missing 2 required positional arguments: '{a}' and '{b}'")
            }
            Missing::Counted(1) => "expect 1 argument, found 0".to_owned(),
            Missing::Counted(n) => format!("expect {n} arguments, found {}", n - 1),
        }
    }

    /// Some functions take what is given by name for nothing; then the call looks complete to its author.
    pub(super) fn help(self, function: &str, name: &str) -> String {
        match self {
            Missing::AtLeastOne | Missing::Counted(_) => {
                format!("give `{name}` by its place: `{function}` reads no arguments by name")
            }
            Missing::TheNamed | Missing::Both(..) => {
                format!("give each argument once: `{name}` by its place, or as `{name}=..`")
            }
            _ => format!("give it by its place, or as `{name}=..`"),
        }
    }
}

/// What an argument must be, where the reference tells only this of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A whole number.
    Int,
    /// A list of whole numbers.
    Ints,
    /// A list.
    List,
    /// A dict or an instance.
    Dict,
}

impl Wanted {
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Wanted::Int | Wanted::Ints => "invalid int value",
            Wanted::List => "invalid list value",
            Wanted::Dict => "invalid dict value",
        }
    }

    pub(super) fn title(self, name: &str, got: &Str) -> String {
        let got = type_name(got);
        match self {
            Wanted::Int => format!("`{name}` must be a whole number, not `{got}`"),
            Wanted::Ints => {
                format!("`{name}` must be a list of whole numbers, and one of its items is `{got}`")
            }
            Wanted::List => format!("`{name}` must be a list, not `{got}`"),
            Wanted::Dict => format!("`{name}` must be a dict, not `{got}`"),
        }
    }

    pub(super) fn help(self, got: &Str) -> Option<&'static str> {
        match (self, got.as_str()) {
            (Wanted::Int | Wanted::Ints, "str" | "float" | "bool") => Some("convert it: int(..)"),
            (Wanted::List, "NoneType" | "UndefinedType") => {
                Some("give an empty list if there is nothing: `x or []`")
            }
            (Wanted::Dict, "NoneType" | "UndefinedType") => {
                Some("give an empty dict if there is nothing: `x or {}`")
            }
            (Wanted::List, _) => Some("put a single value into brackets: [..]"),
            _ => None,
        }
    }
}
