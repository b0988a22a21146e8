//! What `str.format` and formats of times refuse.

use kcl_value::Str;

use crate::words::{self, short, type_name};

base_diag::mistakes! {
    /// What is wrong with a format.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum FormatMistake;

    /// A brace of a format text that has no partner.
    LoneBrace { brace: char } = EVALUATION "bad-format" {
        sentence: "format error",
        title: match brace {
            '{' => "a `{` of the format text is not closed",
            _ => "a `}` of the format text closes nothing",
        },
        help: "a brace that stands for itself is written twice: `{{`, `}}`",
    }
    /// A field of a format text that cannot be read; `why` is what the reference adds.
    BadField { name: Str, why: Option<&'static str> } = EVALUATION "bad-format" {
        sentence: match why {
            None => "format error".to_owned(),
            Some(why) => format!("format error: {why}"),
        },
        title: format!("`{{{}}}` is no field of a format text", short(name)),
        help: "a field is `{}`, `{0}` or `{name}`; parts of its value are `{0.part}`, `{0[part]}`, a format is `{0:08.3f}`",
    }
    /// A part that the value of a field does not have.
    NoPart { key: Str, ty: Str } = EVALUATION "bad-format" {
        sentence: format!("format error: '{key}' not found in '{ty}'"),
        title: format!("the value of the field is `{}`, and has no `{}`", type_name(ty), short(key)),
    }
    /// A number as a part of what has no items.
    NoPartByNumber { key: Str, ty: Str } = EVALUATION "bad-format" {
        sentence: "Invalid list object in list_get",
        title: format!("the value of the field is `{}`, and has no item `{}`", type_name(ty), short(key)),
    }
    /// A field with a number for which there is no argument.
    NoPosition { index: usize, given: usize } = EVALUATION "bad-format" {
        sentence: "argument tuple index out of range",
        title: match given {
            0 => format!("the format text has a field for argument {index}, and no argument is given"),
            _ => format!("the format text has a field for argument {index}, and the last one is {}", given - 1),
        },
        help: "arguments are counted from 0; a brace that stands for itself is written twice: `{{`, `}}`",
    }
    /// `{}` and `{0}` in one text.
    MixedFields = EVALUATION "bad-format" {
        sentence: "cannot switch from automatic field numbering to manual field specification",
        title: "the format text has fields without a number and fields with one",
        help: "number all of them: `{0} {1}`, or none: `{} {}`",
    }
    /// A field with a name for which there is no argument.
    NoKeyword { name: Str } = EVALUATION "bad-format" {
        sentence: format!("keyword argument '{name}' not found"),
        title: format!("the format text has a field `{{{}}}`, and no such argument is given", short(name)),
        help: "give it by name: `.format(name=..)`; a brace that stands for itself is written twice: `{{`, `}}`",
    }
    /// A letter of a format that is not for such a number.
    WrongCode { code: char, ty: &'static str } = EVALUATION "bad-format" {
        sentence: format!("Unknown format code '{code}' for object of type '{ty}'"),
        title: format!("the format `{code}` is not for `{ty}`"),
        help: words::codes(ty),
    }
    /// `n` for a number with a fraction.
    NoLocale = EVALUATION "bad-format" {
        sentence: "Format code 'n' for object of type 'float' not implemented yet",
        title: "the format `n` is not for `float`",
        help: words::codes("float"),
    }
    /// A format of a number that cannot be read; `plain` if it has no other characters than formats have.
    BadSpec { spec: Str, plain: bool } = EVALUATION "bad-format" {
        sentence: if *plain { "Invalid format specifier" } else { "format error" },
        title: format!("`{}` is no format of a number", short(spec)),
        help: "it is `[[fill]align][sign][#][0][width][,|_][.precision][type]`, for example `>8`, `08.3f`, `,d`, `#x`",
    }
    /// A width or precision of more digits than a number has.
    EndlessCount { digits: Str } = EVALUATION "bad-format" {
        sentence: "Too many decimal digits in format string",
        title: format!("a width or precision of {} is too large", short(digits)),
    }
    /// A width or precision that nobody needs.
    LargeCount { count: u64 } = EVALUATION "bad-format" {
        sentence: "Formatting argument out of range",
        title: format!("a width or precision of {count} is too large"),
    }
    /// A format of times that cannot be read.
    BadTimeFormat { format: Str } = EVALUATION "bad-format" {
        sentence: format!("invalid datetime format '{format}'"),
        title: format!("`{}` is no format of times", short(format)),
        help: "its letters are those of strftime, for example `%Y-%m-%d %H:%M:%S`; a percent sign is written twice: `%%`",
    }
}
