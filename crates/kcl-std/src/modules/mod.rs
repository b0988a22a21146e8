//! System modules: one file each. What is no string where a string is wanted counts as the empty one, as in the
//! reference: the checker has refused it already unless its type is any.

pub(crate) mod base32;
pub(crate) mod base64;
pub(crate) mod cidr;
pub(crate) mod collection;
pub(crate) mod crypto;
pub(crate) mod datetime;
pub(crate) mod file;
pub(crate) mod json;
pub(crate) mod manifests;
pub(crate) mod math;
pub(crate) mod net;
pub(crate) mod regex;
pub(crate) mod runtime;
pub(crate) mod template;
pub(crate) mod units;
pub(crate) mod yaml;

use kcl_value::{OutputOptions, Value};

use crate::{Args, Error, Missing, Mistake, Wanted};

/// Returns a string parameter.
pub(crate) fn text<'a>(args: Args<'a>, at: usize, name: &str) -> &'a str {
    args.get(at, name).and_then(Value::as_str).unwrap_or("")
}

/// Returns a string parameter that must be given: a keyword that repeats a positional argument may have taken its place.
pub(crate) fn needed<'a>(
    args: Args<'a>,
    at: usize,
    name: &'static str,
    function: &'static str,
) -> Result<&'a str, Error> {
    match args.get(at, name) {
        Some(value) => Ok(value.as_str().unwrap_or("")),
        None => Err(Mistake::MissingArgument { function, name, said: Missing::TheNamed }.into()),
    }
}

/// The mistake that a parameter is of another type.
pub(crate) fn wrong(name: &'static str, wanted: Wanted, got: Option<&Value>) -> Error {
    Mistake::WrongArgument { name, wanted, got: got.unwrap_or(&Value::Undefined).type_name() }.into()
}

/// Returns an integer parameter; None counts as not given.
pub(crate) fn int(args: Args<'_>, at: usize, name: &'static str) -> Result<Option<i64>, Error> {
    match args.get(at, name) {
        None => Ok(None),
        Some(Value::Int(i)) => Ok(Some(*i)),
        other => Err(wrong(name, Wanted::Int, other)),
    }
}

/// Returns whether a flag is set.
pub(crate) fn flag(args: Args<'_>, at: usize, name: &str) -> bool {
    args.get(at, name).is_some_and(Value::truthy)
}

/// Returns a list parameter.
pub(crate) fn list<'a>(args: Args<'a>, at: usize, name: &'static str) -> Result<&'a [Value], Error> {
    let given = args.get(at, name);
    given.and_then(Value::as_list).ok_or_else(|| wrong(name, Wanted::List, given))
}

/// What an encoder leaves out: by default nothing.
pub(crate) fn encode_options(sort_keys: bool, ignore_private: bool, ignore_none: bool) -> OutputOptions {
    OutputOptions {
        disable_none: ignore_none,
        show_hidden: !ignore_private,
        sort_keys,
        ..OutputOptions::default()
    }
}

/// A bare function encodes as 0, as in the reference.
pub(crate) fn encodable(value: &Value) -> Value {
    match value {
        Value::Func(_) => Value::Int(0),
        other => other.clone(),
    }
}
