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
