//! The one table: every function by name space and name. A function's number is its row.

use crate::Body;
use crate::builtins::{convert, number, program, radix, sequence};
use crate::string::{case, find, format, join, split, strip};

/// One function.
pub(crate) struct Row {
    /// `""` for built-ins, `str` for string methods, else a module.
    pub(crate) space: &'static str,
    pub(crate) name: &'static str,
    pub(crate) body: Body,
}

const fn row(space: &'static str, name: &'static str, body: Body) -> Row {
    Row { space, name, body }
}

/// Sorted by name space and name (a test watches over it), so that a name is found by halving.
pub(crate) static ROWS: &[Row] = &[
    row("", "abs", number::abs),
    row("", "all_true", sequence::all_true),
    row("", "any_true", sequence::any_true),
    row("", "bin", radix::bin),
    row("", "bool", convert::bool),
    row("", "dict", convert::dict),
    row("", "float", convert::float),
    row("", "hex", radix::hex),
    row("", "int", convert::int),
    row("", "isnullish", sequence::is_nullish),
    row("", "isunique", sequence::is_unique),
    row("", "len", sequence::len),
    row("", "list", convert::list),
    row("", "max", number::max),
    row("", "min", number::min),
    row("", "multiplyof", number::multiply_of),
    row("", "oct", radix::oct),
    row("", "option", program::option),
    row("", "ord", radix::ord),
    row("", "pow", number::pow),
    row("", "print", program::print),
    row("", "range", sequence::range),
    row("", "reduce", sequence::reduce),
    row("", "round", number::round),
    row("", "sorted", sequence::sorted),
    row("", "str", convert::str),
    row("", "sum", number::sum),
    row("", "typeof", program::type_of),
    row("", "zip", sequence::zip),
    row("str", "capitalize", case::capitalize),
    row("str", "chars", case::chars),
    row("str", "count", find::count),
    row("str", "endswith", find::ends_with),
    row("str", "find", find::find),
    row("str", "format", format::format),
    row("str", "index", find::index),
    row("str", "isalnum", case::is_alnum),
    row("str", "isalpha", case::is_alpha),
    row("str", "isdigit", case::is_digit),
    row("str", "islower", case::is_lower),
    row("str", "isspace", case::is_space),
    row("str", "istitle", case::is_title),
    row("str", "isupper", case::is_upper),
    row("str", "join", join::join),
    row("str", "lower", case::lower),
    row("str", "lstrip", strip::lstrip),
    row("str", "removeprefix", strip::remove_prefix),
    row("str", "removesuffix", strip::remove_suffix),
    row("str", "replace", join::replace),
    row("str", "rfind", find::rfind),
    row("str", "rindex", find::rindex),
    row("str", "rsplit", split::rsplit),
    row("str", "rstrip", strip::rstrip),
    row("str", "split", split::split),
    row("str", "splitlines", split::split_lines),
    row("str", "startswith", find::starts_with),
    row("str", "strip", strip::strip),
    row("str", "title", case::title),
    row("str", "upper", case::upper),
];

/// Returns the number of a function.
pub(crate) fn find_row(space: &str, name: &str) -> Option<u16> {
    ROWS.binary_search_by(|row| (row.space, row.name).cmp(&(space, name))).ok().map(|i| i as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_unique() {
        for pair in ROWS.windows(2) {
            assert!((pair[0].space, pair[0].name) < (pair[1].space, pair[1].name), "{}", pair[1].name);
        }
    }
}
