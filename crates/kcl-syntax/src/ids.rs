//! Our stable names of syntax errors, found by how the message begins.
//!
//! The messages are the reference's and are written where the mistake is found; the names are for people who look an
//! error up, so they are kept in one table.

/// Beginnings of messages and the names of the mistakes.
const TABLE: &[(&str, &str)] = &[
    ("expected one of [\"identifier\", \"literal\"", "expected-expression"),
    ("expected one of [\"any\"", "expected-type"),
    ("expected one of [\"int\"]", "invalid-number"),
    ("expected one of [\"float\"]", "invalid-number"),
    ("expected one of [\"indent\"]", "expected-block"),
    ("expected one of [\"dedent\"]", "expected-end-of-block"),
    ("expected one of", "expected-token"),
    ("expected expression", "expected-expression"),
    ("expected identifier", "expected-name"),
    ("expected a index signature", "expected-index-signature"),
    ("expected at least one digit", "invalid-number"),
    ("unexpected token", "unexpected-token"),
    ("unexpected character after line continuation", "stray-backslash"),
    ("unknown start of token", "unknown-character"),
    ("unterminated string", "unterminated-string"),
    ("invalid string syntax", "invalid-escape"),
    ("invalid string interpolation", "invalid-placeholder"),
    ("invalid joined string", "invalid-placeholder"),
    ("invalid indentation", "inconsistent-indentation"),
    ("inconsistent use of tabs", "mixed-tabs-and-spaces"),
    ("invalid int binary suffix", "invalid-number-suffix"),
    ("invalid digit", "invalid-number"),
    ("no valid digits", "invalid-number"),
    ("binary float", "invalid-number"),
    ("octal float", "invalid-number"),
    ("hexadecimal float", "invalid-number"),
    ("invalid token '!'", "use-not"),
    ("the semicolon", "unneeded-semicolon"),
    ("error nesting on close", "unmatched-bracket"),
    ("mismatched closing delimiter", "unmatched-bracket"),
    ("'else if'", "use-elif"),
    ("positional argument follows", "positional-after-keyword"),
    ("a list should have only one expr", "several-indices"),
    ("consecutive exprs found", "several-indices"),
    ("multiple list comp", "comprehension-element"),
    ("missing list comp", "comprehension-element"),
    ("multiple config comp", "comprehension-element"),
    ("missing config comp", "comprehension-element"),
    ("duplicate schema index signature", "second-index-signature"),
    ("Invalid import asname", "invalid-import-name"),
    ("nesting too deep", "nesting-too-deep"),
];

/// Returns the name of the mistake that a message tells.
pub(crate) fn of(message: &str) -> &'static str {
    TABLE.iter().find(|(start, _)| message.starts_with(start)).map_or("syntax", |(_, id)| id)
}

/// Returns what to try next, for mistakes whose message does not say it.
pub(crate) fn help(id: &str, message: &str) -> Option<&'static str> {
    let got = |what: &str| message.ends_with(what);
    Some(match id {
        "expected-token" if got("[\":\"] got newline") => "a `:` ends the line before a block",
        "expected-token" | "expected-expression" if got("] got newline") => {
            "a line may break after an opening `[` or `{`, or after the `(` of a call; elsewhere end it with `\\`"
        }
        "expected-token" if got("got eof") && message.contains("[\"}\"]") => "close the brace",
        "expected-token" if got("got eof") && message.contains("[\"]\"]") => "close the bracket",
        "expected-token" if message.starts_with("expected one of [\"=\"]") => {
            "give it a value: `name: type = value`"
        }
        "expected-token" if message.starts_with("expected one of [\"else\"]") => {
            "write `value if condition else other`"
        }
        "expected-token" if message.starts_with("expected one of [\":\", \"=\"") => {
            "an entry is `key = value`, `key: value` or `key += [items]`"
        }
        "expected-block" => "indent the lines of the block",
        // In other blocks any statement may follow.
        "expected-end-of-block" if got("got identifier") => {
            "`check:` comes last in its schema, once, with conditions only"
        }
        "expected-token" if message.starts_with("expected one of [\")\"] got ,") => {
            "a schema has one base; mixins add more: `mixin [AMixin, BMixin]`"
        }
        "unexpected-token" if got("'indent'") => "remove the blanks at the start of the line",
        "unexpected-token" if got("'dedent'") => {
            "put the closing bracket on a line of its own, as far in as the line that opened it"
        }
        "unexpected-token" if got("','") => "there are no tuples: write a list, `[a, b]`",
        "mixed-tabs-and-spaces" => "use only tabs or only spaces in a block",
        "unterminated-string" => "close it with the same quote; text over several lines needs three quotes",
        "invalid-escape" => "write `\\\\` for a backslash, or put an `r` before the string",
        "invalid-placeholder" => {
            "write `\\${` if no placeholder is meant; braces inside one are not possible"
        }
        "invalid-number" if message.starts_with("no valid digits") => "octal numbers are written `0o17`",
        "invalid-number-suffix" => "suffixes are n u m k K M G T P Ki Mi Gi Ti Pi",
        "unmatched-bracket" => "remove it, or open it",
        "nesting-too-deep" => "give inner parts a name of their own",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{help, of};

    #[test]
    fn the_longer_beginning_stands_first() {
        assert_eq!(of("expected one of [\"identifier\", \"literal\", \"(\"] got eof"), "expected-expression");
        assert_eq!(of("expected one of [\"identifier\"] got ("), "expected-token");
        assert_eq!(of("something else"), "syntax");
    }

    #[test]
    fn help_is_given_where_the_message_has_none() {
        let message = "expected one of [\")\"] got newline";
        assert!(help(of(message), message).is_some_and(|h| h.starts_with("a line may break")));
        assert_eq!(help("use-elif", "'else if' here is invalid in KCL"), None);
    }
}
