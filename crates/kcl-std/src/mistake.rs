//! Everything that a library call refuses: one table of kinds with facts, the reference's sentence and the words for people.
//!
//! The sentences are the reference's to the letter, odd as some are. What an operator refuses as well has the id that it has there.
//! Formats and networks have tables of their own ([`FormatMistake`], [`NetMistake`]), which this one carries.

mod arguments;
mod files;
mod formats;
mod networks;

pub use arguments::{Missing, Wanted};
pub use files::FileTask;
pub use formats::FormatMistake;
pub use networks::{EndPointFault, MoreBits, NetMistake, NetworkFault};

use kcl_value::Str;

use crate::Reason;
use crate::words::{self, short, type_name};

base_diag::mistakes! {
    /// What a library function refuses.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum Mistake;

    /// An argument that a function needs and was not given.
    MissingArgument { function: &'static str, name: &'static str, said: Missing } = EVALUATION "missing-argument" {
        sentence: said.sentence(function, name),
        title: format!("`{function}` is called without its argument `{name}`"),
        help: said.help(function, name),
    }
    /// `max()` and `min()` of nothing.
    NothingToCompare { function: &'static str } = EVALUATION "missing-argument" {
        sentence: Missing::ExactlyOne.sentence(function, ""),
        title: format!("`{function}` is called without values"),
        help: format!("give it values or a list of them: `{function}(1, 2)`, `{function}([1, 2])`"),
    }
    /// `option("key", required=True)` that nobody sets.
    MissingOption { key: Str } = EVALUATION "missing-option" {
        sentence: format!("option('{key}') must be initialized, try '-D {key}=?' argument"),
        title: format!("the option `{key}` has no value"),
        help: format!("give it one: `-D {key}=..`, or a default: `option(\"{key}\", default=..)`"),
    }
    /// An option whose value is not of the type that the program wants.
    OptionValue { key: Str, value: Str, kind: Str } = EVALUATION "wrong-option" {
        sentence: format!("cannot use '{value}' as type '{kind}'"),
        title: format!("the option `{key}` is of type `{kind}`, and `{}` is not", short(value)),
        help: format!("give another value: `-D {key}=..`"),
    }

    /// An argument of another type than the one that the function takes.
    WrongArgument { name: &'static str, wanted: Wanted, got: Str } = EVALUATION "wrong-argument" {
        sentence: wanted.sentence(),
        title: wanted.title(name, got),
        help: wanted.help(got),
    }
    /// `int` of a list, of None and the like.
    NotConvertible { got: Str } = EVALUATION "wrong-argument" {
        sentence: format!("int() argument must be a string or a number, not '{got}'"),
        title: words::takes("int", "a text or a number", got),
        help: words::absent_help(got),
    }
    /// `abs` of what is no number.
    NoMagnitude { got: Str } = EVALUATION "wrong-argument" {
        sentence: format!("bad operand type for abs(): '{got}'"),
        title: words::takes("abs", "a number", got),
        help: words::number_help(got),
    }
    /// A function of `math` is given no number.
    NotANumber { function: &'static str, got: Str } = EVALUATION "wrong-argument" {
        sentence: Missing::ExactlyOne.sentence(function, ""),
        title: words::takes(function, "a number", got),
        help: words::number_help(got),
    }
    /// `math.gcd` of other than two whole numbers.
    NotTwoInts { left: Str, right: Str } = EVALUATION "wrong-argument" {
        sentence: "gcd() takes exactly two arguments (2 given)",
        title: format!("`gcd` takes two whole numbers, not `{}` and `{}`", type_name(left), type_name(right)),
    }
    /// `math.factorial` of what is no whole number from zero on.
    NoFactorial { value: Str } = EVALUATION "wrong-argument" {
        sentence: "factorial() only accepts integral values",
        title: format!("`factorial` takes a whole number that is not negative, not `{}`", short(value)),
    }
    /// A bound of `range` that is no whole number.
    NotABound { name: &'static str, got: Str } = EVALUATION "wrong-argument" {
        sentence: format!("range() argument '{name}' must be an integer, not '{got}'"),
        title: words::takes("range", "whole numbers", got),
        help: Wanted::Int.help(got),
    }
    /// `range(a, b, 0)`
    ZeroStep = EVALUATION "wrong-argument" {
        sentence: "range() step argument must not be zero",
        title: "`range` cannot walk in steps of zero",
    }
    /// `reduce` with what is no lambda.
    NotALambda { got: Str } = EVALUATION "wrong-argument" {
        sentence: "reduce() argument 'reducer' must be a function",
        title: match got.as_str() {
            "function" => "`reduce` takes a lambda, not a built-in function".to_owned(),
            _ => words::takes("reduce", "a lambda", got),
        },
        help: "write it as a lambda: `reduce(lambda a, b { a + b }, [1, 2, 3])`",
    }
    /// `reduce` of nothing, to what must be something.
    EmptyReduction { kind: Str } = EVALUATION "wrong-argument" {
        sentence: format!("reduce() empty list with no initial value and non-nullable accumulator type '{kind}'"),
        title: format!("`reduce` of an empty list gives nothing, and its result must be `{kind}`"),
        help: "give a first value: `reduce(lambda, list, first)`",
    }
    /// `sorted` of what has no items.
    CannotSort { got: Str } = EVALUATION "wrong-argument" {
        sentence: "sorted only for str|list|dict type",
        title: words::takes("sorted", "a list, a dict or a text", got),
        help: words::absent_help(got),
    }
    /// `len` of what has no length.
    NoLength { got: Str } = EVALUATION "wrong-argument" {
        sentence: format!("object of type '{got}' has no len()"),
        title: words::takes("len", "a text, a list or a dict", got),
        help: words::absent_help(got),
    }
    /// `max` or `min` of an empty list.
    NoExtreme { function: &'static str, ty: Str } = EVALUATION "wrong-argument" {
        sentence: format!("arg is an empty {ty}"),
        title: format!("`{function}` of an empty `{ty}` has no result"),
        help: format!("test it first: `{function}(x) if x else 0`"),
    }
    /// `sum(.., "")`
    SumOfTexts = EVALUATION "wrong-argument" {
        sentence: "sum() can't sum strings",
        title: "`sum` adds numbers and lists, not texts",
        help: "join texts: `\"\".join(list)`",
    }
    /// A search for what is no text.
    NotASubstring { method: &'static str, got: Str } = EVALUATION "wrong-argument" {
        sentence: format!("Invalid str object in str_{method}"),
        title: words::takes(method, "a text", got),
        help: words::absent_help(got).or(Some("convert it: str(..)")),
    }
    /// `index` of a text that is not there.
    NoSubstring { text: Str } = EVALUATION "library-call-failed" {
        sentence: "substring not found",
        title: format!("the text has no `{}`", short(text)),
        help: "`find` and `rfind` answer -1 instead",
    }
    /// `ord` of more or less than one character.
    NotOneCharacter { bytes: usize, chars: usize } = EVALUATION "wrong-argument" {
        sentence: format!(" ord() expected string of length 1, but string of length {bytes} found"),
        title: format!("`ord` takes one character, and the text has {chars}"),
    }
    /// `dict` of a list in which something is no pair.
    NotAPair { item: usize, len: usize } = EVALUATION "wrong-argument" {
        sentence: format!("dictionary update sequence element #{item} has length {len}; 2 is required"),
        title: format!("`dict` takes pairs of a key and a value, and the item at index {item} is of length {len}"),
        help: "write `dict([[\"key\", 1], [\"other\", 2]])`",
    }
    /// `pow` with a divisor of what is no whole number.
    PowerOfInts = EVALUATION "wrong-argument" {
        sentence: "pow() 3rd argument not allowed unless all arguments are integers",
        title: "`pow` with three arguments takes whole numbers only",
    }
    /// `pow` with a divisor and a negative exponent.
    NegativePower = EVALUATION "wrong-argument" {
        sentence: "pow() 2nd argument cannot be negative when 3rd argument specified",
        title: "`pow` with three arguments takes no negative exponent",
    }
    /// `pow(a, b, 0)`
    PowerModuloZero = EVALUATION "division-by-zero" {
        sentence: "pow() 3rd argument cannot be 0",
        title: words::DIVISION_BY_ZERO,
        help: "the third argument of `pow` is what its result is divided by",
    }
    /// A type of an option that there is not.
    OptionType { kind: Str } = EVALUATION "wrong-argument" {
        sentence: format!("unknown type '{kind}'"),
        title: format!("an option cannot be of type `{}`", short(kind)),
        help: "types of options are `int`, `float`, `bool`, `str`, `list` and `dict`",
    }
    /// Options of an output that are no dict.
    StreamOptions { got: Str } = EVALUATION "wrong-argument" {
        sentence: format!("Invalid options arguments in yaml_stream(): expect config, got {got}"),
        title: Wanted::Dict.title("opts", got),
    }

    /// A text that `int` cannot read.
    NotAnInteger { text: Str, base: u32 } = EVALUATION "not-a-number" {
        sentence: format!("invalid literal for int() with base {base}: '{text}'"),
        title: match base {
            10 => format!("`{}` is no whole number", short(text)),
            _ => format!("`{}` is no whole number in base {base}", short(text)),
        },
        help: (*base == 10 && text.parse::<f64>().is_ok())
            .then_some("for a number with a fraction write `int(float(..))`"),
    }
    /// A text without digits: nothing, or a suffix alone.
    NoDigits { text: Str } = EVALUATION "not-a-number" {
        sentence: "number can't be empty",
        title: match text.is_empty() {
            true => "an empty text is no whole number".to_owned(),
            false => format!("`{text}` is no whole number: it has no digits"),
        },
    }
    /// A base that there is not.
    BadBase { radix: u32, base: Str } = EVALUATION "not-a-number" {
        sentence: format!("from_ascii_radix: radix must lie in the range `[2, 36]` - found {radix}"),
        title: format!("the base of a number is from 2 to 36, not {}", short(base)),
    }
    /// What `float` cannot read.
    NotAFloat { text: Str } = EVALUATION "not-a-number" {
        sentence: format!("invalid literal for float() with base 10: '{text}'"),
        title: format!("`{}` is no number", short(text)),
    }
    /// A whole number that does not fit; `exact` is the number, or how it was to be computed.
    IntegerOverflow { exact: Str, bits: u32 } = EVALUATION "integer-overflow" {
        sentence: format!("{exact}: A {bits} bit integer overflow"),
        title: words::overflow(*bits),
    }
    /// A factorial that does not fit.
    FactorialOverflow { of: i64 } = EVALUATION "integer-overflow" {
        sentence: "factorial() result overflow",
        title: format!("the factorial of {of} does not fit into a whole number of 64 bits"),
        help: "the largest that fits is that of 20",
    }
    /// A number that does not fit.
    FloatOverflow { bits: u32 } = EVALUATION "float-overflow" {
        sentence: format!("inf: A {bits}-bit floating point number overflow"),
        title: format!("the number does not fit into {bits} bits"),
    }
    /// A remainder of a division by zero.
    NoRemainder = EVALUATION "division-by-zero" {
        sentence: words::NO_REMAINDER,
        title: words::DIVISION_BY_ZERO,
    }
    /// Two values that an operator does not take.
    Operands { op: &'static str, left: Str, right: Str } = EVALUATION "bad-operand" {
        sentence: format!("unsupported operand type(s) for {op}: '{left}' and '{right}'"),
        title: words::operands(op, left, right),
        help: words::operands_help(left, right),
    }
    /// `sum` of a list and what is none.
    NotConcatenable { ty: Str } = EVALUATION "bad-operand" {
        sentence: format!("can only concatenate list (not \"{ty}\") to list"),
        title: words::operands("+", "list", ty),
    }
    /// Two values without an order, in `max` and `min`.
    Unordered { op: char, left: Str, right: Str } = EVALUATION "bad-operand" {
        sentence: format!("'{op}' not supported between instances of '{left}' and '{right}'"),
        title: words::unordered(left, right),
        help: words::operands_help(left, right),
    }
    /// Two values without an order, in `sorted`.
    Unsortable { left: Str, right: Str } = EVALUATION "bad-operand" {
        sentence: format!("cannot compare {left} and {right}"),
        title: words::unordered(left, right),
        help: words::operands_help(left, right),
    }
    /// A walk through what has no items.
    NotIterable { ty: Str } = EVALUATION "not-iterable" {
        sentence: words::not_iterable_sentence(ty),
        title: words::not_iterable(ty),
    }
    /// `max` or `min` of one value that has no items.
    NoItems { function: &'static str, ty: Str } = EVALUATION "not-iterable" {
        sentence: format!("{ty} object is not iterable"),
        title: words::not_iterable(ty),
        help: format!("give several values or a list: `{function}(1, 2)`, `{function}([1, 2])`"),
    }

    /// A format that cannot be followed.
    Format { mistake: FormatMistake } = EVALUATION (mistake.id()) {
        sentence: mistake.sentence(),
        title: mistake.title(),
        help: mistake.help(),
    }
    /// A regular expression that cannot be read.
    BadPattern { pattern: Str, why: String } = EVALUATION "bad-pattern" {
        sentence: format!("invalid regular expression '{pattern}': {why}"),
        title: format!("`{}` is no regular expression: {why}", short(pattern)),
        help: "a character that stands for itself has a backslash: r\"\\(\", r\"\\.\"",
    }
    /// A regular expression that was given up while it was looking.
    PatternGivenUp { pattern: Str, why: String } = EVALUATION "bad-pattern" {
        sentence: why.clone(),
        title: format!("looking for `{}` was given up: {why}", short(pattern)),
        help: "write it with less choice: repetitions inside repetitions, as in `(a*)*`, try every way",
    }
    /// A template that cannot be read; `debug` is what the reference shows of it.
    BadTemplate { debug: String, why: String } = EVALUATION "bad-template" {
        sentence: format!("register template failed: {debug}"),
        title: format!("the template cannot be read: {why}"),
        help: "templates are Handlebars: `{{name}}`, `{{#each list}}..{{/each}}`, `{{#if name}}..{{/if}}`",
    }
    /// A template that cannot be filled in.
    TemplateFailed { debug: String, why: String } = EVALUATION "bad-template" {
        sentence: format!("render template failed: {debug}"),
        title: format!("the template cannot be filled in: {why}"),
    }

    /// A text that is no JSON.
    NotJson { why: String } = EVALUATION "not-readable-data" {
        sentence: why.clone(),
        title: format!("the text is no JSON: {why}"),
        help: "`json.validate` tells whether a text is JSON",
    }
    /// A text that is no YAML.
    NotYaml { why: String } = EVALUATION "not-readable-data" {
        sentence: why.clone(),
        title: format!("the text is no YAML: {why}"),
        help: "`yaml.validate` tells whether a text is YAML",
    }
    /// A stream of YAML where one document is wanted.
    SeveralDocuments = EVALUATION "not-readable-data" {
        sentence: "deserializing from YAML containing more than one document is not supported",
        title: "the text is more than one YAML document",
        help: "read them all: `yaml.decode_all`",
    }
    /// A text that is no base64.
    NotBase64 { why: String, at: usize } = EVALUATION "not-readable-data" {
        sentence: format!("base64.decode() invalid text: {why} at byte {at}"),
        title: format!("the text is no base64: {why} at byte {at}"),
        help: "base64 has letters, digits, `+` and `/`",
    }
    /// Base64 of bytes that are no text.
    NotTextInBase64 = EVALUATION "not-readable-data" {
        sentence: "base64.decode() the bytes are not UTF-8 text",
        title: "the base64 stands for bytes that are no UTF-8 text",
    }
    /// A text that is no base32. What the reference says is about something else.
    NotBase32 { digit: char } = EVALUATION "not-readable-data" {
        sentence: "decode() missing 1 required positional argument: 'value'",
        title: format!("the text is no base32: it has `{}`", digit.escape_debug()),
        help: "base32 has the letters A to Z and the digits 2 to 7",
    }
    /// A way of writing characters that there is not.
    UnknownEncoding { label: Str } = EVALUATION "bad-encoding" {
        sentence: format!("unknown encoding {label}"),
        title: format!("there is no encoding `{}`", short(label)),
        help: "encodings are named as in web pages: `utf-8`, `iso-8859-1`, `gbk`, `shift_jis`, ..",
    }
    /// A text with characters that an encoding does not have.
    NotEncodable { label: Str } = EVALUATION "bad-encoding" {
        sentence: format!("encoding errors occurred while encoding to {label}"),
        title: format!("the text has characters that `{label}` does not have"),
    }

    /// A file that cannot be touched.
    FileFailed { task: FileTask, path: Str, why: Reason } = EVALUATION "file-failed" {
        sentence: task.sentence(path, why),
        title: task.title(path, why),
        help: why.help(path),
    }
    /// An address or a network that is none.
    Net { mistake: NetMistake } = EVALUATION (mistake.id()) {
        sentence: mistake.sentence(),
        title: mistake.title(),
        help: mistake.help(),
    }

    /// A clock that is too far away from today.
    NoTime = EVALUATION "library-call-failed" { sentence: "the clock is outside the supported range" }
    /// Random bytes that nobody gives.
    NoRandom { why: Reason } = EVALUATION "library-call-failed" { sentence: format!("no random bytes: {why}") }
    /// A number of a function that there is not: a defect of ours.
    NoFunction { number: u16 } = EVALUATION "internal" { sentence: format!("unknown function number {number}") }
}

impl From<FormatMistake> for Mistake {
    fn from(mistake: FormatMistake) -> Self {
        Mistake::Format { mistake }
    }
}

impl From<NetMistake> for Mistake {
    fn from(mistake: NetMistake) -> Self {
        Mistake::Net { mistake }
    }
}

#[cfg(test)]
mod tests {
    use base_diag::Mistake as _;

    use super::*;

    fn told(mistake: &Mistake) -> (String, String) {
        (mistake.sentence().into_owned(), mistake.title().unwrap_or_default().into_owned())
    }

    #[test]
    fn people_are_told_what_the_reference_hides() {
        let (sentence, title) = told(&Mistake::NotBase32 { digit: '1' });
        assert_eq!(sentence, "decode() missing 1 required positional argument: 'value'");
        assert_eq!(title, "the text is no base32: it has `1`");
        let (sentence, title) = told(&Mistake::NotANumber { function: "sqrt", got: "NoneType".into() });
        assert_eq!(sentence, "sqrt() takes exactly one argument (0 given)");
        assert_eq!(title, "`sqrt` takes a number, not `None`");
    }

    #[test]
    fn a_missing_argument_says_how_it_is_given() {
        let missing = |said| Mistake::MissingArgument { function: "replace", name: "new", said };
        assert_eq!(told(&missing(Missing::Counted(2))).0, "expect 2 arguments, found 1");
        assert!(missing(Missing::Counted(2)).help().unwrap().contains("by its place: `replace` reads no"));
        assert!(missing(Missing::TheNamed).help().unwrap().contains("`new=..`"));
    }

    #[test]
    fn a_mistake_is_small_until_it_is_told() {
        assert_eq!(size_of::<crate::Error>(), 2 * size_of::<usize>());
    }
}
