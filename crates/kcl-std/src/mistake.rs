//! Mistakes of library calls that are told with their facts. The others are sentences that are good as they are
//! ([`crate::Error::Message`]).

use kcl_value::Str;

use crate::words;

base_diag::mistakes! {
    /// What a library function refuses.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum Mistake;

    /// A whole number that does not fit; `exact` is the number, or how it was to be computed.
    IntegerOverflow { exact: Str, bits: u32 } = EVALUATION "library-call-failed" {
        sentence: format!("{exact}: A {bits} bit integer overflow"),
        title: words::overflow(*bits),
    }
    /// A remainder of a division by zero.
    NoRemainder = EVALUATION "library-call-failed" {
        sentence: words::NO_REMAINDER,
        title: words::DIVISION_BY_ZERO,
    }
    /// Two values that an operator does not take.
    Operands { op: &'static str, left: Str, right: Str } = EVALUATION "library-call-failed" {
        sentence: format!("unsupported operand type(s) for {op}: '{left}' and '{right}'"),
        title: words::operands(op, left, right),
        help: words::operands_help(left, right),
    }
    /// A walk through what has no items.
    NotIterable { ty: Str } = EVALUATION "library-call-failed" {
        sentence: words::not_iterable_sentence(ty),
        title: words::not_iterable(ty),
    }
}
