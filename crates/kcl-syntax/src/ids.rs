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

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_longer_beginning_stands_first() {
        assert_eq!(of("expected one of [\"identifier\", \"literal\", \"(\"] got eof"), "expected-expression");
        assert_eq!(of("expected one of [\"identifier\"] got ("), "expected-token");
        assert_eq!(of("something else"), "syntax");
    }
}
