//! Bodies of the built-in functions, string methods and system modules.
//!
//! A function is a row: name and body ([`Body`]). Bodies are pure but for what they ask of the [`Host`] (calls of lambdas,
//! options, log, files, clock, randomness). Argument types were judged by the checker where it could; a body judges again,
//! because a value of type any passes the checker.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod builtins;
mod data;
mod host;
mod mistake;
mod modules;
mod numbers;
mod patterns;
mod reason;
mod string;
mod table;
pub mod words;

pub use data::{
    format_json_inline, format_yaml_inline, json_of_stream, value_from_json, value_from_node,
    values_from_yaml,
};
pub use host::{Args, Body, Error, FileAnswer, FileOp, Host};
pub use mistake::{
    EndPointFault, FileTask, FormatMistake, Missing, Mistake, MoreBits, NetMistake, NetworkFault, Wanted,
};
pub use patterns::Patterns;
pub use reason::Reason;

use kcl_value::Value;

/// What `module.name` is.
#[derive(Clone, Debug)]
pub enum Member {
    /// A function, by number.
    Function(u16),
    /// A constant.
    Constant(Value),
}

/// The modules that can be imported by bare name.
const MODULES: [&str; 15] = [
    "base32",
    "base64",
    "collection",
    "crypto",
    "datetime",
    "file",
    "json",
    "manifests",
    "math",
    "net",
    "regex",
    "runtime",
    "template",
    "units",
    "yaml",
];

/// Returns the number of a built-in function.
pub fn builtin(name: &str) -> Option<u16> {
    table::find_row("", name)
}

/// Returns the number of a string method.
pub fn method(name: &str) -> Option<u16> {
    table::find_row("str", name)
}

/// Returns whether a name is a system module.
pub fn is_system_module(name: &str) -> bool {
    MODULES.contains(&name)
}

/// Returns a member of a system module.
pub fn module_member(module: &str, name: &str) -> Option<Member> {
    if !is_system_module(module) {
        return None;
    }
    if module == "units"
        && let Some(constant) = modules::units::constant(name)
    {
        return Some(Member::Constant(constant));
    }
    table::find_row(module, name).map(Member::Function)
}

/// Returns the name of a function, without its module.
pub fn function_name(id: u16) -> &'static str {
    table::ROWS.get(usize::from(id)).map_or("", |row| row.name)
}

/// Calls a function. `receiver` is the string of a method, Undefined otherwise.
pub fn call(id: u16, host: &mut dyn Host, receiver: &Value, args: Args<'_>) -> Result<Value, Error> {
    match table::ROWS.get(usize::from(id)) {
        Some(row) => {
            if row.writes {
                args.positional.iter().try_for_each(|value| host.charge_whole(value))?;
                args.keyword.iter().try_for_each(|(_, value)| host.charge_whole(value))?;
            }
            (row.body)(host, receiver, args)
        }
        None => Err(Mistake::NoFunction { number: id }.into()),
    }
}
