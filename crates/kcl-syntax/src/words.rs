//! Words of the language, of other languages, and of tokens, for people (the table of mistakes is `mistake.rs`).

/// What to write instead of a statement that other languages have; by its first word.
pub fn foreign(word: &str) -> Option<&'static str> {
    Some(match word {
        "for" | "while" => {
            "there are no loops: write a list, `[x for x in list]`, or a dict, `{k: v for k, v in dict}`"
        }
        "def" | "fn" | "func" | "function" => {
            "a function is a value: `name = lambda x: int -> int { x + 1 }`"
        }
        "return" => "the last expression of a lambda is its result: leave `return` out",
        "class" | "struct" | "interface" => "a type with attributes is a schema: `schema Name:`",
        "let" | "var" | "const" => "a value needs no word before it: `name = value`",
        "from" => "a whole package is imported: `import path.to.package as name`",
        _ => return None,
    })
}

/// Words that begin a statement.
const BEGINNINGS: &[&str] = &["import", "schema", "mixin", "protocol", "rule", "type", "check", "assert"];

/// Returns the word of the language that a word is one slip away from: a letter too many, too few, another one, or two swapped.
pub fn misspelt_keyword(word: &str) -> Option<&'static str> {
    BEGINNINGS
        .iter()
        .find(|keyword| **keyword != word && is_one_slip(word.as_bytes(), keyword.as_bytes()))
        .copied()
}

fn is_one_slip(word: &[u8], keyword: &[u8]) -> bool {
    let same = word.iter().zip(keyword).take_while(|(a, b)| a == b).count();
    let (word, keyword) = (&word[same..], &keyword[same..]);
    match (word, keyword) {
        ([_, rest @ ..], _) if rest == keyword => true,
        (_, [_, rest @ ..]) if rest == word => true,
        ([a, b, rest @ ..], [c, d, more @ ..]) if a == d && b == c && rest == more => true,
        ([_, rest @ ..], [_, more @ ..]) => rest == more,
        _ => false,
    }
}

/// `a` or `b`.
pub(crate) fn one_of(wanted: &[&str]) -> String {
    wanted.iter().map(|word| thing(word)).collect::<Vec<_>>().join(" or ")
}

/// A token, by its name, as a person reads it.
pub(crate) fn thing(token: &str) -> String {
    match token {
        "identifier" => "a name".to_owned(),
        "literal" => "a value".to_owned(),
        "newline" => "the end of the line".to_owned(),
        "eof" => "the end of the file".to_owned(),
        "indent" => "an indented line".to_owned(),
        "dedent" => "the end of the block".to_owned(),
        other => format!("`{other}`"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_slip_is_forgiven() {
        for word in ["importt", "imprt", "inport", "ipmort", "mport"] {
            assert_eq!(super::misspelt_keyword(word), Some("import"), "{word}");
        }
        for word in ["import", "report", "x", "", "schemas_of"] {
            assert_eq!(super::misspelt_keyword(word), None, "{word}");
        }
    }
}
