//! Words about values that library calls and operators share.

/// What the reference says of `a % 0`.
pub const NO_REMAINDER: &str = "attempt to calculate the remainder with a divisor of zero";
/// What people are told of it.
pub const DIVISION_BY_ZERO: &str = "division by zero";

/// The name of a type as it is written.
pub fn type_name(name: &str) -> &str {
    match name {
        "NoneType" => "None",
        "UndefinedType" => "Undefined",
        other => other,
    }
}

/// A whole number that does not fit. The number is not told: of a very large one the reference has only the last digits.
pub fn overflow(bits: u32) -> String {
    format!("the result does not fit into a whole number of {bits} bits")
}

/// Two values that an operator does not take.
pub fn operands(op: &str, left: &str, right: &str) -> String {
    format!("`{op}` does not take `{}` and `{}`", type_name(left), type_name(right))
}

/// What to do about them.
pub fn operands_help(left: &str, right: &str) -> Option<&'static str> {
    let missing = |ty: &str| matches!(ty, "NoneType" | "UndefinedType");
    (missing(left) || missing(right))
        .then_some("a value is missing: test it first, or give another: `(x or 0)`")
}

/// The reference's sentence about a walk through what has no items.
pub fn not_iterable_sentence(ty: &str) -> String {
    format!("'{ty}' object is not iterable")
}

/// The same for people.
pub fn not_iterable(ty: &str) -> String {
    format!("`{}` has no items to walk through", type_name(ty))
}

/// A function that takes something else.
pub(crate) fn takes(function: &str, wanted: &str, got: &str) -> String {
    format!("`{function}` takes {wanted}, not `{}`", type_name(got))
}

/// What to do about a value that is missing where a function takes one.
pub(crate) fn absent_help(got: &str) -> Option<&'static str> {
    matches!(got, "NoneType" | "UndefinedType")
        .then_some("a value is missing: test it first, or give another: `(x or ..)`")
}

/// What to do about a value that is no number.
pub(crate) fn number_help(got: &str) -> Option<&'static str> {
    absent_help(got).or((got == "str").then_some("convert it: int(..), float(..)"))
}

/// Two values without an order.
pub(crate) fn unordered(left: &str, right: &str) -> String {
    let (left, right) = (type_name(left), type_name(right));
    match left == right {
        true => format!("values of type `{left}` have no order"),
        false => format!("`{left}` and `{right}` have no order"),
    }
}

/// The letters of formats.
pub(crate) fn codes(ty: &str) -> &'static str {
    match ty {
        "int" => {
            "formats of whole numbers are `d`, `b`, `o`, `x`, `X`, `n`, and those of numbers with a fraction"
        }
        _ => "formats of numbers with a fraction are `e`, `E`, `f`, `F`, `g`, `G` and `%`",
    }
}

/// A text of a program in one line of an error: its beginning if it is long, and no characters that break the line.
pub(crate) fn short(text: &str) -> String {
    const ENOUGH: usize = 60;
    let mut chars = text.chars();
    let start = chars.by_ref().take(ENOUGH).map(|c| if c.is_control() { ' ' } else { c });
    let mut out: String = start.collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!(short("a\nb"), "a b");
        assert_eq!(short(&"ä".repeat(60)), "ä".repeat(60));
        assert_eq!(short(&"ä".repeat(61)), format!("{}…", "ä".repeat(60)));
    }
}
