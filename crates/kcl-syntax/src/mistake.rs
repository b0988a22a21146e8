//! Everything that can be wrong with a text: one table of kinds with facts, the reference's sentence and the words for people.
//!
//! The sentences of the reference name tokens; a person reads code.

use std::fmt;

use crate::source::PathError;
use crate::token::TokenKind;
use crate::words::{one_of, thing};

/// What stands where something else was needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Got {
    /// A token, told by its kind.
    Token(TokenKind),
    /// A literal, told by its value.
    Literal(String),
}

impl Got {
    /// Tells whether it is a token of a kind.
    pub(crate) fn is(&self, kind: TokenKind) -> bool {
        *self == Got::Token(kind)
    }

    /// As a person reads it.
    fn words(&self) -> String {
        match self {
            Got::Token(kind) => thing(kind.name()),
            Got::Literal(text) if text.contains('\n') => "a text of several lines".to_owned(),
            Got::Literal(text) => format!("`{text}`"),
        }
    }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Got::Token(kind) => f.write_str(kind.name()),
            Got::Literal(text) => f.write_str(text),
        }
    }
}

/// Why an expression cannot be assigned to, where the reference says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoTarget {
    /// `a?.b`
    OptionalAttribute,
    /// `a?[0]`
    OptionalSubscript,
    /// `a[1:2]`
    Slice,
    /// Anything else.
    Other,
}

impl NoTarget {
    fn reason(self) -> &'static str {
        match self {
            NoTarget::OptionalAttribute => {
                ", because the left-hand side of an assignment expression may not be an optional attribute access."
            }
            NoTarget::OptionalSubscript => {
                ", because the left-hand side of an assignment expression may not be an optional subscript access."
            }
            NoTarget::Slice => {
                ", because the left-hand side of an assignment expression may not be a slice access."
            }
            NoTarget::Other => "",
        }
    }
}

base_diag::mistakes! {
    /// What is wrong with a text.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub enum Mistake;

    /// No operand where one was needed; `wanted` is what may start one there.
    ExpectedExpression { wanted: &'static [&'static str], got: Got } = SYNTAX "expected-expression" {
        sentence: expected(wanted, got),
        title: format!("expected a value, found {}", got.words()),
        help: got.is(TokenKind::Newline).then_some(LINE_BREAK),
    }
    /// Nothing between the brackets of an index.
    EmptyIndex { got: Got } = SYNTAX "expected-expression" { sentence: format!("expected expression got {got}") }
    /// A token that starts no expression.
    NoExpression { got: Got } = SYNTAX "expected-expression" { sentence: format!("expected expression, got {got}") }
    /// No type where one was needed.
    ExpectedType { wanted: &'static [&'static str], got: Got } = SYNTAX "expected-type" {
        sentence: expected(wanted, got),
        title: format!("expected a type, found {}", got.words()),
    }
    /// A block that does not begin.
    ExpectedBlock { got: Got } = SYNTAX "expected-block" {
        sentence: expected(&["indent"], got),
        title: format!("expected an indented block, found {}", got.words()),
        help: "indent the lines of the block",
    }
    /// A block that does not end.
    ExpectedEndOfBlock { got: Got } = SYNTAX "expected-end-of-block" {
        sentence: expected(&["dedent"], got),
        title: format!("expected the end of the block, found {}", got.words()),
        // In other blocks any statement may follow.
        help: matches!(got, Got::Token(kind) if kind.name() == "identifier")
            .then_some("`check:` comes last in its schema, once, with conditions only"),
    }
    /// Another token was needed.
    Expected { wanted: &'static [&'static str], got: Got } = SYNTAX "expected-token" {
        sentence: expected(wanted, got),
        title: format!("expected {}, found {}", one_of(wanted), got.words()),
        help: expected_help(wanted, got),
    }
    /// A name was needed.
    ExpectedName = SYNTAX "expected-name" { sentence: "expected identifier" }
    /// `[` in a schema that begins neither an index signature nor a list.
    ExpectedIndexSignature { got: Got } = SYNTAX "expected-index-signature" {
        sentence: format!("expected a index signature or list expression here, got {got}"),
    }
    /// A token too many.
    Unexpected { got: Got } = SYNTAX "unexpected-token" {
        sentence: format!("unexpected token '{got}'"),
        title: unexpected_title(got),
        help: unexpected_help(got),
    }
    /// `\` that does not end its line.
    StrayBackslash = SYNTAX "stray-backslash" { sentence: "unexpected character after line continuation character" }
    /// A character that begins no token.
    UnknownCharacter = SYNTAX "unknown-character" { sentence: "unknown start of token" }
    /// A string without its second quote.
    UnterminatedString = SYNTAX "unterminated-string" {
        sentence: "unterminated string",
        help: "close it with the same quote; text over several lines needs three quotes",
    }
    /// A broken escape, or a line break at the start of a short string.
    InvalidEscape = SYNTAX "invalid-escape" {
        sentence: "invalid string syntax",
        help: "write `\\\\` for a backslash, or put an `r` before the string",
    }
    /// A placeholder that is no expression.
    InvalidPlaceholder { text: String } = SYNTAX "invalid-placeholder" {
        sentence: format!("invalid string interpolation expression: '{text}'"),
        help: PLACEHOLDER,
    }
    /// A placeholder that does not end; `quoted` if the text goes on right behind the string, as if it ended too early.
    UnclosedPlaceholder { quoted: bool } = SYNTAX "invalid-placeholder" {
        sentence: "invalid joined string",
        title: quoted.then_some("the string ends inside its placeholder `${..}`"),
        help: if *quoted { OTHER_QUOTES } else { PLACEHOLDER },
    }
    /// A format that does not begin with `#`.
    PlaceholderFormat = SYNTAX "invalid-placeholder" {
        sentence: "invalid joined string spec without #",
        help: PLACEHOLDER,
    }
    /// A line between two levels of indentation.
    InconsistentIndentation { spaces: u32 } = SYNTAX "inconsistent-indentation" {
        sentence: format!(
            "invalid indentation with {spaces} {}, try to align indents by adding or removing spaces",
            if *spaces == 1 { "space" } else { "spaces" }
        ),
    }
    /// Tabs and spaces in one block.
    MixedTabsAndSpaces = SYNTAX "mixed-tabs-and-spaces" {
        sentence: "inconsistent use of tabs and spaces in indentation",
        help: "use only tabs or only spaces in a block",
    }
    /// `1Q`.
    InvalidNumberSuffix = SYNTAX "invalid-number-suffix" {
        sentence: "invalid int binary suffix",
        help: "suffixes are n u m k K M G T P Ki Mi Gi Ti Pi",
    }
    /// `1e`.
    EmptyExponent = SYNTAX "invalid-number" { sentence: "expected at least one digit in exponent" }
    /// `0o9`, with the place of the digit.
    InvalidDigit { base: u32, from: usize, to: usize } = SYNTAX "invalid-number" {
        sentence: format!("invalid digit for a base {base} literal, start: {from}, stop: {to}"),
    }
    /// `0x`.
    NoDigits = SYNTAX "invalid-number" {
        sentence: "no valid digits found for number",
        help: "octal numbers are written `0o17`",
    }
    /// `0x1.5`.
    FloatBase { base: u32 } = SYNTAX "invalid-number" {
        sentence: match base {
            16 => "hexadecimal float literal is not supported",
            8 => "octal float literal is not supported",
            _ => "binary float literal is not supported",
        },
    }
    /// Digits that make no whole number.
    InvalidInt { digits: String } = SYNTAX "invalid-number" {
        sentence: format!("expected one of [\"int\"] got {digits}"),
        title: format!("expected a number, found `{digits}`"),
    }
    /// Digits that make no number.
    InvalidFloat { digits: String } = SYNTAX "invalid-number" {
        sentence: format!("expected one of [\"float\"] got {digits}"),
        title: format!("expected a number, found `{digits}`"),
    }
    /// `!x`.
    UseNot = SYNTAX "use-not" {
        sentence: "invalid token '!', consider using 'not '",
        title: "`!` is written `not`",
        help: "write `not x`",
    }
    /// `a = 1;`
    Semicolon = SYNTAX "unneeded-semicolon" { sentence: "the semicolon ';' here is unnecessary, please remove it" }
    /// A closing bracket without its opening one.
    UnmatchedBracket { bracket: u8 } = SYNTAX "unmatched-bracket" {
        sentence: match bracket {
            b')' => "error nesting on close paren",
            b']' => "mismatched closing delimiter",
            _ => "error nesting on close brace",
        },
        title: "this bracket closes none that is open",
        help: "remove it, or open it",
    }
    /// `else if`.
    UseElif = SYNTAX "use-elif" { sentence: "'else if' here is invalid in KCL, consider using the 'elif' keyword" }
    /// `f(a = 1, 2)`.
    PositionalAfterKeyword = SYNTAX "positional-after-keyword" {
        sentence: "positional argument follows keyword argument",
    }
    /// `a[1 2]`.
    TwoIndices = SYNTAX "several-indices" { sentence: "a list should have only one expr" }
    /// `a[1:2 3]`.
    ConsecutiveBounds = SYNTAX "several-indices" { sentence: "consecutive exprs found" }
    /// `[for x in y]`, `{for x in y}`.
    NoElement { of: Comprehension } = SYNTAX "comprehension-element" {
        sentence: format!("missing {of} comp clause expression"),
    }
    /// `[a, b for x in y]`.
    SeveralElements { of: Comprehension, count: usize } = SYNTAX "comprehension-element" {
        sentence: format!("multiple {of} comp clause expression found: expected 1, got {count}"),
    }
    /// A second index signature.
    SecondIndexSignature = SYNTAX "second-index-signature" {
        sentence: "duplicate schema index signature definitions, only one is allowed in the schema",
    }
    /// `import a as b.c`.
    InvalidImportName = SYNTAX "invalid-import-name" { sentence: "Invalid import asname" }
    /// Something that cannot be assigned to.
    IllegalTarget { what: &'static str, why: NoTarget } = SYNTAX "illegal-target" {
        sentence: format!("'{what}Expression' is an illegal expression for assignment{}", why.reason()),
    }
    /// Brackets, blocks or chains beyond the limit.
    NestingTooDeep = SYNTAX "nesting-too-deep" {
        sentence: "nesting too deep",
        help: "give inner parts a name of their own",
    }
    /// More bytes than a package may have.
    FileTooLarge = SYNTAX "file-too-large" { sentence: "file too large" }
    /// `-O` with a text that is no override.
    OverrideFormat { text: String } = EVALUATION "override-spec" {
        sentence: format!(
            "Invalid spec format '{text}', expected <field_path>=<filed_value>, <field_path>:<filed_value>, \
             <field_path>+=<filed_value> or <field_path>-"
        ),
        title: format!("`{text}` is no override"),
        help: "write PATH=VALUE (replace), PATH:VALUE (merge), PATH+=VALUE (add to a list) or PATH- (delete); a text value has quotes of its own: 'app.image=\"nginx\"'",
    }
    /// `-O` with a path that cannot be read.
    OverridePath { error: PathError } = EVALUATION "override-spec" { sentence: error.message() }
}

/// Which brackets a comprehension has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comprehension {
    /// `[..]`
    List,
    /// `{..}`
    Config,
}

impl fmt::Display for Comprehension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comprehension::List => "list",
            Comprehension::Config => "config",
        })
    }
}

const LINE_BREAK: &str =
    "a line may break after an opening `[` or `{`, or after the `(` of a call; elsewhere end it with `\\`";
const OTHER_QUOTES: &str = "a text inside a placeholder has the other kind of quotes: `\"${a['b']}\"`";
const PLACEHOLDER: &str = "write `\\${` if no placeholder is meant; braces inside one are not possible";

fn expected(wanted: &[&str], got: &Got) -> String {
    let list: Vec<String> = wanted.iter().map(|w| format!("\"{w}\"")).collect();
    format!("expected one of [{}] got {got}", list.join(", "))
}

fn expected_help(wanted: &[&str], got: &Got) -> Option<&'static str> {
    Some(match wanted {
        ["else"] => "write `value if condition else other`",
        [":"] if got.is(TokenKind::Newline) => "a `:` ends the line before a block",
        _ if got.is(TokenKind::Newline) => LINE_BREAK,
        ["}"] if got.is(TokenKind::Eof) => "close the brace",
        ["]"] if got.is(TokenKind::Eof) => "close the bracket",
        ["="] => "give it a value: `name: type = value`",
        [":", "=", ..] => "an entry is `key = value`, `key: value` or `key += [items]`",
        [")"] if got.is(TokenKind::Comma) => {
            "a schema has one base; mixins add more: `mixin [AMixin, BMixin]`"
        }
        _ => return None,
    })
}

fn unexpected_title(got: &Got) -> String {
    match got {
        Got::Token(TokenKind::Indent) => {
            "this line is indented further than the block it stands in".to_owned()
        }
        Got::Token(TokenKind::Dedent | TokenKind::OddDedent) => "the block ends too early".to_owned(),
        Got::Token(TokenKind::Eof) => "the file ends too early".to_owned(),
        other => format!("unexpected {}", other.words()),
    }
}

fn unexpected_help(got: &Got) -> Option<&'static str> {
    Some(match got {
        Got::Token(TokenKind::Indent) => "remove the blanks at the start of the line",
        Got::Token(TokenKind::Dedent | TokenKind::OddDedent) => {
            "put the closing bracket on a line of its own, as far in as the line that opened it"
        }
        Got::Token(TokenKind::Comma) => "there are no tuples: write a list, `[a, b]`",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use base_diag::Mistake as _;

    use super::{Got, Mistake};
    use crate::token::TokenKind;

    fn title(mistake: &Mistake) -> String {
        mistake.title().unwrap_or_default().into_owned()
    }

    #[test]
    fn tokens_are_told_as_code() {
        let token = |kind| Got::Token(kind);
        let wanted: &[&str] = &["identifier", "literal"];
        let value = Mistake::ExpectedExpression { wanted, got: token(TokenKind::Assign) };
        assert_eq!(value.sentence(), "expected one of [\"identifier\", \"literal\"] got =");
        assert_eq!(title(&value), "expected a value, found `=`");
        let entry = Mistake::Expected { wanted: &[":", "=", "+="], got: token(TokenKind::RBrace) };
        assert_eq!(title(&entry), "expected `:` or `=` or `+=`, found `}`");
        let brace = Mistake::Expected { wanted: &["}"], got: token(TokenKind::Eof) };
        assert_eq!(title(&brace), "expected `}`, found the end of the file");
        assert_eq!(title(&Mistake::Unexpected { got: token(TokenKind::Comma) }), "unexpected `,`");
        assert_eq!(Mistake::UseElif.title(), None);
    }

    #[test]
    fn a_text_is_told_by_what_it_says() {
        let newline = Mistake::Expected { wanted: &[","], got: Got::Literal("newline".to_owned()) };
        assert_eq!(newline.sentence(), "expected one of [\",\"] got newline");
        assert_eq!((title(&newline).as_str(), newline.help()), ("expected `,`, found `newline`", None));
    }

    #[test]
    fn help_is_given_where_the_sentence_has_none() {
        let line = Mistake::Expected { wanted: &[")"], got: Got::Token(TokenKind::Newline) };
        assert!(line.help().is_some_and(|h| h.starts_with("a line may break")));
        assert_eq!(Mistake::UseElif.help(), None);
    }
}
