//! Everything that can go wrong while a program runs: one table of kinds with facts, the reference's sentence and the words for people.
//!
//! A fault carries a row and makes words of it when somebody asks: most faults of a program that catches them are never told.
//! Places behind a broken check are looked for in [`crate::telling`].

use base_diag::Span;
use kcl_std::words::{self, type_name};
use kcl_value::{Position, Str, Value};

base_diag::mistakes! {
    /// A run-time error with its facts.
    #[derive(Clone, Debug)]
    pub enum Mistake;

    /// A rule that does not hold. The rule itself is read when it is told.
    CheckFailed { broken: Broken } = EVALUATION "check-failed" { sentence: broken.sentence() }
    /// An `assert` that does not hold: what the program says, and nothing else.
    AssertionFailed { said: Str } = EVALUATION "assertion-failed" { sentence: said.as_str().to_owned() }
    /// An attribute without a value; `also` are others of the same instance.
    MissingAttribute { schema: Str, name: Str, also: Vec<Str> } = EVALUATION "missing-attribute" {
        sentence: format!("attribute '{name}' of {schema} is required and can't be None or Undefined"),
        title: match also.is_empty() {
            true => format!("`{name}` of schema `{schema}` has no value"),
            false => format!("`{name}`, `{}` of schema `{schema}` have no value", also.join("`, `")),
        },
        help: match also.is_empty() {
            true => format!("set it: `{name} = ..`, or declare it optional: `{name}?: ..`"),
            false => format!("set each: `{name} = ..`, or declare it optional: `{name}?: ..`"),
        },
    }
    /// A key that a schema does not have.
    UnknownAttribute { schema: Str, name: Str } = EVALUATION "unknown-attribute" {
        sentence: format!("No attribute named '{name}' in the schema '{schema}'"),
        title: format!("schema `{schema}` has no attribute `{name}`"),
    }
    /// A `@deprecated` attribute or schema that is used.
    Deprecated { name: Str, version: Str, reason: Str } = EVALUATION "deprecated" {
        sentence: format!(
            "{name} was deprecated {}{}",
            after("since version ", version),
            after(", ", reason)
        ),
        title: format!("`{name}` is deprecated{}{}", after(" since version ", version), after(": ", reason)),
    }
    /// A value of another type than the one declared; of a dict that is no instance, why.
    TypeMismatch { wanted: Str, got: Str, misfit: Option<Box<Misfit>> } = EVALUATION "type-mismatch" {
        sentence: format!(
            "expect {wanted}, got {got}{}",
            misfit.as_ref().map(|misfit| misfit.sentence()).unwrap_or_default()
        ),
        title: mismatch_title(wanted, type_name(got), misfit.as_deref()),
    }
    /// `base {..}` of what is no schema.
    NotASchema { ty: Str } = EVALUATION "not-a-schema" { sentence: format!("Invalid schema type '{ty}'") }

    /// An attribute of a value that has none.
    CannotLoad { ty: Str, name: Str } = EVALUATION "cannot-load-attribute" {
        sentence: format!("invalid value '{ty}' to load attribute '{name}'"),
        title: format!("`{}` has no attribute `{name}`", type_name(ty)),
        help: matches!(type_name(ty), "None" | "Undefined")
            .then(|| format!("if it may be missing, read it with `?.{name}`, or test it first")),
    }
    /// An attribute that an instance does not have.
    NoAttribute { schema: Str, name: Str } = EVALUATION "attribute-not-found" {
        sentence: format!("schema '{schema}' attribute '{name}' not found"),
        title: format!("this `{schema}` has no attribute `{name}`"),
    }
    /// A method that texts do not have.
    NoMethod { name: Str } = EVALUATION "attribute-not-found" {
        sentence: format!("str object attr '{name}' not found"),
    }
    /// A member that a system module does not have.
    UnknownMember { module: Str, name: Str } = EVALUATION "unknown-member" {
        sentence: format!("unknown kcl_{module}_{name}"),
    }
    /// `value[index]` of what has no items.
    NotSubscriptable { ty: Str, index: Str } = EVALUATION "not-subscriptable" {
        sentence: format!("'{ty}' object is not subscriptable with '{index}'"),
    }
    /// An index beyond the end.
    OutOfRange { what: &'static str, index: i64 } = EVALUATION "index-out-of-range" {
        sentence: format!("{what} index out of range: {index}"),
    }
    /// An index outside a list that is written to, or before its first item.
    OutOfBounds { len: usize, index: i64 } = EVALUATION "index-out-of-range" {
        sentence: format!("index out of bounds: the len is {len} but the index is {index}"),
    }
    /// A slice of what has no items.
    CannotSlice { ty: Str } = EVALUATION "cannot-slice" { sentence: format!("invalid slice object {ty}") }
    /// `a[::0]`
    ZeroStep = EVALUATION "cannot-slice" { sentence: "slice step cannot be zero" }
    /// A member of what has none is written.
    CannotUpdate { ty: Str, name: Str } = EVALUATION "cannot-update" {
        sentence: format!(
            "failed to update the dict. An iterable of key-value pairs was expected, but got {ty}. \
             Check if the syntax for updating the dictionary with the attribute '{name}' is correct"
        ),
    }

    /// An operand that an operator does not take.
    Operand { op: &'static str, ty: Str } = EVALUATION "bad-operand" {
        sentence: format!("bad operand type for unary {op}: '{ty}'"),
    }
    /// Two values that an operator does not take.
    Operands { op: &'static str, left: Str, right: Str } = EVALUATION "bad-operand" {
        sentence: format!("unsupported operand type(s) for {op}: '{left}' and '{right}'"),
        title: words::operands(op, left, right),
        help: words::operands_help(left, right),
    }
    /// Two values that `|` does not merge: the reference puts the types into two kinds of quotes.
    Unmergeable { left: Str, right: Str } = EVALUATION "bad-operand" {
        sentence: format!("unsupported operand type(s) for |: '\"{left}\"' and '\"{right}\"'"),
        title: words::operands("|", left, right),
        help: words::operands_help(left, right),
    }
    /// Two values without an order.
    Unordered { op: &'static str, left: Str, right: Str } = EVALUATION "bad-operand" {
        sentence: format!("'{op}' not supported between instances of '{left}' and '{right}'"),
    }
    /// `[..] + x`
    NotConcatenable { ty: Str } = EVALUATION "bad-operand" {
        sentence: format!("can only concatenate list (not \"{ty}\") to list"),
    }
    /// A walk through what has no items.
    NotIterable { ty: Str } = EVALUATION "not-iterable" {
        sentence: words::not_iterable_sentence(ty),
        title: words::not_iterable(ty),
    }
    /// `x in y` where y has no items.
    NotAContainer { ty: Str } = EVALUATION "not-iterable" {
        sentence: format!("TypeError: argument of type '{ty}' is not iterable"),
    }
    /// `a // 0`
    DivisionByZero = EVALUATION "division-by-zero" {
        sentence: "attempt to divide by zero",
        title: words::DIVISION_BY_ZERO,
    }
    /// `a % 0`
    NoRemainder = EVALUATION "division-by-zero" { sentence: words::NO_REMAINDER, title: words::DIVISION_BY_ZERO }
    /// A whole number that does not fit.
    IntegerOverflow { exact: i128, bits: u32 } = EVALUATION "integer-overflow" {
        sentence: format!("{exact}: A {bits} bit integer overflow"),
        title: words::overflow(*bits),
    }
    /// A number that does not fit.
    FloatOverflow { value: f64 } = EVALUATION "float-overflow" {
        sentence: format!(
            "{}: A 32-bit floating point number overflow",
            kcl_std::format_json_inline(&Value::Float(*value))
        ),
    }
    /// `"a" * -1` and the like.
    Capacity = EVALUATION "capacity" { sentence: "capacity overflow" }
    /// `*x` of what has no items.
    CannotUnpack { value: Value } = EVALUATION "cannot-unpack" {
        sentence: format!(
            "only list, dict and schema object can be used with unpack operators * and **, got {}",
            kcl_value::to_text(value)
        ),
    }
    /// `filter` over what has no items.
    CannotFilter = EVALUATION "cannot-filter" { sentence: "only list, dict and schema can be removed item" }

    /// Two values that do not merge, at an attribute.
    Conflict { key: Str, old: String, new: String, path: String } = EVALUATION "conflicting-values" {
        sentence: format!(
            "conflicting values on the attribute '{key}' between :\n    {old}\nand\n    {new}\nwith union path :\n    \
             {path}\ntry operator '=' to override the attribute, like:\n    {{...}} | {{\n            ...\n            \
             {key} = {new}\n            ...\n    }}"
        ),
        title: match key.is_empty() {
            true => format!("two values: {old} and {new}"),
            false => format!("two values for `{key}`: {old} and {new}"),
        },
        help: match key.is_empty() {
            true => MERGES.to_owned(),
            false => format!("`:` merges; to replace what was there write `{key} = {new}`"),
        },
    }
    /// Two values that do not merge, at the top.
    ConflictOnTop { old: String, new: String } = EVALUATION "conflicting-values" {
        sentence: format!("conflicting values between {new} and {old}"),
        title: format!("two values: {old} and {new}"),
        help: MERGES,
    }
    /// Two values of one name in the output.
    ConflictInOutput { old: String, new: String } = EVALUATION "conflicting-values" {
        sentence: format!("conflicting values between {new} and {old}"),
    }
    /// A list and a dict that meet.
    UnionFailure { old: Str, new: Str } = EVALUATION "union-failure" {
        sentence: format!("union failure, expect \"{old}\", got \"{new}\""),
    }
    /// `a[0]: v` where `a` has no items.
    NoItemToMerge { index: i32 } = EVALUATION "not-a-list" {
        sentence: format!("only non-empty list attribute can be union value with the index {index}"),
    }
    /// `a[0] = v` where `a` has no items.
    NoItemToReplace { index: i32 } = EVALUATION "not-a-list" {
        sentence: format!("only list attribute can be override value with the index {index}"),
    }
    /// `a += x` where x is no list.
    NotInsertable { ty: Str } = EVALUATION "not-a-list" {
        sentence: format!("only a list can be appended to or with +=, got {ty}"),
    }
    /// `a[5] += [..]` beyond the end.
    BadInsertion { index: i32, len: usize } = EVALUATION "not-a-list" {
        sentence: format!("insertion index (is {index}) should be <= len (is {len})"),
    }

    /// A library call that refuses.
    Library { mistake: Box<kcl_std::Mistake> } = EVALUATION (mistake.id()) {
        sentence: mistake.sentence(),
        title: mistake.title(),
        help: mistake.help(),
    }
    /// A plugin that failed.
    PluginFailed { said: String } = EVALUATION "plugin-failed" { sentence: said.clone() }
    /// `-S` of what the output does not have.
    SelectorNotFound { selector: String, known: Vec<Str> } = EVALUATION "selector-not-found" {
        sentence: format!(
            "invalid path select operand {selector}, value not found\nthe output has: {}",
            known.join(", ")
        ),
    }
    /// A base that is imported further down. The reference shows no place.
    ImportedLate { name: Str } = EVALUATION "imported-late" {
        sentence: format!("package @{name} is not found: it is imported below the schema that extends it"),
    }
    /// A budget that is used up.
    BudgetExhausted { what: &'static str, flag: &'static str, limit: u64 } = EVALUATION "budget-exhausted" {
        sentence: match *flag {
            "" => format!("the program used up its budget of {what} ({limit}), which is as large as it can be"),
            _ => format!(
                "the program used up its budget of {what} ({limit}); if it is meant to be this large, raise it with {flag}"
            ),
        },
    }
    /// The caller stopped the run.
    Cancelled = EVALUATION "cancelled" { sentence: "the run was cancelled" }
    /// A defect of ours.
    Internal { what: &'static str } = EVALUATION "internal" { sentence: *what }
}

const MERGES: &str = "`:` merges; `=` replaces what was there";

/// A rule that does not hold, and what it looked at.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The schema whose instance breaks it.
    pub schema: Str,
    /// Where the instance was written.
    pub position: Position,
    /// The package and the range of the condition.
    pub rule: (u32, Span),
    /// What the check says when it does not hold, empty if it says nothing.
    pub said: String,
    /// The names in the condition with their values.
    pub values: Vec<(Str, Value)>,
    /// Other rules that the same instance breaks.
    pub further: Vec<Broken>,
}

impl Broken {
    fn sentence(&self) -> String {
        format!("Check failed on the condition{}", after(": ", &self.said))
    }
}

/// Why a dict is no instance of a schema.
#[derive(Clone, Debug)]
pub struct Misfit {
    /// The schema.
    pub schema: Str,
    /// Keys that it does not declare.
    pub unknown: Vec<Str>,
    /// What it requires and the dict does not have.
    pub missing: Vec<Str>,
}

impl Misfit {
    fn sentence(&self) -> String {
        let schema = &self.schema;
        let unknown = self.unknown.iter().map(|k| format!("Schema {schema} does not contain attribute {k}"));
        let missing = self.missing.iter().map(|k| format!("Schema {schema}'s attribute {k} is missing"));
        let lines: Vec<String> = unknown.chain(missing).collect();
        if lines.is_empty() { String::new() } else { format!(". For details:\n{}", lines.join("\n")) }
    }
}

fn mismatch_title(wanted: &str, got: &str, misfit: Option<&Misfit>) -> String {
    let reasons: Vec<String> = misfit.map_or_else(Vec::new, |misfit| {
        let unknown = misfit.unknown.iter().map(|name| format!("`{wanted}` has no attribute `{name}`"));
        unknown.chain(misfit.missing.iter().map(|name| format!("`{name}` is missing"))).collect()
    });
    match reasons.is_empty() {
        true => format!("expected `{wanted}`, found `{got}`"),
        false => format!("this `{got}` is no `{wanted}`: {}", reasons.join(", ")),
    }
}

/// A text with what leads to it, or nothing if there is none.
fn after(lead: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{lead}{text}") }
}

#[cfg(test)]
mod tests {
    use base_diag::Mistake as _;

    use super::{Misfit, Mistake};

    fn told(mistake: &Mistake) -> (String, String) {
        (mistake.sentence().into_owned(), mistake.title().unwrap_or_default().into_owned())
    }

    #[test]
    fn a_dict_that_is_no_instance_says_why() {
        let misfit = Misfit { schema: "I".into(), unknown: vec!["q".into()], missing: vec!["v".into()] };
        let misfit = Some(Box::new(misfit));
        let (sentence, title) =
            told(&Mistake::TypeMismatch { wanted: "I".into(), got: "dict".into(), misfit });
        assert_eq!(
            sentence,
            "expect I, got dict. For details:\nSchema I does not contain attribute q\nSchema I's attribute v is missing"
        );
        assert_eq!(title, "this `dict` is no `I`: `I` has no attribute `q`, `v` is missing");
        let plain = Mistake::TypeMismatch { wanted: "int".into(), got: "str".into(), misfit: None };
        assert_eq!(told(&plain).1, "expected `int`, found `str`");
    }

    #[test]
    fn what_is_missing_is_named_as_it_is_written() {
        let load = Mistake::CannotLoad { ty: "NoneType".into(), name: "y".into() };
        assert_eq!(told(&load).1, "`None` has no attribute `y`");
        let add = Mistake::Operands { op: "+", left: "int".into(), right: "UndefinedType".into() };
        assert_eq!(told(&add).1, "`+` does not take `int` and `Undefined`");
    }

    #[test]
    fn a_deprecation_says_what_its_author_said() {
        let deprecated = |version: &str, reason: &str| {
            told(&Mistake::Deprecated { name: "a".into(), version: version.into(), reason: reason.into() })
        };
        let (sentence, title) = deprecated("1", "use b");
        assert_eq!(sentence, "a was deprecated since version 1, use b");
        assert_eq!(title, "`a` is deprecated since version 1: use b");
        assert_eq!(deprecated("", ""), ("a was deprecated ".to_owned(), "`a` is deprecated".to_owned()));
    }

    #[test]
    fn what_a_program_says_stays() {
        let said = Mistake::AssertionFailed { said: "expect x, got y".into() };
        assert_eq!(told(&said), ("expect x, got y".to_owned(), String::new()));
    }
}
